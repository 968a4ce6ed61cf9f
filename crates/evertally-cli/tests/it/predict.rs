//! `predict`: what a model says of rows.

use crate::common::Place;
use serde_json::Value;

const RUN: &str =
    "--label returns --classes no,yes --loss logistic --feature-norm 1 --intercept --epsilon 8 --delta 1e-6";

/// Customers to learn from and others to predict, and a model.
fn trained() -> (Place, Value) {
    let place = Place::new();
    place.run("demo --kind customers --rows 1500 --output c.csv").ok();
    place.run("demo --kind customers --rows 400 --seed 2 --output new.csv").ok();
    let report =
        place.run(&format!("learn c.csv {RUN} --expected-norm 10 --test new.csv --model m.json --json")).ok();
    let report = serde_json::from_str(&report.stdout).unwrap();
    (place, report)
}

fn lines(text: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// As many are right as the run itself found on the same rows, for the last parameters and for their average.
#[test]
fn predictions_are_those_that_the_run_was_measured_by() {
    let (place, report) = trained();
    let truth: Vec<String> =
        lines(&place.read("new.csv"))[1..].iter().map(|row| row.last().unwrap().clone()).collect();
    for (option, figure) in [("", "accuracy_of_last"), ("--average", "accuracy_of_average")] {
        place.run(&format!("predict m.json new.csv {option} --output p.csv --force --quiet")).ok();
        let predicted = lines(&place.read("p.csv"));
        assert_eq!(predicted[0], ["row", "returns", "probability"]);
        assert_eq!(predicted.len(), truth.len() + 1);
        let right = predicted[1..].iter().zip(&truth).filter(|(row, truth)| row[1] == **truth).count();
        let stated = report["held_out_not_protected"][figure].as_f64().unwrap();
        assert!((right as f64 / truth.len() as f64 - stated).abs() < 1e-12, "{right} of 400, and {stated}");
        assert!(stated > 0.7);
        for (at, row) in predicted[1..].iter().enumerate() {
            assert_eq!(row[0], (at + 1).to_string());
            assert!((0.5..=1.0).contains(&row[2].parse::<f64>().unwrap()), "{row:?}");
        }
    }
}

#[test]
fn json_has_the_same_rows() {
    let (place, _) = trained();
    let csv = lines(place.run("predict m.json new.csv --quiet").ok().stdout.as_bytes());
    let json = place.run("predict m.json new.csv --quiet --format jsonl").ok().stdout;
    for (row, line) in csv[1..].iter().zip(json.lines()) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["row"].to_string(), line["returns"].as_str().unwrap()), (&row[0], row[1].as_str()));
        assert!((line["probability"].as_f64().unwrap() - row[2].parse::<f64>().unwrap()).abs() < 1e-6);
    }
}

/// Labels that are numbers come out as numbers, and columns may stand in any order.
#[test]
fn numbers_are_predicted_by_hand() {
    let place = Place::new();
    let rows: String = (0..200).map(|i| format!("{},{}\n", f64::from(i % 20) / 20.0, 0.5)).collect();
    place.write("d.csv", format!("a,y\n{rows}"));
    place.run("learn d.csv --label y --loss squared:1 --radius 1 --intercept --epsilon 5 --delta 1e-6 --model m.json --quiet").ok();
    let model: Value = serde_json::from_slice(&place.read("m.json")).unwrap();
    let weights = &model["parameters"]["last"][0];
    let (slope, intercept) = (weights[0].as_f64().unwrap(), weights[1].as_f64().unwrap());
    place.write("n.csv", "other,a\nx,0.25\ny,4\n");
    let out = place.run("predict m.json n.csv --quiet --format jsonl").ok().stdout;
    let predicted: Vec<f64> =
        out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["y"].as_f64().unwrap()).collect();
    for (got, a) in predicted.iter().zip([0.25, 4.0]) {
        assert!((got - (slope * a + intercept)).abs() < 1e-12, "{predicted:?}");
    }
}

#[test]
fn what_cannot_be_used_is_one_line_and_writes_nothing() {
    let (place, _) = trained();
    let model = String::from_utf8(place.read("m.json")).unwrap();
    place.write("cut.json", &model[..model.len() / 2]);
    place.write("other.json", model.replace("evertally model 1", "evertally model 9"));
    place.write("loss.json", model.replace("\"logistic\"", "\"softmax:4\""));
    place.write("classes.json", model.replace("\"yes\"\n", "\"yes\", \"maybe\"\n"));
    place.write("few.csv", "recency,frequency\n1,2\n");
    place.write("empty.csv", "recency,frequency,basket,distance,age,newsletter\n");
    place.write("words.csv", "recency,frequency,basket,distance,age,newsletter\n1,2,many,4,5,6\n");
    for (arguments, part) in [
        ("cut.json new.csv", "is no model of evertally learn: it cannot be read"),
        ("other.json new.csv", "another version"),
        ("loss.json new.csv", "do not fit"),
        ("classes.json new.csv", "its classes do not fit"),
        ("nothing.json new.csv", "nothing.json"),
        ("m.json nothing.csv", "nothing.csv"),
        ("m.json few.csv", "\"basket\""),
        ("m.json empty.csv", "has no rows"),
        ("m.json words.csv", "words.csv, line 2, column \"basket\""),
    ] {
        place.run(&format!("predict {arguments} --output p.csv --quiet")).refused(&[part]);
        assert!(!place.files().contains(&"p.csv".to_owned()), "{arguments}");
    }
    place.run("predict m.json new.csv --output m.json --quiet").refused(&["m.json"]);
}
