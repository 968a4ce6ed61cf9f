//! From rows to closed steps.

use super::events::{EventRow, LeftOut};
use super::options::Outside;
use super::release::Releaser;
use super::task::Task;
use crate::error::{CliError, Result};
use crate::input::{Bulk, EXPECTED_VALUE, ROWS_BETWEEN_UPDATES, Roles, Row, RowReader, expected};
use crate::interrupt;
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
    let gather = Gather::new(buckets, task.rules(), task.memory_limit())?;
    let mut gather = gather.spilling_to(|| Ok(Box::new(tempfile::tempfile()?)));
    gather_into(&mut gather, task, reader)?;
    Ok(with_progress("deciding what counts", |_| gather.finish())?)
}

/// The same into a table that may have some of the steps.
pub(super) fn gather_into(gather: &mut Gather, task: &Task<'_>, reader: &mut dyn RowReader) -> Result<()> {
    let mut left_out = LeftOut::new(task);
    let roles = bulk_roles(task).filter(|_| gather.takes_columns());
    let mut rows = EventRows::new(task, reader, "reading");
    loop {
        if let Some(roles) = roles {
            rows.add_in_bulk(roles, gather, &mut left_out)?;
            left_out.note_other_steps(gather.left_out());
        }
        if !rows.read_usable(&mut left_out)? {
            break;
        }
        let pushed = match left_out.skip(rows.row.filtered_event())?.flatten() {
            Some(event) => gather.push(&event),
            None => continue,
        };
        let noted = left_out.note(pushed, &rows.row);
        left_out.skip(noted)?;
    }
    drop(rows);
    left_out.tell();
    Ok(())
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
        if let Some(event) = rows.row.filtered_event()? {
            take(&event);
        }
    }
    Ok(())
}

/// Releases each bucket as soon as an event has moved past it. The end of the input closes the
/// remaining buckets. Their number was declared, so no event decides it. A signal closes nothing, so
/// that the stream can go on.
pub(super) fn follow_events(
    task: &Task<'_>,
    buckets: Buckets,
    reader: &mut dyn RowReader,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let mut follow = Follow::new(buckets, task.rules());
    let mut left_out = LeftOut::while_following(task);
    let mut rows = EventRows::new(task, reader, "following");
    while rows.read_usable(&mut left_out)? {
        let Some(event) = left_out.skip(rows.row.filtered_event())?.flatten() else { continue };
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
                let noted = left_out.note(Err(error), &rows.row);
                left_out.skip(noted)?;
                if is_over {
                    break;
                }
            }
        }
    }
    left_out.tell();
    if interrupt::is_stopping() { Ok(()) } else { releaser.release_and_flush(follow.finish()) }
}

/// Releases each row as a step, as soon as it is read. Declared steps without a row are zero.
pub(super) fn follow_rows(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?;
    each_row_value(task, reader, LeftOut::while_following(task), |value| {
        let closed = rows.push(value)?;
        Ok(releaser.release_and_flush(std::iter::once(closed)))
    })?;
    if interrupt::is_stopping() { Ok(()) } else { releaser.release_and_flush(rows.finish()) }
}

/// Reads every row as a step before any is released, so that an invalid row costs no budget.
/// Declared steps without a row are zero. If no number was declared, the number of rows is public.
/// Returns the number of steps, the steps that were read, and the rest.
pub(super) fn read_rows(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
) -> Result<(u64, Vec<ClosedStep>, impl Iterator<Item = ClosedStep> + use<>)> {
    let (closed, rows) = rows_after(task, reader, 0)?;
    let steps = task.declared_rows().unwrap_or(closed.len() as u64);
    if steps == 0 {
        return Err(CliError::bad(format!(
            "{} has no rows: expected at least one, or --horizon N",
            task.source
        )));
    }
    Ok((steps, closed, rows.finish()))
}

/// Reads every row as a step after those of earlier runs. How many there are is public.
pub(super) fn read_next_rows(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    first: u64,
) -> Result<Vec<ClosedStep>> {
    let (closed, _) = rows_after(task, reader, first)?;
    if closed.is_empty() {
        return Err(CliError::bad(format!("{} has no rows: expected at least one", task.source)));
    }
    Ok(closed)
}

fn rows_after(task: &Task<'_>, reader: &mut dyn RowReader, first: u64) -> Result<(Vec<ClosedStep>, Rows)> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?.after(first);
    let mut closed = Vec::new();
    each_row_value(task, reader, LeftOut::new(task), |value| {
        closed.push(rows.push(value)?);
        Ok(Ok(()))
    })?;
    Ok((closed, rows))
}

/// Passes on the value of each row. The inner result is the writer's, the outer one the stream's.
fn each_row_value(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    mut left_out: LeftOut<'_>,
    mut take: impl FnMut(f64) -> std::result::Result<Result<()>, StreamError>,
) -> Result<()> {
    let columns = task.columns();
    let column = columns.first().map_or("", String::as_str);
    let mut progress = Progress::new("reading");
    let mut row = Row::for_columns(&columns);
    let mut count: u64 = 0;
    loop {
        match left_out.skip(reader.read(&mut row))? {
            Some(false) => return Ok(()),
            Some(true) => {}
            None => continue,
        }
        count += 1;
        if count.is_multiple_of(ROWS_BETWEEN_UPDATES) {
            progress.update(reader.fraction_read());
        }
        let cell = &row.cells[0];
        let place = || row.place(&task.source, reader.unit(), column);
        let value = cell.as_value().ok_or_else(|| expected(&place(), EXPECTED_VALUE, cell));
        let taken = value.and_then(|value| {
            take(value).map_err(|error| {
                let message = format!("{}: {error}", place());
                match error {
                    StreamError::HorizonSpent { .. } => CliError::BadInput(message),
                    _ => CliError::BadRow(message),
                }
            })
        });
        if let Some(written) = left_out.skip(taken)? {
            written?;
        }
    }
}

/// The columns of a count whose rows a reader may add by itself. The order is that of
/// [`Task::columns`].
fn bulk_roles(task: &Task<'_>) -> Option<Roles> {
    let has_others = task.args.person.is_some() || task.args.id.is_some() || task.filter.is_some();
    if has_others || task.args.time.is_none() {
        return None;
    }
    let value = task.value_column().map(|_| 1);
    let key = task.args.group_by.as_ref().map(|_| if value.is_some() { 2 } else { 1 });
    Some(Roles { time: 0, value, key })
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

    /// Lets the reader add as many of the next rows as it can by itself.
    fn add_in_bulk(&mut self, roles: Roles, gather: &mut Gather, left_out: &mut LeftOut<'_>) -> Result<()> {
        let task = self.row.task();
        let drops_outside = task.args.outside == Outside::Drop;
        let mut bulk = Bulk::new(roles, &task.times, gather, drops_outside);
        while self.reader.add_in_bulk(&mut bulk)? {
            self.progress.update(self.reader.fraction_read());
        }
        if bulk.has_dropped {
            left_out.note_outside();
        }
        Ok(())
    }

    /// Whether there was another row that can be read. Others are left out or stop the run.
    fn read_usable(&mut self, left_out: &mut LeftOut<'_>) -> Result<bool> {
        loop {
            if let Some(is_row) = left_out.skip(self.read())? {
                return Ok(is_row);
            }
        }
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
