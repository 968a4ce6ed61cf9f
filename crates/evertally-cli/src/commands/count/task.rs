//! The options, parsed and checked, with nothing left to decide.

use super::filter::Filter;
use super::finish::Outputs;
use super::groups::{Groups, Per, Rates};
use super::histogram::Bins;
use super::options::{CountArgs, Unnamed};
use super::schedule::{self, Steps};
use super::{discover, distinct, needs, quantiles};
use crate::budget_file::{EVENT, PERSON};
use crate::commands::report::Reporting;
use crate::commands::shared::{participation, plan_spec};
use crate::error::{CliError, Result, shown};
use crate::mechanism::{Cumulated, Intervals, Reading};
use evertally::post::{BoundedMean, PostProcess};
use evertally::{
    Arithmetic, Contribution, Division, Horizon, Matrix, Mechanism, Participation, PlanSpec, Shape, Workload,
};
use evertally_stream::time::TimeReader;
use evertally_stream::{
    BucketLength, Buckets, Clamp, Closing, Columns, Definition, KeySet, Precedence, Rules, Share, Stays,
};
use std::path::Path;

/// The default limit on the table of totals, in bytes.
const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

/// Stands for the number of rows until they are counted. No stream has this horizon.
const NOT_DECLARED: Horizon = Horizon::Steps(0);

pub(super) struct Task<'a> {
    pub(super) args: &'a CountArgs,
    pub(super) source: String,
    pub(super) steps: Steps,
    /// The end of the steps to release in this run, with --state and --time.
    pub(super) until: Option<u64>,
    /// How the times of events are read, and in which zone times are shown.
    pub(super) times: TimeReader,
    /// How far the clock is ahead of the bucket that it closes, if the clock closes buckets.
    pub(super) lag: Option<BucketLength>,
    /// What happens to events without a person, if persons are bounded.
    pub(super) unnamed: Option<Unnamed>,
    pub(super) clamp: Option<Clamp>,
    pub(super) keys: Option<KeySet>,
    /// The bins whose groups these are, if numbers are grouped.
    pub(super) bins: Option<Bins>,
    /// What is released of the bins, if it is not their totals.
    pub(super) cumulated: Option<Cumulated>,
    /// How totals become rates, if they do.
    pub(super) rates: Option<Rates>,
    /// The range of the values whose mean is released, if it is.
    pub(super) mean: Option<BoundedMean>,
    /// Which rows count, if not all do.
    pub(super) filter: Option<Filter>,
    /// The choices of the plan. See [`Task::horizon`] for rows whose number was not declared.
    pub(super) spec: PlanSpec,
    /// Whether the steps of a person are bounded, by the participation of the plan.
    pub(super) bounds_persons: bool,
    /// What a person may add to one step, if events name persons.
    pub(super) share: Share,
    /// How persons come and go, if those who are present count.
    pub(super) stays: Option<Stays<'a>>,
    pub(super) post_processing: PostProcess,
    /// The rows to release, if they are not only the running totals.
    pub(super) reporting: Option<Reporting>,
}

