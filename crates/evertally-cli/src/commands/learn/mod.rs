//! `evertally learn`: rows in, a private linear model out.
//!
//! [`options`] is what the user wrote, [`task`] is what it means, [`table`] turns files into rows,
//! [`training`] turns rows into parameters, [`checkpoint`] and [`store`] keep a run across crashes,
//! and [`model`] and [`report`] present the result. [`predict`] is a separate command that uses the
//! model.
//!
//! **What is spent, and when.** A resumable run is saved first, then recorded in the budget file
//! under a unique name that the state holds, and only then trained. If it was interrupted before it
//! was recorded, resuming records it. It is charged exactly once. The state and the name of the
//! noise both contain hashes of the rows and the options, so the same noise is never used for two
//! sets of gradients.

mod checkpoint;
mod labels;
mod model;
mod options;
pub(crate) mod predict;
mod report;
mod store;
mod table;
mod task;
mod training;

pub(crate) use checkpoint::Checkpoint;
pub(crate) use options::LearnArgs;

use crate::budget_file::{BudgetReceipt, Charge, EVENT, hexadecimal};
use crate::error::Result;
use crate::manners;
use crate::noise_key::{Key, Watch};
use crate::output;
use crate::plot::{self, PlotFormat};
use checkpoint::{Description, KeptKey};
use evertally::NoiseKey;
use evertally::internals::noise::copy_of;
use evertally_keys::InputChain;
use evertally_learn::{Learner, LearningPlan};
use model::{Privacy, Trained};
use output::{Destination, Existing};
use report::Report;
use std::io::Write;
use std::path::Path;
use store::Store;
use table::Data;
use task::{Noise, Task};
use training::{Saving, Training};

/// The version of the name of the noise in a new run.
const NOISE_NAME: u8 = 2;

pub(crate) fn run(args: &LearnArgs) -> Result<()> {
    let plot_format = args.plot.as_deref().map(PlotFormat::of).transpose()?;
    if let Some(path) = args.state.as_deref().filter(|_| !args.resume) {
        store::refuse_existing(path)?;
    }
    check_outputs(args)?;
    output::known_ending("--model", Some(&args.model), &["json"], "")?;
    let task = Task::from_args(args)?;
    let key = args.noise_key.read()?;
    key.refuse_outputs(&[Some(&args.model), args.plot.as_deref(), args.state.as_deref()])?;
    let charge = args.budget_file.charge("learn", &args.data, EVENT, args.neighbours)?;
    if let Some(charge) = charge.as_ref().filter(|_| !args.resume) {
        charge.check(task.budget, key.tag())?;
    }
    let data = Data::read(&task)?;
    let described = Description {
        settings: task.settings(charge.as_ref().map(Charge::account)),
        data: hexadecimal(&data.hash()),
        run: own_name()?,
        curve: Vec::new(),
        noise_name: NOISE_NAME,
    };
    // The number of rows is public.
    manners::advise(task.budget, Some(data.train.len() as u64));
    let plan = task.plan(data.train.len(), Noise::Named(&data.hash()))?;
    // An output that cannot be written must not cost any budget.
    [Some(args.model.as_path()), args.plot.as_deref()]
        .into_iter()
        .flatten()
        .try_for_each(|path| output::check_writable(path, existing(args)))?;

    let start = Start { task: &task, data: &data, plan: &plan, charge };
    let (mut run, receipt, saving) = match (args.state.as_deref(), args.resume) {
        (Some(path), true) => start.resumed(path, key, &described)?,
        (path, _) => start.started(path, key, described)?,
    };
    let saving = saving.as_ref().map(|(store, key)| Saving { store, every: args.save_every, key });
    run.run(saving.as_ref())?;

    let trained = Trained::of(&task, &data, run.learner());
    let privacy = Privacy::of(&task, run.learner(), receipt.as_ref())?;
    let model = model::bytes(&task, &data, run.learner(), &trained, &privacy)?;
    Destination::open(Some(&args.model), existing(args))?.write_whole(&model)?;
    let regret_not_private = run.regret_not_private()?;
    let report = Report {
        task: &task,
        data: &data,
        trained: &trained,
        privacy: &privacy,
        curve: run.curve(),
        receipt: receipt.as_ref(),
        was_finished: run.was_finished(),
        regret_not_private: regret_not_private.as_ref(),
    };
    if let (Some(path), Some(format)) = (&args.plot, plot_format) {
        output::write_whole_file(path, existing(args), &plot::render(&report.chart(), format)?)?;
    }
    print(args, &report)
}

/// A resumed run makes the same model and the same picture again, so it may replace them.
fn existing(args: &LearnArgs) -> Existing {
    if args.resume { Existing::Replaced } else { args.force.existing() }
}

fn check_outputs(args: &LearnArgs) -> Result<()> {
    let read = [
        Some(args.data.as_path()),
        args.scale.as_deref(),
        args.test.as_deref(),
        args.noise_key.path(),
        args.budget_file.path(),
    ];
    let written = [Some(args.model.as_path()), args.plot.as_deref()];
    // The state has a rule of its own about files that exist.
    output::check_outputs(&read, &[written[0], written[1], args.state.as_deref()], Existing::Replaced)?;
    output::check_outputs(&[], &written, existing(args))
}

/// What a run is started from.
struct Start<'a> {
    task: &'a Task<'a>,
    data: &'a Data,
    plan: &'a LearningPlan,
    charge: Option<Charge>,
}

/// A run that is ready for its next step, its entry in the budget file, and where it is saved with
/// which key.
type Started<'a> = (Training<'a>, Option<BudgetReceipt>, Option<(Store, KeptKey)>);

