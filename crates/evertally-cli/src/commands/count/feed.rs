//! From rows to closed steps.

use super::events::{EventRow, LeftOut, Pushed};
use super::options::{Outside, Unnamed};
use super::release::Releaser;
use super::task::Task;
use crate::error::{CliError, Result};
use crate::input::{Bulk, Drops, EXPECTED_VALUE, ROWS_BETWEEN_UPDATES, Roles, Row, RowReader, expected};
use crate::interrupt;
use crate::memory;
use crate::progress::{Progress, with_progress};
use evertally_stream::{
    Buckets, ClosedStep, Error as StreamError, Follow, Gather, GatheredSteps, OpenGather, OpenSteps, Present,
    Rows, Side, Stays,
};

/// Gathers every event of a finished input, in any order.
pub(super) fn gather_events(
    task: &Task<'_>,
    buckets: Buckets,
    reader: &mut dyn RowReader,
) -> Result<GatheredSteps> {
    if let Some(stays) = &task.stays {
        return gather_present(task, stays, buckets, reader);
    }
    let gather = Gather::new(buckets, task.rules(), task.memory_limit())?;
    // Events go to the disk before memory runs out, whatever the limit.
    let left = task.memory_limit().saturating_sub(gather.table_bytes() as u64);
    let gather = gather.holding_at_most(memory::at_most(left));
    let mut gather = gather.spilling_to(|| Ok(Box::new(tempfile::tempfile()?)));
    gather_into(&mut gather, task, reader)?;
    Ok(with_progress("deciding what counts", |_| gather.finish())?)
}

/// The same for persons who come and go.
fn gather_present(
    task: &Task<'_>,
    stays: &Stays<'_>,
    buckets: Buckets,
    reader: &mut dyn RowReader,
) -> Result<GatheredSteps> {
    let (keys, limit) = (task.keys.clone(), task.memory_limit());
    let mut present = Present::new(buckets, keys, stays.presence, stays.max_stays, limit)?;
    each_usable(task, reader, |row, left_out| {
        let operation = left_out.skip(row.filtered_operation())?.flatten();
        Ok(operation.map(|(event, operation)| present.push(&event, operation)))
    })?;
    Ok(with_progress("deciding what counts", |_| present.finish()))
}

/// Gathers every event of a finished input whose groups are not declared. Groups with fewer persons than
/// the floor are left out.
pub(super) fn gather_open(
    task: &Task<'_>,
    buckets: Buckets,
    floor: u64,
    memory_limit: u64,
    reader: &mut dyn RowReader,
) -> Result<OpenSteps> {
    let gather = OpenGather::new(buckets, task.rules(), memory::at_most(memory_limit))?.at_or_above(floor);
    let mut gather = gather.spilling_to(|| Ok(Box::new(tempfile::tempfile()?)));
    gather_into(gather.events(), task, reader)?;
    Ok(with_progress("deciding what counts", |_| gather.finish())?)
}

/// Passes on every row that can be read. `push` gives what became of its event, or `None` if it has none.
fn each_usable(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    mut push: impl FnMut(&mut EventRow<'_>, &mut LeftOut<'_>) -> Result<Option<Pushed>>,
) -> Result<()> {
    let mut left_out = LeftOut::new(task);
    let mut rows = EventRows::new(task, reader, "reading");
    while rows.read_usable(&mut left_out)? {
        if let Some(pushed) = push(&mut rows.row, &mut left_out)? {
            let noted = left_out.note(pushed, &rows.row);
            left_out.skip(noted)?;
        }
    }
    drop(rows);
    left_out.tell();
    Ok(())
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
    let mut follow = Follow::new(buckets, task.rules()).holding_at_most(task.memory_limit());
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
) -> Result<(u64, GatheredSteps, impl Iterator<Item = ClosedStep> + use<>)> {
    let (closed, rows) = rows_after(task, reader, 0, |_| true)?;
    let steps = task.declared_rows().unwrap_or(closed.len() as u64);
    if steps == 0 {
        return Err(CliError::bad(format!(
            "{} has no rows: expected at least one, or --horizon N",
            task.source
        )));
    }
    Ok((steps, closed, rows.finish()))
}

/// Reads the new rows as steps after those of earlier runs. How many there are is public.
pub(super) fn read_next_rows(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    first: u64,
    is_new: impl FnMut(f64) -> bool,
) -> Result<GatheredSteps> {
    Ok(rows_after(task, reader, first, is_new)?.0)
}

fn rows_after(
    task: &Task<'_>,
    reader: &mut dyn RowReader,
    first: u64,
    mut is_new: impl FnMut(f64) -> bool,
) -> Result<(GatheredSteps, Rows)> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?.after(first);
    let mut totals = Vec::new();
    each_row_value(task, reader, LeftOut::new(task), |value| {
        if is_new(value) {
            let total = rows.take(value)?;
            if totals.try_reserve(1).is_err() {
                return Ok(Err(memory::none_left("more rows")));
            }
            totals.push(total);
        }
        Ok(Ok(()))
    })?;
    Ok((GatheredSteps::of_rows(first, totals), rows))
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
            memory::check("more rows")?;
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
    // Persons who are not bounded are read, and then do not matter.
    let has_idle_persons = task.args.person_column().is_some() && task.rules().limits.is_none();
    let has_others = task.filter.is_some() || task.bins.is_some() || has_idle_persons;
    if has_others || task.args.time.is_none() {
        return None;
    }
    let mut places = 1..;
    let mut place = |is_given: bool| is_given.then(|| places.next()).flatten();
    let value = place(task.value_column().is_some());
    let key = place(task.args.group_by.is_some());
    let person = place(task.args.person_column().is_some());
    Some(Roles { time: 0, value, key, person, id: place(task.args.id.is_some()) })
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
        let drops = Drops {
            outside: task.args.outside == Outside::Drop,
            unnamed: task.unnamed != Some(Unnamed::Refuse),
        };
        let mut bulk = Bulk::new(roles, &task.times, gather, drops);
        while self.reader.add_in_bulk(&mut bulk)? {
            self.progress.update(self.reader.fraction_read());
        }
        left_out.note_in_bulk(bulk.left_out.outside, bulk.left_out.unnamed);
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
            memory::check("more rows")?;
            self.progress.update(self.reader.fraction_read());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
