//! Turns closed steps into estimates, writes them and keeps them for the plot.

use super::options::Unnamed;
use super::schedule::{Steps, describe_buckets};
use super::summary::Released;
use super::task::Task;
use super::truth::TruthNotPrivate;
use super::{distinct, quantiles};
use crate::budget_file::{BudgetReceipt, Charge};
use crate::commands::shared::delta_in_words;
use crate::error::{CliError, Result};
use crate::interrupt;
use crate::mechanism::{PeriodSum, Prepared, Running};
use crate::noise_key::{EachStep, Key, Payment, Watch};
use crate::output::{
    self, Destination, Existing, Header, Measured, Measures, OutputFormat, Period, ReleaseWriter,
    ReleasedRow, Shape, Start as RowStart,
};
use crate::plot::{EstimateChart, Point, Thinned, grouped};
use crate::progress::Progress;
use evertally::{Objective, Shape as PlanShape, Workload};
use evertally_stream::{Buckets, ClosedStep, Share, Zone};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The maximum number of steps that are released at a time. A long silence closes very many.
const STEPS_ADMITTED_TOGETHER: usize = 1024;

/// What is known about the input when a run starts.
pub(super) enum Input<'a> {
    /// All of it: there will be no more steps.
    Whole(EachStep<'a>),
    /// All of it so far. A later run may have more steps.
    SoFar(EachStep<'a>),
}

pub(super) struct Releaser<'a> {
    task: &'a Task<'a>,
    running: Running,
    watch: Watch,
    mechanism: String,
    output: Output,
    curves: Vec<Thinned<Point>>,
    truth: Option<TruthNotPrivate>,
    /// The names of the rows of a step, if there are several.
    names: Option<Vec<String>>,
    released: Released,
}

/// Where releases go.
enum Output {
    /// Nothing is admitted yet, so there is neither a file nor a charge.
    Waiting(Box<Waiting>),
    Writing(Box<dyn ReleaseWriter>),
    /// It could not be started.
    Failed,
}

struct Waiting {
    header: Header,
    payment: Payment,
    format: OutputFormat,
    shape: Shape,
    path: Option<PathBuf>,
    existing: Existing,
    /// The output has a header already.
    appends: bool,
}

/// The output of a run, and its payment.
pub(super) struct Start {
    pub(super) key: Key,
    pub(super) charge: Option<Charge>,
    pub(super) format: OutputFormat,
    pub(super) existing: Existing,
    pub(super) truth_not_private: bool,
    /// What an earlier run of the same state left.
    pub(super) past: Option<Past>,
}

/// What a run goes on from.
pub(super) struct Past {
    pub(super) steps: u64,
    /// The digest of the steps' input.
    pub(super) digest: [u8; 16],
    /// The count as [`Running::save`] wrote it.
    pub(super) running: Zeroizing<Vec<u8>>,
    /// Whether the output has a header already.
    pub(super) appends: bool,
}

impl<'a> Releaser<'a> {
    /// Starts a run whose input is already read: admits it, charges for the run, and starts the output
    /// with its header.
    pub(super) fn start(
        task: &'a Task<'a>,
        prepared: Prepared,
        start: Start,
        input: &Input<'_>,
        destination: Destination,
    ) -> Result<Self> {
        let mut releaser = Self::wait(task, prepared, start, None)?;
        releaser.start_output(destination, |watch, payment| match input {
            Input::Whole(steps) => watch.admit_all_steps(*steps, payment),
            Input::SoFar(steps) => watch.admit_steps(*steps, payment),
        })?;
        Ok(releaser)
    }

