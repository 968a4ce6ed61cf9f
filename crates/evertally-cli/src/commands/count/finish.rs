//! The end of a run: all of its outputs appear, or none.
//!
//! **Guarantee.** The table, the plot and the covariance are complete, on the disk and under temporary
//! names before any of them gets its own. If one of them fails, none appears. The budget of the run is
//! spent by then, so the releases are not lost:
//! - With `--noise-key`, the same command makes the same releases again, and is charged no second
//!   time. The temporary files are removed.
//! - Without it, nobody can make this noise again. The complete table stays under its temporary name,
//!   which the error states.
//!
//! Standard output and devices show what is written to them at once, and a followed table can be read
//! while it grows. They keep the releases that they have.

use super::summary::Released;
use super::task::Task;
use crate::error::{CliError, Result};
use crate::manners::note;
use crate::memory;
use crate::output::{Destination, Existing, commit_together, npy_matrix};
use crate::plot::{EstimateChart, PlotFormat, render};
use crate::progress::with_progress;
use evertally::Matrix;
use std::io::Write;
use std::path::Path;

/// What the releases, the table and a plot take at most, except for very many keys.
const MEMORY_TO_FINISH: usize = 64 << 20;

/// Stops before an output is opened if the system has no memory left for it (`ulimit -v`). A program whose
/// memory ends while it writes leaves a temporary file behind.
pub(crate) fn check_memory() -> Result<()> {
    memory::check_for(MEMORY_TO_FINISH, "writing: nothing was released")
}

/// How the outputs of a run are treated.
#[derive(Clone, Copy)]
pub(crate) struct Outputs {
    pub(crate) existing: Existing,
    /// Whether the key of the run is kept, so that it can be repeated.
    pub(crate) has_key: bool,
}

impl Outputs {
    /// Writes the outputs beside the table, completes all of them and gives them their names.
    pub(crate) fn write(
        self,
        table: Option<Destination>,
        plot: Option<((&Path, PlotFormat), &EstimateChart)>,
        covariance: Option<(&Path, &Matrix)>,
    ) -> Result<()> {
        let Some(mut table) = table else { return Ok(()) };
        table.complete()?;
        match self.write_others(plot, covariance) {
            Ok(mut outputs) => {
                outputs.insert(0, table);
                commit_together(outputs)
            }
            Err(failed) => Err(self.without_others(table, &failed)),
        }
    }

    /// The plot and the covariance, complete and without their names.
    fn write_others(
        self,
        plot: Option<((&Path, PlotFormat), &EstimateChart)>,
        covariance: Option<(&Path, &Matrix)>,
    ) -> Result<Vec<Destination>> {
        let mut others = Vec::new();
        if let Some(((path, format), chart)) = plot {
            let bytes = with_progress("drawing", |_| render(chart, format))?;
            others.push(written(path, self.existing, &bytes)?);
        }
        if let Some((path, covariance)) = covariance {
            others.push(written(path, self.existing, &npy_matrix(covariance))?);
        }
        Ok(others)
    }

    /// What to do if the run is stopped after it was paid for.
    pub(crate) fn advice(self) -> &'static str {
        if self.has_key {
            "its releases are not complete; with the same key, the same command completes them without a second charge"
        } else {
            "its releases are not complete; a new run draws new noise and spends its budget again"
        }
    }

    /// The error for a run whose plot or covariance failed, with what became of its releases.
    fn without_others(self, table: Destination, failed: &CliError) -> CliError {
        let failed = match failed {
            CliError::ClosedPipe => "an output was not read to its end".to_owned(),
            other => other.to_string(),
        };
        if self.has_key && table.can_vanish() {
            return CliError::Failure(format!(
                "{failed}; no output was written, and the same command makes the same releases again without a second charge"
            ));
        }
        match table.leave() {
            Ok(place) => CliError::Failure(format!("{failed}; the releases are in {place}")),
            Err(lost) => CliError::Failure(format!("{failed}; and {lost}")),
        }
    }
}

fn written(path: &Path, existing: Existing, bytes: &[u8]) -> Result<Destination> {
    let mut out = Destination::open(Some(path), existing)?;
    let name = out.name();
    out.write_all(bytes).map_err(|error| CliError::writing(&name, &error))?;
    out.complete()?;
    Ok(out)
}

/// Says how to go on after a signal has ended a followed run.
pub(super) fn say_how_to_go_on(task: &Task<'_>, released: &Released) {
    let steps =
        if released.steps == 1 { "1 step was".to_owned() } else { format!("{} steps were", released.steps) };
    let how = if task.args.noise_key.path().is_some() && task.lag.is_none() {
        "with the same key, the same command releases the same steps from the start of the stream and goes on \
         after them, into another --output"
    } else if task.args.noise_key.path().is_some() {
        "a new run needs a new key, because the clock has made past events late, and spends its budget again"
    } else {
        "a new run draws new noise and spends its budget again (--noise-key lets a run go on)"
    };
    note(format_args!("stopped: {steps} released, and the output is complete; {how}"));
}