impl<'a> Task<'a> {
    pub(super) fn from_args(args: &'a CountArgs) -> Result<Self> {
        needs::check(args)?;
        let times = schedule::time_reader(args.timezone.as_deref(), args.time_format.as_deref())?;
        let steps = schedule::steps_of(args, &times)?;
        let until = schedule::end_of_run(args, &steps, &times)?;
        let timed = matches!(steps, Steps::Buckets(_));
        let clamp = args.clamp.as_deref().map(parse_clamp).transpose()?;
        let bins = Bins::declared(args)?;
        let groups = match &bins {
            Some(bins) => Some(bins.groups()?),
            None => declared_groups(args)?,
        };
        let is_distinct = args.distinct.column.is_some();
        if is_distinct {
            distinct::check(args)?;
        }
        let stays = if is_distinct { distinct::stays(args)? } else { None };
        let share_of = if is_distinct { distinct::share } else { share };
        let share = share_of(args, groups.as_ref().map(|groups| &groups.keys))?;
        if timed && args.value.is_some() && clamp.is_none() && share.sum().is_none() {
            return Err(CliError::bad(
                "--value with --time needs --clamp LO,HI (or --per-person-sum): one event's value must be bounded",
            ));
        }
        if args.mean.is_some() {
            check_mean(args)?;
        }
        if args.discover {
            discover::check(args)?;
        }
        let participation = match participation(args.max_steps, args.min_gap)? {
            None if is_distinct => Some(Participation::single()),
            declared => declared,
        };
        if timed && participation.is_some() && args.person_column().is_none() {
            return Err(CliError::bad(
                "--max-steps needs --person COLUMN: without it nobody's steps can be bounded",
            ));
        }
        let spec = plan_spec(
            declared_horizon(&steps, args.horizon),
            &args.privacy,
            &args.workload,
            &args.numbers,
            participation,
        )?;
        if args.monotone && spec.workload != Workload::PrefixSum {
            return Err(CliError::bad(
                "--monotone needs a total that only grows, and a window or decay can fall",
            ));
        }
        let lowest = share.sum().or(clamp).map_or(0.0, |clamp| clamp.lo());
        if args.monotone && lowest < 0.0 {
            let option = if share.sum().is_some() { "--per-person-sum" } else { "--clamp" };
            return Err(CliError::bad(format!(
                "--monotone needs a total that only grows: {option} must not reach below zero",
            )));
        }
        let is_pure = spec.budget.delta == Some(0.0);
        let values = share.sum().or(clamp);
        let cumulated = quantiles::declared(args, bins.as_ref(), values, is_pure, stays.is_some())?;
        let mut task = Self {
            args,
            source: args.inputs.expand()?.name(),
            steps,
            until,
            times,
            lag: args.lag.as_deref().map(parse_lag).transpose()?,
            unnamed: args.person_column().map(|_| args.unnamed.unwrap_or(Unnamed::Drop)),
            clamp,
            keys: groups.as_ref().map(|groups| groups.keys.clone()),
            bins,
            cumulated,
            rates: groups.and_then(|groups| groups.rates),
            mean: clamp.filter(|_| args.mean.is_some()).map(range_of_mean).transpose()?,
            filter: args.inputs.filter()?,
            spec,
            bounds_persons: participation.is_some(),
            share,
            stays,
            post_processing: post_processing(args),
            reporting: None,
        };
        let no_times = |kind: &str| {
            let kind = shown(kind);
            format!("--report: rows are steps here, so a period is a number of them such as 7, got {kind}")
        };
        let show = |time| task.show_time(time);
        let resolved = args.report.resolve(task.buckets(), task.times.zone(), show, no_times)?;
        if let Some(reporting) = &resolved {
            let is_unbounded = task.is_unbounded();
            reporting.shape(&mut task.spec, args.workload.objective(), is_unbounded)?;
        }
        task.reporting = resolved;
        task.spec.contribution = task.contribution()?;
        task.spec.keys_per_step = task.share.keys();
        if let Some(stays) = stays {
            distinct::shape(&mut task.spec, &stays)?;
        }
        if let Some(cumulated) = &task.cumulated {
            task.spec.contribution = cumulated.contribution(task.spec.contribution)?;
            task.spec.keys_per_step = cumulated.distribution().ranges().levels() as u64;
        }
        if let Some(keys) = task.names_of_totals() {
            task.spec.shape = Shape::Keyed { keys };
        }
        task.spec.definition = task.definition().encode();
        Ok(task)
    }

    /// What the intervals may rely on: events, and values that are clamped to at least zero, add up
    /// to at least zero.
    pub(super) fn intervals(&self) -> Intervals {
        let never_negative = match self.share.sum().or(self.clamp) {
            Some(clamp) => clamp.lo() >= 0.0,
            None => self.value_column().is_none(),
        };
        Intervals {
            non_negative: self.args.non_negative && never_negative,
            simultaneous: self.args.simultaneous,
            divisions: self.divisions().len(),
        }
    }

    /// The choices of the plan that decide which mechanisms can serve, as a header states them.
    pub(super) fn plan_facts(&self) -> [(&'static str, String); 3] {
        let budget = self.spec.budget.budget().map(|budget| budget.to_string());
        [
            ("horizon", self.spec.horizon.to_string()),
            ("workload", self.spec.workload.to_string()),
            ("budget", budget.unwrap_or_default()),
        ]
    }

    /// Goes on with the mechanism of earlier runs if none is named. Another version of the program may
    /// choose another one for the same options.
    pub(super) fn keep_mechanism(&mut self, mechanism: Mechanism) {
        self.spec.mechanism.get_or_insert(mechanism);
    }

    /// Goes on with the grid of earlier runs if none is named. Another version of the program may choose
    /// another one for the same options.
    pub(super) fn keep_grid(&mut self, grid: f64) {
        if self.spec.arithmetic != Some(Arithmetic::Float) {
            self.spec.grid.get_or_insert(grid);
        }
    }

    /// The column with values, if events have values.
    pub(super) fn value_column(&self) -> Option<&'a String> {
        self.args.value.as_ref().or(self.args.mean.as_ref())
    }

