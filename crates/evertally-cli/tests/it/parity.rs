//! `evertally parity`: products of columns summed over rows, against the definition, and bad tables refused.

use crate::common::{Place, rows};

const BUDGET: &str = "--epsilon 1 --delta 1e-6";
/// A budget that hides nothing, so that a sum that is wrong by two is seen through the noise.
const OPEN: &str = "--epsilon 1000 --delta 0.4";

/// The answers by name.
fn answers(csv: &str) -> Vec<(String, f64)> {
    rows(csv).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
}

#[track_caller]
fn assert_answers(csv: &str, expected: &[(&str, f64)]) {
    let answers = answers(csv);
    assert_eq!(answers.len(), expected.len(), "{csv}");
    for ((name, answer), (expected_name, expected)) in answers.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!((answer - expected).abs() < 1.0, "{name}: {answer} is not {expected}");
    }
}

#[test]
fn a_tiny_table_against_the_definition() {
    let place = Place::new();
    // Rows as signs: (+,+,−), (+,−,−), (−,−,−), (+,+,+); once as bits, once as signs, once as both.
    place.write("bits.csv", "a,b,c\n1,1,0\n1,0,0\n0,0,0\n1,1,1\n");
    place.write("signs.csv", "a,b,c\n1,1,-1\n1,-1,-1\n-1,-1,-1\n+1,1,1\n");
    place.write("mixed.csv", "a,b,c\n1,1,0\n1,-1,0\n0,-1,0\n1,1,1.0\n");
    for table in ["bits.csv", "signs.csv", "mixed.csv"] {
        let run = |rest: &str| place.run(&format!("research parity {table} {OPEN} {rest}")).ok().stdout;
        assert_answers(&run("--degree 1"), &[("a", 2.0), ("b", 0.0), ("c", -2.0)]);
        assert_answers(&run("--degree 2"), &[("a*b", 2.0), ("a*c", 0.0), ("b*c", 2.0)]);
        assert_answers(&run("--degree 3"), &[("a*b*c", 0.0)]);
        assert_answers(&run("--degree 2 --columns c,a"), &[("c*a", 0.0)]);
        assert_answers(&run("--degree 1 --neighbours replace"), &[("a", 2.0), ("b", 0.0), ("c", -2.0)]);
    }
    place.write("t.jsonl", "{\"a\":1,\"b\":0}\n{\"a\":-1,\"b\":1}\n");
    assert_answers(
        &place.run(&format!("research parity t.jsonl --columns a,b --degree 2 {OPEN}")).ok().stdout,
        &[("a*b", -2.0)],
    );
}

#[test]
fn columns_of_equal_totals_do_not_get_equal_answers_under_one_key() {
    let place = Place::new();
    place.write("t.csv", "a,b\n1,0\n0,1\n");
    place.with_key();
    let answer = |column: &str| {
        let run =
            format!("research parity t.csv --degree 1 --columns {column} {BUDGET} --noise-key noise.key");
        answers(&place.forget_uses().run(&run).ok().stdout)[0].1
    };
    assert_eq!(answer("a").to_bits(), answer("a").to_bits());
    assert_ne!(answer("a").to_bits(), answer("b").to_bits());
}

#[test]
fn thirty_columns_and_the_bounds() {
    let place = Place::new();
    let names: Vec<String> = (1..=30).map(|i| format!("q{i}")).collect();
    let row = |flip: usize| (0..30).map(|i| if i == flip { "-1" } else { "1" }).collect::<Vec<_>>().join(",");
    place.write("wide.csv", format!("{}\n{}\n{}\n", names.join(","), row(0), row(29)));
    place.run(&format!("research parity wide.csv --degree 2 {BUDGET} --json --output out.json")).ok();
    let whole: serde_json::Value = serde_json::from_slice(&place.read("out.json")).unwrap();
    let header = &whole["header"];
    let number = |name: &str| header[name].as_f64().unwrap();
    assert_eq!(number("queries"), 435.0);
    assert!((number("sensitivity") - 435.0_f64.sqrt()).abs() < 1e-12);
    let sigma = number("noise_multiplier");
    assert!((number("mean_squared_error") / (435.0 * sigma * sigma) - 1.0).abs() < 1e-9);
    assert!(number("least_mean_squared_error") <= number("mean_squared_error"));
    assert!((number("paper_lower_bound") / (435.0 / (2.0_f64.exp() - 1.0).powi(2)) - 1.0).abs() < 1e-12);
    assert!(number("paper_lower_bound") < number("mean_squared_error"));
    assert_eq!(whole["answers"].as_array().unwrap().len(), 435);
}

#[test]
fn bad_tables_are_refused_without_traces() {
    let place = Place::new();
    let wide: Vec<String> = (1..=31).map(|i| format!("q{i}")).collect();
    place.write("t.csv", "a,b\n1,0\n1,2\n").write("text.csv", "a,b\n1,yes\n").write("none.csv", "");
    place.write("missing.csv", "a,b\n1,\n").write("bare.csv", "1,0\n1,1\n").write("ragged.csv", "a,b\n1\n");
    place.write("wide.csv", wide.join(",") + "\n").write("thirty.csv", wide[..30].join(",") + "\n");
    place.write("twice.csv", "a,a\n1,1\n").write("t.jsonl", "{\"a\":1}\n").write("ok.csv", "a,b\n1,0\n");
    let before = place.files();
    let cases: &[(&str, &[&str])] = &[
        ("t.csv --degree 2", &["t.csv, line 3, column \"b\"", "1, 0 or -1"]),
        ("text.csv --degree 1", &["line 2", "column \"b\""]),
        ("missing.csv --degree 1", &["line 2", "column \"b\""]),
        ("none.csv --degree 1", &["none.csv is empty"]),
        ("bare.csv --degree 1", &["no header line"]),
        ("ragged.csv --degree 1", &["line 2"]),
        ("wide.csv --degree 1", &["31 columns", "at most 30"]),
        ("thirty.csv --degree 15", &["155117520"]),
        ("twice.csv --degree 1", &["\"a\" is there twice"]),
        ("ok.csv --degree 0", &["degree"]),
        ("ok.csv --degree 3", &["degree"]),
        ("ok.csv --degree 1 --columns a,z", &["no column \"z\""]),
        ("t.jsonl --degree 1", &["--columns"]),
        ("nothing.csv --degree 1", &["cannot be read"]),
    ];
    for (line, parts) in cases {
        place.run(&format!("research parity {line} {BUDGET} --output out.csv")).refused(parts);
    }
    place.run("research parity ok.csv --degree 1 --epsilon 1 --delta 0").refused(&["pure"]);
    assert_eq!(place.files(), before);
}
