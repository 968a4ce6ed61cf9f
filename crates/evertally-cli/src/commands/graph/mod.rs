//! `evertally graph`: edges in, private statistics of the graph out, at every step.
//!
//! Data flow in one direction: [`options`] is what the user wrote, [`task`] is what it means, [`edges`]
//! turns rows into amounts, and [`release`] turns amounts into estimates that are written and drawn. Steps
//! of time, the filter and the outputs are those of [`count`](super::count).
//!
//! **Guarantee.** That of the stream component (`evertally_stream::EdgeList` and its module): one edge with
//! all of its copies is protected, or one node with all of its edges ([`protection`]). What is released, and
//! what is said, depends on edges through noisy totals, the private step of a stop, and the public options.

mod edges;
mod options;
mod protection;
mod release;
mod task;

pub(crate) use options::GraphArgs;

use super::count::{Outputs, check_memory};
use crate::budget_file::Charge;
use crate::error::Result;
use crate::mechanism::Prepared;
use crate::output::{self, Destination, OutputFormat};
use crate::plot::PlotFormat;
use crate::{interrupt, manners};
use release::Releaser;
use std::path::Path;
use task::Task;

pub(crate) fn run(args: &GraphArgs) -> Result<()> {
    interrupt::listen()?;
    let inputs = args.inputs.expand()?;
    let written = [args.output.as_deref(), args.plot.as_deref()];
    let others = [args.noise_key.path(), args.budget_file.path()];
    let read: Vec<_> = inputs.paths().map(Some).chain(others).collect();
    let existing = args.force.existing();
    output::check_outputs(&read, &written, existing)?;
    let plot =
        args.plot.as_deref().map(|path| PlotFormat::of(path).map(|format| (path, format))).transpose()?;
    let format = OutputFormat::chosen(args.format, args.output.as_deref())?;
    let task = Task::from_args(args, inputs.name())?;
    let key = args.noise_key.read()?;
    let (unit, neighbours) = (args.protect.unit(), args.privacy.neighbours);
    let charge = args.budget_file.charge("graph", Path::new(&task.source), unit, neighbours)?;
    let budget = args.privacy.budget()?;
    if let Some(charge) = charge.as_ref().filter(|_| task.nodes.is_none()) {
        charge.check(budget, key.tag())?;
    }
    // Bad parameters are refused before anything is read.
    let plans = task.plans()?;
    let spend = task.spend(&plans)?;
    if let Some(charge) = charge.as_ref().filter(|_| task.nodes.is_some()) {
        charge.check_spend(&spend, key.tag())?;
    }
    manners::advise(budget, None);
    key.refuse_outputs(&written)?;
    written.iter().flatten().try_for_each(|path| output::check_writable(path, existing))?;
    let mut reader = inputs.open(args.inputs.layout(), &task.columns(), false)?;
    let totals = edges::count(&task, reader.as_mut())?;
    check_memory()?;

    let outputs = Outputs { existing, has_key: args.noise_key.path().is_some() };
    let payment = charge.map(|charge: Charge| (charge, spend));
    let _hold = payment.is_some().then(interrupt::hold);
    let (key, mut watch) = key.watched(&plans[0].noise_name())?;
    let each =
        |each: &mut dyn FnMut(&[evertally_stream::Amount])| totals.watched().for_each(|step| each(&step));
    let destination = Destination::open(args.output.as_deref(), existing)?;
    interrupt::advise(outputs.advice());
    let receipt = match watch.admit_all_steps(&each, payment) {
        Ok(receipt) => receipt,
        Err(error) => {
            destination.discard();
            return Err(error);
        }
    };
    let stop = task.nodes.and_then(|nodes| totals.first_stop(&nodes, &key, &task.label_of_test(&plans)));
    if let Some(step) = stop {
        manners::warn(protection::warning(step, &task.buckets, &task.times));
    }
    let prepared = plans.into_iter().zip(&task.parts);
    let prepared = prepared
        .map(|(plan, (statistic, _))| Prepared::of_plan(plan, task::reading(*statistic, task.max_degree)));
    let prepared: Vec<_> = prepared.collect();
    let header = task.header(&prepared, stop, receipt);
    let mut releaser = Releaser::start(&task, prepared, &key, (format, destination), &header)?;
    releaser.release_all(totals.steps(stop))?;
    let (table, chart, summary) = releaser.finish()?;
    outputs.write(Some(table), plot.map(|plot| (plot, &chart)), None)?;
    manners::summarise(summary);
    Ok(())
}
