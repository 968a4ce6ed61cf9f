//! From rows to closed steps.

use super::options::Outside;
use super::release::Releaser;
use super::task::Task;
use crate::error::{CliError, Result, tell};
use crate::input::{Cell, EXPECTED_VALUE, Row, RowReader, expected, place};
use crate::progress::Progress;
use crate::time;
use evertally_stream::{
    Buckets, ClosedStep, Error as StreamError, Event, Follow, Gather, GatheredSteps, Refusal, Rows, Side,
};

/// The largest table of totals where the user has set no limit of their own.
const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

/// The progress bar is looked at once in so many rows.
const ROWS_BETWEEN_UPDATES: u64 = 4096;

/// Gathers every event of a finished input, in whatever order they stand.
pub(super) fn gather_events(
    task: &Task,
    buckets: Buckets,
    reader: &mut dyn RowReader,
) -> Result<GatheredSteps> {
    let limit = task.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT);
    let mut gather = Gather::new(buckets, task.admission()?, limit)?;
    let mut warned = false;
    let mut progress = Progress::new("reading");
    let mut rows = EventRows::new(task, reader);
    while let Some(event) = rows.next(&mut progress)? {
        match gather.push(&event) {
            Ok(_) => {}
            Err(StreamError::OutsideRange { .. }) if task.outside == Outside::Drop => {
                warn_outside(&mut warned);
            }
            Err(error) => return Err(rows.refused(&error)),
        }
    }
    Ok(gather.finish())
}

/// Releases each bucket as soon as it is closed; the end of the input closes the rest, or the open one where there is no end to
/// the rest.
pub(super) fn follow_events(
    task: &Task,
    buckets: Buckets,
    reader: &mut dyn RowReader,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let mut follow = Follow::new(buckets, task.admission()?);
    let (mut warned_outside, mut warned_late) = (false, false);
    let mut progress = Progress::new("following");
    let mut rows = EventRows::new(task, reader);
    releaser.flush()?;
    while let Some(event) = rows.next(&mut progress)? {
        let pushed = match follow.push(&event) {
            Ok(pushed) => pushed,
            Err(StreamError::OutsideRange { side }) if task.outside == Outside::Drop => {
                warn_outside(&mut warned_outside);
                if side == Side::After {
                    // Time has moved past the declared range, so every bucket in it is over.
                    break;
                }
                continue;
            }
            Err(error) => return Err(rows.refused(&error)),
        };
        if pushed.counted == Err(Refusal::Late) && !warned_late {
            warned_late = true;
            // No count: how many are late is private, and so is what they were.
            tell("warning: an event came after its step was released and was dropped, as will be others");
        }
        releaser.release_and_flush(pushed.closed)?;
    }
    if task.is_unbounded {
        let next = (follow.open_step() + 1).min(buckets.steps());
        return releaser.release_and_flush(follow.advance_to(buckets.start_of(next)));
    }
    releaser.release_and_flush(follow.finish())
}

/// Releases each row as its step, as soon as it is read; declared steps without a row are zero.
pub(super) fn follow_rows(
    task: &Task,
    reader: &mut dyn RowReader,
    releaser: &mut Releaser<'_>,
) -> Result<()> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?;
    each_row_value(task, reader, |value| {
        let closed = rows.push(value)?;
        Ok(releaser.release_and_flush(std::iter::once(closed)))
    })?;
    releaser.release_all(rows.finish())
}

/// Reads every row as its step before any is released, so that a row that cannot be used costs no budget. Declared steps
/// without a row are zero; where no number was declared, that of the rows is public. Answers with the number of steps.
pub(super) fn read_rows(
    task: &Task,
    reader: &mut dyn RowReader,
) -> Result<(u64, impl Iterator<Item = ClosedStep> + use<>)> {
    let mut rows = Rows::new(task.declared_rows(), task.clamp)?;
    let mut closed = Vec::new();
    each_row_value(task, reader, |value| {
        closed.push(rows.push(value)?);
        Ok(Ok(()))
    })?;
    let steps = task.declared_rows().unwrap_or(closed.len() as u64);
    if steps == 0 {
        return Err(CliError::bad(format!(
            "{} has no rows: expected at least one, or --steps N",
            task.source
        )));
    }
    Ok((steps, closed.into_iter().chain(rows.finish())))
}

