//! Reads rows as events, and reports events that do not count.

use super::options::{Outside, Unnamed};
use super::schedule::show_time;
use super::task::Task;
use crate::error::{CliError, Result, shown};
use crate::input::{Cell, EXPECTED_VALUE, Row, RowReader, expected, place};
use crate::manners::warn;
use evertally_stream::time::TimeReader;
use evertally_stream::{Buckets, Error as StreamError, Event, Operation, Outcome};

/// Refuses an input whose keys, persons or ids are in a column that cannot hold names. The types of
/// columns are public, so this is decided before a row is read.
pub(super) fn check_name_columns(task: &Task<'_>, reader: &dyn RowReader) -> Result<()> {
    let others = [task.args.time.as_ref(), task.value_column(), task.args.histogram.column.as_ref()];
    let others = others.into_iter().flatten().count();
    let names = [
        ("--group-by", &task.args.group_by),
        ("--person", &task.args.person),
        ("--distinct", &task.args.distinct.column),
        ("--id", &task.args.id),
        ("--operation", &task.args.distinct.operation),
    ];
    let given = names.into_iter().filter_map(|(option, column)| Some((option, column.as_ref()?)));
    for (index, (option, column)) in given.enumerate() {
        if !reader.holds_names(others + index) {
            let (source, column) = (&task.source, shown(column));
            return Err(CliError::bad(format!(
                "{source}, column {column}: {option} must be a column of strings or integers; floats, decimals and times are rounded, so different ones would be one"
            )));
        }
    }
    Ok(())
}

/// What became of an event: `None` if it is decided at the end.
pub(super) type Pushed = std::result::Result<Option<Outcome>, StreamError>;

/// One row as an event. The order of the columns here is that of [`Task::columns`].
pub(super) struct EventRow<'a> {
    task: &'a Task<'a>,
    unit: &'static str,
    row: Row,
}

impl<'a> EventRow<'a> {
    /// A row that is not read yet. The unit is what the input counts: lines or rows.
    pub(super) fn new(task: &'a Task<'a>, unit: &'static str) -> Self {
        Self { task, unit, row: Row::for_columns(&task.columns()) }
    }

    pub(super) fn task(&self) -> &'a Task<'a> {
        self.task
    }

    /// The cells, for a reader to fill.
    pub(super) fn cells(&mut self) -> &mut Row {
        &mut self.row
    }

