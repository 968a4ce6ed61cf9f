//! From closed steps to estimates: released, written, and kept for the picture.

use super::options::Unnamed;
use super::task::{Steps, Task};
use super::truth::TruthNotPrivate;
use crate::commands::shared::delta_in_words;
use crate::error::Result;
use crate::key::{Key, Watch, digest_steps};
use crate::ledger::{Charge, Entered};
use crate::mechanism::{Prepared, Running};
use crate::output::{self, Destination, Header, OutputFormat, ReleaseWriter, ReleasedRow, Shape};
use crate::plot::{EstimateChart, Point, Thinned};
use crate::time;
use evertally::{Spend, Workload};
use evertally_stream::{ClosedStep, KeySet};
use std::path::Path;

/// The most steps that are held before they are released: a long silence closes very many.
const ADMITTED_TOGETHER: usize = 1024;

/// Hands every step's totals to a function, in order.
type EachStep<'a> = &'a dyn Fn(&mut dyn FnMut(&[f64]));

/// What is known of the input when a run starts.
pub(super) enum Input<'a> {
    /// All of it, for as many steps as there will ever be.
    Whole(EachStep<'a>),
    /// All of it so far: the same run may have more steps another time.
    SoFar(EachStep<'a>),
    /// Nothing: steps are admitted as they close.
    Coming,
}

impl Input<'_> {
    fn admit(&self, watch: &mut Watch, charge: Option<Charge>, spend: Spend) -> Result<Option<Entered>> {
        match self {
            Self::Whole(steps) => watch.admit_whole(charge, spend, |chain| digest_steps(chain, steps)),
            Self::SoFar(steps) => {
                watch.check(&mut |each| steps(each))?;
                let entered = watch.begin(charge, spend)?;
                watch.admit(&mut |each| steps(each))?;
                Ok(entered)
            }
            Self::Coming => watch.begin(charge, spend),
        }
    }
}

pub(super) struct Releaser<'a> {
    task: &'a Task,
    running: Running,
    watch: Watch,
    mechanism: String,
    writer: Box<dyn ReleaseWriter>,
    curves: Vec<Thinned<Point>>,
    truth: Option<TruthNotPrivate>,
}

impl<'a> Releaser<'a> {
    /// Admits the input as far as it is known, charges for the run, and starts the counter and the output with its header.
    pub(super) fn start(
        task: &'a Task,
        prepared: Prepared,
        input: &Input<'_>,
        key: Key,
        charge: Option<Charge>,
        format: OutputFormat,
        destination: Destination,
        truth_not_private: bool,
    ) -> Result<Self> {
        let mut header = Header::new();
        prepared.describe(&mut header);
        describe(task, prepared.horizon(), &mut header);
        let shape = Shape { timed: task.buckets().is_some(), keyed: task.keys.is_some() };
        let mechanism = prepared.mechanism_name();
        let spend = prepared.spend();
        // The counter is made before the budget is spent, so that one that cannot be made costs nothing; and the budget is spent
        // before the output is touched, so that whatever is seen was paid for.
        let started = key.watched(&prepared.noise_name()).and_then(|(key, mut watch)| {
            let running = prepared.start(key)?;
            let entered = input.admit(&mut watch, charge, spend)?;
            Ok((running, watch, entered))
        });
        let (running, watch, entered) = match started {
            Ok(started) => started,
            Err(error) => {
                destination.discard();
                return Err(error);
            }
        };
        if let Some(entered) = &entered {
            entered.describe(&mut header);
        }
        let writer = output::start(format, destination, &header, shape)?;
        let width = task.keys.as_ref().map_or(1, |keys| keys.names().len());
        let truth = truth_not_private.then(|| TruthNotPrivate::new(task.workload, width));
        Ok(Self { task, running, watch, mechanism, writer, curves: vec![Thinned::default(); width], truth })
    }

    fn release_one(&mut self, closed: &ClosedStep) -> Result<()> {
        let estimates = self.running.step(&closed.totals)?;
        let truths = self.truth.as_mut().map(|truth| truth.step(&closed.totals));
        let start = self.task.buckets().map(|buckets| buckets.start_of(closed.step));
        let names = self.task.keys.as_ref().map(KeySet::names);
        for (index, (estimate, curve)) in estimates.iter().zip(&mut self.curves).enumerate() {
            self.writer.write(&ReleasedRow {
                step: closed.step,
                start,
                key: names.and_then(|names| names.get(index)).map(String::as_str),
                // Adding zero turns a rounded -0 into 0.
                estimate: estimate.value + 0.0,
                standard_error: estimate.standard_error,
                lower: estimate.lower + 0.0,
                upper: estimate.upper + 0.0,
            })?;
            curve.push(Point {
                x: start.map_or(closed.step as f64, |start| start as f64),
                estimate: estimate.value,
                lower: estimate.lower,
                upper: estimate.upper,
                truth_not_private: truths.and_then(|truths| truths.get(index)).copied(),
            });
        }
        Ok(())
    }

    /// Releases steps that were admitted when the run started.
    pub(super) fn release_all(&mut self, closed: impl Iterator<Item = ClosedStep>) -> Result<()> {
        for step in closed {
            self.release_one(&step)?;
        }
        Ok(())
    }

