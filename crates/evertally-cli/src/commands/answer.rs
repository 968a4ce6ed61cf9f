//! `evertally research answer`: private answers to any linear queries about a histogram.

use super::shared::PrivacyArgs;
use crate::budget_file::{BudgetFileArgs, PERSON};
use crate::error::{CliError, Result};
use crate::input::matrix::{read_list, read_matrix};
use crate::noise_key::NoiseKeyArgs;
use crate::output::{AnswerRow, Destination, Header, refuse_overwriting, write_answers};
use crate::progress::with_progress;
use clap::Args;
use evertally::Arithmetic;
use evertally::research::batch::BatchPlan;
use evertally::research::gamma::Subject;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Three queries about a histogram of four cells:
    printf '1,1,1,1\\n1,1,0,0\\n0,0,1,1\\n' > queries.csv
    printf '120,340,80,15\\n' > histogram.csv
    evertally research answer --queries queries.csv --data histogram.csv \\
      --epsilon 1 --delta 1e-6

What is protected: one person is one unit of one cell. The queries, the
number of cells and everything in the header are public. The mean squared
error stands beside the least that any factorization of the queries can
have at this budget, which is proved.";

/// Answer linear queries about a histogram with the least noise, by a certified factorization
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct AnswerArgs {
    /// The queries: a real matrix in an .npy or .csv file, one query a row, one cell a column
    #[arg(long, alias = "workload", value_name = "FILE")]
    queries: PathBuf,
    /// The histogram: a list of numbers in an .npy or .csv file, one a cell
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    privacy: PrivacyArgs,
    #[command(flatten)]
    noise_key: NoiseKeyArgs,
    #[command(flatten)]
    budget_file: BudgetFileArgs,
    /// The file to write, which appears only once it is whole; standard output where absent
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write one JSON object instead of CSV
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &AnswerArgs) -> Result<()> {
    let privacy = args.privacy.privacy(None);
    let budget = privacy.budget()?;
    let key = args.noise_key.read()?;
    let charge = args.budget_file.charge("answer", &args.data, PERSON, privacy.neighbours)?;
    if let Some(charge) = &charge {
        charge.check(budget, key.tag())?;
    }
    let read = [
        Some(args.queries.as_path()),
        Some(args.data.as_path()),
        args.noise_key.path(),
        args.budget_file.path(),
    ];
    refuse_overwriting(&read, &[args.output.as_deref()])?;
    key.refuse_outputs(&[args.output.as_deref()])?;
    let Subject::Real(queries) = read_matrix(&args.queries)? else {
        return Err(CliError::bad(format!(
            "{} holds complex numbers: only real queries are answered (ask for real and imaginary parts as rows)",
            args.queries.display()
        )));
    };
    let data = read_list(&args.data)?;
    if data.len() != queries.columns() {
        return Err(CliError::bad(format!(
            "{} has {} numbers: expected one for each of the {} columns of {}",
            args.data.display(),
            data.len(),
            queries.columns(),
            args.queries.display()
        )));
    }
    // The output is opened before anything is released: one that cannot be written must not cost the budget.
    let destination = Destination::open(args.output.as_deref())?;
    let plan = with_progress("factorizing", |progress| {
        BatchPlan::with_progress(queries, budget, privacy.neighbours, progress)
    })?;
    let (key, mut watch) = key.watched(&plan.noise_name())?;
    let answers = plan.answer(&data, key)?;
    let rows = answers.iter().map(|answer| {
        let margin = answer.margin(0.95);
        AnswerRow {
            query: answer.query.into(),
            answer: answer.value,
            standard_error: answer.standard_error,
            lower: answer.value - margin,
            upper: answer.value + margin,
        }
    });
    let mut header = header(&plan);
    // Nobody has seen an answer yet: what is written from here on was admitted and paid for.
    let payment = charge.map(|charge| (charge, plan.spend()));
    let entered = watch.admit_whole(payment, |chain| {
        chain.step(data.iter().copied());
    })?;
    if let Some(entered) = entered {
        entered.describe(&mut header);
    }
    write_answers(destination, &header, rows, args.json)
}

fn header(plan: &BatchPlan) -> Header {
    let mut header = Header::new();
    header.record("budget", plan.budget().to_string());
    header.record("mechanism", "matrix mechanism with a certified factorization");
    header.record("neighbours", plan.neighbours().to_string());
    header.record("protected", "one unit of one cell");
    header.record("queries", plan.queries());
    header.record("cells", plan.cells());
    header.record("noise_multiplier", plan.budget().noise_multiplier());
    header.record("rho", plan.spend().rho());
    header.record("sensitivity", plan.sensitivity());
    header.record("arithmetic", Arithmetic::Float.to_string());
    header.record("mean_squared_error", plan.mean_squared_error());
    header.record("least_mean_squared_error", plan.least_mean_squared_error());
    header.record("gamma_lower", plan.certificate().lower);
    header.record("gamma_upper", plan.certificate().upper);
    header
}
