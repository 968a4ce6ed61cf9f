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
    ///
    /// It bounds what the releases reveal about one protected event or person: they change the odds
    /// of any guess by at most a factor of e^ε. 0.1 is strict, 1 is a common choice, and above 10
    /// hardly anything is promised. Half the ε means about twice the error.
    #[arg(long, value_name = "E")]
    epsilon: f64,
    /// The probability δ with which the guarantee may fail. 0 asks for pure ε
    ///
    /// Choose it far below 1 divided by the number of people in the data: 1e-6 suits up to
    /// about a hundred thousand. 0 asks for pure ε, which takes Laplace noise and is less accurate.
    #[arg(long, value_name = "D")]
    delta: f64,
    /// How the size of the noise is computed from ε and δ
    ///
    /// exact uses the least Gaussian noise that is private, and is the right choice unless you must
    /// match another system. zcdp goes through zero-concentrated differential privacy, as many other
    /// libraries do: the same promise with a little more noise. paper is the closed formula of the
    /// paper behind this program, for ε below 1: the same promise with much more noise. evertally
    /// plan shows the error of each.
    #[arg(long, value_name = "NAME", default_value = "exact", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]))]
    calibration: Calibration,
    /// How two streams that must look alike may differ: one event is added or removed, or replaced
    ///
    /// add-remove protects whether an event is there at all. replace protects what an event says, if
    /// everybody knows that there is one: an event that moves changes two places, so it takes more
    /// noise. Budgets of the two kinds are not comparable.
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]))]
    pub(crate) neighbours: Neighbours,
}

impl PrivacyArgs {
    pub(crate) fn budget(&self) -> Result<Budget> {
        self.budget_spec().budget().map_err(refusal)
    }

    /// The budget as it was given. The default calibration is left open.
    pub(crate) fn budget_spec(&self) -> BudgetSpec {
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
        grid: numbers.grid(),
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
    ///
    /// With hourly steps, 24 releases the events of the last day, at every hour.
    #[arg(long, value_name = "W", conflicts_with = "decay")]
    window: Option<u64>,
    /// Multiply the weight of every earlier step by this factor per step, between 0 and 1
    ///
    /// With 0.9, an event counts 1 in its own step, 0.9 in the next one, 0.81 in the one after, and
    /// so on. The released numbers follow the recent past.
    #[arg(long, value_name = "FACTOR")]
    decay: Option<f64>,
    /// The mechanism, such as square-root, binary or banded-square-root:64 [default: the most
    /// accurate one that fits]
    ///
    /// A mechanism is a way to share noise between steps, so that a total of very many steps has
    /// little of it. All keep the same promise and differ in error, memory and speed. Leave it out
    /// unless you compare them: evertally plan lists every mechanism with its error.
    #[arg(long, value_name = "NAME")]
    mechanism: Option<String>,
    /// The error to minimise: mean over all steps, or worst step [default: mean; with --report, the
    /// weighted error of the report]
    ///
    /// mean makes the squared error small on average, which is best for charts and tables. worst
    /// makes the largest error of any one step small, which is best if the same bound must hold at
    /// every step, as for an alarm. The mean then gets a little worse. With --horizon unbounded, both
    /// keep every step close to the least that is possible if the stream ended there; anytime keeps the
    /// mean over all steps so far closer to it, whenever one stops.
    #[arg(long, value_name = "ERROR")]
    objective: Option<Objective>,
    /// The most memory to use, such as 512M or 4G
    ///
    /// Mechanisms that need more are not chosen. A count that needs more for its totals is refused.
    /// Events of persons and ids that exceed it go to a temporary file.
    #[arg(long, alias = "memory", value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
}

/// The arithmetic of releases.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is released")]
pub(crate) struct NumberArgs {
    /// exact draws noise in integers, float in double precision [default: exact if the mechanism
    /// supports it]
    ///
    /// Sums and noise in floating point are rounded, and the rounding depends on the data: its last
    /// digits can give away what the noise hides. exact computes in integers throughout, and the
    /// proof of privacy is about these integers. Use float only to compare.
    #[arg(long, value_name = "NUMBERS", value_parser = named::<Arithmetic>(["exact", "float"]))]
    arithmetic: Option<Arithmetic>,
    /// The step between two possible released numbers [default: 1, or the power of two below it that
    /// adds at most 0.01 % to the squared error]
    ///
    /// Exact releases are multiples of this number, so that no further digit can reveal anything. By
    /// default the step follows from the noise: 1 if the noise is large, and 1/2, 1/4 and so on if it
    /// is small, but never more than the largest contribution. For amounts of money, 0.01 shows cents.
    /// The step must not be computed from the data. It does not change the promise, and standard
    /// errors include it.
    #[arg(long, value_name = "STEP")]
    grid: Option<f64>,
    /// Release whole numbers, as --grid 1 does
    ///
    /// Rounding then adds 1/12 to the variance of each total, which standard errors and intervals
    /// include. That is little unless the noise is about as small as one event.
    #[arg(long, conflicts_with = "grid")]
    whole: bool,
}

impl NumberArgs {
    /// The grid, if one was asked for.
    fn grid(&self) -> Option<f64> {
        self.grid.or_else(|| self.whole.then_some(1.0))
    }
}

impl WorkloadArgs {
    /// The choices that these options make.
    pub(crate) fn plan_spec(&self, horizon: Horizon, budget: BudgetSpec) -> Result<PlanSpec> {
        let mechanism = self.mechanism.as_deref().map(str::parse::<Mechanism>).transpose()?;
        Ok(PlanSpec {
            workload: self.workload(),
            mechanism,
            objective: self.objective.unwrap_or_default(),
            memory_limit: self.memory_limit,
            ..PlanSpec::new(horizon, budget)
        })
    }

    /// The objective, if one was asked for.
    pub(crate) fn objective(&self) -> Option<Objective> {
        self.objective
    }

    pub(crate) fn workload(&self) -> Workload {
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

/// The changes of a person who comes and goes. Who comes can leave, so their number is even.
pub(crate) fn in_turn(max_flips: u64) -> Result<Participation> {
    if max_flips == 0 || max_flips % 2 == 1 {
        return Err(CliError::bad(format!(
            "--max-flips must be an even number of at least 2, because who comes can leave, got {max_flips}"
        )));
    }
    Ok(Participation::in_turn(max_flips)?)
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
    let is_unit = |text: &str| text.ends_with(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't']);
    let text = text.strip_suffix(['B', 'b']).filter(|text| is_unit(text)).unwrap_or(text);
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
        assert_eq!(parse_bytes("2GB"), Ok(2 << 30));
        for text in ["", "M", "B", "MB", "4B", "0", "-1", "1.5G", "99999999999T", "4 G"] {
            assert!(parse_bytes(text).is_err(), "{text:?} was taken");
        }
    }
}