    /// The event of this row; `None` if the filter leaves it out.
    pub(super) fn filtered_event(&mut self) -> Result<Option<Event<'_>>> {
        if self.passes()? { self.event().map(Some) } else { Ok(None) }
    }

    /// The same with what the event says about its person.
    pub(super) fn filtered_operation(&mut self) -> Result<Option<(Event<'_>, Operation)>> {
        if !self.passes()? {
            return Ok(None);
        }
        let operation = self.operation()?;
        Ok(Some((self.event()?, operation)))
    }

    /// Whether a person is inserted or deleted. Without a column of operations, every event inserts.
    fn operation(&self) -> Result<Operation> {
        let Some(column) = &self.task.args.distinct.operation else { return Ok(Operation::Insert) };
        let filters = self.task.filter.as_ref().map_or(0, |filter| filter.columns().len());
        let cell = &self.row.cells[self.row.cells.len() - filters - 1];
        match cell.as_name().as_deref() {
            Some("insert") => Ok(Operation::Insert),
            Some("delete") => Ok(Operation::Delete),
            _ => Err(expected(&self.place(Some(column)), "insert or delete", cell)),
        }
    }

    /// Whether the filter keeps this row.
    fn passes(&self) -> Result<bool> {
        if let Some(filter) = &self.task.filter {
            let first = self.row.cells.len() - filter.columns().len();
            let holds = filter.holds(&self.row.cells[first..]);
            let holds = holds.map_err(|(column, expectation)| {
                let place = self.row.place(&self.task.source, self.unit, &filter.columns()[column]);
                expected(&place, &expectation, &self.row.cells[first + column])
            });
            return holds;
        }
        Ok(true)
    }

    pub(super) fn event(&mut self) -> Result<Event<'_>> {
        let (task, unit) = (self.task, self.unit);
        let Row { line, file, cells } = &mut self.row;
        let (line, file) = (*line, file.as_deref());
        let place = |column: &str| match file {
            Some(file) => place(&file.name, file.unit, line, column),
            None => place(&task.source, unit, line, column),
        };
        let mut event = Event::default();
        let mut cells = cells.iter_mut();
        if let (Some(column), Some(cell)) = (&task.args.time, cells.next()) {
            event.time =
                cell.as_time(&task.times).ok_or_else(|| bad_time(&task.times, &place(column), cell))?;
        }
        if let Some(column) = task.value_column() {
            let cell = cells.next();
            let value = cell.as_ref().and_then(|cell| cell.as_value());
            event.value = Some(value.ok_or_else(|| {
                expected(&place(column), EXPECTED_VALUE, cell.as_deref().unwrap_or(&Cell::Missing))
            })?);
        }
        if let Some(bins) = &task.bins {
            let cell = cells.next();
            let column = task.args.key_column().map(String::as_str).unwrap_or_default();
            // A value is in a bin, and no value is in `other`.
            let cell = cell.as_deref().unwrap_or(&Cell::Missing);
            if !matches!(cell, Cell::Missing) {
                let value = cell.as_value().ok_or_else(|| expected(&place(column), EXPECTED_VALUE, cell))?;
                event.key =
                    task.group_names().and_then(|names| names.get(bins.place(value))).map(String::as_str);
            }
        }
        let mut name = |wanted: bool| if wanted { cells.next().and_then(Cell::make_name) } else { None };
        if task.bins.is_none() {
            event.key = name(task.args.group_by.is_some());
        }
        event.person = name(task.args.person_column().is_some());
        event.id = name(task.args.id.is_some());
        Ok(event)
    }

    /// The place of a column of this row, for messages.
    fn place(&self, column: Option<&String>) -> String {
        let column = column.map(String::as_str).unwrap_or_default();
        self.row.place(&self.task.source, self.unit, column)
    }

    /// The error for an event that the stream refused, with its place.
    fn refused(&self, error: &StreamError) -> CliError {
        let task = self.task;
        let is_outside = matches!(error, StreamError::OutsideRange { .. });
        let place = self.place(match error {
            StreamError::OutsideRange { .. } => task.args.time.as_ref(),
            StreamError::NoKey | StreamError::KeyTooLong { .. } => task.args.group_by.as_ref(),
            _ => task.value_column(),
        });
        let Some(buckets) = task.buckets().filter(|_| is_outside) else {
            return CliError::BadRow(format!("{place}: {error}"));
        };
        outside_range(&place, buckets, &task.times, error)
    }

    /// The error for an event without a person.
    fn unnamed(&self) -> CliError {
        let place = self.place(self.task.args.person_column());
        CliError::bad(format!(
            "{place}: expected a person (--unnamed drop leaves such events out), got nothing"
        ))
    }
}

/// The error for a time outside the declared range.
pub(crate) fn outside_range(
    place: &str,
    buckets: &Buckets,
    times: &TimeReader,
    error: &StreamError,
) -> CliError {
    let [from, to] = [0, buckets.steps()].map(|step| show_time(times, buckets.start_of(step)));
    let remedy = "--outside drop leaves such events out";
    CliError::bad(format!("{place}: expected a time from {from} to before {to} ({remedy}), {error}"))
}

/// The error for a cell that is no time.
pub(crate) fn bad_time(times: &TimeReader, place: &str, cell: &Cell) -> CliError {
    if let Cell::Single(number) = cell {
        let looks = if (1e8..1e11).contains(number) { "; it looks like Unix seconds, but" } else { ":" };
        return expected(
            place,
            &format!("a time{looks} floats of 32 bits are minutes apart, so write the column with 64 bits"),
            cell,
        );
    }
    let is_ambiguous = cell.as_shown().is_some_and(|text| times.is_ambiguous(&text));
    let remedy = if is_ambiguous {
        "; say which number is the day with --time-format %d/%m/%Y or --time-format %m/%d/%Y"
    } else if times.format().is_none() {
        "; --time-format reads others"
    } else {
        ""
    };
    expected(place, &format!("{}{remedy}", times.expected()), cell)
}

pub(crate) const OUTSIDE: &str = "an event outside the declared range was dropped, as will be others";

/// What a run of a state does with events of other steps.
const OF_AN_EARLIER_RUN: &str =
    "an event of a step that an earlier run released was left out, as will be others";
const OF_A_LATER_RUN: &str =
    "an event from --until on was left out, as will be others: give it to the run that releases its step";

/// The events that did not count, as far as the operator may know. A kind that others may see while
/// the program runs is reported once and without a number.
pub(super) struct LeftOut<'a> {
    task: &'a Task<'a>,
    is_following: bool,
    /// The warnings that were given.
    told: Vec<&'static str>,
    unnamed: u64,
    bad: u64,
}

