//! What a counter is made from.
//!
//! A [`Spec`] is the request of an operator; [`Spec::plan`] checks all of it, fills in what was
//! left open and makes the plan, which may take seconds. The filled-in spec is what the ledger
//! keeps, with the mechanism by its full name: a later version that would choose another one goes
//! on with this.

use crate::error::{Error, Result};
use evertally::{
    Budget, Contribution, Mechanism, Neighbours, Objective, Participation, Plan, PlanBuilder, Unit, Workload,
};
use evertally_stream::{BucketLength, Buckets, Clamp, KeySet, ParticipationLimits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

const MICROS_A_DAY: i64 = 86_400_000_000;

/// For how many steps a counter that is advanced by hand remembers ids, unless it is said.
const REMEMBERED_STEPS_BY_HAND: u64 = 1_000;

/// The most keys that a counter may have: each has a row in every release.
const MOST_KEYS: usize = 100_000;

/// How many values a new counter may have to release at once, because its first steps are over.
const MOST_VALUES_BEHIND: i64 = 1_000_000;

/// How many steps of a new counter may be over.
const MOST_STEPS_BEHIND: i64 = 10_000;

/// The largest magnitude of a value: a step's total then stays exact for eight billion events.
const LARGEST_VALUE: f64 = 1_048_576.0;

/// The clock's steps end before the year 9999, beyond which times have no usual form.
const LAST_TIME: i64 = 253_402_300_799_000_000;

/// What a counter is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What it counts, in words.
    pub description: Option<String>,
    /// Whose events it counts: the account that pays.
    pub population: String,
    /// The length of a step; none where steps are closed by hand.
    pub every: Option<BucketLength>,
    /// When the first step begins, in microseconds since 1970.
    pub start: Option<i64>,
    /// How long after its end a step still takes events that say they belong to it.
    pub grace: Option<BucketLength>,
    /// The number of steps; none for a stream without a known end.
    pub steps: Option<u64>,
    /// ε of all releases together.
    pub epsilon: f64,
    /// δ of all releases together; zero asks for pure ε.
    pub delta: f64,
    /// The mechanism; the most accurate one that streams where absent.
    pub mechanism: Option<String>,
    /// What is released at each step.
    pub workload: Workload,
    /// Declared keys; none for a single total. `other` is added.
    pub keys: Vec<String>,
    /// In how many steps a person may take part, and how far apart: events that name nobody do not
    /// count then.
    pub participation: Option<(u64, u64)>,
    /// The range that values are clamped to; where absent, an event counts as one.
    pub clamp: Option<(f64, f64)>,
    /// Which change is hidden.
    pub neighbours: Neighbours,
    /// Which error is kept small.
    pub objective: Objective,
    /// The public grid of releases.
    pub grid: Option<f64>,
    /// For how many steps after it counted the id of an event is remembered.
    pub remember_ids: Option<u64>,
    /// The version of its noise's name: 2, or 1 for a counter that version 0.1 made.
    pub noise_name: u8,
}

/// A spec with everything filled in, and the plan that follows from it.
#[derive(Debug, Clone)]
pub struct Planned {
    spec: Spec,
    plan: Plan,
    keys: Option<KeySet>,
    clamp: Option<Clamp>,
    buckets: Option<Buckets>,
    limits: Option<ParticipationLimits>,
    tree_rmse: Option<f64>,
}

impl Spec {
    /// The version of the noise's name of a new counter.
    pub const NOISE_NAME: u8 = 2;

