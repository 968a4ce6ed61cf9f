//! Options that several commands have in common.

use crate::error::{CliError, Result};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use evertally::{
    Arithmetic, Budget, BudgetSpec, Calibration, Horizon, Mechanism, Neighbours, Objective, Participation,
    PlanSpec, Workload,
};
use std::ops::Range;
use std::str::FromStr;

#[derive(Debug, Args)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct PrivacyArgs {
    /// The privacy budget ε: smaller is more private and noisier
    #[arg(long, value_name = "E")]
    epsilon: f64,
    /// The probability δ with which the guarantee may fail. 0 asks for pure ε
    #[arg(long, value_name = "D")]
    delta: f64,
    /// How σ is computed from (ε, δ): exact is the tightest, paper is the published closed form
    #[arg(long, value_name = "NAME", default_value = "exact", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]))]
    calibration: Calibration,
    /// How two streams that must look alike may differ: one event is added or removed, or replaced
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]))]
    pub(crate) neighbours: Neighbours,
}

impl PrivacyArgs {
    pub(crate) fn budget(&self) -> Result<Budget> {
        self.budget_spec().budget().map_err(refusal)
    }

    /// The budget as it was given. The default calibration is left open.
    fn budget_spec(&self) -> BudgetSpec {
        BudgetSpec {
            epsilon: Some(self.epsilon),
            delta: Some(self.delta),
            calibration: Some(self.calibration).filter(|calibration| *calibration != Calibration::Exact),
            ..BudgetSpec::default()
        }
    }
}

/// The options of every plan of counts, as choices of a plan. The budget is checked here, because
/// budget files are read before there is a plan.
pub(crate) fn plan_spec(
    horizon: Horizon,
    privacy: &PrivacyArgs,
    workload: &WorkloadArgs,
    numbers: &NumberArgs,
    participation: Option<Participation>,
) -> Result<PlanSpec> {
    let spec = PlanSpec {
        neighbours: privacy.neighbours,
        participation: participation.unwrap_or_default(),
        arithmetic: numbers.arithmetic,
        grid: numbers.grid,
        ..workload.plan_spec(horizon, privacy.budget_spec())?
    };
    privacy.budget()?;
    Ok(spec)
}

/// The error for a refused budget, with the names of the options.
pub(crate) fn refusal(error: evertally::Error) -> CliError {
    match error {
        evertally::Error::BadParameter { name: name @ ("calibration" | "sigma"), expected, got } => {
            CliError::bad(format!("--{name} must be {expected}, got {got}"))
        }
        other => other.into(),
    }
}

/// Parses one of the library's types by its name. The help lists the names.
pub(super) fn named<T>(names: impl Into<PossibleValuesParser>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = evertally::Error> + Clone + Send + Sync + 'static,
{
    names.into().try_map(|name| name.parse::<T>())
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is released")]
pub(crate) struct WorkloadArgs {
    /// Release the sum of the last W steps instead of everything so far
    #[arg(long, value_name = "W", conflicts_with = "decay")]
    window: Option<u64>,
    /// Multiply the weight of every earlier step by this factor per step, between 0 and 1
    #[arg(long, value_name = "FACTOR")]
    decay: Option<f64>,
    /// The mechanism, such as square-root, binary or banded-square-root:64 [default: the most
    /// accurate one that fits]
    #[arg(long, value_name = "NAME")]
    mechanism: Option<String>,
    /// The error to minimise: mean over all steps, or worst step
    #[arg(long, value_name = "ERROR", default_value = "mean")]
    objective: Objective,
    /// The most memory to use, such as 512M or 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
}

/// The arithmetic of releases.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is released")]
pub(crate) struct NumberArgs {
    /// exact draws noise in integers, which is proved and safe from attacks on rounding. float
    /// draws it in double precision [default: exact if the mechanism supports it]
    #[arg(long, value_name = "NUMBERS", value_parser = named::<Arithmetic>(["exact", "float"]))]
    arithmetic: Option<Arithmetic>,
    /// The public grid that exact releases lie on [default: 1, or a power of ten below the largest
    /// contribution]
    #[arg(long, value_name = "STEP")]
    grid: Option<f64>,
}

impl WorkloadArgs {
    /// The choices that these options make.
    pub(crate) fn plan_spec(&self, horizon: Horizon, budget: BudgetSpec) -> Result<PlanSpec> {
        let mechanism = self.mechanism.as_deref().map(str::parse::<Mechanism>).transpose()?;
        Ok(PlanSpec {
            workload: self.workload(),
            mechanism,
            objective: self.objective,
            memory_limit: self.memory_limit,
            ..PlanSpec::new(horizon, budget)
        })
    }

    fn workload(&self) -> Workload {
        match (self.window, self.decay) {
            (Some(width), _) => Workload::SlidingWindow { width },
            (None, Some(factor)) => Workload::Decay { factor },
            (None, None) => Workload::PrefixSum,
        }
    }
}

/// A bound on one person's steps: `--max-steps` and `--min-gap` together.
pub(crate) fn participation(max_steps: Option<u64>, min_gap: Option<u64>) -> Result<Option<Participation>> {
    match (max_steps, min_gap) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(CliError::bad("--min-gap needs --max-steps: a gap alone bounds nothing")),
        (Some(0), _) => Err(CliError::bad("--max-steps: expected at least 1, got 0")),
        (_, Some(0)) => Err(CliError::bad("--min-gap: expected at least 1, got 0")),
        (Some(steps), gap) => Ok(Some(Participation::at_most(steps, gap.unwrap_or(1))?)),
    }
}

/// δ as text.
pub(crate) fn delta_in_words(delta: f64) -> String {
    if delta == 0.0 || delta >= 0.001 { delta.to_string() } else { format!("{delta:e}") }
}

/// Columns of equal width. Those of words are aligned left, those of numbers right.
pub(crate) fn aligned<Row: AsRef<[String]>>(rows: &[Row], words: Range<usize>) -> String {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(row.as_ref().len(), 0);
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.as_ref().iter().zip(&widths).enumerate() {
            let is_word = words.contains(&column);
            line.push_str(&if is_word { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A number of bytes in a suitable unit.
pub(crate) fn bytes_in_words(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{amount:.1} {}", UNITS[unit]) }
}

/// A number of bytes, with K, M, G or T for powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> std::result::Result<u64, String> {
    let refuse = || "expected a number of bytes such as 1048576, 512M or 4G".to_owned();
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| refuse())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_suffixes() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("512M"), Ok(512 << 20));
        assert_eq!(parse_bytes("4g"), Ok(4 << 30));
        for text in ["", "M", "0", "-1", "1.5G", "99999999999T", "4 G"] {
            assert!(parse_bytes(text).is_err(), "{text:?} was taken");
        }
    }
}
