//! What the user may write after `evertally audit`.

use crate::commands::shared::{NumberArgs, PrivacyArgs, WorkloadArgs, participation};
use crate::error::{CliError, Result};
use crate::mechanism::{Horizon, Request};
use crate::progress::with_progress;
use clap::Args;
use evertally::Lanes;
use evertally::Plan;
use evertally::post::PostProcess;
use evertally_audit::{CounterSubject, OpenKeysSubject, Subject, VectorSubject};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Does the default mechanism keep its promise on this machine?
    evertally audit

  The plan that is going to be used, with a picture of the game:
    evertally audit --horizon 1344 --epsilon 1 --delta 1e-6 --plot game.svg

  Persons who come on four days, a thousand keys, a window:
    evertally audit --horizon 60 --max-steps 4 --min-gap 7
    evertally audit --horizon 32 --group-count 1000
    evertally audit --horizon 60 --window 14

  Keys that nobody declares, vectors:
    evertally audit --horizon 32 --group-count 4 --open-groups
    evertally audit --horizon 32 --dim 8

  As many runs as find noise that is 3 % short:
    evertally audit --power 3

What is attacked: the mechanism that count would run, thousands of times,
on streams that the audit makes up. No data is read.

  one run      people in the stream or not, by a coin each, guessed from
               a single run: a bound on ε that assumes nothing
  error rates  two neighbouring streams told apart, errors counted:
               assumes nothing, needs many runs
  separation   standard deviations between the two streams, against what
               ε and δ allow: sharp for Gaussian noise
  replay       neighbours under one key: noise must stay still, and the
               distance must be one that the noise covers
  covariance   size, shape and correlations of the noise, in time, from
               run to run and from key to key
  low bits     digits that are possible on one stream only
  timing       does a step take longer for one value than for another?
  admission    events of one person or one id, added and removed: do the
               totals move by more than the plan hides?

The plan's own figures are not believed: what ε and δ allow is computed by
the audit itself.

How hard it looks: the report says which noise it finds, such as \"noise
7.5 % short is found with probability 0.99\". Short by 7.5 % means that the
standard deviation of the noise is 92.5 % of what the plan declares. More
runs find less: a tenth of the shortage takes a hundred times the runs.
--power 3 picks as many as find 3 %.

How to read it: \"ε at least\" is what an attack proved, \"allowed\" what the
promise permits. A mechanism that keeps its promise fails by chance as often
as --false-alarm says, all attacks together. An audit that passes found
none of the faults that it can find: it is no proof.

Exit codes: 0 passed, 1 an attack succeeded, 2 the options cannot be used.";

/// Attack the mechanism as it runs, bound ε from below, and pass or fail it
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    allow_negative_numbers = true,
    mut_arg("epsilon", |epsilon| epsilon.required(false).default_value("1")),
    mut_arg("delta", |delta| delta.required(false).default_value("1e-6")),
)]
pub(crate) struct AuditArgs {
    /// The number of steps, or unbounded for a stream with no known end
    #[arg(long, alias = "steps", value_name = "N|unbounded", default_value = "64")]
    pub(super) horizon: Horizon,
    /// Audit a counter of this many groups instead of one total
    #[arg(long, alias = "keys", value_name = "K")]
    pub(super) group_count: Option<usize>,
    /// Do not declare the groups in advance: each is released on its own as it appears
    #[arg(long, alias = "open-keys", requires = "group_count")]
    pub(super) open_groups: bool,
    /// Audit a counter of vectors with this many coordinates and Euclidean norm at most 1
    #[arg(long, value_name = "D", conflicts_with = "group_count")]
    pub(super) dim: Option<usize>,
    #[command(flatten)]
    privacy: PrivacyArgs,
    /// The most steps that one person may count in
    #[arg(long, value_name = "K", help_heading = "Privacy")]
    max_steps: Option<u64>,
    /// The fewest steps between two in which one person counts [default: 1]
    #[arg(long, value_name = "B", help_heading = "Privacy")]
    min_gap: Option<u64>,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    numbers: NumberArgs,
    /// Runs on a stream, and as many on its neighbour [default: 2000, fewer where a run is long]
    #[arg(long, value_name = "N", help_heading = "How hard to look")]
    pub(super) runs: Option<usize>,
    /// Pick the runs so that noise whose standard deviation is P percent short is found with
    /// probability 0.99
    #[arg(long, value_name = "P", conflicts_with = "runs", help_heading = "How hard to look")]
    pub(super) power: Option<f64>,
    /// The most steps that a run takes: of a longer horizon, the beginning is audited
    #[arg(long, value_name = "L", default_value_t = 256, help_heading = "How hard to look")]
    pub(super) length: u64,
    /// The chance with which a mechanism that keeps its promise may fail
    #[arg(long, value_name = "P", default_value_t = 1e-4, help_heading = "How hard to look")]
    pub(super) false_alarm: f64,
    /// Round float releases to multiples of this power of two, as count --round does to whole
    /// numbers; 0 looks at them as they come [default: 1, or finer where there is little noise;
    /// exact releases have a grid of their own]
    #[arg(long, alias = "round", value_name = "GRID", help_heading = "How hard to look")]
    round_to: Option<f64>,
    /// Take keys and coins from this number, to repeat an audit to the last bit (but for timing);
    /// fresh ones of the system where absent
    #[arg(long, value_name = "S", help_heading = "How hard to look")]
    pub(super) seed: Option<u64>,
    /// Leave out the timing of steps
    #[arg(long, help_heading = "How hard to look")]
    pub(super) no_timing: bool,
    /// Print what was found as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Draw the game between two neighbouring streams into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
}