    /// A running total of events without a known end, advanced by hand; the rest is for the caller to change.
    #[must_use]
    pub fn new(name: &str, population: &str, epsilon: f64, delta: f64) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            population: population.to_owned(),
            every: None,
            start: None,
            grace: None,
            steps: None,
            epsilon,
            delta,
            mechanism: None,
            workload: Workload::PrefixSum,
            keys: Vec::new(),
            participation: None,
            clamp: None,
            neighbours: Neighbours::AddRemove,
            objective: Objective::Mean,
            grid: None,
            remember_ids: None,
            noise_name: Self::NOISE_NAME,
        }
    }

    /// Checks everything and makes the plan. `now` decides when a counter begins that does not say so.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] and the library's errors for what cannot be used.
    pub fn plan(&self, now: i64) -> Result<Planned> {
        let mut spec = self.clone();
        match spec.every {
            Some(every) => {
                spec.start.get_or_insert(now.div_euclid(every.micros()).saturating_mul(every.micros()));
                spec.remember_ids.get_or_insert((MICROS_A_DAY / every.micros()).max(1) as u64);
            }
            None => {
                spec.remember_ids.get_or_insert(REMEMBERED_STEPS_BY_HAND);
            }
        }
        spec.check(now)?;
        spec.build()
    }

    /// Refuses what nobody should ask for. What a ledger has taken is not asked again, so that it
    /// can be read by versions that are stricter.
    fn check(&self, now: i64) -> Result<()> {
        check_name("name", &self.name)?;
        check_name("population", &self.population)?;
        if self.description.as_ref().is_some_and(|text| text.len() > 1_000) {
            return Err(Error::bad("description", "at most 1000 bytes", "more"));
        }
        if self.keys.len() > MOST_KEYS {
            return Err(Error::bad("keys", format!("at most {MOST_KEYS}"), self.keys.len()));
        }
        if self.keys.iter().any(|key| key.len() > 256) {
            return Err(Error::bad("a key", "at most 256 bytes", "more"));
        }
        if self.grace.is_some_and(|grace| grace.micros() > 7 * MICROS_A_DAY) {
            return Err(Error::bad("grace", "at most 7d", "more"));
        }
        if self.clamp.is_some_and(|(lo, hi)| lo.abs().max(hi.abs()) > LARGEST_VALUE) {
            return Err(Error::bad("clamp", "within ±1048576: count in larger units", "more"));
        }
        match (self.every, self.start) {
            (Some(_), Some(start)) if !(0..LAST_TIME).contains(&start) => {
                Err(Error::bad("start", "between the years 1970 and 9999", "another time"))
            }
            // Steps that are over are closed one by one, while other counters wait.
            (Some(every), Some(start))
                if now.saturating_sub(start) / every.micros() > self.most_steps_behind() =>
            {
                let expected = format!("at most {} steps ago", self.most_steps_behind());
                Err(Error::bad("start", expected, "an earlier time"))
            }
            (None, start) if start.is_some() || self.grace.is_some() => {
                let expected = "left out for a counter that is advanced by hand";
                Err(Error::bad("start and grace", expected, "one of them"))
            }
            _ => Ok(()),
        }
    }

    fn most_steps_behind(&self) -> i64 {
        (MOST_VALUES_BEHIND / (self.keys.len() as i64 + 1)).clamp(1, MOST_STEPS_BEHIND)
    }

    /// Makes the plan of a spec with everything filled in.
    pub(crate) fn build(mut self) -> Result<Planned> {
        let keys = if self.keys.is_empty() { None } else { Some(KeySet::new(self.keys.iter().cloned())?) };
        let clamp = self.clamp.map(|(lo, hi)| Clamp::new(lo, hi)).transpose()?;
        let limits = self.participation.map(|(most, gap)| ParticipationLimits::new(most, gap)).transpose()?;
        let (plan, tree_rmse) = self.known_plan(keys.as_ref())?;
        let plan = match self.noise_name {
            1 => plan.with_first_noise_name(),
            Self::NOISE_NAME => plan,
            _ => return Err(Error::bad("noise_name", "1 or 2", self.noise_name)),
        };
        self.mechanism = Some(plan.mechanism().to_string());
        let buckets = match (self.every, self.start) {
            (Some(every), Some(start)) => Some(buckets(start, every, &plan)?),
            _ => None,
        };
        Ok(Planned { spec: self, plan, keys, clamp, buckets, limits, tree_rmse })
    }

    fn builder(&self, keys: Option<&KeySet>) -> Result<PlanBuilder> {
        let budget = if self.delta == 0.0 {
            Budget::pure(self.epsilon)?
        } else {
            Budget::new(self.epsilon, self.delta)?
        };
        let mut builder = match self.steps {
            Some(steps) => Plan::for_workload(steps, self.workload),
            None => Plan::unbounded(self.workload),
        };
        builder = builder.budget(budget).neighbours(self.neighbours).objective(self.objective);
        if let Some((most, gap)) = self.participation {
            builder = builder.participation(Participation::at_most(most, gap)?);
        }
        if let Some((lo, hi)) = self.clamp {
            builder = builder.contribution(Contribution::range(lo, hi)?);
        }
        if let Some(mechanism) = &self.mechanism {
            builder = builder.mechanism(mechanism.parse::<Mechanism>()?);
        }
        if let Some(keys) = keys {
            builder = builder.keys(keys.names().iter().cloned());
        }
        if let Some(grid) = self.grid {
            builder = builder.grid(grid);
        }
        Ok(builder)
    }

    /// The plan, and what the binary tree would have had. Counters that differ in no more than
    /// names and times share one, which lets ten thousand of them start in a second.
    fn known_plan(&self, keys: Option<&KeySet>) -> Result<(Plan, Option<f64>)> {
        static KNOWN: Mutex<BTreeMap<String, (Plan, Option<f64>)>> = Mutex::new(BTreeMap::new());
        const MOST_KNOWN: usize = 256;
        let alike = Written {
            name: String::new(),
            description: None,
            population: String::new(),
            start_micros: None,
            ..self.into()
        };
        let alike = alike.text()?;
        if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&alike) {
            return Ok(known.clone());
        }
        let plan = self.builder(keys)?.build()?;
        let made = (plan.clone(), self.tree_rmse(&plan));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        // Very many keys take more memory than a plan takes time.
        if self.keys.len() <= 1_000 {
            known.insert(alike, made.clone());
        }
        Ok(made)
    }

    /// What the binary tree would have had, where it can serve: the usual thing to compare with.
    fn tree_rmse(&self, plan: &Plan) -> Option<f64> {
        if plan.is_unbounded() {
            return None;
        }
        let tree = if self.delta == 0.0 { "laplace-tree" } else { "binary" };
        let asked = Self { mechanism: Some(tree.to_owned()), keys: Vec::new(), ..self.clone() };
        asked.builder(None).and_then(|builder| Ok(builder.build()?)).map(|plan| plan.accuracy().rmse).ok()
    }
}

