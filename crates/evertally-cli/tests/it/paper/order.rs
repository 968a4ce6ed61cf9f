//! The numbers of the paper's statements, derived as LaTeX counts them, and the report's order.
//!
//! How each number is derived from the paper's source:
//! - Sections: `\section`, `\subsection` and `\subsubsection` count within one another. `\appendix`
//!   starts again with letters. Starred sections do not count.
//! - `lem`, `cor`, `remark`, `fact`, `prop`, `definition` and `theorem` share the counter of `lem`,
//!   which sections do not reset (`\newtheorem{lem}{Lemma}`, `\newtheorem{theorem}[lem]{Theorem}`).
//!   Each `\begin` adds one.
//! - Equations: each row of `align` and each `equation` adds one, except starred environments and
//!   rows with `\nonumber`. `split` and `cases` are part of their row.
//! - Figures (`figure`, `wrapfigure`) and algorithms each count their captions.
//!
//! `SOURCE` is what these counters pass through, in the order of the source. `Equations(n)` stands
//! for n equations in a row.

use super::{claims, report};
use serde_json::Value;

enum Source {
    Section(&'static str, &'static str),
    Statements(&'static str, usize),
    Equations(usize),
    Figure,
    Algorithm,
    /// A statement without a number, which the report names after its place.
    Place(&'static str),
}
use Source::{Algorithm, Equations, Figure, Place, Section, Statements};

const SOURCE: &[Source] = &[
    Section("", "Abstract"),
    Place("Abstract"),
    Section("1", "Introduction"),
    Section("1.1", "Problem Statement and Our Contributions"),
    Equations(2), // the error, and eq:meansquared
    Section("1.1.1", "Main Result"),
    Equations(3),           // eq:gammanorm, eq:meansquarederror, eq:meansquaredgammanorm
    Statements("Lemma", 1), // lem:gammanormlowerboundmain
    Section("1.1.2", "Other Contributions"),
    Statements("Theorem", 1), // thm:counting
    Equations(1),             // eq:mainupperbound, inside it
    Statements("Theorem", 1), // thm:lowerboundgammanorm
    Place("After Theorem 3"),
    Statements("Theorem", 1), // thm:lowerboundadditive
    Equations(1),             // eq:lowerbound, inside it
    Statements("Theorem", 1), // thm:binarymechanismsuboptimal
    Figure,                   // fig:binaryversusourbound
    Statements("Theorem", 1), // thm:privopt
    Equations(1),             // eq:regretmaintheorem, inside it
    Place("After Theorem 6"),
    Statements("Remark", 1),
    Statements("Definition", 1), // parity query
    Equations(1),                // eq:parity, inside it
    Statements("Theorem", 1),    // thm:parity
    Section("1.2", "Our Techniques"),
    Section("1.2.1", "Main Result: Useful Properties of γ_F"),
    Equations(1), // eq:optfactorization
    Figure,       // fig:sdp
    Section("1.2.2", "Other Contributions"),
    Equations(1), // eq:gammanormboud
    Algorithm,    // alg:factorizationmechanism
    Equations(1), // eq:entriesL, inside it
    Place("Section 1.2.2, contribution 3"),
    Section("2", "Notations and Preliminaries"),
    Section("2.1", "Linear Algebra"),
    Statements("Definition", 1), // dual norm
    Statements("Remark", 1),     // rem:singularevals
    Equations(1),                // eq:hatnotation
    Statements("Proposition", 3),
    Statements("Definition", 1), // Schur's complements
    Equations(2),                // eq:Schurblockmatrix, eq:Schurcomplement, inside it
    Statements("Lemma", 1),      // lem:schurcomplement
    Statements("Fact", 1),       // fact:2-normcol
    Equations(3),                // eq:schattennorm, eq:cbnorm, eq:gammanormrelationship
    Statements("Fact", 1),       // fact:tracePSD
    Statements("Theorem", 1),    // thm:matouvsek2020factorization
    Statements("Remark", 1),
    Statements("Theorem", 1), // thm:double_factorial
    Section("2.2", "Convex Optimization"),
    Statements("Definition", 4),
    Statements("Lemma", 1), // lem:mcmahan
    Statements("Fact", 1),  // fact:strongconvexity
    Statements("Definition", 2),
    Algorithm,                // alg:ftrl
    Statements("Theorem", 1), // thm:hazan2019introduction
    Equations(1),             // eq:regrethazan2019introduction, inside it
    Section("2.3", "Differential Privacy"),
    Statements("Definition", 1),
    Statements("Fact", 1), // fact:multivariate
    Equations(1),          // eq:ell_2sensitivity
    Statements("Definition", 1),
    Statements("Theorem", 3), // thm:gaussian, thm:denisovadaptive, thm:factorization
    Section("3", "Semidefinite Program for the γ_F Norm"),
    Equations(4), // eq:sdpAequiv, eq:defPhi, eq:SDPoptsolnconditon, eq:dualgeneral2
    Section("4", "Proof of Lemma 1"),
    Statements("Proposition", 2),
    Equations(2), // eq:appdualchoicematrixvarmain, eq:gammaupperbound
    Section("5", "Proof of the Bounds"),
    Section("5.1", "Proof of Upper Bound on Differentially Private Continual Counting"),
    Equations(1), // eq:f_k
    Place("After Equation (27)"),
    Equations(1),               // eq:colR: the last of three rows
    Equations(1),               // eq:frobL
    Statements("Corollary", 1), // cor:efficient_counting
    Section("5.2", "Proof of Lower Bounds on Continual Counting"),
    Equations(1), // eq:lowerboundtightest
    Place("Proof of Theorem 4"),
    Section("6", "Factorization View of Known Mechanisms and Suboptimality of the Binary Mechanism"),
    Statements("Lemma", 1),
    Section("7", "Non-asymptotic Bound on Private Online Optimization"),
    Equations(1),             // eq:clipping
    Statements("Theorem", 1), // the restatement
    Algorithm,                // alg:dp-ftrl
    Equations(3),             // eq:thetaopt, eq:regretbound, eq:nonprivateterm
    Place("Before Equation (35)"),
    Equations(3), // eq:privateterm, and two without a label
    Section("8", "Lower Bound on Parity Queries"),
    Section("A", "Dual Characterization of the γ_F SDP"),
    Equations(3),           // eq:appprimalgeneral2, eq:lagrange, eq:appdualgeneral2
    Statements("Lemma", 1), // lem:slater
    Equations(1),           // eq:appstrictdualfeasibility, in its proof
    Equations(2),           // eq:dualreformulation1, eq:appdualfinalform
    Section("B", "Useful Properties and Bounds"),
    Equations(1), // eq:primalconstraints
    Section("B.1", "Useful Properties of γ_F"),
    Statements("Fact", 2),      // fact:norm, fact:gammarealmatrix
    Statements("Lemma", 1),     // lem:boundonoptfactorization
    Equations(1),               // eq:blockformprimal, in its proof
    Statements("Corollary", 1), // cor:boundonrealoptfactorization
    Section("B.2", "Useful Bounds on γ_F"),
    Statements("Corollary", 1), // cor:gammanormsamesingularval
    Statements("Lemma", 1),     // lem:diagonalgamma
];

/// Everything that has a number, and the places, as (section, id) in the order of the source.
fn numbered() -> Vec<(&'static str, String)> {
    let (mut statements, mut equations, mut figures, mut algorithms) = (0, 0, 0, 0);
    let mut section = "";
    let mut all = Vec::new();
    for entry in SOURCE {
        match entry {
            Section(number, _) => section = number,
            Statements(kind, count) => {
                for _ in 0..*count {
                    statements += 1;
                    all.push((section, format!("{kind} {statements}")));
                }
            }
            Equations(count) => {
                for _ in 0..*count {
                    equations += 1;
                    all.push((section, format!("Equation ({equations})")));
                }
            }
            Figure => {
                figures += 1;
                all.push((section, format!("Figure {figures}")));
            }
            Algorithm => {
                algorithms += 1;
                all.push((section, format!("Algorithm {algorithms}")));
            }
            Place(place) => all.push((section, (*place).to_owned())),
        }
    }
    assert_eq!((statements, equations, figures, algorithms), (48, 45, 2, 3));
    all
}

/// The report's claims as (section, id).
fn reported(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let sections = report["sections"].as_array().unwrap().iter();
    sections
        .flat_map(|section| {
            let claims = section["claims"].as_array().unwrap().iter();
            claims.map(|claim| (text(&section["number"]), text(&claim["id"])))
        })
        .collect()
}

#[test]
fn claims_stand_in_the_papers_order_under_its_sections() {
    let source = numbered();
    let report = report();
    let mut from = 0;
    for (section, id) in reported(&report) {
        let at = source[from..].iter().position(|(_, known)| *known == id);
        let at = at.unwrap_or_else(|| panic!("{id} is out of order, twice there, or not in the paper"));
        assert_eq!(source[from + at].0, section, "{id}");
        from += at + 1;
    }
}

#[test]
fn everything_with_a_number_is_there_but_equations_inside_or_without_a_claim() {
    let report = report();
    let reported = reported(&report);
    for (_, id) in numbered().iter().filter(|(_, id)| !id.starts_with("Equation")) {
        assert_eq!(reported.iter().filter(|(_, known)| known == id).count(), 1, "{id}");
    }
    assert_eq!(claims(&report).len(), reported.len());
}

#[test]
fn sections_have_the_papers_titles() {
    for section in report()["sections"].as_array().unwrap() {
        let (number, title) = (section["number"].as_str().unwrap(), section["title"].as_str().unwrap());
        let is_known =
            SOURCE.iter().any(|entry| matches!(entry, Section(n, t) if *n == number && *t == title));
        assert!(is_known, "{number} {title}");
    }
}
