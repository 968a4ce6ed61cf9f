//! The options of `evertally audit`.

use crate::commands::planning::PlanningArgs;
use crate::error::{CliError, Result};
use crate::mechanism;
use crate::output::ForceArgs;
use clap::Args;
use evertally::{Plan, PlanSpec, Shape};
use evertally_audit::{CounterSubject, OpenKeysSubject, Subject};
use std::path::PathBuf;

/// Vectors that are longer take too long to audit.
const MAX_COORDINATES: usize = 100_000;

const EXAMPLES: &str = "\
Examples:
  Does the default mechanism keep its promise on this machine?
    evertally audit

  The plan that you are going to use, with a picture:
    evertally audit --horizon 1344 --epsilon 1 --delta 1e-6 --plot game.svg

  Persons who contribute on four days, a thousand groups, a window:
    evertally audit --horizon 60 --max-steps 4 --min-gap 7
    evertally audit --horizon 32 --group-count 1000
    evertally audit --horizon 60 --window 14

  Groups that are not declared in advance, vectors:
    evertally audit --horizon 32 --group-count 4 --open-groups
    evertally audit --horizon 32 --dim 8

  As many runs as it takes to find noise that is 3 % too small:
    evertally audit --power 3

What is attacked: the mechanism that count would run, thousands of times,
on streams that the audit makes up. No data is read.

  one run      guesses from a single run who is in the stream, after a
               coin toss for each person: bounds ε without assumptions
  error rates  tells two neighbouring streams apart and counts errors:
               no assumptions, but needs many runs
  separation   measures the distance of two streams in standard
               deviations: sharp for Gaussian noise
  replay       runs neighbours under one key: the noise must stay the
               same, and must cover the difference
  covariance   size, shape and correlations of the noise, over time,
               between runs and between groups
  low bits     digits that are possible on one of two streams only
  timing       does a step take longer for one value than for another?
  admission    adds and removes events of one person or one id: do the
               totals change by more than the plan hides?

The audit computes by itself what ε and δ allow. It does not rely on the
plan's own figures.

How hard it looks: the report says which fault it finds, such as \"noise
7.5 % short is found with probability 0.99\". Noise that is 7.5 % short has
92.5 % of the declared standard deviation. To find a tenth of a shortage
takes a hundred times the runs. --power 3 chooses the number of runs that
finds noise 3 % short.

How to read it: \"ε at least\" is what an attack proved; \"allowed\" is what
the promise permits. A mechanism that keeps its promise fails by chance
with probability --false-alarm at most, over all attacks together. An
audit that passes is no proof: it found none of the faults that it can
find.

Exit codes: 0 passed, 1 an attack succeeded, 2 the options cannot be used.";

/// Attack a mechanism as it runs, and report whether it keeps its promise
#[derive(Debug, Args)]
#[command(
    after_long_help = EXAMPLES,
    allow_negative_numbers = true,
    mut_arg("horizon", |horizon| horizon.required(false).default_value("64")),
    mut_arg("epsilon", |epsilon| epsilon.required(false).default_value("1")),
    mut_arg("delta", |delta| delta.required(false).default_value("1e-6")),
)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(super) planning: PlanningArgs,
    /// Do not declare the groups in advance: each is released on its own as it appears
    #[arg(long, alias = "open-keys", requires = "group_count")]
    pub(super) open_groups: bool,
    /// The number of runs on each of two neighbouring streams [default: 2000, fewer if runs are long]
    #[arg(long, value_name = "N", help_heading = "How hard to look")]
    pub(super) runs: Option<usize>,
    /// Choose the number of runs that finds noise whose standard deviation is P percent short, with
    /// probability 0.99
    #[arg(long, value_name = "P", conflicts_with = "runs", help_heading = "How hard to look")]
    pub(super) power: Option<f64>,
    /// The most steps per run. Of a longer horizon, only the beginning is audited
    #[arg(long, value_name = "L", default_value_t = 256, help_heading = "How hard to look")]
    pub(super) length: u64,
    /// The probability with which a mechanism that keeps its promise may fail
    #[arg(long, value_name = "P", default_value_t = 1e-4, help_heading = "How hard to look")]
    pub(super) false_alarm: f64,
    /// Round float releases to multiples of this power of two, as count --round does to integers.
    /// 0 does not round. Exact releases lie on the plan's own grid [default: 1, or finer if there
    /// is little noise]
    #[arg(long, alias = "round", value_name = "GRID", help_heading = "How hard to look")]
    round_to: Option<f64>,
    /// Derive keys and coin tosses from this number, so that everything except timing can be
    /// repeated bit for bit [default: fresh randomness from the operating system]
    #[arg(long, value_name = "S", help_heading = "How hard to look")]
    pub(super) seed: Option<u64>,
    /// Do not measure the timing of steps
    #[arg(long, help_heading = "How hard to look")]
    pub(super) no_timing: bool,
    /// Print the findings as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Draw how well two neighbouring streams can be told apart into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) force: ForceArgs,
}