/// The buckets of a counter by the clock. A stream without an end gets as many as there are times for.
fn buckets(start: i64, every: BucketLength, plan: &Plan) -> Result<Buckets> {
    let until_last = ((LAST_TIME - start) / every.micros()).max(1) as u64;
    if !plan.is_unbounded() && plan.horizon() > until_last {
        return Err(Error::bad("steps", "few enough to end before the year 9999", plan.horizon()));
    }
    Ok(Buckets::new(start, every, plan.horizon().min(until_last))?)
}

pub(crate) fn check_name(what: &'static str, name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_path = name.chars().all(|c| c == '.');
    if (1..=100).contains(&name.len()) && name.chars().all(is_plain) && !is_path {
        return Ok(());
    }
    Err(Error::bad(what, "1 to 100 letters, digits, '-', '_' and '.'", "another name"))
}

impl Planned {
    /// The spec with everything filled in.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What is protected: a person where persons are bounded, and else an event.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match self.spec.participation {
            Some(_) => Unit::person(self.spec.neighbours),
            None => Unit::event(self.spec.neighbours),
        }
    }

    /// The names of the numbers of a release, where there are keys.
    #[must_use]
    pub fn lane_names(&self) -> Option<&[String]> {
        self.keys.as_ref().map(KeySet::names)
    }

    /// The root mean squared error that the binary tree would have had under the same budget, where
    /// it can serve.
    #[must_use]
    pub fn tree_rmse(&self) -> Option<f64> {
        self.tree_rmse
    }

    /// How many numbers a release has.
    pub(crate) fn width(&self) -> usize {
        self.keys.as_ref().map_or(1, |keys| keys.names().len())
    }

    /// The number of steps that can be taken.
    pub(crate) fn steps(&self) -> u64 {
        self.buckets.map_or(self.plan.horizon(), |buckets| buckets.steps())
    }

    pub(crate) fn keys(&self) -> Option<&KeySet> {
        self.keys.as_ref()
    }

    pub(crate) fn clamp(&self) -> Option<Clamp> {
        self.clamp
    }

    /// The grid that amounts are cut to, in steps of the finest: a millionth of the largest one. A
    /// step's total then stays exact for eight billion events, so that it never depends on other
    /// people's events whether one counts.
    pub(crate) fn grid_steps(&self) -> i128 {
        let magnitude = self.spec.clamp.map_or(1.0, |(lo, hi)| lo.abs().max(hi.abs()));
        (magnitude.ceil() as u64).max(1).next_power_of_two().into()
    }

    pub(crate) fn buckets(&self) -> Option<&Buckets> {
        self.buckets.as_ref()
    }

    pub(crate) fn limits(&self) -> Option<ParticipationLimits> {
        self.limits
    }

    pub(crate) fn grace_micros(&self) -> i64 {
        self.spec.grace.map_or(0, BucketLength::micros)
    }

    /// How many steps are open at once, besides the present one.
    pub(crate) fn steps_in_grace(&self) -> u64 {
        self.spec.every.map_or(0, |every| (self.grace_micros() / every.micros()) as u64)
    }

    pub(crate) fn remembered_steps(&self) -> u64 {
        self.spec.remember_ids.unwrap_or(REMEMBERED_STEPS_BY_HAND)
    }

    /// The same under another name of the stream of noise.
    pub(crate) fn in_stream(&self, stream: &str) -> Self {
        Self { plan: self.plan.with_stream(stream), ..self.clone() }
    }
}

