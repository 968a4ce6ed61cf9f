//! The parts of the report: claims, slips, tables, and the search for "from which n".

use super::super::bounds::certified_mean;
use super::math::Prose;
use crate::error::Result;
use evertally::research::bounds::{Interval, tree_ratio_at_power};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The verdict on a claim after computing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// True as stated, at every computed case.
    Holds,
    /// True from some horizon on, or under a condition that the text omits.
    HoldsPartly,
    /// False as stated.
    Fails,
    /// Its proof fails and supports only a weaker statement. It is not shown to be false.
    Unproven,
    /// Neither true nor false.
    Definition,
}

impl Verdict {
    pub(super) const ALL: [Self; 5] =
        [Self::Holds, Self::HoldsPartly, Self::Fails, Self::Unproven, Self::Definition];

    /// The verdict on an inequality, from the n at which it starts to hold.
    pub(super) fn from_horizon(from: Option<u64>) -> Self {
        match from {
            Some(1) => Self::Holds,
            Some(_) => Self::HoldsPartly,
            None => Self::Fails,
        }
    }

    /// The verdict on a claim that was computed case by case.
    pub(super) fn if_all(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsPartly => "holds in part",
            Self::Fails => "fails as stated",
            Self::Unproven => "not proved as stated",
            Self::Definition => "definition",
        }
    }
}

/// A small table of figures.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Table {
    pub(super) head: Vec<Prose>,
    pub(super) rows: Vec<Vec<Prose>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&cell| cell.into()).collect(), rows: Vec::new() }
    }

    pub(super) fn row(mut self, cells: Vec<String>) -> Self {
        // Small figures such as 2.5e-7 are formulas, so that the page can write powers of ten.
        let is_small = |cell: &str| cell.contains('e') && cell.parse::<f64>().is_ok();
        let cell = |cell: String| if is_small(&cell) { format!("${cell}$") } else { cell };
        self.rows.push(cells.into_iter().map(|text| Prose::from(cell(text))).collect());
        self
    }

    /// Adds a row of figures after a label.
    pub(super) fn figures(self, label: String, figures: &[f64]) -> Self {
        self.row(std::iter::once(label).chain(figures.iter().copied().map(figure)).collect())
    }
}

/// One statement of the paper.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Claim {
    /// Its number in the paper, or its place if it has none.
    pub(super) id: &'static str,
    pub(super) title: Prose,
    /// What it states, in this project's notation.
    pub(super) statement: Prose,
    pub(super) verdict: Verdict,
    /// The verdict in a few sentences, with its figures.
    pub(super) finding: Prose,
    /// The horizon from which it holds. `None` if it never holds, or if the question does not arise.
    pub(super) holds_from: Option<u64>,
    pub(super) table: Option<Table>,
}

impl Claim {
    pub(super) fn new(
        id: &'static str,
        title: &str,
        statement: &str,
        verdict: Verdict,
        finding: impl Into<Prose>,
    ) -> Self {
        Self {
            id,
            title: title.into(),
            statement: statement.into(),
            verdict,
            finding: finding.into(),
            holds_from: None,
            table: None,
        }
    }

    /// A statement that is neither true nor false.
    pub(super) fn definition(id: &'static str, title: &str, statement: &str) -> Self {
        Self::new(id, title, statement, Verdict::Definition, "")
    }

    pub(super) fn from(mut self, horizon: Option<u64>) -> Self {
        self.holds_from = horizon;
        self
    }

    pub(super) fn with(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }
}

/// A place where the paper's text cannot be followed to the letter.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Slip {
    pub(super) title: Prose,
    /// Its place in the paper.
    pub(super) place: &'static str,
    pub(super) printed: Prose,
    pub(super) correct: Prose,
    /// Its effect, in figures.
    pub(super) figures: Prose,
    /// Whether following the text would break privacy or a bound. The others are typing errors.
    pub(super) matters: bool,
}

/// A section of the paper.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Section {
    /// Its number in the paper. The abstract has none.
    pub(super) number: &'static str,
    pub(super) title: Prose,
    pub(super) claims: Vec<Claim>,
}

impl Section {
    pub(super) fn new(number: &'static str, title: &str, claims: Vec<Claim>) -> Self {
        Self { number, title: title.into(), claims }
    }

    /// Its number and title.
    pub(super) fn heading(&self) -> String {
        format!("{} {}", self.number, self.title.plain()).trim_start().to_owned()
    }
}

/// Every horizon to 4096, then powers of two with their neighbours to 2^60.
pub(super) fn scanned() -> impl DoubleEndedIterator<Item = u64> {
    let far = (13..=60).flat_map(|m| {
        let n = 1_u64 << m;
        [n - 1, n, if m < 60 { n + 1 } else { n }]
    });
    (1..=4096).chain(far)
}

/// The least scanned n from which the predicate holds. `None` if it fails at the largest n.
pub(super) fn holds_from(mut predicate: impl FnMut(u64) -> Result<bool>) -> Result<Option<u64>> {
    let mut from = None;
    for n in scanned().rev() {
        if !predicate(n)? {
            break;
        }
        from = Some(n);
    }
    Ok(from)
}

/// How many scanned horizons satisfy the predicate, and how many there are.
pub(super) fn count_of(mut predicate: impl FnMut(u64) -> Result<bool>) -> Result<(usize, usize)> {
    let (mut true_at, mut all) = (0, 0);
    for n in scanned() {
        all += 1;
        true_at += usize::from(predicate(n)?);
    }
    Ok((true_at, all))
}

/// "from n = 7 on", "for every n" or "for no n that was tried".
pub(super) fn from_words(from: Option<u64>) -> String {
    match from {
        Some(1) => "for every $n$ scanned".to_owned(),
        Some(n) => format!("from $n = {n}$ on"),
        None => "for no $n$ that was tried".to_owned(),
    }
}

/// The horizons that tables show.
pub(super) const SAMPLES: [u64; 8] = [1, 6, 7, 64, 1 << 10, 1 << 20, 1 << 40, 1 << 60];

/// A horizon as text.
pub(super) fn horizon(n: u64) -> String {
    if n >= 1024 && n.is_power_of_two() { format!("$2^{}$", n.trailing_zeros()) } else { n.to_string() }
}

/// Five significant digits.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding, so that 0.999999 is written like 1.
    let rounded = format!("{value:.4e}");
    let size: i32 =
        rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default();
    if !(-4..=6).contains(&size) {
        return format!("{value:.3e}");
    }
    format!("{value:.*}", (4 - size).clamp(0, 8) as usize)
}

pub(super) fn yes(holds: bool) -> String {
    if holds { "yes" } else { "no" }.to_owned()
}

/// The optimum γ_F²/n, if a certificate can be computed quickly. Each is computed once.
pub(super) fn certified(n: u64) -> Result<Option<Interval>> {
    const MAX_ORDER: u64 = 256;
    static KNOWN: Mutex<BTreeMap<u64, Interval>> = Mutex::new(BTreeMap::new());
    if n > MAX_ORDER {
        return Ok(None);
    }
    if let Some(known) = KNOWN.lock().ok().and_then(|known| known.get(&n).copied()) {
        return Ok(Some(known));
    }
    let made = certified_mean(n)?;
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(n, made);
    }
    Ok(Some(made))
}

/// The exact errors of the tree divided by those of the square root, at 2^12, 2^20 and 2^60 steps.
pub(super) fn tree_ratios() -> Result<[String; 3]> {
    let ratios = [tree_ratio_at_power(12)?, tree_ratio_at_power(20)?, tree_ratio_at_power(60)?];
    Ok(ratios.map(|ratio| figure(ratio.middle())))
}
