//! `--state`: a count that goes on in the next run.
//!
//! **Definition.** A state is a file that one run leaves for the next. A run releases the steps after
//! those of the state: with `--time` those up to `--until`, otherwise one for each of its rows. Both are
//! public. An event counts in the run that releases its step, and in no other: one of an earlier step is
//! late, and one of a later step is left for a later run.
//!
//! **Guarantee.** All runs of a state together release what one run with the same key, `--state` and all
//! of their events would have released, bit for bit. Bounds on persons and comparisons of ids hold across
//! all runs. The tests compare the bytes of the outputs.
//!
//! **What a crash leaves.** A run does these things in order, and each is on the disk before the next:
//! 1. The record of the key takes the digests of the new steps, and the budget file the price.
//! 2. The output is completed under a temporary name.
//! 3. The state is replaced. It says under which temporary name the output waits, and for which name.
//! 4. The output gets its name.
//!
//! Before 3, the next run finds the old state and the old output. The record refuses other data for the
//! steps that it holds, so a run can only make the same releases again, and is not charged again. After
//! 3, the next run does 4 before anything else. A state that is older than the record is the first of
//! these cases.
//!
//! [`form`] is the file as bytes, [`file`](self::file) keeps it on the disk, [`output`] is the table that
//! grows, [`options`] compares the options of a run with those of the runs before, and [`rows`] its rows
//! with those of the last run.

mod file;
mod form;
mod options;
mod output;
mod rows;

pub(super) use file::StateFile;

use super::release::{Input, Releaser, Start};
use super::schedule::Steps;
use super::task::Task;
use super::{events, feed, summary};
use crate::error::{CliError, Result};
use crate::input::Inputs;
use crate::mechanism::Prepared;
use crate::plot::grouped;
use crate::progress::with_progress;
use crate::{interrupt, manners};
use evertally_stream::{Amount, Gather, GatheredSteps, Memory};
use form::Saved;
use output::Place;
use rows::RowsOfRun;

/// Releases the steps of this run, and saves where it ends.
pub(super) fn go_on(
    task: &Task<'_>,
    mut state: StateFile,
    prepared: Prepared,
    start: Start,
    inputs: &Inputs,
) -> Result<()> {
    let facts = options::facts(task, &prepared);
    if let Some(saved) = state.saved() {
        options::check(&state, saved, &facts, start.key.tag())?;
    }
    let first = state.saved().map_or(0, |saved| saved.steps);
    let is_released = task.until.is_some_and(|until| until <= first);
    if is_released {
        manners::note(nothing_to_release(task, &state, first));
        return Ok(());
    }
    let place = Place::of(task.args.output.as_deref(), start.format, state.saved(), start.existing)?;
    // The memory of persons and ids belongs to this noise.
    let label = prepared.plan.noise_name();
    let memory = match state.saved() {
        Some(saved) => Memory::resume(&task.rules(), start.key.noise(), label.as_bytes(), &saved.memory)
            .map_err(|error| state.refused(error)),
        None => Ok(Memory::new(&task.rules(), start.key.noise(), label.as_bytes())?),
    }?;
    let last = state.saved().map(|saved| saved.rows).unwrap_or_default();
    let rows = RowsOfRun::new(start.key.noise(), label.as_bytes(), last, first, task.args.after)?;
    let (steps, memory, rows) = read_steps(task, inputs, memory, first, rows)?;
    if rows.is_repeated() && !state.has_completed() {
        return Err(repeated(task, first, rows.repeated()));
    }
    // The same command after one that was stopped when its steps were released.
    if rows.is_repeated() || steps.len() == 0 {
        manners::note(nothing_to_release(task, &state, first));
        return Ok(());
    }
    let rows = rows.remembered();

    let past = state.take_past(place.appends());
    let key_tag = start.key.tag().unwrap_or_default();
    let (format, pays) = (start.format, start.charge.is_some());
    let destination = place.open()?;
    let _hold = pays.then(interrupt::hold);
    interrupt::advise(task.outputs().advice());
    let each = |each: &mut dyn FnMut(&[Amount])| steps.totals().for_each(&mut *each);
    let start = Start { past, ..start };
    let mut releaser = Releaser::start(task, prepared, start, &Input::SoFar(&each), destination)
        .map_err(|error| not_lost(state.refused_by_count(error)))?;
    let end = first + steps.len() as u64;
    releaser.release_all(steps).map_err(not_lost)?;
    let (running, digest) = releaser.save();
    let (table, _, released) = releaser.finish().map_err(not_lost)?;

    // A signal between the state and the output would leave the output without its name.
    let _commit = interrupt::hold();
    let Some(table) = table else { return Ok(()) };
    let written = place.complete(table, format)?;
    let memory = memory.map(|memory| memory.save()).unwrap_or_default();
    let saved = Saved { facts, key_tag, steps: end, digest, rows, running, memory, output: written };
    state.replace(saved)?;
    state.settle()?;
    manners::summarise(summary::summary(task, &released));
    Ok(())
}

