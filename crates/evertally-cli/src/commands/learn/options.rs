//! What the user may write after `evertally learn`.

use crate::budget_file::BudgetFileArgs;
use crate::commands::shared::{named, parse_bytes};
use crate::input::InputFormat;
use crate::noise_key::NoiseKeyArgs;
use clap::Args;
use evertally::{Calibration, Neighbours};
use evertally_learn::{Losses, Schedule};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  A file of customers, and who of them comes back, learned privately:
    evertally demo --kind customers --output customers.csv
    evertally learn customers.csv --label returns --classes no,yes \\
      --loss logistic --feature-norm 1 --radius 10 --holdout 5 \\
      --epsilon 2 --delta 1e-6 --model model.json --plot model.svg

  Ten passes over the same file, which go on after a crash when the
  command is given again with --resume, and end bit for bit the same:
    evertally learn customers.csv --label returns --classes no,yes \\
      --loss logistic --feature-norm 1 --radius 10 --epochs 10 \\
      --epsilon 2 --delta 1e-6 --model model.json --state run.state

What is protected: one row, whose gradients are clipped, added up exactly
and hidden by noise of which all steps together cost (ε, δ). A row that is
taken out leaves its place empty. What is public: the options, the names
of the columns, the number of rows and their order, which is the same in
every epoch. Means and scales of the data itself are private: take those
of --scale from a public source, or bound rows by --feature-norm, which
maps each row by itself. Rows that are held out are not learned from, and
NOT protected: what is said about them is exact.

See docs/learning.md for how to choose, and for the mathematics.";