    /// The groups, by name.
    pub(super) fn group_names(&self) -> Option<&[String]> {
        self.keys.as_ref().map(KeySet::names)
    }

    /// The names of the rows of a step, unless there is only one.
    pub(super) fn row_names(&self) -> Option<Vec<String>> {
        let names = self.group_names()?;
        Some(match (&self.cumulated, &self.bins) {
            (Some(cumulated), Some(bins)) => cumulated.names(&bins.edges, names),
            _ => names.to_vec(),
        })
    }

    /// How totals are read.
    pub(super) fn reading(&self) -> Reading {
        match (self.mean, &self.cumulated) {
            (Some(mean), _) => Reading::Means(mean),
            (None, Some(cumulated)) => Reading::Cumulated(cumulated.clone()),
            (None, None) => Reading::Totals,
        }
    }

    /// The names of the totals of a step, in order, unless there is only one. A mean has two of each
    /// group ([`Rules::is_mean`]).
    pub(super) fn names_of_totals(&self) -> Option<Vec<String>> {
        if let (Some(cumulated), Some(names)) = (&self.cumulated, self.group_names()) {
            return Some(cumulated.lanes(names));
        }
        if self.mean.is_none() {
            return self.group_names().map(<[String]>::to_vec);
        }
        let of_group =
            |group: &str| ["above the low end", "below the high end"].map(|end| format!("{group}{end}"));
        Some(match self.group_names() {
            None => of_group("").into(),
            Some(groups) => groups.iter().flat_map(|group| of_group(&format!("{group}, "))).collect(),
        })
    }

    /// How the steps are divided into the periods of the report.
    pub(super) fn divisions(&self) -> Vec<Division> {
        self.reporting.as_ref().map(Reporting::divisions).unwrap_or_default()
    }

    /// The declared number of steps, if there is one.
    pub(super) fn horizon(&self) -> Option<Horizon> {
        Some(self.spec.horizon).filter(|horizon| *horizon != NOT_DECLARED)
    }

    /// Whether the noise is for an unbounded stream, even if this input ends.
    pub(super) fn is_unbounded(&self) -> bool {
        self.spec.horizon == Horizon::Unbounded
    }

    /// The choices of the plan for this many steps.
    pub(super) fn spec_for(&self, horizon: Horizon) -> PlanSpec {
        PlanSpec { horizon, ..self.spec.clone() }
    }

    /// ε and δ, which the options always give.
    pub(super) fn budget(&self) -> (f64, f64) {
        (self.spec.budget.epsilon.unwrap_or_default(), self.spec.budget.delta.unwrap_or_default())
    }

    /// The declared number of rows. Missing rows are zero.
    pub(super) fn declared_rows(&self) -> Option<u64> {
        match &self.steps {
            Steps::Buckets(_) => None,
            Steps::Rows(declared) => *declared,
        }
    }