impl AuditArgs {
    /// The plan that is asked for.
    pub(super) fn plan(&self) -> Result<Plan> {
        if let Some(dim) = self.planning.dim.filter(|dim| !(1..=MAX_COORDINATES).contains(dim)) {
            return Err(CliError::bad(format!("--dim: expected from 1 to {MAX_COORDINATES}, got {dim}")));
        }
        let spec = self.planning.spec()?;
        mechanism::plan(&if self.open_groups { PlanSpec { shape: Shape::OpenKeys, ..spec } } else { spec })
    }

    /// What is audited: the counter of the plan, with float releases rounded.
    pub(super) fn subject(&self, plan: Plan, rounded_to: f64) -> Result<Box<dyn Subject>> {
        let refuse = |error| refusal(error, rounded_to);
        Ok(match plan.shape() {
            Shape::OpenKeys => {
                let names = self.planning.group_names()?;
                Box::new(OpenKeysSubject::new(plan, names)?.rounded_to(rounded_to).map_err(refuse)?)
            }
            _ => Box::new(CounterSubject::new(plan)?.rounded_to(rounded_to).map_err(refuse)?),
        })
    }

    /// The grid to round releases to. By default exact releases keep their own grid, and float ones
    /// are rounded to integers, or to a quarter of the noise if that is finer.
    pub(super) fn grid_of(&self, plan: &Plan) -> f64 {
        let finest = (0.25 * plan.noise_scale()).log2().floor().exp2().min(1.0);
        self.round_to.unwrap_or(if plan.grid().is_some() { 0.0 } else { finest })
    }

    /// The number of runs: the one asked for, or as many as take a few seconds.
    pub(super) fn runs_of(&self, length: u64, lanes: usize) -> usize {
        const DEFAULT_RUNS: usize = 2_000;
        const MIN_RUNS: usize = 200;
        const MAX_NUMBERS: u64 = 1 << 25;
        let fit = MAX_NUMBERS / length.saturating_mul(lanes as u64).max(1);
        self.runs.unwrap_or((fit as usize).clamp(MIN_RUNS, DEFAULT_RUNS))
    }
}

/// An error about the audit's own parameters, in the words of the command line. If nothing was
/// rounded, the grid is that of the plan.
pub(super) fn refusal(error: evertally::Error, rounded_to: f64) -> CliError {
    let evertally::Error::BadParameter { name, expected, got } = &error else { return error.into() };
    let option = match *name {
        "grid" if rounded_to == 0.0 => "--grid",
        "grid" => "--round-to",
        "runs" => "--runs",
        "power" => "--power",
        "length" => "--length",
        "false_alarm" => "--false-alarm",
        _ => return error.into(),
    };
    CliError::bad(format!("{option}: expected {expected}, got {got}"))
}
