//! The options, parsed and checked, with nothing left to decide.

use super::filter::Filter;
use super::options::{CountArgs, Unnamed};
use super::schedule::{self, Steps};
use crate::budget_file::{EVENT, PERSON};
use crate::commands::report::Reporting;
use crate::commands::shared::{participation, plan_spec};
use crate::error::{CliError, Result, shown};
use crate::input::BYTE_ORDER_MARK;
use crate::mechanism::Intervals;
use evertally::post::PostProcess;
use evertally::{Contribution, Division, Horizon, Participation, PlanSpec, Shape, Workload};
use evertally_stream::time::{self, TimeReader};
use evertally_stream::{
    BucketLength, Buckets, Clamp, Closing, Columns, Definition, KeySet, OTHER, Precedence, Reading, Rules,
    Share, StepLength, Zone,
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
    /// Which rows count, if not all do.
    pub(super) filter: Option<Filter>,
    /// The choices of the plan. See [`Task::horizon`] for rows whose number was not declared.
    pub(super) spec: PlanSpec,
    /// Whether the steps of a person are bounded, by the participation of the plan.
    pub(super) bounds_persons: bool,
    /// What a person may add to one step, if events name persons.
    pub(super) share: Share,
    pub(super) post_processing: PostProcess,
    /// The rows to release, if they are not only the running totals.
    pub(super) reporting: Option<Reporting>,
}

impl<'a> Task<'a> {
    pub(super) fn from_args(args: &'a CountArgs) -> Result<Self> {
        let times = schedule::time_reader(args)?;
        let steps = schedule::steps_of(args, &times)?;
        let until = schedule::end_of_run(args, &steps, &times)?;
        let timed = matches!(steps, Steps::Buckets(_));
        let clamp = args.clamp.as_deref().map(parse_clamp).transpose()?;
        let keys = args.groups.as_deref().map(declared_keys).transpose()?;
        let share = share(args, keys.as_ref())?;
        if timed && args.value.is_some() && clamp.is_none() && share.sum().is_none() {
            return Err(CliError::bad(
                "--value with --time needs --clamp LO,HI (or --per-person-sum): one event's value must be bounded",
            ));
        }
        let participation = participation(args.max_steps, args.min_gap)?;
        if timed && participation.is_some() && args.person.is_none() {
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
        let mut task = Self {
            args,
            source: args.inputs.expand()?.name(),
            steps,
            until,
            times,
            lag: args.lag.as_deref().map(parse_lag).transpose()?,
            unnamed: args.person.as_ref().map(|_| args.unnamed.unwrap_or(Unnamed::Drop)),
            clamp,
            keys,
            filter: args.inputs.filter()?,
            spec,
            bounds_persons: participation.is_some(),
            share,
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
            reporting.shape(&mut task.spec, is_unbounded)?;
        }
        task.reporting = resolved;
        task.spec.contribution = task.contribution()?;
        task.spec.keys_per_step = task.share.keys();
        if let Some(keys) = &task.keys {
            task.spec.shape = Shape::Keyed { keys: keys.names().to_vec() };
        }
        task.spec.definition = task.definition().encode();
        Ok(task)
    }

    /// What the intervals may rely on: events, and values that are clamped to at least zero, add up
    /// to at least zero.
    pub(super) fn intervals(&self) -> Intervals {
        let never_negative = match self.share.sum().or(self.clamp) {
            Some(clamp) => clamp.lo() >= 0.0,
            None => self.args.value.is_none(),
        };
        Intervals {
            non_negative: self.args.non_negative && never_negative,
            simultaneous: self.args.simultaneous,
            divisions: self.divisions().len(),
        }
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
        let shown = self.times.zone().map_or_else(|| time::format(micros), |zone| zone.format(micros));
        shown.unwrap_or_default()
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
                value: self.args.value.as_deref(),
                key: self.args.group_by.as_deref(),
                person: self.args.person.as_deref(),
                id: self.args.id.as_deref(),
            },
            buckets: self.buckets().and_then(|buckets| match buckets.every() {
                StepLength::Fixed(every) => Some((buckets.start_of(0), every)),
                StepLength::Calendar(_) => None,
            }),
            calendar: self.buckets().and_then(Buckets::calendar),
            reading: Reading { zone: self.times.zone().map(Zone::name), format: self.times.format() },
            closing: match (self.lag, self.args.follow) {
                _ if self.args.state.is_some() => Closing::ByRuns,
                (Some(lag), _) => Closing::ByTheClock { lag_micros: lag.micros() },
                (None, true) => Closing::ByLaterEvents,
                (None, false) => Closing::AtTheEnd,
            },
            clamp: self.clamp,
            bound: self.enforced_bound().map(|bound| (bound.max_steps(), bound.min_gap())),
            share: self.share,
            precedence: Precedence::Time,
            filter: self.filter.as_ref().map(Filter::canonical),
        }
    }

    /// The most steps of a person and the least gap between them, if events name persons.
    fn enforced_bound(&self) -> Option<Participation> {
        (self.bounds_persons && self.args.person.is_some()).then_some(self.spec.participation)
    }

    /// The columns to read. Their order is known to [`super::events`] alone.
    pub(super) fn columns(&self) -> Vec<String> {
        let CountArgs { time, value, group_by, person, id, .. } = self.args;
        let filtered = self.filter.iter().flat_map(Filter::columns);
        [time, value, group_by, person, id].into_iter().flatten().chain(filtered).cloned().collect()
    }

    /// The rules under which an event counts.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            keys: self.keys.clone(),
            clamp: self.clamp,
            limits: self.enforced_bound(),
            share: self.share,
            has_ids: self.args.id.is_some(),
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
    let declared = keys.map_or(1, |keys| keys.names().len() as u64);
    Ok(Share::new(max_events, groups.min(declared), sum)?)
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

/// Keys from the command line, or from a file of that name with one key per line.
fn declared_keys(text: &str) -> Result<KeySet> {
    let path = Path::new(text);
    if !text.contains(',') && path.exists() && !path.is_dir() {
        let lines = std::fs::read_to_string(path).map_err(|error| CliError::reading(path, &error))?;
        return keys_by_line(&lines);
    }
    if !text.contains(',') && text.contains(['.', '/', '\\']) {
        // A mistyped name of a file would otherwise be the only key, and every event would silently
        // count as `other`.
        return Err(CliError::bad(format!(
            "--groups: {0} looks like a file and there is none of that name; as a group, write {0},{OTHER}",
            text.escape_debug()
        )));
    }
    key_set(text.split(','))
}

/// Keys from a file, one per line.
pub(crate) fn keys_by_line(text: &str) -> Result<KeySet> {
    let lines = text.trim_start_matches(BYTE_ORDER_MARK).lines();
    key_set(lines.filter(|line| !line.trim().is_empty()))
}

/// Declared keys without the spaces around them.
pub(crate) fn key_set<'a>(keys: impl Iterator<Item = &'a str>) -> Result<KeySet> {
    let declared = keys.map(str::trim);
    KeySet::new(declared).map_err(|error| CliError::bad(format!("--groups: {error}")))
}
