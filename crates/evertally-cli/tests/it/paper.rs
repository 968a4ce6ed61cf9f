//! `paper`: the report on every claim, as text, JSON, a page, and the figure's files.

use crate::common::{Place, column};
use serde_json::Value;

fn report() -> Value {
    serde_json::from_str(&Place::new().run("research paper --json").ok().stdout).unwrap()
}

fn claims(report: &Value) -> Vec<&Value> {
    report["sections"].as_array().unwrap().iter().flat_map(|s| s["claims"].as_array().unwrap()).collect()
}

#[test]
fn every_numbered_statement_is_there_once() {
    let report = report();
    let ids: Vec<&str> = claims(&report).iter().map(|claim| claim["id"].as_str().unwrap()).collect();
    // The paper numbers lemmas, theorems, definitions and the rest in one sequence from 1 to 48,
    // except the algorithms and figures.
    for number in 1..=48 {
        let ending = format!(" {number}");
        let kinds = ["Lemma", "Theorem", "Corollary", "Definition", "Proposition", "Fact", "Remark"];
        let found =
            ids.iter().filter(|id| id.strip_suffix(&ending).is_some_and(|kind| kinds.contains(&kind)));
        assert_eq!(found.count(), 1, "statement {number}");
    }
    for id in ["Algorithm 1", "Algorithm 2", "Algorithm 3", "Figure 1", "Figure 2"] {
        assert_eq!(ids.iter().filter(|known| **known == id).count(), 1, "{id}");
    }
}

#[test]
fn verdicts_are_those_that_the_figures_give() {
    let report = report();
    let find = |id: &str| claims(&report).into_iter().find(|claim| claim["id"] == id).unwrap().clone();
    assert_eq!(find("Theorem 2")["holds_from"], 7);
    assert_eq!(find("Theorem 3")["holds_from"], 1);
    assert_eq!(find("Theorem 5")["holds_from"], 1);
    assert_eq!(find("Equation frobL")["holds_from"], 2);
    assert_eq!(find("Corollary 39")["holds_from"], 1);
    assert_eq!(find("Figure 1")["holds_from"], 1 << 18);
    assert_eq!(find("Equation colR")["verdict"], "fails");
    assert_eq!(find("Theorem 6")["verdict"], "unproven");
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
    assert!(report["slips"].as_array().unwrap().len() >= 9);
    for claim in claims(&report) {
        if let Some(table) = claim["table"].as_object() {
            let width = table["head"].as_array().unwrap().len();
            assert!(
                table["rows"].as_array().unwrap().iter().all(|row| row.as_array().unwrap().len() == width)
            );
        }
        let text = claim.to_string();
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
    }
}

#[test]
fn the_page_needs_nothing_beside_it() {
    let place = Place::new();
    assert_eq!(place.run("research paper --html paper.html --figure figures").ok().stdout, "");
    let page = String::from_utf8(place.read("paper.html")).unwrap();
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "<script", "<link", "@import", "url(", "src="] {
        assert!(!without_namespace.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg").count(), 2);
    for tag in ["article", "section", "table", "figure", "main"] {
        assert_eq!(
            page.matches(&format!("<{tag}")).count(),
            page.matches(&format!("</{tag}>")).count(),
            "{tag}"
        );
    }
    let csv = String::from_utf8(std::fs::read(place.path("figures").join("figure-1.csv")).unwrap()).unwrap();
    assert_eq!(column(&csv, "n").len(), 3 * 40);
    let numbers =
        |name: &str| column(&csv, name).iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>();
    for (lower, root) in numbers("exact_lower").iter().zip(numbers("exact_square_root")) {
        assert!(*lower <= root && root.is_finite());
    }
    for name in ["figure-1-paper.svg", "figure-1-exact.svg"] {
        let svg = std::fs::read_to_string(place.path("figures").join(name)).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>") && !svg.contains("NaN"));
    }
}

#[test]
fn the_text_fits_a_terminal() {
    let text = Place::new().run("research paper").ok().stdout;
    assert!(text.contains("Theorem 2 · ") && text.contains("Slips"));
    // Paragraphs wrap; tables may be wider.
    assert!(
        text.lines().filter(|line| !line.starts_with("    ")).all(|line| line.chars().count() <= 110),
        "{text}"
    );
}

#[test]
fn help_says_where_the_rest_is() {
    let place = Place::new();
    assert!(place.run("research paper --help").ok().stdout.contains("evertally research paper --html"));
    assert!(place.run("research bounds --help").ok().stdout.contains("evertally research bounds --horizon"));
}
