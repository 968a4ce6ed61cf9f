//! `bounds`: every proven bound, for people and for programs.

use crate::common::Place;
use serde_json::Value;

fn table(place: &Place, line: &str) -> Value {
    serde_json::from_str(&place.run(&format!("{line} --json")).ok().stdout).unwrap()
}

fn value<'a>(json: &'a Value, group: &str, name: &str) -> &'a Value {
    let mut rows = json["bounds"].as_array().unwrap().iter();
    &rows.find(|row| row["group"] == group && row["name"] == name).unwrap()["value"]
}

#[test]
fn figures_are_ordered_and_conditions_named() {
    let place = Place::new();
    let json = table(&place, "research bounds --horizon 1048576 --epsilon 0.5 --delta 1e-6");
    let figure = |group: &str, name: &str| value(&json, group, name).as_f64().unwrap();
    assert!(figure("any-mechanism", "paper-closed-form") < figure("any-mechanism", "nuclear-norm"));
    assert!(figure("oblivious", "nuclear-norm") < figure("matrix-mechanism", "nuclear-norm"));
    assert!(figure("matrix-mechanism", "nuclear-norm") < figure("attained", "square-root"));
    assert!(figure("attained", "square-root") < figure("attained", "tree"));
    // It once got none above 262,144 steps.
    assert!(figure("matrix-mechanism", "nuclear-norm") < figure("matrix-mechanism", "certified"));
    assert!(figure("attained", "certified") < figure("attained", "square-root"));
    let ratio = figure("attained", "certified") / figure("matrix-mechanism", "certified");
    assert!((1.0..1.002).contains(&ratio), "{ratio}");
    // The paper's figure with its own noise is passed by a mechanism with exact noise.
    assert!(figure("matrix-mechanism", "paper-closed-form") > figure("attained", "square-root"));
    // Above ε = 1 the paper's calibration has no proof, and says so.
    let json = table(&place, "research bounds --horizon 4 --epsilon 1.5 --delta 0.2");
    assert!(value(&json, "attained", "paper-closed-form").is_null());
    for row in json["bounds"].as_array().unwrap() {
        assert_ne!(row["value"].is_null(), row["reason"].is_null(), "{row}");
    }
    let text = place.run("research bounds --horizon 4 --epsilon 1.5 --delta 0.2").ok().stdout;
    assert!(text.contains("does not apply: epsilon must be"), "{text}");
    assert!(text.contains("γ_F²/n is certified between"), "{text}");
}

#[test]
fn certificates_and_parities_are_included() {
    let place = Place::new();
    let json = table(&place, "research bounds --horizon 64 --epsilon 0.5 --delta 1e-6 --parity 10,3");
    let lower = value(&json, "matrix-mechanism", "certified").as_f64().unwrap();
    let upper = value(&json, "attained", "certified").as_f64().unwrap();
    assert!(lower <= upper && upper / lower - 1.0 < 1e-6);
    assert!((json["parity"]["gamma_f"].as_f64().unwrap() - 120.0).abs() < 1e-9);
    let text = place.run("research bounds --horizon 64 --epsilon 0.5 --delta 1e-6 --parity 10,3").ok().stdout;
    assert!(text.contains("parities of 3 out of 10 signs"), "{text}");
}

#[test]
fn the_longest_horizon_is_answered() {
    let json =
        table(&Place::new(), "research bounds --horizon 1152921504606846976 --epsilon 0.1 --delta 1e-10");
    assert!(value(&json, "tree-ratio", "over-square-root").as_f64().unwrap() > 8.0);
    let certified = &json["gamma_f_squared_over_n"];
    let [lower, upper] = ["lower", "upper"].map(|end| certified[end].as_f64().unwrap());
    assert!(194.5 < lower && lower <= upper && upper < 194.7, "{certified}");
}

#[test]
fn bad_parameters_are_refused_in_one_line() {
    let place = Place::new();
    let cases: &[(&str, &[&str])] = &[
        ("research bounds --horizon 0 --epsilon 1 --delta 1e-6", &["horizon", "2^60"]),
        ("research bounds --horizon 1152921504606846977 --epsilon 1 --delta 1e-6", &["horizon", "2^60"]),
        ("research bounds --horizon 99999999999999999999999 --epsilon 1 --delta 1e-6", &["--horizon"]),
        ("research bounds --horizon -1 --epsilon 1 --delta 1e-6", &["--horizon"]),
        ("research bounds --horizon 8 --epsilon 0 --delta 1e-6", &["epsilon"]),
        ("research bounds --horizon 8 --epsilon -1 --delta 1e-6", &["epsilon", "-1"]),
        ("research bounds --horizon 8 --epsilon NaN --delta 1e-6", &["epsilon", "NaN"]),
        ("research bounds --horizon 8 --epsilon inf --delta 1e-6", &["epsilon", "inf"]),
        ("research bounds --horizon 8 --epsilon 1 --delta 1", &["delta"]),
        ("research bounds --horizon 8 --epsilon 1 --delta -0.1", &["delta"]),
        ("research bounds --horizon 8 --epsilon 1 --delta NaN", &["delta"]),
        ("research bounds --horizon 8 --epsilon 1", &["--delta"]),
        ("research bounds --horizon 8 --epsilon 1 --delta 1e-6 --parity 3", &["--parity", "20,3"]),
        ("research bounds --horizon 8 --epsilon 1 --delta 1e-6 --parity 3,4", &["weight", "3"]),
        ("research paper --wordy", &["--wordy"]),
    ];
    for (line, parts) in cases {
        place.run(line).refused(parts);
    }
    assert!(place.files().is_empty());
}
