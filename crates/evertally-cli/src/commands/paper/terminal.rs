//! The report as plain text, wrapped for a terminal.

use super::Report;
use super::claim::{Claim, Slip};
use super::math::Prose;
use crate::commands::shared::aligned;
use crate::manners::{HEAD, styled, with_head};

const WIDTH: usize = 96;

pub(super) fn render(report: &Report) -> String {
    let mut text = format!("{}\n{}\n\n", report.title, "=".repeat(report.title.chars().count()));
    text.push_str(&wrapped(&report.summary.plain(), 0));
    for section in &report.sections {
        text.push_str(&heading(&section.heading()));
        for claim in &section.claims {
            text.push_str(&one_claim(claim));
        }
    }
    text.push_str(&heading("Slips"));
    for (index, slip) in report.slips.iter().enumerate() {
        text.push_str(&one_slip(index + 1, slip));
    }
    text
}

fn heading(title: &str) -> String {
    format!("\n{}\n{}\n", styled(HEAD, title), "-".repeat(title.chars().count()))
}

fn one_claim(claim: &Claim) -> String {
    let mut text = format!("\n{} · {} — {}\n", claim.id, claim.title, claim.verdict.words());
    text.push_str(&wrapped(&claim.statement.plain(), 2));
    if !claim.finding.is_empty() {
        text.push_str(&wrapped(&format!("→ {}", claim.finding), 2));
    }
    if let Some(table) = &claim.table {
        let line = |cells: &Vec<Prose>| cells.iter().map(Prose::plain).collect::<Vec<_>>();
        let lines: Vec<_> = std::iter::once(&table.head).chain(&table.rows).map(line).collect();
        // A column of words stands at the left.
        let words = 0..usize::from(lines.iter().skip(1).any(|line| line[0].contains(' ')));
        for line in with_head(&aligned(&lines, words), |_| None).lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

fn one_slip(number: usize, slip: &Slip) -> String {
    let mut text = format!("\n{number}. {} ({})\n", slip.title, slip.place);
    text.push_str(&wrapped(&format!("printed: {}", slip.printed), 3));
    text.push_str(&wrapped(&format!("correct: {}", slip.correct), 3));
    text.push_str(&wrapped(&slip.figures.plain(), 3));
    text
}

/// Words on lines of at most [`WIDTH`] characters.
fn wrapped(paragraph: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut text = String::new();
    let mut line = String::new();
    for word in paragraph.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&format!("{margin}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text.push_str(&format!("{margin}{line}\n"));
    text
}