    /// Starts a run whose input is still to come. The first steps that close are admitted and paid
    /// for before there is an output.
    pub(super) fn wait(
        task: &'a Task<'a>,
        prepared: Prepared,
        start: Start,
        path: Option<PathBuf>,
    ) -> Result<Self> {
        let mut header = Header::new();
        prepared.describe(&mut header);
        describe(task, prepared.plan.horizon(), &mut header);
        let waiting = Waiting {
            header,
            payment: start.charge.map(|charge| (charge, prepared.plan.spend())),
            format: start.format,
            shape: Shape {
                timed: task.buckets().is_some(),
                keyed: task.keys.is_some(),
                periods: task.reporting.is_some(),
                measures: match (&task.mean, &task.rates, &task.cumulated) {
                    (Some(_), ..) => Measures::Means,
                    (None, Some(_), _) => Measures::Rates,
                    (None, None, Some(cumulated)) => cumulated.measures(),
                    (None, None, None) => Measures::Totals,
                },
            },
            path,
            existing: start.existing,
            appends: start.past.as_ref().is_some_and(|past| past.appends),
        };
        let rmse = prepared.rmse();
        let wants_covariance = task.args.covariance.path()?.is_some();
        let covariance = wants_covariance.then(|| prepared.plan.covariance()).transpose()?;
        let names = task.row_names();
        let width = names.as_ref().map_or(1, Vec::len);
        let before = start.past.as_ref().map(|past| (past.steps, past.digest));
        let (key, watch) = start.key.watched_after(&prepared.plan.noise_name(), before)?;
        let watch = match prepared.plan.shape() {
            // What is digested are the totals of bins, and not those of their ranges.
            PlanShape::Keyed { keys } if task.cumulated.is_none() => watch.for_keys(keys),
            PlanShape::Keyed { .. } => watch.for_keys(task.group_names().unwrap_or_default()),
            _ => watch,
        };
        Ok(Self {
            task,
            mechanism: prepared.plan.mechanism().to_string(),
            running: match &start.past {
                Some(past) => prepared.go_on(key, task.divisions(), &past.running)?,
                None => prepared.start(key, task.divisions())?,
            },
            watch,
            output: Output::Waiting(Box::new(waiting)),
            curves: vec![Thinned::default(); width],
            truth: start.truth_not_private.then(|| TruthNotPrivate::new(task)),
            names,
            released: Released {
                steps: 0,
                first: start.past.as_ref().map_or(0, |past| past.steps),
                rmse,
                last_error: None,
                covariance,
            },
        })
    }

    /// Admits the input, charges for the run, and starts the output. The budget is spent before the
    /// output is touched, so everything visible was paid for. A refusal leaves no output.
    fn start_output(
        &mut self,
        destination: Destination,
        admit: impl FnOnce(&mut Watch, Payment) -> Result<Option<BudgetReceipt>>,
    ) -> Result<()> {
        let Output::Waiting(waiting) = std::mem::replace(&mut self.output, Output::Failed) else {
            return Ok(());
        };
        let Waiting { mut header, payment, format, shape, appends, .. } = *waiting;
        match admit(&mut self.watch, payment) {
            Ok(Some(receipt)) => receipt.describe(&mut header),
            Ok(None) => {}
            Err(error) => {
                destination.discard();
                return Err(error);
            }
        }
        let started = if appends {
            output::go_on(format, destination)
        } else {
            output::start(format, destination, &header, shape)
        };
        self.output = Output::Writing(started?);
        Ok(())
    }

    /// Admits steps that were just closed. The first of them start the output.
    fn admit(&mut self, steps: &[ClosedStep]) -> Result<()> {
        let each: EachStep<'_> = &|each| steps.iter().for_each(|step| each(&step.totals));
        if let Output::Waiting(waiting) = &self.output {
            let destination = Destination::open_growing(waiting.path.as_deref(), waiting.existing)?;
            return self.start_output(destination, |watch, payment| watch.admit_steps(each, payment));
        }
        self.watch.admit_steps(each, None).map(drop)
    }

