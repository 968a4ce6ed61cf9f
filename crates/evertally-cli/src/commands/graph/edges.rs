//! From rows to the amounts of every step.

use super::options::GraphArgs;
use super::task::Task;
use crate::commands::count::{OUTSIDE, Outside, bad_time, outside_range, tell_bad_rows};
use crate::error::{CliError, Result, shown};
use crate::input::{ROWS_BETWEEN_UPDATES, Row, RowReader, expected};
use crate::progress::{Progress, with_progress};
use crate::{manners, memory};
use evertally_stream::{EdgeList, Error as StreamError, GraphTotals, NoEdge, OrderedEdges, Statistic};

/// Reads all edges, and counts them in their order.
pub(super) fn count(task: &Task<'_>, reader: &mut dyn RowReader) -> Result<GraphTotals> {
    check_name_columns(task, reader)?;
    let edges = read(task, reader)?;
    let statistics: Vec<Statistic> = task.parts.iter().map(|(statistic, _)| *statistic).collect();
    let mut progress = Progress::new("counting");
    let update = |part| progress.update(Some(part));
    let (max_degree, limit) = (task.max_degree, task.memory_limit());
    Ok(GraphTotals::new(&edges, &statistics, max_degree, task.nodes.as_ref(), limit, update)?)
}

/// Refuses columns that cannot hold the names of nodes.
fn check_name_columns(task: &Task<'_>, reader: &dyn RowReader) -> Result<()> {
    for (index, column) in task.ends.iter().enumerate() {
        if !reader.holds_names(1 + index) {
            let (source, column) = (&task.source, shown(column));
            return Err(CliError::bad(format!(
                "{source}, column {column}: --nodes must be columns of strings or integers; floats, decimals and times are rounded, so different ones would be one"
            )));
        }
    }
    Ok(())
}

fn read(task: &Task<'_>, reader: &mut dyn RowReader) -> Result<OrderedEdges> {
    let args = task.args;
    let mut edges = EdgeList::new(task.buckets.clone(), memory::at_most(task.memory_limit()));
    let mut progress = Progress::new("reading");
    let mut row = Row::for_columns(&task.columns());
    let (mut count, mut bad, mut has_outside) = (0_u64, 0, false);
    loop {
        let pushed = match reader.read(&mut row) {
            Ok(false) => break,
            Ok(true) => push(task, &mut edges, &mut row, reader.unit()),
            Err(error) => Err(error),
        };
        match pushed {
            Ok(is_inside) => has_outside |= !is_inside,
            Err(CliError::BadRow(_)) if args.inputs.skip_bad_rows => bad += 1,
            Err(error) => return Err(error),
        }
        count += 1;
        if count.is_multiple_of(ROWS_BETWEEN_UPDATES) {
            progress.update(reader.fraction_read());
        }
    }
    drop(progress);
    if has_outside {
        manners::warn(OUTSIDE);
    }
    tell_bad_rows(bad);
    Ok(with_progress("ordering", |_| edges.finish()))
}

/// Takes one row. Returns whether it is in the declared range.
fn push(task: &Task<'_>, edges: &mut EdgeList, row: &mut Row, unit: &'static str) -> Result<bool> {
    let GraphArgs { time: time_column, outside, .. } = task.args;
    if let Some(filter) = &task.filter {
        let first = row.cells.len() - filter.columns().len();
        let holds = filter.holds(&row.cells[first..]).map_err(|(column, expectation)| {
            let place = row.place(&task.source, unit, &filter.columns()[column]);
            expected(&place, &expectation, &row.cells[first + column])
        })?;
        if !holds {
            return Ok(true);
        }
    }
    let place = |row: &Row, column: &str| row.place(&task.source, unit, column);
    let Some(time) = row.cells[0].as_time(&task.times) else {
        return Err(bad_time(&task.times, &place(row, time_column), &row.cells[0]));
    };
    let pushed = match &mut row.cells[1..] {
        [one, other, ..] => edges.push(time, one.make_name(), other.make_name()),
        _ => Ok(None),
    };
    match pushed {
        Ok(None) => Ok(true),
        Ok(Some(NoEdge::Unnamed)) => {
            let unnamed = usize::from(row.cells[1].as_name().is_some());
            let place = place(row, task.ends[unnamed]);
            Err(expected(
                &place,
                "the name of a node (--skip-bad-rows leaves such rows out)",
                &row.cells[1 + unnamed],
            ))
        }
        Ok(Some(NoEdge::SelfLoop)) => {
            let place = place(row, task.ends[1]);
            Err(expected(
                &place,
                "another node than the first (--skip-bad-rows leaves such rows out)",
                &row.cells[2],
            ))
        }
        Err(StreamError::OutsideRange { .. }) if *outside == Outside::Drop => Ok(false),
        Err(error @ StreamError::OutsideRange { .. }) => {
            Err(outside_range(&place(row, time_column), &task.buckets, &task.times, &error))
        }
        Err(error @ StreamError::TooManyEdges { .. }) => {
            Err(CliError::bad(format!("{error}; raise --memory-limit")))
        }
        Err(error) => Err(error.into()),
    }
}
