//! `evertally count`: events in, private running totals out.
//!
//! Data flow in one direction: [`options`] is what the user wrote, [`task`] is what it means (with
//! [`schedule`] for time, after [`needs`] has refused what would be ignored), [`feed`] and [`live`] turn
//! rows into closed steps, and [`release`] turns closed steps into estimates that are written and drawn.
//! [`finish`] gives all outputs their names, and [`summary`] closes the run. With `--state`, [`state`] runs
//! instead, for some of the steps, and with `--discover`, [`discover`] does.

mod discover;
mod distinct;
mod edges;
mod events;
mod feed;
mod filter;
mod finish;
mod groups;
mod histogram;
mod inputs;
mod live;
mod needs;
mod options;
mod quantiles;
mod release;
mod schedule;
mod state;
mod summary;
mod task;
#[cfg(test)]
mod tests;
mod truth;

pub(crate) use events::{OUTSIDE, bad_time, outside_range, tell_bad_rows};
pub(crate) use filter::Filter;
pub(crate) use finish::{Outputs, check_memory};
pub(crate) use groups::{key_set, keys_by_line};
pub(crate) use inputs::InputArgs;
pub(crate) use options::{CountArgs, DayOfWeek, Outside};
pub(crate) use schedule::{Range, buckets_of, defined, describe_buckets, show_time, time_reader};
pub(crate) use summary::{buckets_in_words, error_in_words, list};
pub(crate) use task::parse_clamp;

use crate::error::{CliError, Result};
use crate::mechanism::Prepared;
use crate::plot::PlotFormat;
use crate::{interrupt, manners, output};
use evertally_stream::Amount;
use output::{Destination, Existing, OutputFormat};
use release::{Input, Releaser, Start};
use schedule::Steps;
use state::StateFile;
use std::path::Path;
use task::Task;

