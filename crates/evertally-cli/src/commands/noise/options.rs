//! What the user may write after `evertally research noise`.

use crate::budget_file::BudgetFileArgs;
use crate::commands::shared::{WorkloadArgs, named, participation};
use crate::error::{CliError, Result};
use crate::mechanism::{Horizon, NoiseRequest, Privacy, budget_of_multiplier};
use crate::noise_key::NoiseKeyArgs;
use clap::{Args, ValueEnum};
use evertally::{Budget, Calibration, Neighbours};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Noise for 1000 sums of gradients, clipped to norm 1, of a model with
  4096 parameters, at a noise multiplier of 1.1:
    evertally research noise --horizon 1000 --dim 4096 --sigma 1.1 --output noise.npy

  The same for a budget, where every example is seen in ten epochs of
  a hundred steps:
    evertally research noise --horizon 1000 --dim 4096 --epsilon 4 --delta 1e-6 \\
      --max-steps 10 --min-gap 100 --output noise.npy

  A stream without an end, piece by piece from one key:
    evertally research noise --horizon unbounded --sigma 1 --noise-key noise.key \\
      --rows 100000 --output first.npy
    evertally research noise --horizon unbounded --sigma 1 --noise-key noise.key \\
      --from-step 100000 --rows 100000 --output second.npy

What it writes: an array with a row for each step and a column for each
coordinate (a list for --dim 1), as numpy.load reads it. Row t is
σ·Δ·C·(L g)[t], with σ the noise multiplier, Δ the sensitivity of the
mechanism and C the norm. Added to the true running sum after step t (or
that of the window, or the decayed one) it makes the private one. For
noise that is added to every gradient by itself, take the differences of
the rows of running sums: numpy.diff(z, axis=0, prepend=0).

RAW NOISE IS AS SENSITIVE AS THE DATA: whoever holds it can take it off
the releases. Keep the file as you keep the data, use it for one stream
only, and delete it. On Unix nobody but its owner may read it. It is not
the noise of `evertally count`, even under the same key.";

/// Write the correlated noise of a mechanism to a file, for those who add it themselves
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct NoiseArgs {
    /// The number of steps, or unbounded for a stream with no known end
    #[arg(long, value_name = "N|unbounded")]
    pub(super) horizon: Horizon,
    /// The number of coordinates of a step
    #[arg(long, value_name = "D", default_value_t = 1)]
    pub(super) dim: usize,
    /// The bound C on the Euclidean norm of what one person contributes to a step
    #[arg(long, value_name = "C", default_value_t = 1.0)]
    norm: f64,

    /// The noise multiplier σ itself, instead of --epsilon and --delta: it spends 1/(2σ²)-zCDP
    #[arg(long, value_name = "S", alias = "noise-multiplier", conflicts_with_all = ["epsilon", "delta", "calibration"], help_heading = "Privacy")]
    sigma: Option<f64>,
    /// The privacy budget ε: smaller is more private and noisier
    #[arg(long, value_name = "E", help_heading = "Privacy")]
    epsilon: Option<f64>,
    /// The chance δ with which the guarantee may fail
    #[arg(long, value_name = "D", help_heading = "Privacy")]
    delta: Option<f64>,
    /// How σ follows from (ε, δ) [default: exact]
    #[arg(long, value_name = "NAME", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]), help_heading = "Privacy")]
    calibration: Option<Calibration>,
    /// What two streams that must look alike may differ in: one contribution added or removed, or
    /// one replaced
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]), help_heading = "Privacy")]
    neighbours: Neighbours,
    /// The most steps that one person may contribute to
    #[arg(long, value_name = "K", help_heading = "Privacy")]
    max_steps: Option<u64>,
    /// The fewest steps between two that one person contributes to [default: 1]
    #[arg(long, value_name = "B", help_heading = "Privacy")]
    min_gap: Option<u64>,
    #[command(flatten)]
    pub(super) noise_key: NoiseKeyArgs,

    #[command(flatten)]
    pub(super) budget_file: BudgetFileArgs,

    #[command(flatten)]
    workload: WorkloadArgs,

    /// The .npy file to write, which must not exist and appears only once it is whole; - for standard output
    #[arg(long, short, alias = "out", value_name = "FILE", help_heading = "Output")]
    pub(super) output: PathBuf,
    /// The precision [default: f32 for vectors, f64 for --dim 1]
    #[arg(long, value_name = "TYPE", help_heading = "Output")]
    dtype: Option<Precision>,
    /// The first step to write, counted from 0; those before it are made and left out
    #[arg(long, value_name = "T", default_value_t = 0, help_heading = "Output")]
    pub(super) from_step: u64,
    /// How many rows to write, one for each step [default: all up to the horizon]
    #[arg(long, alias = "steps", value_name = "K", help_heading = "Output")]
    pub(super) rows: Option<u64>,
    /// Print what was written as one JSON object, on standard error where the noise goes to standard output
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
}

/// The precision of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// Single precision, as models are trained in
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
    pub(super) fn request(&self) -> Result<NoiseRequest> {
        if self.dim == 0 {
            return Err(CliError::bad("--dim: expected at least 1, got 0"));
        }
        let participation = participation(self.max_steps, self.min_gap)?;
        Ok(NoiseRequest {
            horizon: self.horizon,
            workload: self.workload.workload(),
            budget: self.budget()?,
            neighbours: self.neighbours,
            participation,
            objective: self.workload.objective,
            mechanism: self.workload.mechanism.clone(),
            memory_limit: self.workload.memory_limit,
            dimension: self.dim,
            norm: self.norm,
        })
    }

    /// Models are trained in single precision, and single totals are doubles.
    pub(super) fn precision(&self) -> Precision {
        self.dtype.unwrap_or(if self.dim == 1 { Precision::F64 } else { Precision::F32 })
    }

    fn budget(&self) -> Result<Budget> {
        match (self.sigma, self.epsilon, self.delta) {
            (Some(sigma), ..) => budget_of_multiplier(sigma),
            (None, Some(_), Some(0.0)) => Err(CliError::bad(
                "--delta: expected more than 0, since the contributions are bounded in Euclidean norm and call for Gaussian noise",
            )),
            (None, Some(epsilon), Some(delta)) => {
                let calibration = self.calibration.unwrap_or(Calibration::Exact);
                let privacy =
                    Privacy { epsilon, delta, calibration, neighbours: self.neighbours, participation: None };
                privacy.budget()
            }
            _ => Err(CliError::bad(
                "expected --epsilon with --delta, or --sigma: they set how large the noise is",
            )),
        }
    }
}
