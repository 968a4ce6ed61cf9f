//! `evertally research answer`: private answers to any linear queries about a histogram.

use super::batch::{BatchArgs, record_noise};
use crate::error::{CliError, Result};
use crate::input::matrix::{read_list, read_matrix};
use crate::output::Header;
use crate::progress::with_progress;
use clap::Args;
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

What is protected: one person, who is one unit of one cell. The queries,
the number of cells and everything in the header are public. The header
states the mean squared error, and the least mean squared error that any
factorization of the queries can have at this budget, with proof.";

/// Answer linear queries about a histogram with the least noise
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct AnswerArgs {
    /// The queries: a real matrix in an .npy or .csv file, with a row per query and a column per
    /// cell
    #[arg(long, alias = "workload", value_name = "FILE")]
    queries: PathBuf,
    /// The histogram: a list of numbers in an .npy or .csv file, one per cell
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    batch: BatchArgs,
}

pub(crate) fn run(args: &AnswerArgs) -> Result<()> {
    let batch = args.batch.check("answer", &[&args.data, &args.queries])?;
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
    let destination = args.batch.open_output()?;
    let plan = with_progress("factorizing", |progress| {
        BatchPlan::with_progress(queries, batch.budget, batch.neighbours, progress)
    })?;
    let (key, admission) = batch.key_for(&plan.noise_name())?;
    let answers = plan.answer(&data, key)?;
    let mut header = header(&plan);
    admission.enter(plan.spend(), &mut header, |chain| {
        chain.step(data.iter().copied());
    })?;
    let answers = answers.iter().map(|answer| (answer.query.into(), answer.value, answer.standard_error));
    args.batch.write(destination, &header, answers)
}

fn header(plan: &BatchPlan) -> Header {
    let mut header = Header::new();
    header.record("budget", plan.budget().to_string());
    header.record("mechanism", "matrix mechanism with a certified factorization");
    header.record("neighbours", plan.neighbours().to_string());
    header.record("protected", "one unit of one cell");
    header.record("queries", plan.queries());
    header.record("cells", plan.cells());
    let errors = [plan.mean_squared_error(), plan.least_mean_squared_error()];
    record_noise(&mut header, plan.budget(), plan.spend(), plan.sensitivity(), errors);
    header.record("gamma_lower", plan.certificate().lower);
    header.record("gamma_upper", plan.certificate().upper);
    header
}