pub(crate) fn run(args: &CountArgs) -> Result<()> {
    interrupt::listen()?;
    let written = [args.output.as_deref(), args.plot.as_deref(), args.covariance.path()?];
    let inputs = args.inputs.expand()?;
    let others = [args.noise_key.path(), args.groups.as_deref().map(Path::new), args.budget_file.path()];
    let read: Vec<_> = inputs.paths().map(Some).chain(others).collect();
    let existing = args.force.existing();
    let state = args.state.as_deref().map(|path| open_state(args, path)).transpose()?;
    match &state {
        // An output that the state knows may be there. `state` looks at it.
        Some(state) => {
            let written = [args.output.as_deref(), Some(state.path())];
            output::check_outputs(&read, &written, Existing::Replaced)?;
        }
        None => output::check_outputs(&read, &written, existing)?,
    }
    let plot =
        args.plot.as_deref().map(|path| PlotFormat::of(path).map(|format| (path, format))).transpose()?;
    let format = OutputFormat::chosen(args.format, args.output.as_deref())?;
    let mut task = Task::from_args(args)?;
    if let Some(grid) = state.as_ref().and_then(StateFile::grid) {
        task.keep_grid(grid);
    }
    if let Some(mechanism) = state.as_ref().and_then(|state| state.mechanism(&task.plan_facts())) {
        task.keep_mechanism(mechanism);
    }
    if args.follow && format == OutputFormat::Parquet {
        return Err(CliError::bad(
            "--follow cannot write Parquet: such a file is readable only once it is complete; use csv or jsonl",
        ));
    }
    let key = args.noise_key.read()?;
    if task.bounds_persons {
        args.budget_file.refuse_events()?;
    }
    let charge =
        args.budget_file.charge("count", Path::new(&task.source), task.unit(), task.spec.neighbours)?;
    if args.discover {
        return discover::run(&task, key, charge, format, &inputs);
    }
    if let Some(charge) = &charge {
        charge.check(task.spec.budget.budget()?, key.tag())?;
    }
    // Bad parameters are refused before anything is read, unless they depend on what is read.
    let prepare = |horizon| -> Result<Prepared> {
        let (spec, post) = (task.spec_for(horizon), task.post_processing.clone());
        Ok(Prepared::new(&spec, post, task.intervals())?.read_as(task.reading()))
    };
    let planned = task.horizon().map(prepare).transpose()?;
    manners::advise(task.spec.budget.budget()?, None);
    if task.counts_first_values_unasked() {
        manners::warn(
            "only the first value of a person in each step counts; --per-person-sum LO,HI adds up all of them",
        );
    }
    key.refuse_outputs(&written)?;
    key.refuse_outputs(&[state.as_ref().map(StateFile::path)])?;
    // Outputs are tried before anything is read, and opened before anything is released, so that an
    // output that cannot be written costs no budget. Between the two, memory grows with the input: a
    // program that the system ends there leaves no file. A followed output stays, so it is opened
    // when the first step closes.
    written.iter().flatten().try_for_each(|path| output::check_writable(path, existing))?;
    let pays = charge.is_some();
    let truth_not_private = args.plot_truth_not_private;
    let start = Start { key, charge, format, existing, truth_not_private, past: None };
    if let Some(state) = state {
        output::check_writable(state.path(), Existing::Replaced)?;
        // A state has a declared horizon, so there is a plan.
        let prepared = planned.map_or_else(|| prepare(task.spec.horizon), Ok)?;
        return state::go_on(&task, state, prepared, start, &inputs);
    }
    if args.follow {
        interrupt::follow();
    }
    let opened = inputs.open(args.inputs.layout(), &task.columns(), args.follow);
    if interrupt::is_stopping() {
        return Err(CliError::bad(format!("stopped before {} had a row: nothing was released", task.source)));
    }
    let mut reader = opened?;
    events::check_name_columns(&task, reader.as_ref())?;
    let mut _hold = None;

    // A followed run always has a plan, because the task refuses one without a horizon.
    let (followed, planned) = if args.follow { (planned, None) } else { (None, planned) };
    let releaser = if let Some(prepared) = followed {
        output::check_growing(args.output.as_deref(), existing)?;
        let live = task.buckets().map(|buckets| live::clocked(&task, buckets.clone())).transpose()?.flatten();
        let mut releaser = Releaser::wait(&task, prepared, start, args.output.clone())?;
        match (task.buckets(), live) {
            (Some(_), Some(live)) => live::follow_by_clock(&task, live, reader, &mut releaser)?,
            (Some(buckets), None) => {
                feed::follow_events(&task, buckets.clone(), reader.as_mut(), &mut releaser)?;
            }
            (None, _) => feed::follow_rows(&task, reader.as_mut(), &mut releaser)?,
        }
        releaser
    } else {
        // What is paid for is written, even if a signal comes.
        let mut open = || {
            finish::check_memory()?;
            let opened = Destination::open(args.output.as_deref(), existing)?;
            _hold = pays.then(interrupt::hold);
            interrupt::advise(task.outputs().advice());
            Ok::<_, CliError>(opened)
        };
        let known = if task.is_unbounded() { Input::SoFar } else { Input::Whole };
        match (&task.steps, planned) {
            (Steps::Buckets(buckets), Some(prepared)) => {
                let gathered = feed::gather_events(&task, buckets.clone(), reader.as_mut())?;
                let steps = |each: &mut dyn FnMut(&[Amount])| gathered.totals().for_each(&mut *each);
                let mut releaser = Releaser::start(&task, prepared, start, &known(&steps), open()?)?;
                releaser.release_all(gathered)?;
                releaser
            }
            // If the number of rows was not declared, it is public, and known once they are read.
            (_, planned) => {
                let (count, closed, rest) = feed::read_rows(&task, reader.as_mut())?;
                let prepared = planned.map_or_else(|| prepare(count.into()), Ok)?;
                let steps = |each: &mut dyn FnMut(&[Amount])| closed.totals().for_each(&mut *each);
                let mut releaser = Releaser::start(&task, prepared, start, &known(&steps), open()?)?;
                releaser.release_all(closed.chain(rest))?;
                releaser
            }
        }
    };
    let (table, chart, released) = releaser.finish()?;
    if table.is_none() {
        manners::note("stopped: nothing was released, and no budget was spent");
        return Ok(());
    }
    let covariance = task.covariance_to_write(released.covariance.as_ref())?;
    task.outputs().write(table, plot.map(|plot| (plot, &chart)), covariance)?;
    if interrupt::is_stopping() {
        finish::say_how_to_go_on(&task, &released);
    }
    manners::summarise(summary::summary(&task, &released));
    Ok(())
}

/// Takes the state, unless the run follows its input.
fn open_state(args: &CountArgs, path: &Path) -> Result<StateFile> {
    if args.follow {
        return Err(CliError::bad(
            "--state cannot be used with --follow: a followed run that was stopped goes on with --noise-key alone, by reading the stream from its start again",
        ));
    }
    StateFile::open(path)
}