impl<'a> LeftOut<'a> {
    pub(super) fn new(task: &'a Task<'a>) -> Self {
        Self { task, is_following: false, told: Vec::new(), unnamed: 0, bad: 0 }
    }

    pub(super) fn while_following(task: &'a Task<'a>) -> Self {
        Self { is_following: true, ..Self::new(task) }
    }

    /// Records the outcome of a row, if it is known already. An error stops the run.
    pub(super) fn note(&mut self, pushed: Pushed, row: &EventRow<'_>) -> Result<()> {
        match pushed {
            Ok(
                None
                | Some(Outcome::Counted { .. } | Outcome::Duplicate | Outcome::OverBound | Outcome::Ended),
            ) => {}
            Ok(Some(Outcome::Unnamed)) if self.task.unnamed == Some(Unnamed::Refuse) => {
                return Err(row.unnamed());
            }
            Ok(Some(Outcome::Unnamed)) => {
                if self.is_following && self.unnamed == 0 {
                    warn("an event names no person and was left out, as will be others");
                }
                self.unnamed += 1;
            }
            // No count: the number of late events is private, and so is their content.
            Ok(Some(Outcome::Late)) if self.task.args.state.is_some() => self.warn_once(OF_AN_EARLIER_RUN),
            Ok(Some(Outcome::Early)) if self.task.args.state.is_some() => self.warn_once(OF_A_LATER_RUN),
            Ok(Some(Outcome::Late)) => {
                self.warn_once(
                    "an event came after its step was released and was dropped, as will be others",
                );
            }
            Ok(Some(Outcome::Early)) => self
                .warn_once("an event from further in the future than --lag was dropped, as will be others"),
            Err(StreamError::OutsideRange { .. }) if self.task.args.outside == Outside::Drop => {
                self.warn_once(OUTSIDE);
            }
            Err(error @ StreamError::TooManyClaims { .. }) => return Err(self.too_many(&error)),
            Err(error @ StreamError::Spill { .. }) => return Err(error.into()),
            Err(error) => return Err(row.refused(&error)),
        }
        Ok(())
    }

    /// The error for events that take more memory than they may, with what helps.
    fn too_many(&self, error: &StreamError) -> CliError {
        let helps = match self.task.args.state {
            Some(_) => {
                "; nothing was released: raise --memory-limit, or let an earlier --until divide the run in two"
            }
            None => "; raise --memory-limit",
        };
        CliError::bad(format!("{error}{helps}"))
    }

    /// Leaves out a row that cannot be used, if the user wants that or the run follows its input: a
    /// bad line must not end a stream. Any other error stops the run.
    pub(super) fn skip<T>(&mut self, read: Result<T>) -> Result<Option<T>> {
        match read {
            Err(CliError::BadRow(_)) if self.task.args.inputs.skip_bad_rows => {
                self.bad += 1;
                Ok(None)
            }
            Err(CliError::BadRow(reason)) if self.is_following => {
                warn(format_args!("{reason}; the row does not count"));
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Records what a reader has left out: whether an event was outside the range, and how many named
    /// nobody.
    pub(super) fn note_in_bulk(&mut self, outside: bool, unnamed: u64) {
        if outside {
            self.warn_once(OUTSIDE);
        }
        self.unnamed += unnamed;
    }

    /// Warns of events before and after the steps of a run that a reader has left out.
    pub(super) fn note_other_steps(&mut self, [before, after]: [bool; 2]) {
        if before {
            self.warn_once(OF_AN_EARLIER_RUN);
        }
        if after {
            self.warn_once(OF_A_LATER_RUN);
        }
    }

    fn warn_once(&mut self, warning: &'static str) {
        if !self.told.contains(&warning) {
            self.told.push(warning);
            warn(warning);
        }
    }

    /// Reports at the end how many rows could not be read, and how many events named nobody.
    pub(super) fn tell(self) {
        tell_bad_rows(self.bad);
        match self.unnamed {
            0 => {}
            1 => warn("1 event names no person and was left out; --unnamed refuse stops instead"),
            count => warn(format_args!(
                "{count} events name no person and were left out; --unnamed refuse stops instead"
            )),
        }
    }
}

/// Reports how many rows could not be read.
pub(crate) fn tell_bad_rows(count: u64) {
    match count {
        0 => {}
        1 => warn("1 row cannot be read and was left out; without --skip-bad-rows it would be named"),
        count => warn(format_args!(
            "{count} rows cannot be read and were left out; without --skip-bad-rows the first would be named"
        )),
    }
}
