//! Live input: steps are closed by the clock, whether or not an event comes.
//!
//! **Guarantee.** Which steps are released, and when, depends on the clock and on the end of the
//! input, never on an event.

use super::events::{EventRow, LeftOut};
use super::release::Releaser;
use super::task::Task;
use crate::error::Result;
use crate::input::{NextRow, RowReader, WaitingReader};
use evertally_stream::{Buckets, Clocked, ClosedSteps, time};
use std::time::Duration;

/// How often the program reads the clock, which may be set while the program waits.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The open buckets, if the clock closes buckets.
pub(super) fn clocked(task: &Task<'_>, buckets: Buckets) -> Result<Option<Clocked>> {
    let open = |lag| Ok(Clocked::new(buckets, task.rules(), lag, task.memory_limit())?);
    task.lag.map(open).transpose()
}

/// Releases each bucket when the clock says so, until the last one is closed or the input ends.
pub(super) fn follow_by_clock(
    task: &Task<'_>,
    live: Clocked,
    reader: Box<dyn RowReader>,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let unit = reader.unit();
    let mut rows = WaitingReader::start(reader, &task.columns())?;
    close_by_clock(
        live,
        EventRow::new(task, unit),
        LeftOut::while_following(task),
        &mut |longest| rows.wait(longest.min(MAX_WAIT)),
        &time::now_micros,
        &mut |closed| releaser.release_and_flush(closed),
    )
}

/// The same with the input, the clock and the output as functions.
fn close_by_clock(
    mut live: Clocked,
    mut row: EventRow<'_>,
    mut left_out: LeftOut<'_>,
    wait: &mut dyn FnMut(Duration) -> Result<NextRow>,
    clock: &dyn Fn() -> i64,
    release: &mut dyn FnMut(ClosedSteps) -> Result<()>,
) -> Result<()> {
    release(live.advance_to(clock()))?;
    while let Some(next_close) = live.next_close() {
        let micros = next_close.saturating_sub(clock()).max(0);
        let waited = left_out.skip(wait(Duration::from_micros(micros.unsigned_abs())))?;
        // Time has passed while the program waited, so the clock comes before the event.
        release(live.advance_to(clock()))?;
        match waited {
            Some(NextRow::Row(read)) => {
                *row.cells() = read;
                if let Some(event) = left_out.skip(row.filtered_event())?.flatten() {
                    let pushed = live.push(&event);
                    let noted = left_out.note(pushed, &row);
                    left_out.skip(noted)?;
                }
            }
            Some(NextRow::Nothing) | None => {}
            Some(NextRow::End) => break,
        }
    }
    left_out.tell();
    Ok(())
}

#[cfg(test)]
mod tests;