    /// The maximum size of the totals in memory, in bytes.
    pub(super) fn memory_limit(&self) -> u64 {
        self.spec.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT)
    }

    pub(super) fn buckets(&self) -> Option<&Buckets> {
        match &self.steps {
            Steps::Buckets(buckets) => Some(buckets),
            Steps::Rows(_) => None,
        }
    }

    /// A time as it is shown: in the zone that was named, otherwise in UTC.
    pub(super) fn show_time(&self, micros: i64) -> String {
        schedule::show_time(&self.times, micros)
    }

    /// The range of what one protected unit may change in one step. Defaults to zero to one.
    ///
    /// A clamped event is present or not, so it changes its step by a value of the clamp. A clamped
    /// row is a whole step, and the change of one event inside it may take it from any value of the
    /// clamp to any other. A person adds their [`Share`].
    fn contribution(&self) -> Result<Contribution> {
        if self.share != Share::default() {
            let event = match (self.clamp, &self.args.value) {
                (Some(clamp), _) => Some((clamp.lo(), clamp.hi())),
                (None, Some(_)) => None,
                (None, None) => Some((0.0, 1.0)),
            };
            let is_pure = self.budget().1 == 0.0;
            let contribution = self.share.contribution(event, is_pure);
            return contribution.map_err(|error| {
                let sum = self.args.per_person_sum.as_ref();
                let option = sum.map_or("--per-person-events", |_| "--per-person-sum");
                CliError::bad(format!("{option} bounds what a person adds to a step: {error}"))
            });
        }
        let Some(clamp) = self.clamp else { return Ok(Contribution::default()) };
        let (lo, hi) = (clamp.lo(), clamp.hi());
        if self.mean.is_some() {
            // The distances of a value from the two ends add up to the width.
            return Ok(Contribution::range(0.0, clamp.width())?.split_between(2)?);
        }
        Ok(match self.steps {
            Steps::Rows(_) if lo < 0.0 && hi > 0.0 => Contribution::range(lo - hi, hi - lo)?,
            _ => Contribution::range(lo, hi)?,
        })
    }

    /// What the budget protects: a person if the steps of persons are bounded, whether the bound is
    /// enforced or declared, otherwise an event. Budget files, headers and plots say the same.
    pub(super) fn unit(&self) -> &'static str {
        if self.bounds_persons { PERSON } else { EVENT }
    }

    /// Whether only the first value of a person in a step counts, and the user did not say so.
    pub(super) fn counts_first_values_unasked(&self) -> bool {
        let CountArgs { person, value, per_person_events, .. } = self.args;
        let is_said = per_person_events.is_some() || self.share.sum().is_some();
        person.is_some() && value.is_some() && !is_said
    }

    /// What is counted. It is part of the noise's name, so runs that count anything differently share
    /// no noise.
    pub(super) fn definition(&self) -> Definition<'_> {
        Definition {
            columns: Columns {
                time: self.args.time.as_deref(),
                value: self.value_column().map(String::as_str),
                key: self.args.key_column().map(String::as_str),
                person: self.args.person_column().map(String::as_str),
                id: self.args.id.as_deref(),
            },
            closing: match (self.lag, self.args.follow) {
                _ if self.args.state.is_some() => Closing::ByRuns,
                (Some(lag), _) => Closing::ByTheClock { lag_micros: lag.micros() },
                (None, true) => Closing::ByLaterEvents,
                (None, false) => Closing::AtTheEnd,
            },
            clamp: self.clamp,
            is_mean: self.mean.is_some(),
            bound: self.enforced_bound().map(|bound| (bound.max_steps(), bound.min_gap())),
            share: self.share,
            precedence: Precedence::Time,
            stays: self.stays,
            bins: self.bins.as_ref().map(|bins| &bins.edges[..]),
            ranges: self.cumulated.as_ref().and_then(|cumulated| {
                let ranges = cumulated.distribution().ranges();
                (!ranges.is_plain()).then(|| (ranges.branching() as u64, ranges.weights()))
            }),
            filter: self.filter.as_ref().map(Filter::canonical),
            ..schedule::defined(self.buckets(), &self.times)
        }
    }

    /// The most steps of a person and the least gap between them, if events name persons.
    fn enforced_bound(&self) -> Option<Participation> {
        (self.bounds_persons && self.args.person_column().is_some()).then_some(self.spec.participation)
    }

    /// How the outputs are treated.
    pub(super) fn outputs(&self) -> Outputs {
        Outputs { existing: self.args.force.existing(), has_key: self.args.noise_key.path().is_some() }
    }

    /// The covariance of the errors, and the file to write it to, if it was asked for.
    pub(super) fn covariance_to_write<'b>(
        &'b self,
        covariance: Option<&'b Matrix>,
    ) -> Result<Option<(&'b Path, &'b Matrix)>> {
        Ok(self.args.covariance.path()?.zip(covariance))
    }

    /// The columns to read. Their order is known to [`super::events`] alone.
    pub(super) fn columns(&self) -> Vec<String> {
        let CountArgs { time, id, .. } = self.args;
        let key = self.args.key_column();
        let person = self.args.person_column();
        let filtered = self.filter.iter().flat_map(Filter::columns);
        let given = [time.as_ref(), self.value_column(), key, person, id.as_ref()];
        let operation = self.args.distinct.operation.as_ref();
        given.into_iter().chain([operation]).flatten().chain(filtered).cloned().collect()
    }

    /// The rules under which an event counts.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            keys: self.keys.clone(),
            clamp: self.clamp,
            is_mean: self.mean.is_some(),
            limits: self.share.limits().or(self.enforced_bound()),
            share: self.share,
            has_ids: self.args.id.is_some() || self.share.is_once_per_key(),
        }
    }
}