    /// Admits steps that were just closed, releases them and shows them at once.
    pub(super) fn release_and_flush(&mut self, mut closed: impl Iterator<Item = ClosedStep>) -> Result<()> {
        loop {
            let steps: Vec<ClosedStep> = closed.by_ref().take(ADMITTED_TOGETHER).collect();
            if steps.is_empty() {
                return Ok(());
            }
            self.watch.admit(&mut |each| steps.iter().for_each(|step| each(&step.totals)))?;
            steps.iter().try_for_each(|step| self.release_one(step))?;
            self.flush()?;
        }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }

    /// Completes the output and hands over what there is to draw.
    pub(super) fn finish(self) -> Result<EstimateChart> {
        self.writer.finish()?;
        let task = self.task;
        let names = task.keys.as_ref().map(KeySet::names);
        let panel = |(index, curve): (usize, &Thinned<Point>)| {
            (names.and_then(|names| names.get(index)).cloned(), curve.points())
        };
        Ok(EstimateChart {
            title: title(task),
            subtitle: subtitle(task, &self.mechanism),
            timed: task.buckets().is_some(),
            panels: self.curves.iter().enumerate().map(panel).collect(),
        })
    }
}

/// Everything that the command line knows about the releases.
fn describe(task: &Task, horizon: u64, header: &mut Header) {
    let privacy = &task.privacy;
    header.record("epsilon", privacy.epsilon);
    header.record("delta", privacy.delta);
    let calibration =
        if privacy.delta == 0.0 { "pure epsilon".to_owned() } else { privacy.calibration.to_string() };
    header.record("calibration", calibration);
    let participation = match (privacy.participation, &task.person) {
        (None, _) => "one step".to_owned(),
        (Some((steps, gap)), Some(_)) => {
            format!("one person in at most {steps} steps at least {gap} apart, enforced")
        }
        (Some((steps, gap)), None) => {
            format!("at most {steps} steps at least {gap} apart, declared and not enforced")
        }
    };
    header.record("unit", unit(task));
    header.record("participation", participation);
    if let Some(unnamed) = task.unnamed {
        header.record("unnamed", if unnamed == Unnamed::Drop { "left out" } else { "refused" });
    }
    let contribution = match task.contribution() {
        Some((lo, hi)) => format!("{lo},{hi}"),
        None => "1".to_owned(),
    };
    header.record("contribution", contribution);
    if let Some(clamp) = task.clamp {
        header.record("clamp", format!("{},{}", clamp.lo(), clamp.hi()));
    }
    if task.is_unbounded {
        header.record("horizon", format!("unbounded, by a cap of {horizon} steps"));
    } else {
        header.record("horizon", horizon);
    }
    match &task.steps {
        Steps::Buckets(buckets) => {
            header.record("from", time::format(buckets.start_of(0)).unwrap_or_default());
            header.record("every", buckets.every().to_string());
            if task.has_until {
                header.record("until", time::format(buckets.start_of(buckets.steps())).unwrap_or_default());
            }
            if let Some(lag) = task.lag {
                header.record("lag", lag.to_string());
            }
        }
        Steps::Rows(_) if task.is_unbounded => {
            header.record("steps", "one row each, as long as there are any");
        }
        Steps::Rows(Some(_)) => header.record("steps", "one row each, their number declared"),
        Steps::Rows(None) => header.record("steps", "one row each, their number taken as public"),
    }
    if let (Some(column), Some(keys)) = (&task.key, &task.keys) {
        header.record("key_column", column.clone());
        header.record("keys", keys.names().to_vec());
    }
    header.record("post_processing", post_processing_words(task));
    let interval = if task.post_processing.is_identity() {
        "95 %"
    } else {
        "95 %, of the estimate before post-processing, widened to hold the one after"
    };
    header.record("interval", interval);
}

/// Whom or what the budget protects.
fn unit(task: &Task) -> &'static str {
    match (&task.steps, &task.person, &task.id) {
        (_, Some(_), _) => "one person with all of their events",
        (_, None, Some(_)) => "one event with all rows of the same id",
        (Steps::Buckets(_), None, None) => "one event",
        (Steps::Rows(_), None, None) => "one event, which changes its row by no more than the contribution",
    }
}

fn post_processing_words(task: &Task) -> String {
    let post = &task.post_processing;
    if post.is_identity() { "none".to_owned() } else { post.names().join(",") }
}

fn title(task: &Task) -> String {
    let what = match task.workload {
        Workload::PrefixSum => "Private running total",
        Workload::SlidingWindow { .. } => "Private sliding-window total",
        _ => "Private decayed total",
    };
    let of = match (&task.value, Path::new(&task.source).file_stem().and_then(|stem| stem.to_str())) {
        (Some(value), Some(source)) => format!(" of {value} in {source}"),
        (None, Some(source)) => format!(" of {source}"),
        (_, None) => String::new(),
    };
    let by = task.key.as_ref().map(|key| format!(" by {key}")).unwrap_or_default();
    format!("{what}{of}{by}")
}

fn subtitle(task: &Task, mechanism: &str) -> String {
    let privacy = &task.privacy;
    let every = task.buckets().map(|buckets| format!(" · every {}", buckets.every())).unwrap_or_default();
    let unit = if task.person.is_some() { "person" } else { "event" };
    let (epsilon, delta) = (privacy.epsilon, delta_in_words(privacy.delta));
    format!("ε = {epsilon}, δ = {delta} for one {unit} ({}) · {mechanism}{every}", privacy.neighbours)
}