    fn release_one(&mut self, closed: &ClosedStep) -> Result<()> {
        let rows = rated(self.task, self.running.step(&closed.totals)?);
        let truths = self.truth.as_mut().map(|truth| truth.step(&closed.totals));
        let start = self.task.buckets().map(|buckets| buckets.start_of(closed.step));
        let shown = start.map(|start| self.task.show_time(start)).unwrap_or_default();
        let names = self.names.as_deref();
        let sums = self.running.period_sums();
        let sums: Vec<_> =
            sums.into_iter().map(|sum| PeriodSum { rows: rated(self.task, sum.rows), ..sum }).collect();
        let Output::Writing(writer) = &mut self.output else {
            return Err(CliError::Failure("a step was released before its output was started".to_owned()));
        };
        self.released.steps += 1;
        self.released.last_error = rows.iter().find_map(Measured::standard_error);
        for (index, (row, curve)) in rows.iter().zip(&mut self.curves).enumerate() {
            let Some((value, lower, upper)) = row.drawn() else { continue };
            curve.push(Point {
                x: start.map_or(closed.step as f64, |start| start as f64),
                value,
                lower,
                upper,
                truth_not_private: truths.as_ref().and_then(|truths| truths.get(index).copied().flatten()),
            });
        }
        let mut write = |start: Option<(i64, &str)>, period: Option<Period<'_>>, rows: &[Measured]| {
            rows.iter().enumerate().try_for_each(|(index, measured)| {
                writer.write(&ReleasedRow {
                    period,
                    step: closed.step,
                    start: start.map(|(micros, text)| RowStart { micros, text }),
                    key: names.and_then(|names| names.get(index)).map(String::as_str),
                    measured: *measured,
                })
            })
        };
        let start = start.map(|start| (start, shown.as_str()));
        let Some(reporting) = &self.task.reporting else { return write(start, None, &rows) };
        let mut division = 0;
        for kind in &reporting.kinds {
            let name = kind.name.as_str();
            if kind.division.is_none() {
                write(start, Some(Period { kind: name, first: 0 }), &rows)?;
                continue;
            }
            if let Some(sum) = sums.iter().find(|sum| sum.division == division) {
                let micros = self.task.buckets().map(|buckets| buckets.start_of(sum.first));
                let shown = micros.map(|micros| self.task.show_time(micros)).unwrap_or_default();
                let start = micros.map(|micros| (micros, shown.as_str()));
                write(start, Some(Period { kind: name, first: sum.first }), &sum.rows)?;
            }
            division += 1;
        }
        Ok(())
    }

    /// Releases steps that were admitted when the run started.
    pub(super) fn release_all(&mut self, closed: impl Iterator<Item = ClosedStep>) -> Result<()> {
        let mut progress = Progress::new("releasing");
        let steps = self.task.buckets().map(Buckets::steps).or(self.task.declared_rows());
        for step in closed {
            self.release_one(&step)?;
            progress.update(steps.map(|steps| self.released.steps as f64 / steps as f64));
        }
        Ok(())
    }

    /// Admits steps that were just closed, releases them and shows them at once.
    pub(super) fn release_and_flush(&mut self, mut closed: impl Iterator<Item = ClosedStep>) -> Result<()> {
        loop {
            let steps: Vec<ClosedStep> = closed.by_ref().take(STEPS_ADMITTED_TOGETHER).collect();
            if steps.is_empty() {
                return Ok(());
            }
            self.admit(&steps)?;
            steps.iter().try_for_each(|step| self.release_one(step))?;
            if let Output::Writing(writer) = &mut self.output {
                writer.flush()?;
            }
        }
    }

    /// The count as bytes, and the digest of its input so far, for a later run.
    pub(super) fn save(&self) -> (Zeroizing<Vec<u8>>, [u8; 16]) {
        (self.running.save(), self.watch.digest())
    }

    /// Completes the table, and returns its output, the series to draw, and what there is to say about
    /// them. The output has no name yet.
    pub(super) fn finish(mut self) -> Result<(Option<Destination>, EstimateChart, Released)> {
        // A run that is stopped before its first step has nothing to pay for, and no table.
        if let (Output::Waiting(_), false) = (&self.output, interrupt::is_stopping()) {
            // No step has closed, so the output is only a header.
            self.admit(&[])?;
        }
        let table = match self.output {
            Output::Writing(writer) => Some(writer.finish()?),
            _ => None,
        };
        let task = self.task;
        let names = self.names.as_deref();
        let panel = |(index, curve): (usize, &Thinned<Point>)| {
            (names.and_then(|names| names.get(index)).cloned(), curve.points())
        };
        // A group without a denominator has no curve.
        let is_drawn =
            |(_, points): &(Option<String>, Vec<Point>)| task.rates.is_none() || !points.is_empty();
        let chart = EstimateChart {
            title: title(task),
            subtitle: subtitle(task, &self.mechanism),
            times: task.buckets().map(|_| task.times.zone().cloned().unwrap_or(Zone::utc())),
            shows_zero: task.mean.is_none() && task.args.histogram.quantiles.is_none(),
            panels: self.curves.iter().enumerate().map(panel).filter(is_drawn).collect(),
        };
        Ok((table, chart, self.released))
    }
}

