//! `learn`: a file of rows in, a private model out.

use crate::common::{Place, only_for_its_owner};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use std::fs::File;
use std::sync::Arc;

/// Options of a run on the customers of `demo`.
const RUN: &str = "--label returns --classes no,yes --loss logistic --feature-norm 1 --radius 10";
const BUDGET: &str = "--epsilon 2 --delta 1e-6";

fn customers(rows: u32) -> Place {
    let place = Place::new();
    place.run(&format!("demo --kind customers --rows {rows} --output c.csv")).ok();
    place.with_key();
    place
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn a_model_says_what_it_is_and_what_it_cost() {
    let place = customers(1000);
    let ran = place.run(&format!("learn c.csv {RUN} {BUDGET} --epochs 3 --holdout 5 --model m.json")).ok();
    for part in [
        "m.json: logistic of returns on 6 features, 6 parameters",
        "800 rows in 39 steps of 64 rows, 3 epochs",
        "spent: ε = 2 at δ = 1e-6 (ρ = 0.10050",
        "one row: whether it is there, or its place is empty; it takes part in at most 3 steps, at least 13 apart",
        "public: the options, the names of the columns, the number of rows and their order",
        "200 rows: ",
        "rows that the budget does not protect",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} is missing from {}", ran.stdout);
    }
    let model = json(&place.read("m.json"));
    assert_eq!(model["format"], "evertally model 1");
    assert_eq!(model["features"][1], "frequency");
    assert_eq!(model["classes"][1], "yes");
    assert_eq!((&model["training"]["rows"], &model["training"]["steps"]), (&800.into(), &39.into()));
    let privacy = &model["privacy"];
    let epsilon = privacy["epsilon"].as_f64().unwrap();
    assert!((2.0 - 1e-9..2.0 + 1e-9).contains(&epsilon), "{epsilon}");
    assert_eq!((&privacy["delta"], &privacy["clip"]), (&1e-6.into(), &1.0.into()));
    assert_eq!(privacy["participation"], "at most 3 steps, at least 13 apart");
    // What was measured on rows that are not protected does not travel with the model.
    assert!(model.get("held_out_not_protected").is_none());
    for which in ["last", "average"] {
        assert_eq!(model["parameters"][which].as_array().unwrap().len(), 1);
        assert_eq!(numbers(&model["parameters"][which][0]).len(), 6);
    }
}

/// At a budget that hides nothing, the planted model comes out: the strongest habits, with their signs.
#[test]
fn what_was_planted_is_found() {
    let place = customers(4000);
    let run = format!("learn c.csv {RUN} --epsilon 1000 --delta 0.4 --epochs 20 --expected-norm 6 --json");
    let report = json(&place.run(&format!("{run} --holdout 4 --model m.json")).ok().bytes);
    let theta = numbers(&json(&place.read("m.json"))["parameters"]["last"][0]);
    assert!(theta[0] < -2.0 && theta[1] > 3.0 && theta[3] < -1.0, "{theta:?}");
    assert!(theta[4].abs() < 0.5, "age says nothing: {theta:?}");
    let held_out = &report["held_out_not_protected"];
    assert_eq!(held_out["rows"], 1000);
    assert!(held_out["accuracy_of_last"].as_f64().unwrap() > 0.75, "{report}");
    // The same rows from another file are measured the same.
    let lines: Vec<String> =
        String::from_utf8(place.read("c.csv")).unwrap().lines().map(str::to_owned).collect();
    let test: Vec<&String> = lines[1..].iter().skip(3).step_by(4).collect();
    let train: Vec<&String> =
        lines[1..].iter().enumerate().filter(|(at, _)| at % 4 != 3).map(|pair| pair.1).collect();
    let file = |rows: &[&String]| rows.iter().fold(format!("{}\n", lines[0]), |text, row| text + row + "\n");
    place.write("train.csv", file(&train)).write("test.csv", file(&test));
    let again = run.replace("c.csv", "train.csv") + " --test test.csv --model m2.json";
    assert_eq!(json(&place.run(&again).ok().bytes)["held_out_not_protected"]["rows"], 1000);
}