impl AuditArgs {
    /// The plan that is asked for.
    pub(super) fn plan(&self) -> Result<Plan> {
        let request = self.request()?;
        let builder = if self.open_groups { request.builder()?.open_keys() } else { request.builder()? };
        Ok(with_progress("planning", |progress| builder.build_with_progress(progress))?)
    }

    /// What is audited: the counter of the plan, its float releases rounded.
    pub(super) fn subject(&self, plan: Plan, rounded_to: f64) -> Result<Box<dyn Subject>> {
        let refuse = |error| refusal(error, rounded_to);
        Ok(match plan.lanes() {
            Lanes::OpenKeys => {
                let names = key_names(self.group_count)?;
                Box::new(OpenKeysSubject::new(plan, names)?.rounded_to(rounded_to).map_err(refuse)?)
            }
            Lanes::Vector { .. } => {
                Box::new(VectorSubject::new(plan)?.rounded_to(rounded_to).map_err(refuse)?)
            }
            _ => Box::new(CounterSubject::new(plan)?.rounded_to(rounded_to).map_err(refuse)?),
        })
    }

    fn request(&self) -> Result<Request> {
        Ok(Request {
            horizon: self.horizon,
            workload: self.workload.workload(),
            objective: self.workload.objective,
            privacy: self.privacy.privacy(participation(self.max_steps, self.min_gap)?),
            mechanism: self.workload.mechanism.clone(),
            contribution: None,
            keys: key_names(self.group_count)?,
            dimension: dimension(self.dim)?,
            memory_limit: self.workload.memory_limit,
            numbers: self.numbers.numbers(),
            post_processing: PostProcess::default(),
            definition: Vec::new(),
        })
    }

    /// What releases are rounded to: what was asked for, or nothing beside a grid of their own, or
    /// whole numbers, or a quarter of the noise where that is less.
    pub(super) fn grid_of(&self, plan: &Plan) -> f64 {
        let whole = (0.25 * plan.noise_scale()).log2().floor().exp2().min(1.0);
        self.round_to.unwrap_or(if plan.grid().is_some() { 0.0 } else { whole })
    }

    /// The runs that were asked for, or as many as take a few seconds: a run counts for its steps and keys.
    pub(super) fn runs_of(&self, length: u64, lanes: usize) -> usize {
        const USUAL: usize = 2_000;
        const FEWEST: usize = 200;
        const MOST_NUMBERS: u64 = 1 << 25;
        let fit = MOST_NUMBERS / length.saturating_mul(lanes as u64).max(1);
        self.runs.unwrap_or((fit as usize).clamp(FEWEST, USUAL))
    }
}

/// A refusal of the audit's own parameters, in the words of the command line. Where nothing was
/// rounded, the grid is the plan's.
pub(super) fn refusal(error: evertally::Error, rounded_to: f64) -> CliError {
    let option = match &error {
        evertally::Error::BadParameter { name: "grid", .. } if rounded_to == 0.0 => "--grid",
        evertally::Error::BadParameter { name: "grid", .. } => "--round-to",
        evertally::Error::BadParameter { name: "runs", .. } => "--runs",
        evertally::Error::BadParameter { name: "power", .. } => "--power",
        evertally::Error::BadParameter { name: "length", .. } => "--length",
        evertally::Error::BadParameter { name: "false_alarm", .. } => "--false-alarm",
        _ => return error.into(),
    };
    match error {
        evertally::Error::BadParameter { expected, got, .. } => {
            CliError::bad(format!("{option}: expected {expected}, got {got}"))
        }
        other => other.into(),
    }
}

fn dimension(dim: Option<usize>) -> Result<Option<usize>> {
    const MOST: usize = 100_000;
    match dim {
        Some(dim) if !(1..=MOST).contains(&dim) => {
            Err(CliError::bad(format!("--dim: expected from 1 to {MOST}, got {dim}")))
        }
        _ => Ok(dim),
    }
}

fn key_names(keys: Option<usize>) -> Result<Vec<String>> {
    const MOST: usize = 100_000;
    match keys {
        None => Ok(Vec::new()),
        Some(keys) if (1..=MOST).contains(&keys) => Ok((0..keys).map(|key| key.to_string()).collect()),
        Some(keys) => Err(CliError::bad(format!("--group-count: expected from 1 to {MOST}, got {keys}"))),
    }
}