impl<'a> Start<'a> {
    /// Starts a run. It is saved before it is recorded, so that it keeps its name if it is
    /// interrupted.
    fn started(self, path: Option<&Path>, key: Key, described: Description) -> Result<Started<'a>> {
        let kept = key.tag().map_or_else(|| KeptKey::Whole(copy_of(key.noise())), KeptKey::Tag);
        let run = described.run.clone();
        let (key, watch) = key.watched(&self.plan.noise_name())?;
        let training = self.training(Learner::new(self.plan, key)?, described)?;
        let saved = match path {
            None => None,
            Some(path) => {
                let store = Store::start(path)?;
                training.save(&Saving { store: &store, every: None, key: &kept })?;
                Some((store, kept))
            }
        };
        match enter(self.plan, self.data, watch, self.charge, &run) {
            Ok(receipt) => Ok((training, receipt, saved)),
            Err(refusal) => {
                if let Some((store, _)) = saved {
                    store.remove();
                }
                Err(refusal)
            }
        }
    }

    /// Resumes a run that was interrupted.
    fn resumed(self, path: &Path, key: Key, expected: &Description) -> Result<Started<'a>> {
        let (store, saved) = Store::resume(path)?;
        refuse_other_run(path, &saved.description, expected)?;
        let first;
        let plan = match saved.description.noise_name {
            NOISE_NAME => self.plan,
            1 => {
                let stream = first_stream(&saved.description);
                first = self.task.plan(self.data.train.len(), Noise::First(&stream))?;
                &first
            }
            _ => return Err(store::refused(path, "it was saved by another version of this program")),
        };
        let (key, watch) = match (&saved.key, key.tag()) {
            (KeptKey::Tag(saved), Some(tag)) if tag == *saved => key.watched(&plan.noise_name())?,
            (KeptKey::Tag(_), Some(_)) => return Err(store::refused(path, "it belongs to another key")),
            (KeptKey::Tag(_), None) => {
                return Err(store::refused(
                    path,
                    "its key is in a file of its own: name it with --noise-key",
                ));
            }
            (KeptKey::Whole(_), Some(_)) => {
                return Err(store::refused(path, "it holds a key of its own: leave --noise-key out"));
            }
            (KeptKey::Whole(key), None) => (copy_of(key), Watch::of_fresh_key()),
        };
        let mut described = saved.description;
        let mut learner = Learner::resume(plan, copy_of(&key), &saved.learner)
            .map_err(|error| store::refused(path, error))?;
        let (run, steps) = (described.run.clone(), learner.steps_taken());
        if self.task.args.regret_not_private {
            // No state holds the losses so far. The run repeats the same gradients with the same
            // noise, so nothing more is spent.
            learner = Learner::new(plan, key)?;
            described.curve.clear();
        }
        let training = self.training(learner, described)?.after(steps);
        let receipt = enter(plan, self.data, watch, self.charge, &run)?;
        Ok((training, receipt, Some((store, saved.key))))
    }

    fn training(&self, learner: Learner, described: Description) -> Result<Training<'a>> {
        let epoch = self.task.steps_per_epoch(self.data.train.len());
        let training = Training::new(self.task.loss, self.data, epoch, learner, described)?;
        if self.task.args.regret_not_private { training.with_meter_not_private() } else { Ok(training) }
    }
}

/// Refuses to resume with other options or data: the same noise on other gradients would reveal them.
fn refuse_other_run(path: &Path, saved: &Description, now: &Description) -> Result<()> {
    const WHY: &str = "the same noise would be spent on two runs";
    let differing = saved.settings.iter().zip(&now.settings).find(|(was, is)| was != is);
    if let Some(((name, was), (_, is))) = differing {
        let (name, was, is) = (task::option_of(name), was.escape_debug(), is.escape_debug());
        return Err(store::refused(path, format!("it began with {name} {was}, and now it is {is}: {WHY}")));
    }
    if saved.settings.len() != now.settings.len() {
        return Err(store::refused(path, "it was saved by another version of this program"));
    }
    if saved.data != now.data {
        return Err(store::refused(
            path,
            format!("it began with other rows, or another --scale or --test: {WHY}"),
        ));
    }
    Ok(())
}

/// Admits the rows under the key, and records what the run spends.
fn enter(
    plan: &LearningPlan,
    data: &Data,
    mut watch: Watch,
    charge: Option<Charge>,
    run: &str,
) -> Result<Option<BudgetReceipt>> {
    let spend = plan.spend()?;
    let rows = |chain: &mut InputChain| {
        chain.step_of_bytes(&data.hash());
    };
    watch.admit_charged(rows, |used| charge.map(|charge| charge.enter_once(run, spend, used)).transpose())
}

/// The name of the noise in version 0.1. Runs that it started resume under that name.
fn first_stream(described: &Description) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("evertally learn stream 1");
    let pairs: Vec<String> =
        described.settings.iter().map(|(name, value)| format!("({name:?}, {value:?})")).collect();
    hasher.update(format!("[{}]", pairs.join(", ")).as_bytes());
    hasher.update(described.data.as_bytes());
    hexadecimal(hasher.finalize().as_bytes())
}

/// A unique name for a run in budget files.
fn own_name() -> Result<String> {
    Ok(hexadecimal(&NoiseKey::from_os()?.tag()))
}

/// Prints the report, on standard error if the model itself went to standard output.
fn print(args: &LearnArgs, report: &Report<'_>) -> Result<()> {
    if manners::is_quiet() {
        return Ok(());
    }
    let text = if args.json { report.json()? } else { report.text() };
    if args.model.as_os_str() == "-" {
        // The model is written even if standard error is closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    output::print(&text)
}