#[test]
fn a_key_gives_the_same_model_and_other_data_or_options_other_noise() {
    let place = customers(300);
    let run = |options: &str, model: &str| {
        let line = format!("learn c.csv {RUN} {BUDGET} --noise-key noise.key {options} --model {model}");
        place.forget_uses().run(&line).ok();
        numbers(&json(&place.read(model))["parameters"]["last"][0])
    };
    let first = run("", "a.json");
    assert_eq!(run("", "b.json"), first);
    assert_eq!(place.read("a.json"), place.read("b.json"));
    // Neither the clipping norm, which decides nothing here, nor a row that changes by nothing that
    // is seen, leaves the noise as it was.
    assert_ne!(run("--clip 1.0000001", "c.json"), first);
    let text = String::from_utf8(place.read("c.csv")).unwrap();
    let (start, last) = text.trim_end().rsplit_once('\n').unwrap();
    let (values, label) = last.rsplit_once(',').unwrap();
    let other = if label == "yes" { "no" } else { "yes" };
    place.write("c.csv", format!("{start}\n{values},{other}\n"));
    let changed = run("", "d.json");
    let distance = changed.iter().zip(&first).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // One row in 300 moves nothing so far but by its noise.
    assert!(distance > 0.05, "{distance}");
    place.run(&format!("learn c.csv {RUN} {BUDGET} --model x.json")).ok();
    place.run(&format!("learn c.csv {RUN} {BUDGET} --model y.json")).ok();
    assert_ne!(place.read("x.json"), place.read("y.json"));
}

/// The plan of the noise knows nothing of the loss. Rows without gradients show the noise alone.
#[test]
fn another_loss_has_other_noise() {
    let place = customers(1);
    place.write("zeros.csv", format!("a,b,y\n{}", "0,0,1\n".repeat(8)));
    let noise = |loss: &str| {
        let options = "--batch-size 2 --clip 1 --lambda 1 --noise-key noise.key --model m.json --force";
        let line = format!("learn zeros.csv --label y --loss {loss} {BUDGET} {options}");
        place.forget_uses().run(&line).ok();
        numbers(&json(&place.read("m.json"))["parameters"]["last"][0])
    };
    assert_eq!(noise("logistic"), noise("logistic"));
    assert_ne!(noise("logistic"), noise("hinge"));
}