/// Hands on the value of each row. The inner result is the writer's, the outer one the stream's.
fn each_row_value(
    task: &Task,
    reader: &mut dyn RowReader,
    mut take: impl FnMut(f64) -> std::result::Result<Result<()>, StreamError>,
) -> Result<()> {
    let columns = task.columns();
    let column = columns.first().map_or("", String::as_str);
    let mut progress = Progress::new("reading");
    let mut row = Row::for_columns(&columns);
    let mut count: u64 = 0;
    while reader.read(&mut row)? {
        count += 1;
        if count.is_multiple_of(ROWS_BETWEEN_UPDATES) {
            progress.update(reader.fraction_read());
        }
        let cell = &row.cells[0];
        let place = || place(&task.source, reader.unit(), row.line, column);
        let value = cell.as_value().ok_or_else(|| expected(&place(), EXPECTED_VALUE, cell))?;
        take(value).map_err(|error| CliError::bad(format!("{}: {error}", place())))??;
    }
    Ok(())
}

/// Rows as events. The order of the columns here is that of [`Task::columns`].
struct EventRows<'a> {
    task: &'a Task,
    reader: &'a mut dyn RowReader,
    row: Row,
    count: u64,
}

impl<'a> EventRows<'a> {
    fn new(task: &'a Task, reader: &'a mut dyn RowReader) -> Self {
        Self { task, reader, row: Row::for_columns(&task.columns()), count: 0 }
    }

    fn next(&mut self, progress: &mut Progress) -> Result<Option<Event<'_>>> {
        if !self.reader.read(&mut self.row)? {
            return Ok(None);
        }
        self.count += 1;
        if self.count.is_multiple_of(ROWS_BETWEEN_UPDATES) {
            progress.update(self.reader.fraction_read());
        }
        let (task, unit, line) = (self.task, self.reader.unit(), self.row.line);
        let place = |column: &str| place(&task.source, unit, line, column);
        let mut event = Event::default();
        let mut cells = self.row.cells.iter_mut();
        if let (Some(column), Some(cell)) = (&task.time, cells.next()) {
            event.time = cell.as_time().ok_or_else(|| expected(&place(column), time::EXPECTED, cell))?;
        }
        if let Some(column) = &task.value {
            let cell = cells.next();
            let value = cell.as_ref().and_then(|cell| cell.as_value());
            event.value = Some(value.ok_or_else(|| {
                expected(&place(column), EXPECTED_VALUE, cell.as_deref().unwrap_or(&Cell::Missing))
            })?);
        }
        let mut name = |wanted: bool| if wanted { cells.next().and_then(Cell::make_name) } else { None };
        event.key = name(task.key.is_some());
        event.person = name(task.person.is_some());
        event.id = name(task.id.is_some());
        Ok(Some(event))
    }

    /// The error for an event that the stream would not take, with its place.
    fn refused(&self, error: &StreamError) -> CliError {
        let column = match error {
            StreamError::OutsideRange { .. } => &self.task.time,
            _ => &self.task.value,
        };
        let place = place(
            &self.task.source,
            self.reader.unit(),
            self.row.line,
            column.as_deref().unwrap_or_default(),
        );
        if let (StreamError::OutsideRange { .. }, Some(buckets)) = (error, self.task.buckets()) {
            let ends =
                [0, buckets.steps()].map(|step| time::format(buckets.start_of(step)).unwrap_or_default());
            let [from, to] = ends;
            let remedy = "--outside drop leaves such events out";
            return CliError::bad(format!(
                "{place}: expected a time from {from} to before {to} ({remedy}), {error}"
            ));
        }
        CliError::bad(format!("{place}: {error}"))
    }
}

fn warn_outside(warned: &mut bool) {
    if !*warned {
        *warned = true;
        tell("warning: an event outside the declared range was dropped, as will be others");
    }
}