/// A spec as the ledger keeps it: plain words and numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    name: String,
    description: Option<String>,
    population: String,
    every_micros: Option<i64>,
    start_micros: Option<i64>,
    grace_micros: Option<i64>,
    steps: Option<u64>,
    epsilon: f64,
    delta: f64,
    mechanism: Option<String>,
    workload: String,
    keys: Vec<String>,
    participation: Option<(u64, u64)>,
    clamp: Option<(f64, f64)>,
    neighbours: String,
    objective: String,
    grid: Option<f64>,
    remember_ids: Option<u64>,
    /// Absent in what version 0.1 wrote, whose text is hashed and must stay as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise_name: Option<u8>,
}

impl From<&Spec> for Written {
    fn from(spec: &Spec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            population: spec.population.clone(),
            every_micros: spec.every.map(BucketLength::micros),
            start_micros: spec.start,
            grace_micros: spec.grace.map(BucketLength::micros),
            steps: spec.steps,
            epsilon: spec.epsilon,
            delta: spec.delta,
            mechanism: spec.mechanism.clone(),
            workload: spec.workload.to_string(),
            keys: spec.keys.clone(),
            participation: spec.participation,
            clamp: spec.clamp,
            neighbours: spec.neighbours.to_string(),
            objective: spec.objective.to_string(),
            grid: spec.grid,
            remember_ids: spec.remember_ids,
            noise_name: Some(spec.noise_name).filter(|version| *version != 1),
        }
    }
}

impl Written {
    /// As it stands in the ledger.
    pub(crate) fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::system("a counter cannot be written", &error))
    }

    pub(crate) fn spec(self) -> Result<Spec> {
        let length = |micros: Option<i64>| micros.map(BucketLength::from_micros).transpose();
        Ok(Spec {
            every: length(self.every_micros)?,
            grace: length(self.grace_micros)?,
            workload: self.workload.parse()?,
            neighbours: self.neighbours.parse()?,
            objective: self.objective.parse()?,
            name: self.name,
            description: self.description,
            population: self.population,
            start: self.start_micros,
            steps: self.steps,
            epsilon: self.epsilon,
            delta: self.delta,
            mechanism: self.mechanism,
            keys: self.keys,
            participation: self.participation,
            clamp: self.clamp,
            grid: self.grid,
            remember_ids: self.remember_ids,
            noise_name: self.noise_name.unwrap_or(1),
        })
    }
}
