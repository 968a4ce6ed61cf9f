//! The options of `evertally learn`.

use crate::budget_file::BudgetFileArgs;
use crate::commands::shared::{named, parse_bytes};
use crate::input::InputFormat;
use crate::noise_key::NoiseKeyArgs;
use crate::output::ForceArgs;
use clap::Args;
use evertally::{Calibration, Neighbours};
use evertally_learn::{Losses, Schedule};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Learn privately which customers return:
    evertally demo --kind customers --output customers.csv
    evertally learn customers.csv --label returns --classes no,yes \\
      --loss logistic --feature-norm 1 --radius 10 --holdout 5 \\
      --epsilon 2 --delta 1e-6 --model model.json --plot model.svg

  Ten passes over the same file. After a crash, the same command with
  --resume continues and ends with the same model, bit for bit:
    evertally learn customers.csv --label returns --classes no,yes \\
      --loss logistic --feature-norm 1 --radius 10 --epochs 10 \\
      --epsilon 2 --delta 1e-6 --model model.json --state run.state

What is protected: one row. Its gradients are clipped, summed exactly and
hidden by noise. All steps together cost (ε, δ). A row that is removed
leaves its place empty. What is public: the options, the names of the
columns, the number of rows and their order, which is the same in every
epoch. Means and scales of the data itself are private: take those of
--scale from a public source, or bound each row with --feature-norm. Rows
that are held out are not learned from and NOT protected: figures about
them are exact.

docs/learning.md explains how to choose the options, and the mathematics.";

