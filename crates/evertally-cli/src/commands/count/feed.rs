//! From rows to closed steps.

use super::events::{EventRow, LeftOut};
use super::release::Releaser;
use super::task::Task;
use crate::error::{CliError, Result};
use crate::input::{EXPECTED_VALUE, ROWS_BETWEEN_UPDATES, RowReader, each_row, expected, place};
use crate::progress::{Progress, with_progress};
use evertally_stream::{
    Buckets, ClosedStep, Error as StreamError, Follow, Gather, GatheredSteps, Rows, Side,
};

/// Gathers every event of a finished input, in any order.
pub(super) fn gather_events(
    task: &Task<'_>,
    buckets: Buckets,
    reader: &mut dyn RowReader,
) -> Result<GatheredSteps> {
    let mut gather = Gather::new(buckets, task.rules(), task.memory_limit())?;
    let mut left_out = LeftOut::new(task);
    let mut rows = EventRows::new(task, reader, "reading");
    while rows.read()? {
        let pushed = gather.push(&rows.row.event()?);
        left_out.note(pushed, &rows.row)?;
    }
    drop(rows);
    left_out.tell();
    Ok(with_progress("deciding what counts", |_| gather.finish()))
}

/// Passes on every event of a finished input in its order.
#[cfg(test)]
pub(super) fn each_event(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    mut take: impl FnMut(&evertally_stream::Event<'_>),
) -> Result<()> {
    let mut rows = EventRows::new(task, reader, "reading");
    while rows.read()? {
        take(&rows.row.event()?);
    }
    Ok(())
}

/// Releases each bucket as soon as an event has moved past it. The end of the input closes the
/// remaining buckets. Their number was declared, so no event decides it.
pub(super) fn follow_events(
    task: &Task<'_>,
    buckets: Buckets,
    reader: &mut dyn RowReader,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let mut follow = Follow::new(buckets, task.rules());
    let mut left_out = LeftOut::while_following(task);
    let mut rows = EventRows::new(task, reader, "following");
    while rows.read()? {
        let event = rows.row.event()?;
        match follow.push(&event) {
            Ok(pushed) => {
                left_out.note(Ok(pushed.outcome), &rows.row)?;
                releaser.release_and_flush(pushed.closed)?;
            }
            Err(error) => {
                // Time has moved past the declared range, so every bucket in it is over. An event
                // that cannot count moves no time.
                let is_over =
                    error == StreamError::OutsideRange { side: Side::After } && follow.would_count(&event);
                left_out.note(Err(error), &rows.row)?;
                if is_over {
                    break;
                }
            }
        }
    }
    left_out.tell();
    releaser.release_and_flush(follow.finish())
}

/// Releases each row as a step, as soon as it is read. Declared steps without a row are zero.
pub(super) fn follow_rows(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?;
    each_row_value(task, reader, |value| {
        let closed = rows.push(value)?;
        Ok(releaser.release_and_flush(std::iter::once(closed)))
    })?;
    releaser.release_and_flush(rows.finish())
}

/// Reads every row as a step before any is released, so that an invalid row costs no budget.
/// Declared steps without a row are zero. If no number was declared, the number of rows is public.
/// Returns the number of steps, the steps that were read, and the rest.
pub(super) fn read_rows(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
) -> Result<(u64, Vec<ClosedStep>, impl Iterator<Item = ClosedStep> + use<>)> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?;
    let mut closed = Vec::new();
    each_row_value(task, reader, |value| {
        closed.push(rows.push(value)?);
        Ok(Ok(()))
    })?;
    let steps = task.declared_rows().unwrap_or(closed.len() as u64);
    if steps == 0 {
        return Err(CliError::bad(format!(
            "{} has no rows: expected at least one, or --horizon N",
            task.source
        )));
    }
    Ok((steps, closed, rows.finish()))
}

/// Passes on the value of each row. The inner result is the writer's, the outer one the stream's.
fn each_row_value(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    mut take: impl FnMut(f64) -> std::result::Result<Result<()>, StreamError>,
) -> Result<()> {
    let columns = task.columns();
    let column = columns.first().map_or("", String::as_str);
    each_row(&columns, reader, Some("reading"), |unit, row| {
        let cell = &row.cells[0];
        let place = || place(&task.source, unit, row.line, column);
        let value = cell.as_value().ok_or_else(|| expected(&place(), EXPECTED_VALUE, cell))?;
        take(value).map_err(|error| CliError::bad(format!("{}: {error}", place())))?
    })
}

/// The rows of an input as events, one after another.
struct EventRows<'a> {
    row: EventRow<'a>,
    reader: &'a mut dyn RowReader,
    progress: Progress,
    count: u64,
}

impl<'a> EventRows<'a> {
    fn new(task: &'a Task<'a>, reader: &'a mut dyn RowReader, label: &'static str) -> Self {
        let row = EventRow::new(task, reader.unit());
        Self { row, reader, progress: Progress::new(label), count: 0 }
    }

    /// Whether there was another row.
    fn read(&mut self) -> Result<bool> {
        if !self.reader.read(self.row.cells())? {
            return Ok(false);
        }
        self.count += 1;
        if self.count.is_multiple_of(ROWS_BETWEEN_UPDATES) {
            self.progress.update(self.reader.fraction_read());
        }
        Ok(true)
    }
}
