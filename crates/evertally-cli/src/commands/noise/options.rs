//! The options of `evertally research noise`.

use crate::budget_file::BudgetFileArgs;
use crate::commands::planning::ParticipationArgs;
use crate::commands::shared::{WorkloadArgs, named, refusal};
use crate::error::{CliError, Result};
use crate::noise_key::NoiseKeyArgs;
use crate::output::ForceArgs;
use clap::{Args, ValueEnum};
use evertally::{Budget, BudgetSpec, Calibration, Contribution, Horizon, Neighbours, PlanSpec, Shape};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Noise for 1000 sums of gradients, clipped to norm 1, of a model with
  4096 parameters, at a noise multiplier of 1.1:
    evertally research noise --horizon 1000 --dim 4096 --sigma 1.1 --output noise.npy

  The same for a budget, if every example is used in ten epochs of a
  hundred steps:
    evertally research noise --horizon 1000 --dim 4096 --epsilon 4 --delta 1e-6 \\
      --max-steps 10 --min-gap 100 --output noise.npy

  An unbounded stream, piece by piece from one key:
    evertally research noise --horizon unbounded --sigma 1 --noise-key noise.key \\
      --rows 100000 --output first.npy
    evertally research noise --horizon unbounded --sigma 1 --noise-key noise.key \\
      --from-step 100000 --rows 100000 --output second.npy

What it writes: an array for numpy.load, with a row per step and a column
per coordinate (a list for --dim 1). Row t is σ·Δ·C·(L g)[t], where σ is
the noise multiplier, Δ the sensitivity of the mechanism and C the norm.
Add it to the true running sum after step t (or to the sum of the window,
or the decayed sum) to make that sum private. For noise to add to every
single gradient, take the differences of the rows of running sums:
numpy.diff(z, axis=0, prepend=0).

RAW NOISE IS AS SENSITIVE AS THE DATA: anyone who has it can subtract it
from the releases. Keep the file as you keep the data, use it for one
stream only, and delete it. On Unix only its owner may read it. It is not
the noise of `evertally count`, even under the same key.";

/// Write the correlated noise of a mechanism to a file
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct NoiseArgs {
    /// The number of steps, or unbounded for a stream with no known end
    #[arg(long, value_name = "N|unbounded")]
    pub(super) horizon: Horizon,
    /// The number of coordinates per step
    #[arg(long, value_name = "D", default_value_t = 1)]
    pub(super) dim: usize,
    /// The bound C on the Euclidean norm of what one person contributes to a step
    #[arg(long, value_name = "C", default_value_t = 1.0)]
    norm: f64,

    /// The noise multiplier σ, instead of --epsilon and --delta. It spends 1/(2σ²)-zCDP
    ///
    /// σ is the standard deviation of the noise relative to what one person can change. Training
    /// programs often ask for it directly.
    #[arg(long, value_name = "S", alias = "noise-multiplier", conflicts_with_all = ["epsilon", "delta", "calibration"], help_heading = "Privacy")]
    sigma: Option<f64>,
    /// The privacy budget ε: smaller is more private and noisier
    #[arg(long, value_name = "E", help_heading = "Privacy")]
    epsilon: Option<f64>,
    /// The probability δ with which the guarantee may fail
    #[arg(long, value_name = "D", help_heading = "Privacy")]
    delta: Option<f64>,
    /// How the size of the noise is computed from ε and δ [default: exact]
    ///
    /// exact uses the least Gaussian noise that is private, and is the right choice unless you must
    /// match another system. zcdp goes through zero-concentrated differential privacy, as many other
    /// libraries do: the same promise with a little more noise. paper is the closed formula of the
    /// paper behind this program, for ε below 1: the same promise with much more noise. evertally
    /// plan shows the error of each.
    #[arg(long, value_name = "NAME", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]), help_heading = "Privacy")]
    calibration: Option<Calibration>,
    /// How two streams that must look alike may differ: one contribution is added or removed, or
    /// replaced
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]), help_heading = "Privacy")]
    neighbours: Neighbours,
    #[command(flatten)]
    participation: ParticipationArgs,
    #[command(flatten)]
    pub(super) noise_key: NoiseKeyArgs,

    #[command(flatten)]
    pub(super) budget_file: BudgetFileArgs,

    #[command(flatten)]
    workload: WorkloadArgs,

    /// The .npy file to write, or - for standard output. It appears only once it is complete
    #[arg(long, short, alias = "out", value_name = "FILE", help_heading = "Output")]
    pub(super) output: PathBuf,
    /// The precision [default: f32 for vectors, f64 for --dim 1]
    #[arg(long, value_name = "TYPE", help_heading = "Output")]
    dtype: Option<Precision>,
    /// The first step to write, counted from 0
    #[arg(long, value_name = "T", default_value_t = 0, help_heading = "Output")]
    pub(super) from_step: u64,
    /// How many rows to write, one for each step [default: all up to the horizon]
    #[arg(long, alias = "steps", value_name = "N", help_heading = "Output")]
    pub(super) rows: Option<u64>,
    /// Print a summary as one JSON object, on standard error if the noise goes to standard output
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) force: ForceArgs,
}

/// The precision of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// Single precision, as in training
    F32,
    /// Double precision
    F64,
}

impl Precision {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl NoiseArgs {
    /// The choices of the plan, and its budget. A single coordinate is a vector too: its
    /// contributions may have either sign.
    pub(super) fn spec(&self) -> Result<(PlanSpec, Budget)> {
        if self.dim == 0 {
            return Err(CliError::bad("--dim: expected at least 1, got 0"));
        }
        let given = self.budget()?;
        let budget = given.budget().map_err(refusal)?;
        let spec = PlanSpec {
            neighbours: self.neighbours,
            participation: self.participation.bound()?.unwrap_or_default(),
            shape: Shape::Vector { dimension: self.dim },
            contribution: Contribution::norm(self.norm)?,
            ..self.workload.plan_spec(self.horizon, given)?
        };
        Ok((spec, budget))
    }

    /// Models are trained in single precision, and single totals are doubles.
    pub(super) fn precision(&self) -> Precision {
        self.dtype.unwrap_or(if self.dim == 1 { Precision::F64 } else { Precision::F32 })
    }

    fn budget(&self) -> Result<BudgetSpec> {
        let Self { epsilon, delta, calibration, sigma, .. } = *self;
        match (sigma, epsilon, delta) {
            (None, Some(_), Some(0.0)) => Err(CliError::bad(
                "--delta: expected more than 0, since the contributions are bounded in Euclidean norm and call for Gaussian noise",
            )),
            (Some(_), ..) | (None, Some(_), Some(_)) => {
                Ok(BudgetSpec { epsilon, delta, calibration, sigma, rho: None })
            }
            _ => Err(CliError::bad(
                "expected --epsilon with --delta, or --sigma: they set how large the noise is",
            )),
        }
    }
}