/// What a person may add to one step. Nobody can count in more groups than there are.
fn share(args: &CountArgs, keys: Option<&KeySet>) -> Result<Share> {
    let sum = args.per_person_sum.as_deref().map(|text| parse_range("--per-person-sum", text)).transpose()?;
    let max_events = args.per_person_events.or(if sum.is_some() { None } else { Some(1) });
    for (option, number) in
        [("--per-person-events", args.per_person_events), ("--groups-per-person", args.groups_per_person)]
    {
        if number == Some(0) {
            return Err(CliError::bad(format!("{option} must be at least 1, got 0")));
        }
    }
    let groups = args.groups_per_person.unwrap_or(1);
    if groups > 1 && max_events == Some(1) {
        return Err(CliError::bad(
            "--groups-per-person needs --per-person-sum LO,HI or --per-person-events of 2 or more: one event is in one group",
        ));
    }
    // Nobody knows how many groups will be found.
    let declared = if args.discover { u64::MAX } else { keys.map_or(1, |keys| keys.names().len() as u64) };
    Ok(Share::new(max_events, groups.min(declared), sum)?)
}

/// Refuses what a mean does not have.
fn check_mean(args: &CountArgs) -> Result<()> {
    const ONE_EVENT: &str = "a mean is over events, of which each person has one per step";
    if args.clamp.is_none() {
        return Err(CliError::bad("--mean needs --clamp LO,HI: one event's value must be bounded"));
    }
    let refused = [
        (args.round, "--round", "a mean is not an integer; --grid rounds the totals behind it"),
        (args.non_negative, "--non-negative", "a mean lies within --clamp already"),
        (args.monotone, "--monotone", "a mean can fall"),
        (args.per.is_some(), "--per", "a mean does not grow with the size of its group"),
        (args.per_person_sum.is_some(), "--per-person-sum", ONE_EVENT),
        (args.per_person_events.is_some_and(|events| events > 1), "--per-person-events", ONE_EVENT),
        (args.groups_per_person.is_some_and(|groups| groups > 1), "--groups-per-person", ONE_EVENT),
        (args.covariance.path()?.is_some(), "--covariance", "its errors are those of totals"),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, reason)) => {
            Err(CliError::bad(format!("{option} cannot be used with --mean: {reason}")))
        }
        None => Ok(()),
    }
}

/// The range of the values that a clamp leaves: its ends are on the grid of amounts.
fn range_of_mean(clamp: Clamp) -> Result<BoundedMean> {
    let [lo, hi] = clamp.ends();
    Ok(BoundedMean::new(lo.to_f64(), hi.to_f64())?)
}

fn declared_groups(args: &CountArgs) -> Result<Option<Groups>> {
    const PER_UNIT: f64 = 1e5;
    let unit = args.per_unit.unwrap_or(PER_UNIT);
    let per = args.per.as_deref().map(|column| Per { column, unit });
    let (Some(text), Some(group_by)) = (&args.groups, &args.group_by) else { return Ok(None) };
    Groups::declared(text, group_by, per.as_ref()).map(Some)
}

fn declared_horizon(steps: &Steps, given: Option<Horizon>) -> Horizon {
    match steps {
        _ if given == Some(Horizon::Unbounded) => Horizon::Unbounded,
        Steps::Buckets(buckets) => buckets.steps().into(),
        Steps::Rows(declared) => declared.map_or(NOT_DECLARED, Horizon::Steps),
    }
}

fn post_processing(args: &CountArgs) -> PostProcess {
    let mut post = PostProcess::default();
    if args.round {
        post = post.round();
    }
    if args.non_negative {
        post = post.non_negative();
    }
    if args.monotone {
        post = post.monotone();
    }
    post
}

fn parse_lag(text: &str) -> Result<BucketLength> {
    text.parse().map_err(|_| {
        CliError::bad(format!("--lag: expected a length like 30s, 15m, 1h, 1d or 1w, got {}", shown(text)))
    })
}

pub(crate) fn parse_clamp(text: &str) -> Result<Clamp> {
    parse_range("--clamp", text)
}

fn parse_range(option: &str, text: &str) -> Result<Clamp> {
    let number = |part: &str| part.trim().parse::<f64>().ok();
    let ends = text.split_once(',').and_then(|(lo, hi)| Some((number(lo)?, number(hi)?)));
    let (lo, hi) = ends.ok_or_else(|| {
        CliError::bad(format!("{option}: expected two numbers LO,HI such as 0,100, got {}", shown(text)))
    })?;
    Clamp::new(lo, hi).map_err(|error| CliError::bad(format!("{option}: {error}")))
}
