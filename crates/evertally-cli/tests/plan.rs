//! `plan`: every mechanism side by side.

mod common;

use common::Place;

#[test]
fn json_has_the_promised_shape() {
    let text = Place::new().run("plan --horizon 64 --epsilon 1 --delta 1e-6 --json").ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (json["horizon"].as_u64(), json["epsilon"].as_f64(), json["delta"].as_f64()),
        (Some(64), Some(1.0), Some(1e-6))
    );
    let sigma = json["noise_multiplier"].as_f64().unwrap();
    assert!((sigma - 4.2247).abs() < 1e-4, "{sigma}");
    let (lower, upper) =
        (json["optimal"]["lower"].as_f64().unwrap(), json["optimal"]["upper"].as_f64().unwrap());
    assert!(lower <= upper && upper <= lower * (1.0 + 1e-6));
    let mechanisms = json["mechanisms"].as_array().unwrap();
    for mechanism in mechanisms.iter().filter(|mechanism| mechanism["skipped"].is_null()) {
        let number = |name: &str| mechanism[name].as_f64().unwrap();
        assert!(number("mean_error") >= lower * (1.0 - 1e-6), "{mechanism}");
        assert!((number("rmse") / (sigma * number("mean_error").sqrt()) - 1.0).abs() < 1e-9, "{mechanism}");
        assert!(number("max_error") >= number("mean_error") * (1.0 - 1e-12));
        assert_eq!(mechanism.as_object().unwrap().len(), 6);
    }
    assert!(mechanisms.iter().any(|mechanism| mechanism["name"] == "square-root"));
}

#[test]
fn one_mechanism_can_be_picked_and_drawn() {
    let place = Place::new();
    let line = "plan --horizon 100 --epsilon 1 --delta 1e-6 --mechanism square-root";
    let text = place.run(&format!("{line} --json")).ok().stdout;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["mechanisms"].as_array().map(Vec::len), Some(1));
    let table = place.run(&format!("{line} --plot errors.svg")).ok().stdout;
    assert!(table.contains("square-root") && table.contains("rmse"), "{table}");
    assert!(String::from_utf8(place.read("errors.svg")).unwrap().contains("standard error"));
}
