//! `evertally count --discover`: groups that nobody declared.
//!
//! **Guarantee.** The library's ([`evertally::Discovery`]). What a group below its threshold leaves is time
//! and memory. Nothing that the run writes or says depends on such groups: the header and the summary
//! are made before the first step is released, and from public choices. A run that does not fit in memory
//! is refused before anything is released, with a reason that names the limit only.
//!
//! The input is read whole before the first step, because persons are decided by time. A group with fewer
//! persons than the floor at the end has fewer at every step, so it can never appear. It is left out before
//! the counter, the record of the noise key and the check of memory see it, which changes no release.

use super::events::check_name_columns;
use super::options::CountArgs;
use super::release::describe;
use super::summary::{Released, summary};
use super::task::Task;
use super::{feed, finish};
use crate::budget_file::Charge;
use crate::error::{CliError, Result};
use crate::input::Inputs;
use crate::mechanism::Finding;
use crate::noise_key::Key;
use crate::output::{self, Destination, Header, Measures, OutputFormat, ReleasedRow, Shape, Start};
use crate::progress::Progress;
use crate::{interrupt, manners};
use evertally::{Arithmetic, DiscoveryBuilder, Horizon};
use evertally_stream::OpenSteps;

/// Refuses what groups that are found do not have.
pub(super) fn check(args: &CountArgs) -> Result<()> {
    const BEFORE_THE_END: &str = "persons are decided when the whole input is known";
    const ONLY_TOTALS: &str = "groups that are found have running totals";
    let refused = [
        (args.follow, "--follow", BEFORE_THE_END),
        (args.state.is_some(), "--state", BEFORE_THE_END),
        (args.distinct.column.is_some(), "--distinct", "what is found are groups of events"),
        (args.mean.is_some(), "--mean", ONLY_TOTALS),
        (args.report.is_given(), "--report", ONLY_TOTALS),
        (args.monotone, "--monotone", "a group has no total before it appears"),
        (args.simultaneous, "--simultaneous", "how many groups will have intervals is not known"),
        (args.plot.is_some(), "--plot", "how many groups there are to draw is not known"),
        (args.covariance.path()?.is_some(), "--covariance", "a table of errors is for declared groups"),
        (args.horizon == Some(Horizon::Unbounded), "--horizon unbounded", BEFORE_THE_END),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, reason)) => {
            Err(CliError::bad(format!("{option} cannot be used with --discover: {reason}")))
        }
        None => Ok(()),
    }
}

/// The choices of the task, as those of a discovery. Half of the memory is for the input, and half for the
/// groups.
fn builder(task: &Task<'_>) -> Result<DiscoveryBuilder> {
    if task.spec.workload != evertally::Workload::PrefixSum {
        return Err(CliError::bad(
            "--window and --decay cannot be used with --discover: groups that are found have running totals",
        ));
    }
    if task.spec.arithmetic == Some(Arithmetic::Float) {
        return Err(CliError::bad(
            "--arithmetic float cannot be used with --discover: groups are found exactly",
        ));
    }
    let (_, delta) = task.budget();
    if delta == 0.0 {
        return Err(CliError::bad("--discover needs --delta above 0: with δ = 0 no group could ever appear"));
    }
    let mut builder = DiscoveryBuilder::from(task.spec.clone()).memory_limit(task.memory_limit() / 2);
    if let Some(key_delta) = task.args.discover_delta {
        builder = builder.key_delta(key_delta);
    }
    if let Some(share) = task.args.discover_share {
        builder = builder.share(share);
    }
    if let Some(floor) = task.args.discover_floor {
        builder = builder.floor(floor);
    }
    Ok(builder)
}

pub(super) fn run(
    task: &Task<'_>,
    key: Key,
    charge: Option<Charge>,
    format: OutputFormat,
    inputs: &Inputs,
) -> Result<()> {
    let args = task.args;
    // Bad parameters are refused before anything is read.
    let finding = Finding::new(&builder(task)?, task.post_processing.clone(), task.intervals())?;
    let spend = finding.discovery.spend();
    if let Some(charge) = &charge {
        charge.check_spend(&spend, key.tag())?;
    }
    let Some(buckets) = task.buckets() else {
        return Err(CliError::bad("--discover needs --time"));
    };
    manners::advise(task.spec.budget.budget()?, None);
    if task.counts_first_values_unasked() {
        manners::warn(
            "only the first value of a person in each step counts; --per-person-sum LO,HI adds up all of them",
        );
    }
    key.refuse_outputs(&[args.output.as_deref()])?;
    let existing = args.force.existing();
    if let Some(path) = &args.output {
        output::check_writable(path, existing)?;
    }
    let mut reader = inputs.open(args.inputs.layout(), &task.columns(), false)?;
    check_name_columns(task, reader.as_ref())?;
    let floor = finding.discovery.floor();
    let steps = feed::gather_open(task, buckets.clone(), floor, task.memory_limit() / 2, reader.as_mut())?;
    finish::check_memory()?;
    let (key, mut watch) = key.watched(&finding.discovery.persons().noise_name())?;
    let mut counter = finding.start(key, &steps)?;
    let payment = charge.map(|charge| (charge, spend));
    let receipt = watch.admit_whole(payment, |chain| {
        for step in 0..steps.steps() {
            let each = || steps.of_step(step);
            chain.step_of_named(each().map(|row| (row.key.as_bytes(), row.amount.grid_steps())));
            chain.step_of_named(each().map(|row| (row.key.as_bytes(), row.new_persons.into())));
        }
    })?;
    let destination = Destination::open(args.output.as_deref(), existing)?;
    interrupt::advise(finish::advice(task));
    let mut header = Header::new();
    finding.describe(&mut header);
    if let Some(receipt) = &receipt {
        receipt.describe(&mut header);
    }
    describe(task, steps.steps(), &mut header);
    if let Some(column) = &args.group_by {
        header.record("key_column", column.clone());
    }
    let shape = Shape { timed: true, keyed: true, periods: false, measures: Measures::Totals };
    let mut writer = output::start(format, destination, &header, shape)?;
    let mut progress = Progress::new("releasing");
    for step in 0..steps.steps() {
        let micros = buckets.start_of(step);
        let shown = task.show_time(micros);
        finding.step(&mut counter, &steps, step, |key, measured| {
            let start = Some(Start { micros, text: &shown });
            writer.write(&ReleasedRow { period: None, step, start, key: Some(key), measured })
        })?;
        progress.update(Some((step + 1) as f64 / steps.steps() as f64));
    }
    let table = writer.finish()?;
    finish::write_outputs(task, Some(table), None, None)?;
    manners::summarise(summary(task, &released(&finding, &steps)));
    Ok(())
}

/// What the summary says: the declared steps and the error, and nothing of the groups.
fn released(finding: &Finding, steps: &OpenSteps) -> Released {
    let rmse = Some(finding.discovery.totals().accuracy().rmse);
    Released { steps: steps.steps(), first: 0, rmse, last_error: None, covariance: None }
}
