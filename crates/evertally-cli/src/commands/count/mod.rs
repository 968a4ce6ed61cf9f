//! `evertally count`: events in, private running totals out.
//!
//! One direction, no step back: [`options`] is what the user wrote, [`task`] is what it means, [`feed`] turns rows into
//! closed steps, and [`release`] turns closed steps into estimates that are written and drawn.

mod feed;
mod options;
mod release;
mod task;
mod truth;

pub(crate) use options::CountArgs;

use crate::error::{CliError, Result};
use crate::mechanism::Prepared;
use crate::noise_key;
use crate::plot::PlotFormat;
use crate::{input, output};
use output::OutputFormat;
use release::Releaser;
use task::{Steps, Task};

pub(crate) fn run(args: &CountArgs) -> Result<()> {
    let task = Task::from_args(args)?;
    let plot =
        args.plot.as_deref().map(|path| PlotFormat::of(path).map(|format| (path, format))).transpose()?;
    let format = args.format.unwrap_or_else(|| OutputFormat::of(args.output.as_deref()));
    if args.follow && format == OutputFormat::Parquet {
        return Err(CliError::bad(
            "--follow cannot write Parquet: such a file is whole only at its end; use csv or jsonl",
        ));
    }
    let key = args.key_file.as_deref().map(noise_key::read).transpose()?;
    // Parameters are refused before anything is read, where they do not depend on what will be read.
    let planned = task.horizon().map(|horizon| Prepared::new(&task.request(horizon))).transpose()?;
    let mut reader = input::open(&args.file, args.input_format, &task.columns(), args.follow)?;

    let start = |prepared: Prepared, horizon: u64| {
        let destination = if args.follow {
            output::Destination::open_growing(args.output.as_deref())?
        } else {
            output::Destination::open(args.output.as_deref())?
        };
        Releaser::start(&task, horizon, prepared, key, format, destination, args.plot_truth_not_private)
    };
    let releaser = match (&task.steps, planned) {
        (Steps::Buckets(buckets), Some(prepared)) if args.follow => {
            let mut releaser = start(prepared, buckets.steps())?;
            feed::follow_events(&task, *buckets, reader.as_mut(), &mut releaser)?;
            releaser
        }
        (Steps::Buckets(buckets), Some(prepared)) => {
            let gathered = feed::gather_events(&task, *buckets, reader.as_mut())?;
            let mut releaser = start(prepared, buckets.steps())?;
            releaser.release_all(gathered)?;
            releaser
        }
        (Steps::Rows(Some(horizon)), Some(prepared)) => {
            let mut releaser = start(prepared, *horizon)?;
            feed::release_rows(&task, reader.as_mut(), &mut releaser, args.follow)?;
            releaser
        }
        // The number of rows was not declared: it is taken as public, and known only once they are read.
        _ => {
            let closed = feed::read_rows(&task, reader.as_mut())?;
            let horizon = closed.len() as u64;
            let mut releaser = start(Prepared::new(&task.request(horizon))?, horizon)?;
            releaser.release_all(closed.into_iter())?;
            releaser
        }
    };
    let chart = releaser.finish()?;
    if let Some((path, format)) = plot {
        output::write_whole_file(path, &crate::plot::render(&chart, format)?)?;
    }
    Ok(())
}