/// Writes the customers as a Parquet file of doubles and text.
fn as_parquet(place: &Place) {
    let text = String::from_utf8(place.read("c.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let (names, rows) = rows.split_first().unwrap();
    let fields: Vec<String> = names
        .iter()
        .map(|name| {
            if *name == "returns" {
                format!("required binary {name} (STRING);")
            } else {
                format!("required double {name};")
            }
        })
        .collect();
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {} }}", fields.join(" "))).unwrap());
    let file = File::create(place.path("c.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for at in 0..names.len() {
        let cells = rows.iter().map(|row| row[at]);
        let mut column = group.next_column().unwrap().unwrap();
        if names[at] == "returns" {
            let values: Vec<ByteArray> = cells.map(ByteArray::from).collect();
            column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        } else {
            let values: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
            column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn every_format_gives_the_same_model() {
    let place = customers(200);
    as_parquet(&place);
    let text = String::from_utf8(place.read("c.csv")).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let objects = lines.map(|line| {
        let members: Vec<String> = names
            .iter()
            .zip(line.split(','))
            .map(|(name, cell)| {
                if *name == "returns" {
                    format!("\"{name}\":\"{cell}\"")
                } else {
                    format!("\"{name}\":{cell}")
                }
            })
            .collect();
        format!("{{{}}}\n", members.join(","))
    });
    place.write("c.jsonl", objects.collect::<String>());
    let features = names[..names.len() - 1].join(",");
    let run = format!("{RUN} {BUDGET} --noise-key noise.key --intercept --shuffle 7 --features {features}");
    for ending in ["csv", "parquet", "jsonl"] {
        place.run(&format!("learn c.{ending} {run} --model {ending}.json")).ok();
    }
    assert_eq!(place.read("csv.json"), place.read("parquet.json"));
    assert_eq!(place.read("csv.json"), place.read("jsonl.json"));
    // Columns that are not named are found in the header.
    let unnamed = run.replace(&format!("--features {features}"), "");
    place.run(&format!("learn c.parquet {unnamed} --model all.json")).ok();
    assert_eq!(place.read("all.json"), place.read("csv.json"));
    let from_input = place.run_with_input(&format!("learn - {run} --model - --quiet"), text);
    assert_eq!((from_input.code, from_input.bytes), (Some(0), place.read("csv.json")));
}

#[test]
fn every_loss_set_and_update_trains() {
    let place = customers(200);
    place.write("n.csv", format!("x,y,k\n{}", "0.5,1.5,0\n-0.5,-1.5,1\n0.1,0.2,2\n".repeat(30)));
    for options in [
        "--label y --loss squared --features x --clip 2 --intercept",
        "--label y --loss squared:2 --features x --feature-norm 1 --radius 4 --momentum 0.5",
        "--label k --loss softmax:3 --features x,y --feature-norm 1 --box -3,3 --epochs 4 --restart-every epoch",
        "--label k --loss softmax:3 --features x,y --classes 2,1,0 --learning-rate cosine:0.5 --restart-every 2",
        "--label k --loss softmax:3 --features x,y --lambda 3 --mechanism square-root --neighbours replace",
    ] {
        let line =
            format!("learn n.csv {options} --rho 0.5 --batch-size 9 --holdout 3 --model m.json --force");
        let ran = place.run(&line).ok();
        assert!(ran.stdout.contains("(ρ = 0.5"), "{line}: {}", ran.stdout);
        assert!(ran.stdout.contains("of (ρ = 0.5)-zCDP"), "{line}: {}", ran.stdout);
    }
    let replaced = json(&place.read("m.json"));
    assert_eq!(replaced["privacy"]["unit"], "one row: whether it is itself or any other");
    assert_eq!(replaced["privacy"]["delta"], 1e-6);
    assert_eq!(replaced["training"]["update"], "regularised leader, λ = 3");
    place.run(&format!("learn c.csv {RUN} {BUDGET} --loss hinge --model h.json")).refused(&["--loss"]);
    place.run(&format!("learn c.csv {} {BUDGET} --model h.json", RUN.replace("logistic", "hinge"))).ok();
    assert_eq!(json(&place.read("h.json"))["parameters"]["last"].as_array().unwrap().len(), 1);
}

#[test]
fn public_scales_are_applied_and_kept() {
    let place = Place::new();
    let rows: String =
        (0..80).map(|i| format!("{},{},{}\n", 100 + i % 7, i % 5, if i % 2 == 0 { 1 } else { -1 })).collect();
    place.write("d.csv", format!("height,size,y\n{rows}")).with_key();
    place.write("s.csv", "feature,mean,scale\nsize,2,2\nunused,0,1\nheight,103,3\n");
    let scaled: String = (0..80)
        .map(|i| {
            let (height, size) = ((f64::from(100 + i % 7) - 103.0) / 3.0, (f64::from(i % 5) - 2.0) / 2.0);
            format!("{height},{size},{}\n", if i % 2 == 0 { 1 } else { -1 })
        })
        .collect();
    place.write("scaled.csv", format!("height,size,y\n{scaled}"));
    let run = format!("--label y --loss logistic --noise-key noise.key --batch-size 16 {BUDGET}");
    place.run(&format!("learn d.csv {run} --scale s.csv --model a.json")).ok();
    place.run(&format!("learn scaled.csv {run} --model b.json")).ok();
    let (a, b) = (json(&place.read("a.json")), json(&place.read("b.json")));
    assert_eq!(a["parameters"], b["parameters"]);
    assert_eq!(numbers(&a["preparation"]["means"]), [103.0, 2.0]);
    assert_eq!(numbers(&a["preparation"]["scales"]), [3.0, 2.0]);
    assert_eq!(b["preparation"]["means"], Value::Null);
}

#[test]
fn pictures_show_rows_that_were_held_out() {
    let place = customers(400);
    let run = format!("learn c.csv {RUN} {BUDGET} --model m.json --holdout 4 --force");
    place.run(&format!("{run} --plot m.svg")).ok();
    let svg = String::from_utf8(place.read("m.svg")).unwrap();
    for part in ["Private logistic of returns", "% right", "100 rows that were held out", "does not protect"]
    {
        assert!(svg.contains(part), "{part:?}");
    }
    place.run(&format!("{run} --plot m.png --quiet")).ok();
    assert!(place.read("m.png").starts_with(b"\x89PNG"));
    place
        .run(&format!("learn c.csv {RUN} {BUDGET} --model m.json --plot m.svg --force"))
        .refused(&["--plot needs --holdout N or --test FILE"]);
}

#[test]
fn the_report_has_a_fixed_shape() {
    let place = customers(200);
    let ran = place.run(&format!("learn c.csv {RUN} {BUDGET} --holdout 4 --model m.json --json")).ok();
    assert_eq!(ran.stdout.lines().count(), 1);
    let report = json(&ran.bytes);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&report),
        ["held_out_not_protected", "loss", "model", "parameters", "privacy", "training", "was_finished"]
    );
    let mut of_privacy = keys(&report["privacy"]);
    of_privacy.sort();
    assert_eq!(
        of_privacy,
        [
            "arithmetic",
            "budget",
            "clip",
            "delta",
            "epsilon",
            "last_standard_error",
            "mechanism",
            "neighbours",
            "participation",
            "public",
            "rho",
            "unit"
        ]
    );
    assert_eq!(report["privacy"], json(&place.read("m.json"))["privacy"]);
    assert_eq!(report["training"], json(&place.read("m.json"))["training"]);
    let quiet = format!("learn c.csv {RUN} {BUDGET} --model m.json --force --quiet");
    assert_eq!(place.run(&quiet).ok().stdout, "");
}

#[test]
fn a_budget_file_is_charged_before_anything_is_learned() {
    let place = customers(200);
    place.run("budget new l --epsilon 2.5 --delta 1e-6").ok();
    let run = format!("learn c.csv {RUN} {BUDGET} --budget-file l");
    let ran = place.run(&format!("{run} --model a.json")).ok();
    assert!(ran.stdout.contains("budget file: entry 1 of everyone"), "{}", ran.stdout);
    assert_eq!(json(&place.read("a.json"))["privacy"]["ledger"]["entry"], 1);
    let before = place.read("l");
    let files = place.files();
    place
        .run(&format!("{run} --model b.json --state b.state"))
        .over_budget(&["l: the budget of everyone", "is left of (ε = 2.5"]);
    assert_eq!((place.read("l"), place.files()), (before, files));
    // Data that cannot be used cost nothing.
    place.write("bad.csv", "x,returns\n1,maybe\n");
    place
        .run(&format!("{} --model b.json", run.replace("c.csv", "bad.csv").replace(BUDGET, "--rho 0.01")))
        .refused(&["line 2"]);
    assert_eq!(
        json(&place.run("budget show l --json").ok().bytes)["populations"][0]["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

/// What is not private is asked for by a name that says so, goes nowhere but to the report, and
/// leaves the model as it was.
#[test]
fn regret_is_measured_beside_its_bounds_and_labelled() {
    let place = customers(1000);
    let run = format!("learn c.csv {RUN} {BUDGET} --epochs 2 --holdout 5 --noise-key noise.key");
    let plain = place.run(&format!("{run} --model a.json --state s")).ok().stdout;
    assert!(!plain.to_lowercase().contains("regret") && !plain.contains("NOT PRIVATE"), "{plain}");
    let told = place.run(&format!("{run} --model b.json --regret-not-private")).ok().stdout;
    assert!(told.starts_with(&plain.replace("a.json", "b.json")), "{told}");
    for part in [
        "NOT PRIVATE, and not to be published",
        "average regret",
        "paper's bound, corrected",
        "above the best",
    ] {
        assert!(told.contains(part), "{part:?} is missing from {told}");
    }
    assert_eq!(place.read("a.json"), place.read("b.json"));
    let state = place.read("s");
    // A run that is finished is trained again for it.
    let again =
        place.run(&format!("{run} --model c.json --state s --resume --regret-not-private --json")).ok();
    assert_eq!((place.read("c.json"), place.read("s")), (place.read("a.json"), state));
    let report = json(&again.bytes);
    assert_eq!(report["was_finished"], true);
    let regret = &report["regret_not_private"];
    let figure = |name: &str| regret[name].as_f64().unwrap();
    assert_eq!(regret["examples"], 1600);
    assert!(figure("regret") > 0.0 && figure("regret") <= figure("regret_at_most"), "{regret}");
    assert!(figure("regret_at_most") < figure("exact_bound"), "{regret}");
    assert!(figure("exact_bound_at_best") <= figure("exact_bound"), "{regret}");
    assert!((figure("average_loss") - figure("hindsight_loss") - figure("regret")).abs() < 1e-12);
    assert!(told.contains(&format!("{:.6}", figure("regret"))), "{told}");
    place.run(&format!("{run} --model d.json --regret-not-private --quiet")).refused(&["--quiet"]);
}

#[test]
fn key_files_of_others_are_refused() {
    let place = customers(200);
    place.write("bad.key", "5a");
    only_for_its_owner(&place.path("bad.key"));
    place
        .run(&format!("learn c.csv {RUN} {BUDGET} --noise-key bad.key --model m.json"))
        .refused(&["64 hexadecimal"]);
}

#[test]
fn help_teaches_by_an_example_that_runs() {
    let place = Place::new();
    let help = place.run("learn --help").ok().stdout;
    for part in [
        "What is protected: one row",
        "What is public",
        "NOT protected",
        "Means and scales of the data itself are private",
    ] {
        assert!(help.contains(part), "{part:?} is missing from {help}");
    }
    // The first example of the help, line by line.
    let lines: Vec<&str> = help.lines().skip_while(|line| !line.contains("evertally demo")).collect();
    let commands = lines.iter().take_while(|line| !line.trim().is_empty()).map(|line| line.trim());
    let text = commands.collect::<Vec<_>>().join("\n").replace("\\\n", "");
    let mut ran = 0;
    for command in text.lines() {
        place.run(command.strip_prefix("evertally ").unwrap()).ok();
        ran += 1;
    }
    assert_eq!(ran, 2);
    assert_eq!(place.files(), ["customers.csv", "model.json", "model.svg"]);
    assert!(place.run("demo --help").ok().stdout.contains("evertally learn customers.csv"));
}