/// Train a linear model on a file of rows under differential privacy
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct LearnArgs {
    /// The rows to learn from: a .csv, .jsonl, .parquet or .arrow file, or - for standard input
    pub(super) data: PathBuf,
    /// The format of the input [default: by the name of the file]
    #[arg(long, value_name = "FORMAT")]
    pub(super) input_format: Option<InputFormat>,

    /// The column to predict
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(super) label: String,
    /// The columns of numbers to predict it from, separated by commas [default: all other columns]
    #[arg(long, value_name = "A,B,C", help_heading = "Data")]
    pub(super) features: Option<String>,
    /// The names of the labels, separated by commas: two for logistic and hinge, the second of which
    /// is +1, or the classes of softmax
    #[arg(long, value_name = "A,B", help_heading = "Data")]
    pub(super) classes: Option<String>,
    /// Add a feature that is 1 in every row
    #[arg(long, help_heading = "Data")]
    pub(super) intercept: bool,
    /// A public file with the columns feature, mean and scale. The mean is subtracted from each
    /// feature, and the result is divided by the scale. Do not compute these numbers from the data:
    /// they would be private
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(super) scale: Option<PathBuf>,
    /// Scale every row down to this Euclidean norm if it is longer, after --scale and before
    /// --intercept
    #[arg(long, value_name = "C", help_heading = "Data")]
    pub(super) feature_norm: Option<f64>,
    /// Hold out the last of every N rows to test the model. These rows are NOT protected
    #[arg(long, value_name = "N", conflicts_with = "test", help_heading = "Data")]
    pub(super) holdout: Option<usize>,
    /// Test the model on the rows of this file, which are NOT protected
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(super) test: Option<PathBuf>,
    /// Shuffle the rows with this public seed [default: the order of the file]
    #[arg(long, value_name = "SEED", help_heading = "Data")]
    pub(super) shuffle: Option<u64>,

    /// The loss to minimise: logistic, hinge, squared (squared:B for labels of at most B), or
    /// softmax:K for K classes
    #[arg(long, value_name = "LOSS", help_heading = "Training")]
    pub(super) loss: Losses,
    /// The number of rows per step
    #[arg(long, value_name = "B", default_value_t = 64, help_heading = "Training")]
    pub(super) batch_size: usize,
    /// The number of passes over the rows
    #[arg(long, value_name = "E", default_value_t = 1, help_heading = "Training")]
    pub(super) epochs: u64,
    /// Keep the parameters within this Euclidean norm
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
    /// λ of the regularised leader [default: computed from --expected-norm to minimise the bound on
    /// regret]
    ///
    /// By default each step takes the parameters that minimise the sum of all noisy gradients so
    /// far plus λ/2 times their squared norm. A larger λ keeps them closer to zero and less sensitive
    /// to noise.
    #[arg(long, value_name = "L", conflicts_with_all = ["learning_rate", "expected_norm"], help_heading = "Training")]
    pub(super) lambda: Option<f64>,
    /// The norm that you expect of the best parameters [default: the largest that --radius or --box
    /// allows, otherwise 1]
    ///
    /// It only sets λ. A guess within a factor of two is good enough.
    #[arg(
        long,
        alias = "norm",
        value_name = "R",
        conflicts_with = "learning_rate",
        help_heading = "Training"
    )]
    pub(super) expected_norm: Option<f64>,
    /// Use gradient descent with this learning rate: a number, or a schedule (constant, linear,
    /// cosine or inverse-root) with its first rate, such as cosine:0.5
    #[arg(long, alias = "rate", value_name = "SCHEDULE", help_heading = "Training")]
    pub(super) learning_rate: Option<Schedule>,
    /// β of heavy-ball momentum, from 0 to below 1
    ///
    /// Each step also repeats β times the change of the step before. It costs no further budget.
    #[arg(long, value_name = "BETA", default_value_t = 0.0, help_heading = "Training")]
    pub(super) momentum: f64,
    /// Restart the noise after this many steps, or after every epoch
    ///
    /// Each part then has fresh noise, and the cost of all parts together is accounted for. It helps
    /// the mechanism binary over many epochs, and hardly any other.
    #[arg(long, value_name = "STEPS|epoch", help_heading = "Training")]
    pub(super) restart_every: Option<String>,
    /// The mechanism, such as square-root, binary or banded-square-root:64 [default: the most
    /// accurate one that fits]
    ///
    /// A mechanism is a way to share noise between steps. All keep the same promise. Leave it out
    /// unless you compare them.
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    pub(super) mechanism: Option<String>,
    /// The most memory to use for noise, such as 512M or 4G
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Training")]
    pub(super) memory_limit: Option<u64>,

    /// The privacy budget ε of the whole run: smaller is more private and noisier
    ///
    /// It bounds what the model reveals about one row: it changes the odds of any guess by at most a
    /// factor of e^ε. 1 is a common choice, and above 10 hardly anything is promised.
    #[arg(long, value_name = "E", conflicts_with = "rho", help_heading = "Privacy")]
    pub(super) epsilon: Option<f64>,
    /// The probability δ with which the guarantee may fail. With --rho, the δ at which ε is stated
    /// [default with --rho: 1e-6]
    ///
    /// Choose it far below 1 divided by the number of rows.
    #[arg(long, value_name = "D", help_heading = "Privacy")]
    pub(super) delta: Option<f64>,
    /// The budget ρ of zero-concentrated differential privacy, instead of --epsilon and --delta
    ///
    /// Costs in ρ add up exactly over several runs. The report also states the ε at --delta.
    #[arg(long, value_name = "R", conflicts_with = "calibration", help_heading = "Privacy")]
    pub(super) rho: Option<f64>,
    /// How the size of the noise is computed from ε and δ [default: exact]
    ///
    /// exact uses the least Gaussian noise that is private, and is the right choice unless you must
    /// match another system. zcdp goes through zero-concentrated differential privacy, as many other
    /// libraries do: the same promise with a little more noise. paper is the closed formula of the
    /// paper behind this program, for ε below 1: the same promise with much more noise. evertally
    /// plan shows the error of each.
    #[arg(long, value_name = "NAME", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]), help_heading = "Privacy")]
    pub(super) calibration: Option<Calibration>,
    /// How two files that must look alike may differ: one row is removed and leaves its place
    /// empty, or one row is replaced
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]), help_heading = "Privacy")]
    pub(super) neighbours: Neighbours,
    /// The Euclidean norm κ to which the gradient of each row is clipped [default: the longest
    /// possible with --feature-norm, otherwise 1]
    ///
    /// It bounds what one row can change, and the noise is proportional to it. A small κ means little
    /// noise but shortens large gradients.
    #[arg(long, value_name = "K", help_heading = "Privacy")]
    pub(super) clip: Option<f64>,
    #[command(flatten)]
    pub(super) noise_key: NoiseKeyArgs,

    #[command(flatten)]
    pub(super) budget_file: BudgetFileArgs,

    /// The file for the model, or - for standard output. It appears only once it is complete
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(super) model: PathBuf,
    /// Save the run to this file from time to time, so that --resume can continue after a crash. It
    /// holds sums over the data and, without --noise-key, the key: it is AS SECRET AS THE DATA. On
    /// Unix only its owner may read it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) state: Option<PathBuf>,
    /// Save the state after this many steps [default: about every ten seconds]
    #[arg(long, value_name = "STEPS", requires = "state", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Output")]
    pub(super) save_every: Option<u64>,
    /// Continue from --state. The same data and options give the same model, at no further cost
    #[arg(long, requires = "state", help_heading = "Output")]
    pub(super) resume: bool,
    /// Draw the performance on the held-out rows, step by step, into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    /// Also measure the regret against the best parameters in hindsight, and its bounds. It is
    /// computed from the data without noise and NOT PRIVATE. A resumed run is trained again from
    /// its first step, to the same model
    #[arg(long, alias = "regret", conflicts_with = "quiet", help_heading = "Output")]
    pub(super) regret_not_private: bool,
    /// Print the results as one JSON object. With --quiet, nothing is printed
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) force: ForceArgs,
}