/// Train a linear model on a file of rows under differential privacy
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct LearnArgs {
    /// The rows to learn from: a .csv, .jsonl or .parquet file, or - for standard input
    pub(super) data: PathBuf,
    /// The format of the input where its name does not tell
    #[arg(long, value_name = "FORMAT")]
    pub(super) input_format: Option<InputFormat>,

    /// The column to predict
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(super) label: String,
    /// The columns to predict it from, separated by commas, all of them numbers [default: all other columns]
    #[arg(long, value_name = "A,B,C", help_heading = "Data")]
    pub(super) features: Option<String>,
    /// The labels by name, separated by commas: the two of logistic and hinge, the second of which
    /// is +1, or the classes of softmax
    #[arg(long, value_name = "A,B", help_heading = "Data")]
    pub(super) classes: Option<String>,
    /// Add a feature that is 1 in every row
    #[arg(long, help_heading = "Data")]
    pub(super) intercept: bool,
    /// A public file with the columns feature, mean and scale: take the mean off each feature and
    /// divide by the scale. Numbers that were computed from the data are private and must not be
    /// used
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(super) scale: Option<PathBuf>,
    /// Shorten every longer row to this Euclidean norm, after --scale and before --intercept
    #[arg(long, value_name = "C", help_heading = "Data")]
    pub(super) feature_norm: Option<f64>,
    /// Hold out the last of every N rows to measure the model on; they are NOT protected
    #[arg(long, value_name = "N", conflicts_with = "test", help_heading = "Data")]
    pub(super) holdout: Option<usize>,
    /// Measure the model on the rows of this file, which are NOT protected
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(super) test: Option<PathBuf>,
    /// Learn in an order drawn from this public seed instead of that of the file
    #[arg(long, value_name = "SEED", help_heading = "Data")]
    pub(super) shuffle: Option<u64>,

    /// What is to be small: logistic, hinge, squared (squared:B where labels are at most B), or
    /// softmax:K for K classes
    #[arg(long, value_name = "LOSS", help_heading = "Training")]
    pub(super) loss: Losses,
    /// The number of rows a step
    #[arg(long, value_name = "B", default_value_t = 64, help_heading = "Training")]
    pub(super) batch_size: usize,
    /// The number of passes over the rows
    #[arg(long, value_name = "E", default_value_t = 1, help_heading = "Training")]
    pub(super) epochs: u64,
    /// Keep parameters within this Euclidean norm
    #[arg(long, value_name = "R", conflicts_with = "cube", help_heading = "Training")]
    pub(super) radius: Option<f64>,
    /// Keep every parameter between these two numbers
    #[arg(
        long = "box",
        value_name = "LO,HI",
        allow_hyphen_values = true,
        id = "cube",
        help_heading = "Training"
    )]
    pub(super) cube: Option<String>,
    /// λ of the regularised leader [default: the one that the bound on regret recommends for --expected-norm]
    #[arg(long, value_name = "L", conflicts_with_all = ["learning_rate", "expected_norm"], help_heading = "Training")]
    pub(super) lambda: Option<f64>,
    /// The norm that the best parameters are expected to have [default: the largest that --radius
    /// or --box allows, else 1]
    #[arg(
        long,
        alias = "norm",
        value_name = "R",
        conflicts_with = "learning_rate",
        help_heading = "Training"
    )]
    pub(super) expected_norm: Option<f64>,
    /// Descend at this learning rate instead: a number, or constant, linear, cosine or inverse-root
    /// with one, as in cosine:0.5
    #[arg(long, alias = "rate", value_name = "SCHEDULE", help_heading = "Training")]
    pub(super) learning_rate: Option<Schedule>,
    /// β of heavy-ball momentum, from 0 to below 1
    #[arg(long, value_name = "BETA", default_value_t = 0.0, help_heading = "Training")]
    pub(super) momentum: f64,
    /// Restart the noise after every so many steps, or after every epoch
    #[arg(long, value_name = "STEPS|epoch", help_heading = "Training")]
    pub(super) restart_every: Option<String>,
    /// The mechanism, such as square-root, binary or banded-square-root:64; the most accurate one
    /// that fits where absent
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    pub(super) mechanism: Option<String>,
    /// The most memory that the noise may take, such as 512M or 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Training")]
    pub(super) memory_limit: Option<u64>,

    /// The privacy budget ε of the whole run: smaller is more private and noisier
    #[arg(long, value_name = "E", conflicts_with = "rho", help_heading = "Privacy")]
    pub(super) epsilon: Option<f64>,
    /// The chance δ with which the guarantee may fail; beside --rho, the δ at which ε is stated
    /// [default there: 1e-6]
    #[arg(long, value_name = "D", help_heading = "Privacy")]
    pub(super) delta: Option<f64>,
    /// The budget ρ of zero-concentrated differential privacy, instead of --epsilon and --delta
    #[arg(long, value_name = "R", conflicts_with = "calibration", help_heading = "Privacy")]
    pub(super) rho: Option<f64>,
    /// How σ follows from (ε, δ) [default: exact]
    #[arg(long, value_name = "NAME", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]), help_heading = "Privacy")]
    pub(super) calibration: Option<Calibration>,
    /// What two files that must look alike may differ in: a row that is there or leaves its place
    /// empty, or one replaced by another
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]), help_heading = "Privacy")]
    pub(super) neighbours: Neighbours,
    /// κ, the norm at which the gradient of each row is clipped [default: the longest that the loss
    /// can have with --feature-norm, else 1]
    #[arg(long, value_name = "K", help_heading = "Privacy")]
    pub(super) clip: Option<f64>,
    #[command(flatten)]
    pub(super) noise_key: NoiseKeyArgs,

    #[command(flatten)]
    pub(super) budget_file: BudgetFileArgs,

    /// The file to write the model to, which appears only once it is whole; - for standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(super) model: PathBuf,
    /// Save the run to this file on the way, from which --resume goes on after a crash. It holds
    /// sums over the data and, without --noise-key, the key: AS SECRET AS THE DATA. On Unix nobody
    /// but its owner may read it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) state: Option<PathBuf>,
    /// Save the state after every so many steps [default: about every ten seconds]
    #[arg(long, value_name = "STEPS", requires = "state", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Output")]
    pub(super) save_every: Option<u64>,
    /// Go on from --state: same data and same options give the same model, at no further cost
    #[arg(long, requires = "state", help_heading = "Output")]
    pub(super) resume: bool,
    /// Draw how the model did on the rows that were held out, step by step, into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    /// Also measure regret against the best parameters in hindsight, beside its bounds: computed
    /// from the data without noise, NOT PRIVATE. A run that goes on is trained again from its first
    /// step for it, to the same model
    #[arg(long, alias = "regret", conflicts_with = "quiet", help_heading = "Output")]
    pub(super) regret_not_private: bool,
    /// Print what was done as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Print nothing, and show no progress
    #[arg(long, short, conflicts_with = "json", help_heading = "Output")]
    pub(super) quiet: bool,
}
