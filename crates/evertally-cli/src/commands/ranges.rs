//! `evertally research ranges`: the error of cumulative counts and quantiles over bins, by strategy.

use crate::error::{CliError, Result};
use crate::output::{self, JsonObject};
use clap::Args;
use evertally::ranges::Ranges;

const EXAMPLES: &str = "\
Examples:
  What do ranges of bins gain over the bins alone?
    evertally research ranges --bin-counts 8,64,1024

How to read it: an event is in one bin, and the number of events below each
edge is wanted. The squared error is the mean over all edges, in units of
that of a single count at the same privacy. Plain bins are added up. With
ranges, an event also counts in one range of bins on each level, and least
squares combines all of them. The least possible is proved for every
strategy with Gaussian noise. evertally count --quantiles takes the last
strategy of the table.";

/// The most bins of a table.
const MAX_BINS: usize = 100_000;

/// Compare strategies for the counts below the edges of bins, and for quantiles
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RangesArgs {
    /// Numbers of bins, separated by commas
    #[arg(long, value_name = "M,M,…", value_delimiter = ',', required = true)]
    bin_counts: Vec<usize>,
    /// Compare for pure ε, with Laplace noise. The least possible error is then not known
    #[arg(long)]
    pure: bool,
    /// Print one JSON object for each strategy
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// A strategy with its figures.
struct Row {
    strategy: &'static str,
    ranges: Ranges,
    error: f64,
    /// How often it is the least possible, unless that is not known.
    ratio: Option<f64>,
}

pub(crate) fn run(args: &RangesArgs) -> Result<()> {
    let mut text = String::new();
    for bins in &args.bin_counts {
        if !(1..=MAX_BINS).contains(bins) {
            return Err(CliError::bad(format!(
                "--bin-counts: expected numbers from 1 to {MAX_BINS}, got {bins}"
            )));
        }
        let rows = rows(*bins, args.pure)?;
        text.push_str(&if args.json { json(&rows)? } else { people(&rows) });
    }
    output::print(&text)
}

fn rows(bins: usize, is_pure: bool) -> Result<Vec<Row>> {
    let least = if is_pure { None } else { Some(Ranges::plain(bins)?.least_squared_error()?) };
    let strategies = [
        ("plain bins", Ranges::plain(bins)?),
        ("all ranges of 2, 4, 8, …, equal weights", Ranges::halving(bins)?),
        ("the best one", Ranges::best(bins, is_pure)?),
    ];
    let row = |(strategy, ranges): (&'static str, Ranges)| {
        let error = ranges.squared_error(is_pure);
        Row { strategy, ranges, error, ratio: least.map(|least| error / least) }
    };
    Ok(strategies.into_iter().map(row).collect())
}

fn people(rows: &[Row]) -> String {
    let mut text = String::new();
    for (index, Row { strategy, ranges, error, ratio }) in rows.iter().enumerate() {
        if index == 0 {
            text.push_str(&format!(
                "{} bins{:38}totals  levels  squared error  over the least\n",
                ranges.bins(),
                ""
            ));
        }
        let ratio = ratio.map_or("not known".to_owned(), |ratio| format!("{ratio:.3}"));
        let (lanes, levels) = (ranges.lanes(), ranges.levels());
        text.push_str(&format!("  {strategy:40} {lanes:7} {levels:7} {error:14.3} {ratio:>15}\n"));
    }
    text
}

/// The rows as JSON. Other programs rely on exactly these fields.
fn json(rows: &[Row]) -> Result<String> {
    rows.iter()
        .map(|Row { strategy, ranges, error, ratio }| {
            let object = JsonObject::default()
                .with("bins", ranges.bins())
                .with("strategy", *strategy)
                .with("branching", ranges.branching())
                .with("weights", ranges.weights().to_vec())
                .with("totals", ranges.lanes())
                .with("squared_error", *error);
            object.with("over_the_least", *ratio).line()
        })
        .collect()
}
