//! The noise in a model of `learn`, end to end: rows without gradients leave nothing else in it.

use crate::common::Place;
use serde_json::Value;

const FEATURES: usize = 64;
const CLASSES: usize = 64;
const ROWS: usize = 8;

/// How far the measured standard deviation may be from the one that is due, as a share. With d =
/// 4096 independent coordinates its own is 1/√(2d) = 1.1 %, so that a sound program fails with
/// probability 6·10⁻⁸ a run, and one whose noise is 15 % short passes with less.
const TOLERANCE: f64 = 0.06;

fn is_due(measured: f64, due: f64) -> bool {
    (measured / due - 1.0).abs() <= TOLERANCE
}

/// The root of the mean square of the last parameters of a run with λ = 1, which are minus the
/// noise in the last sum, divided by the batch size.
fn measured(options: &str) -> (f64, f64) {
    let place = Place::new();
    let names: String = (0..FEATURES).map(|feature| format!("f{feature},")).collect();
    let row = format!("{}1\n", "0,".repeat(FEATURES));
    place.write("zeros.csv", format!("{names}y\n{}", row.repeat(ROWS)));
    let run = format!("learn zeros.csv --label y --loss softmax:{CLASSES} --lambda 1 --model m.json");
    place.run(&format!("{run} {options}")).ok();
    let model: Value = serde_json::from_slice(&place.read("m.json")).unwrap();
    let lists = model["parameters"]["last"].as_array().unwrap();
    let numbers: Vec<f64> = lists
        .iter()
        .flat_map(|list| list.as_array().unwrap())
        .map(|number| number.as_f64().unwrap())
        .collect();
    assert_eq!(numbers.len(), FEATURES * CLASSES);
    let square = numbers.iter().map(|number| number * number).sum::<f64>() / numbers.len() as f64;
    (square.sqrt(), model["privacy"]["last_standard_error"].as_f64().unwrap())
}

/// Independent noise at every step has a scale that is known without a plan: with ρ = 1/(2σ²) for
/// what a row does in E steps, each of norm κ (or 2κ, where it is replaced), a step has σκ√E, and n
/// steps √n times that, divided by the batch size.
#[test]
fn independent_noise_has_the_scale_of_all_epochs() {
    for (extra, epochs, batch, rho, shift) in [
        ("", 1.0, 4.0, 0.5, 1.0),
        ("--epochs 3 --clip 2.5", 3.0, 4.0, 0.25, 2.5),
        ("--epochs 3 --neighbours replace", 3.0, 2.0, 0.5, 2.0),
    ] {
        let run = format!("--mechanism input-perturbation --batch-size {batch} --rho {rho} {extra}");
        let (measured, stated) = measured(&run);
        let steps = epochs * ROWS as f64 / batch;
        let due = shift * (epochs / (2.0 * rho)).sqrt() * steps.sqrt() / batch;
        assert!((stated / due - 1.0).abs() < 1e-9 && stated >= due, "{run}: {stated} for {due}");
        assert!(is_due(measured, due), "{run}: {measured} for {due}");
        assert!(!is_due(0.85 * measured, due), "noise that is 15 % short would pass");
    }
}

/// Every other mechanism, and restarts: as much as the model states.
#[test]
fn a_model_has_the_noise_that_it_states() {
    for extra in
        ["", "--epochs 4", "--epochs 4 --restart-every epoch --mechanism binary", "--mechanism square-root"]
    {
        let (measured, stated) = measured(&format!("--batch-size 1 --epsilon 2 --delta 1e-6 {extra}"));
        assert!(is_due(measured, stated), "{extra}: {measured} for {stated}");
        assert!(!is_due(0.85 * measured, stated), "noise that is 15 % short would pass");
    }
}
