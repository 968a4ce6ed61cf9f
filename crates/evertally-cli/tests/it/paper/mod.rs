//! `paper`: the report on every claim, as text, JSON, a page, and the figure's files.

mod counterexamples;
mod order;
mod page;

use crate::common::Place;
use serde_json::Value;
use std::sync::OnceLock;

/// The report as JSON. It is computed once.
fn report() -> Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    let make = || serde_json::from_str(&Place::new().run("research paper --json").ok().stdout).unwrap();
    REPORT.get_or_init(make).clone()
}

fn claims(report: &Value) -> Vec<&Value> {
    report["sections"].as_array().unwrap().iter().flat_map(|s| s["claims"].as_array().unwrap()).collect()
}

fn find(report: &Value, id: &str) -> Value {
    claims(report).into_iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("no {id}")).clone()
}

#[test]
fn verdicts_are_those_that_the_figures_give() {
    let report = report();
    let find = |id: &str| find(&report, id);
    assert_eq!(find("Theorem 2")["holds_from"], 7);
    assert_eq!(find("Theorem 3")["holds_from"], 1);
    assert_eq!(find("Theorem 5")["holds_from"], 1);
    assert_eq!(find("Equation (29)")["holds_from"], 2);
    assert_eq!(find("Corollary 39")["holds_from"], 1);
    assert_eq!(find("Figure 1")["holds_from"], 1 << 18);
    assert_eq!(find("Equation (28)")["verdict"], "fails");
    assert_eq!(find("Theorem 6")["verdict"], "unproven");
    assert_eq!(find("Remark 7")["verdict"], "fails");
    assert_eq!(find("Theorem 41")["verdict"], "fails");
    // Where there are steps enough for the push, the algorithm has more regret than is printed, and
    // less than is proved.
    for row in find("Theorem 6")["table"]["rows"].as_array().unwrap() {
        let cell = |at: usize| row[at].as_str().unwrap().parse::<f64>().unwrap();
        let is_long_enough = row[0] == "2^20" || row[1] != "10000";
        assert_eq!(cell(2) <= cell(3), is_long_enough, "{row}");
        assert!(cell(3) < cell(4), "{row}");
    }
    assert_eq!(find("Theorem 19")["verdict"], "holds");
    assert_eq!(find("Theorem 34")["verdict"], "holds");
    let gap = find("After Theorem 3");
    let finding = gap["finding"].as_str().unwrap();
    assert!(finding.contains("2^36") && finding.contains("13.629"), "{finding}");
}

#[test]
fn every_claim_has_a_verdict_and_whole_tables() {
    let report = report();
    for claim in claims(&report) {
        let verdict = claim["verdict"].as_str().unwrap();
        assert!(["holds", "holds-partly", "fails", "unproven", "definition"].contains(&verdict), "{claim}");
        assert!(!claim["statement"].as_str().unwrap().is_empty(), "{claim}");
        // Whatever is more than a definition says why.
        assert!(verdict == "definition" || !claim["finding"].as_str().unwrap().is_empty(), "{claim}");
        if let Some(table) = claim["table"].as_object() {
            let width = table["head"].as_array().unwrap().len();
            let rows = table["rows"].as_array().unwrap();
            assert!(!rows.is_empty() && rows.iter().all(|row| row.as_array().unwrap().len() == width));
        }
    }
    assert!(report["slips"].as_array().unwrap().len() >= 20);
    for slip in report["slips"].as_array().unwrap() {
        // Each shows a figure.
        assert!(slip["figures"].as_str().unwrap().contains(|c: char| c.is_ascii_digit()), "{slip}");
    }
    let text = report.to_string();
    for unwanted in ["ot computed", "NaN", "\"inf", "Cited."] {
        assert!(!text.contains(unwanted), "{unwanted}");
    }
}

/// Formulas that cannot be read would leave their marks in the text.
#[test]
fn text_holds_no_marks_of_formulas() {
    let report = report();
    let mut texts = Vec::new();
    collect(&report, &mut texts);
    assert!(texts.len() > 500);
    for text in texts {
        let unmatched = |open: char, close: char| text.matches(open).count() != text.matches(close).count();
        assert!(!text.contains(['$', '\\']) && !text.contains("  "), "{text}");
        assert!(!["frac", "sqrt", "pmatrix", "quad"].iter().any(|word| text.contains(word)), "{text}");
        assert!(!unmatched('(', ')') && !unmatched('{', '}') && !unmatched('⟨', '⟩'), "{text}");
    }
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(values) => values.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

#[test]
fn the_text_fits_a_terminal() {
    let text = Place::new().run("research paper").ok().stdout;
    assert!(
        text.contains("Theorem 2 · ")
            && text.contains("\n5.1 Proof of Upper Bound")
            && text.contains("Slips")
    );
    // Paragraphs wrap; tables may be wider.
    assert!(
        text.lines().filter(|line| !line.starts_with("    ")).all(|line| line.chars().count() <= 110),
        "{text}"
    );
}

#[test]
fn help_says_where_the_rest_is_and_what_json_holds() {
    let place = Place::new();
    let help = place.run("research paper --help").ok().stdout;
    assert!(help.contains("evertally research paper --html"));
    let report = report();
    let claim = claims(&report)[0];
    for object in [&report, &report["sections"][0], claim, &claim["table"], &report["slips"][0]] {
        for key in object.as_object().unwrap().keys() {
            assert!(help.contains(key), "{key}");
        }
    }
    assert!(place.run("research bounds --help").ok().stdout.contains("evertally research bounds --horizon"));
}

#[test]
fn bad_outputs_are_refused_in_one_sentence() {
    let place = Place::new();
    place.run("research paper --html a.pdf").refused(&["--html", ".html or .htm"]);
    place.run("research paper --json --html -").refused(&["--html -", "--json", "standard output"]);
    place.write("there.html", "mine");
    place.run("research paper --html there.html").refused(&["there.html", "--force"]);
    assert_eq!(place.read("there.html"), b"mine");
}