/// The same rows with rates beside their totals, if groups have denominators.
fn rated(task: &Task<'_>, mut rows: Vec<Measured>) -> Vec<Measured> {
    let Some(rates) = &task.rates else { return rows };
    for (group, row) in rows.iter_mut().enumerate() {
        if let Measured::Total(total) = *row {
            *row = Measured::Rate(total, rates.rate(group, &total));
        }
    }
    rows
}

/// The facts that the command line adds to the header.
pub(super) fn describe(task: &Task<'_>, horizon: u64, header: &mut Header) {
    let (epsilon, delta) = task.budget();
    header.record("epsilon", epsilon);
    header.record("delta", delta);
    let calibration = task.spec.budget.calibration.unwrap_or_default();
    let calibration = if delta == 0.0 { "pure epsilon".to_owned() } else { calibration.to_string() };
    header.record("calibration", calibration);
    let bound = task.spec.participation;
    let (steps, gap) = (bound.max_steps(), bound.min_gap());
    let participation = match (task.bounds_persons, &task.args.person) {
        (false, _) => "one step".to_owned(),
        _ if task.args.distinct.column.is_some() => {
            distinct::participation_in_words(&task.share, task.stays.as_ref())
        }
        (true, Some(_)) => format!("one person in at most {steps} steps at least {gap} apart, enforced"),
        (true, None) => format!("at most {steps} steps at least {gap} apart, declared and not enforced"),
    };
    header.record("unit", unit_in_words(task));
    header.record("participation", participation);
    if let Some(unnamed) = task.unnamed {
        header.record("unnamed", if unnamed == Unnamed::Drop { "left out" } else { "refused" });
    }
    if let Some(filter) = &task.filter {
        header.record("where", filter.canonical());
    }
    if task.args.inputs.skip_bad_rows {
        header.record("bad_rows", "left out");
    }
    if let Some(column) = &task.args.distinct.column {
        header.record("distinct", distinct::counted_in_words(column, task.stays.as_ref()));
    } else if task.args.person.is_some() {
        header.record("per_step", task.share.in_words(task.keys.is_some() || task.args.discover));
    }
    header.record("contribution", contribution_in_words(task));
    if let Some(clamp) = task.clamp {
        header.record("clamp", format!("{},{}", clamp.lo(), clamp.hi()));
    }
    if let (Some(column), Some(clamp)) = (&task.args.mean, task.clamp) {
        let [lo, hi] = clamp.ends().map(evertally_stream::Amount::to_f64);
        let totals = "from two totals: the distances of its values";
        header.record("mean", format!("of {column}, {totals} from {lo} and from {hi}"));
    }
    if task.is_unbounded() {
        header.record("horizon", format!("unbounded, by a cap of {horizon} steps"));
    } else {
        header.record("horizon", horizon);
    }
    match &task.steps {
        Steps::Buckets(buckets) => {
            describe_buckets(header, buckets, &task.times);
            if task.args.until.is_some() && task.args.state.is_none() {
                header.record("until", task.show_time(buckets.start_of(buckets.steps())));
            }
            if let Some(lag) = task.lag {
                header.record("lag", lag.to_string());
            }
        }
        Steps::Rows(_) if task.args.state.is_some() => {
            header.record("steps", "one row each, as many in each run as it was given");
        }
        Steps::Rows(_) if task.is_unbounded() => {
            header.record("steps", "one row each, as long as there are any");
        }
        Steps::Rows(Some(_)) => header.record("steps", "one row each, their number declared"),
        Steps::Rows(None) => header.record("steps", "one row each, their number taken as public"),
    }
    if task.args.state.is_some() {
        header.record("runs", "one or more of one state, each for the steps after those of the one before");
    }
    if let (Some(column), Some(names)) = (task.args.key_column(), task.group_names()) {
        header.record("key_column", column.clone());
        header.record("keys", names.to_vec());
    }
    if let Some(bins) = &task.bins {
        let edges: Vec<String> = bins.edges.iter().map(f64::to_string).collect();
        header.record("bins", format!("edges {}, each in the bin above it", edges.join(",")));
    }
    if let Some(cumulated) = &task.cumulated {
        quantiles::describe(cumulated, header);
    }
    if let Some(rates) = &task.rates {
        let (unit, column) = (rates.unit, &rates.column);
        header.record("per", format!("rates are totals times {unit}, divided by the {column} of their key"));
        header.record("denominators", rates.denominators.clone());
    }
    if let Some(reporting) = &task.reporting {
        header.record("report", reporting.names());
        if task.spec.objective == Objective::Report {
            header.record("weights", reporting.weights());
        }
    }
    let post = &task.post_processing;
    let (applied, interval) = if post.is_identity() {
        ("none".to_owned(), task.intervals().in_words().to_owned())
    } else {
        let interval = task.intervals().in_words();
        let interval =
            format!("{interval}, of the estimate before post-processing, widened to hold the one after");
        (post.names().join(","), interval)
    };
    header.record("post_processing", applied);
    let of_means = "; of means by Fieller's method, and empty means where the count cannot be told from zero";
    header.record("interval", if task.mean.is_some() { interval + of_means } else { interval });
}