/// The steps of this run, and what is remembered after them of persons and ids, and of rows.
fn read_steps(
    task: &Task<'_>,
    inputs: &Inputs,
    memory: Memory,
    first: u64,
    mut rows: RowsOfRun,
) -> Result<(GatheredSteps, Option<Memory>, RowsOfRun)> {
    let mut reader = inputs.open(task.args.inputs.layout(), &task.columns(), false)?;
    events::check_name_columns(task, reader.as_ref())?;
    if let (Steps::Buckets(buckets), Some(until)) = (&task.steps, task.until) {
        let (rules, limit) = (task.rules(), task.memory_limit());
        let mut gather = Gather::of_steps(buckets.clone(), rules, memory, first..until, limit)?;
        feed::gather_into(&mut gather, task, reader.as_mut())?;
        let (steps, memory) = with_progress("deciding what counts", |_| gather.finish_and_remember())?;
        return Ok((steps, memory, rows));
    }
    let steps = feed::read_next_rows(task, reader.as_mut(), first, |value| rows.is_new(value))?;
    if rows.remembered().count == 0 {
        return Err(CliError::bad(format!("{} has no rows: expected at least one", task.source)));
    }
    Ok((steps, Some(memory), rows))
}

/// The error for a run that starts with the rows of the last one, whose number is `read`.
fn repeated(task: &Task<'_>, steps: u64, read: u64) -> CliError {
    let (source, before) = (&task.source, steps - read);
    CliError::bad(format!(
        "{source} starts with the rows of the last run, and a row counts once: nothing was released. --after \
         {before} leaves them out and counts what follows, and --after {steps} counts them as further steps"
    ))
}

/// Why a run has no step to release.
fn nothing_to_release(task: &Task<'_>, state: &StateFile, steps: u64) -> String {
    let plural = if steps == 1 { "" } else { "s" };
    let (name, released) = (state.name(), format!("{} step{plural}", grouped(steps as f64, 0)));
    match task.buckets() {
        Some(buckets) if steps >= buckets.steps() => {
            format!("nothing to release: {name} has released all {released} of the horizon")
        }
        Some(buckets) => {
            let end = task.show_time(buckets.start_of(steps));
            format!("nothing to release: {name} has released {released}, up to {end}")
        }
        None if task.args.after.is_some() => {
            format!("nothing to release: {name} has released {released}, and there is no further row")
        }
        None => format!(
            "{name} had released {released} when its last run was stopped, and their output is complete \
             now; run the command again for further rows"
        ),
    }
}

/// The error of a run whose output or state failed after it was paid for.
fn not_lost(failed: CliError) -> CliError {
    let CliError::Failure(failed) = failed else { return failed };
    CliError::Failure(format!(
        "{failed}; the state is as before, and the same command makes the same releases again without a second charge"
    ))
}