/// What one unit may change in one step.
fn contribution_in_words(task: &Task<'_>) -> String {
    let range = task.spec.contribution;
    let magnitude = range.magnitude();
    match (task.clamp, task.budget().1) {
        _ if task.stays.is_some() => "1 and -1 in turn".to_owned(),
        (_, delta) if task.spec.keys_per_step > 1 && task.cumulated.is_some() => {
            let norm = if delta == 0.0 { "sums" } else { "norms" };
            format!("{norm} over ranges of at most {magnitude}")
        }
        (None, _) if task.share == Share::default() => "1".to_owned(),
        (_, 0.0) if task.share.max_keys() > 1 => format!("sums over groups of at most {magnitude} in total"),
        _ if task.share.max_keys() > 1 => format!("sums over groups of norm at most {magnitude}"),
        _ if range.keys() > 1 => {
            format!("{},{}, split between {} totals", range.lo(), range.hi(), range.keys())
        }
        _ => format!("{},{}", range.lo(), range.hi()),
    }
}

/// Who or what the budget protects.
fn unit_in_words(task: &Task<'_>) -> &'static str {
    match (task.bounds_persons, &task.steps, &task.args.id) {
        (true, Steps::Buckets(_), _) => "one person with all of their events",
        (true, Steps::Rows(_), _) => {
            "one person, who changes each of their rows by no more than the contribution"
        }
        (false, _, Some(_)) => "one event with all rows of the same id",
        (false, Steps::Buckets(_), None) => "one event",
        (false, Steps::Rows(_), None) => "one event, which changes its row by no more than the contribution",
    }
}

fn title(task: &Task<'_>) -> String {
    let over = match task.spec.workload {
        _ if task.stays.is_some() => "current",
        Workload::PrefixSum => "running",
        Workload::SlidingWindow { .. } => "sliding-window",
        _ => "decayed",
    };
    let what = match (&task.mean, &task.args.distinct.column) {
        (Some(_), _) => "mean",
        (None, Some(_)) if task.stays.is_some() => "number of present persons",
        (None, Some(_)) => "number of different persons",
        (None, None) if task.args.histogram.quantiles.is_some() => "quantiles",
        (None, None) => "total",
    };
    let is_distinct = task.args.distinct.column.is_some();
    let is_quantiles = task.args.histogram.quantiles.is_some();
    let measured = task.args.key_column().filter(|_| is_quantiles).or(task.value_column());
    let of = match (measured, Path::new(&task.source).file_stem().and_then(|stem| stem.to_str())) {
        (Some(value), Some(source)) => format!(" of {value} in {source}"),
        (None, Some(source)) if is_distinct => format!(" in {source}"),
        (None, Some(source)) => format!(" of {source}"),
        (_, None) => String::new(),
    };
    let key = task.args.key_column().filter(|_| !is_quantiles);
    let by = key.map(|key| format!(" by {key}")).unwrap_or_default();
    let per = task.rates.as_ref().map(|rates| format!(", per {} {}", grouped(rates.unit, 6), rates.column));
    format!("Private {over} {what}{of}{by}{}", per.unwrap_or_default())
}

fn subtitle(task: &Task<'_>, mechanism: &str) -> String {
    let every = task.buckets().map(|buckets| format!(" · every {}", buckets.every())).unwrap_or_default();
    let unit = task.unit();
    let (epsilon, delta) = task.budget();
    let delta = delta_in_words(delta);
    format!("ε = {epsilon}, δ = {delta} for one {unit} ({}) · {mechanism}{every}", task.spec.neighbours)
}
