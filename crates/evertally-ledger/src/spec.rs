//! The choices of a counter.
//!
//! A [`Spec`] is the request of an operator: a [`PlanSpec`], and what a service adds to it.
//! [`Spec::plan`] checks all of it, fills in what was left open and makes the plan, which may take
//! seconds. The ledger keeps the filled-in spec ([`StoredSpec`]), with the mechanism by its full
//! name: a later version that would choose another one resumes with this one.

mod discover;
mod stored;

pub use discover::Discover;
pub(crate) use stored::StoredSpec;

use crate::error::{Error, Result};
use evertally::privacy::NoiseKind;
use evertally::{
    BudgetSpec, Contribution, Discovery, Horizon, Mechanism, Participation, Plan, PlanSpec, Shape, Spend,
    Unit, Workload,
};
use evertally_stream::{BucketLength, Buckets, Clamp, KeySet, Share};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// For how many steps a counter that is advanced by hand remembers ids, by default.
const REMEMBERED_STEPS_BY_HAND: u64 = 1_000;

/// The most keys that a counter may have: each has a row in every release.
const MAX_KEYS: usize = 100_000;

/// How many values a new counter may have to release at once, because its first steps are over.
const MAX_VALUES_BEHIND: i64 = 1_000_000;

/// How many steps of a new counter may be over.
const MAX_STEPS_BEHIND: i64 = 10_000;

/// The clock's steps end before the year 9999, beyond which times have no usual form.
const LAST_TIME: i64 = 253_402_300_799_000_000;

/// The choices of a counter.
///
/// ```
/// use evertally_ledger::Spec;
/// let spec = Spec::new("visits", "everyone", 1.0, 1e-6).steps(24).keys(["north", "south"]);
/// assert_eq!(spec.plan(0)?.lane_names(), Some(&["north", "south", "other"].map(String::from)[..]));
/// # Ok::<(), evertally_ledger::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What it counts, in words.
    pub description: Option<String>,
    /// Whose events it counts: the account that pays.
    pub population: String,
    /// The length of a step; none if steps are closed by hand.
    pub every: Option<BucketLength>,
    /// When the first step begins, in microseconds since 1970.
    pub start: Option<i64>,
    /// How long after its end a step still takes events that belong to it.
    pub grace: Option<BucketLength>,
    /// The choices of its plan. `other` is added to declared keys. The budget is ε with δ; choices
    /// that the ledger does not store are refused.
    pub plan: PlanSpec,
    /// Whether persons are bounded by the plan's participation. Events that name nobody then do not
    /// count.
    pub bounds_persons: bool,
    /// In how many keys a person counts, once in each, where different persons are counted.
    pub distinct: Option<u64>,
    /// How keys are found, if they are not declared.
    pub discover: Option<Discover>,
    /// Whether events have values, clamped to the plan's contribution. Otherwise an event counts as
    /// one.
    pub takes_values: bool,
    /// For how many steps after it counted the id of an event is remembered.
    pub remember_ids: Option<u64>,
    /// The version of its noise's name: 2, or 1 for a counter that version 0.1 made.
    pub noise_name: u8,
}

/// A spec with everything filled in, and the plan that follows from it.
#[derive(Debug, Clone)]
pub struct CounterPlan {
    spec: Spec,
    plan: Plan,
    /// How keys are found. The plan is then that of its totals.
    discovery: Option<Discovery>,
    keys: Option<KeySet>,
    clamp: Option<Clamp>,
    buckets: Option<Buckets>,
    /// What the store of persons bounds: steps, or keys where different persons are counted.
    limits: Option<Participation>,
    /// The place of each key among all by name, where different persons are counted.
    ranks: Option<Vec<u32>>,
    tree_rmse: Option<f64>,
}

impl Spec {
    /// The version of the noise's name of a new counter.
    pub const NOISE_NAME: u8 = 2;

    /// A running total of events without a known end, advanced by hand.
    #[must_use]
    pub fn new(name: &str, population: &str, epsilon: f64, delta: f64) -> Self {
        let budget = BudgetSpec { epsilon: Some(epsilon), delta: Some(delta), ..BudgetSpec::default() };
        Self {
            name: name.to_owned(),
            description: None,
            population: population.to_owned(),
            every: None,
            start: None,
            grace: None,
            plan: PlanSpec::new(Horizon::Unbounded, budget),
            bounds_persons: false,
            distinct: None,
            discover: None,
            takes_values: false,
            remember_ids: None,
            noise_name: Self::NOISE_NAME,
        }
    }

    /// The same with a declared number of steps.
    #[must_use]
    pub fn steps(mut self, steps: impl Into<Horizon>) -> Self {
        self.plan.horizon = steps.into();
        self
    }

    /// The same with declared keys; with none of them, a single total.
    #[must_use]
    pub fn keys<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        self.plan.shape = if keys.is_empty() { Shape::Scalar } else { Shape::Keyed { keys } };
        self
    }

    /// The same with a bound on persons: at most this many steps, at least this far apart.
    ///
    /// # Errors
    /// If either is zero.
    pub fn persons(mut self, max_steps: u64, min_gap: u64) -> Result<Self> {
        self.plan.participation = Participation::at_most(max_steps, min_gap)?;
        self.bounds_persons = true;
        Ok(self)
    }

    /// The same for different persons: each counts as one in each of their first `max_keys` keys, at
    /// the first event there ([`Share::once_per_key`]).
    ///
    /// ```
    /// use evertally_ledger::Spec;
    /// let people = Spec::new("people", "everyone", 1.0, 1e-6).steps(24).distinct(1)?;
    /// let once = Spec::new("once", "everyone", 1.0, 1e-6).steps(24).persons(1, 1)?;
    /// let noise = |spec: Spec| spec.plan(0).map(|made| made.plan().noise_multiplier());
    /// assert_eq!(noise(people)?, noise(once)?);
    /// # Ok::<(), evertally_ledger::Error>(())
    /// ```
    ///
    /// # Errors
    /// For no key.
    pub fn distinct(mut self, max_keys: u64) -> Result<Self> {
        let share = Share::once_per_key(max_keys)?;
        if share.is_once_per_key() {
            let is_pure = self.plan.budget.delta == Some(0.0);
            self.plan.contribution = share.contribution(Some((0.0, 1.0)), is_pure)?;
        }
        self.plan.keys_per_step = max_keys;
        self.plan.participation = Participation::single();
        (self.bounds_persons, self.distinct) = (true, Some(max_keys));
        Ok(self)
    }

    /// The same with values, which are clamped to this range.
    ///
    /// # Errors
    /// Unless the ends are finite, ordered and not too close.
    pub fn values(mut self, lo: f64, hi: f64) -> Result<Self> {
        Clamp::new(lo, hi)?;
        self.plan.contribution = Contribution::range(lo, hi)?;
        self.takes_values = true;
        Ok(self)
    }

    /// The bound on persons, if there is one.
    #[must_use]
    pub fn person_bound(&self) -> Option<Participation> {
        self.bounds_persons.then_some(self.plan.participation)
    }

    /// The range of values, if events have any.
    #[must_use]
    pub fn value_range(&self) -> Option<Contribution> {
        self.takes_values.then_some(self.plan.contribution)
    }

    /// The keys as they were declared.
    fn declared_keys(&self) -> &[String] {
        if let Shape::Keyed { keys } = &self.plan.shape { keys } else { &[] }
    }

    /// Checks everything and makes the plan. By default a counter starts at `now`.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] and the library's errors for what cannot be used.
    pub fn plan(&self, now: i64) -> Result<CounterPlan> {
        let mut spec = self.clone();
        if let Some(every) = spec.every {
            spec.start.get_or_insert(now.div_euclid(every.micros()).saturating_mul(every.micros()));
        }
        spec.check(now)?;
        // A person's key is the id of an event where different persons are counted.
        if spec.distinct.is_none() {
            let in_a_day = |every: BucketLength| (MICROS_PER_DAY / every.micros()).max(1) as u64;
            spec.remember_ids.get_or_insert(spec.every.map_or(REMEMBERED_STEPS_BY_HAND, in_a_day));
        }
        spec.build_on(DefaultGrid::OfNoise)
    }

    /// Refuses what nobody should ask for. Specs that a ledger already holds are not checked again,
    /// so that stricter versions can read them.
    fn check(&self, now: i64) -> Result<()> {
        check_name("name", &self.name)?;
        check_name("population", &self.population)?;
        if self.description.as_ref().is_some_and(|text| text.len() > 1_000) {
            return Err(Error::bad("description", "at most 1000 bytes", "more"));
        }
        let keys = self.declared_keys();
        if keys.len() > MAX_KEYS {
            return Err(Error::bad("keys", format!("at most {MAX_KEYS}"), keys.len()));
        }
        if keys.iter().any(|key| key.len() > 256) {
            return Err(Error::bad("a key", "at most 256 bytes", "more"));
        }
        if !keys.is_empty() {
            KeySet::new(keys.iter().cloned())?;
        }
        if self.grace.is_some_and(|grace| grace.micros() > 7 * MICROS_PER_DAY) {
            return Err(Error::bad("grace", "at most 7d", "more"));
        }
        self.check_distinct()?;
        self.check_discover()?;
        if StoredSpec::from(self).spec()? != *self {
            return Err(Error::bad("plan", "made of choices that a ledger stores", "others"));
        }
        match (self.every, self.start) {
            (Some(_), Some(start)) if !(0..LAST_TIME).contains(&start) => {
                Err(Error::bad("start", "between the years 1970 and 9999", "another time"))
            }
            // Steps that are over are closed one by one, while other counters wait.
            (Some(every), Some(start))
                if now.saturating_sub(start) / every.micros() > self.max_steps_behind() =>
            {
                let expected = format!("at most {} steps ago", self.max_steps_behind());
                Err(Error::bad("start", expected, "an earlier time"))
            }
            (None, start) if start.is_some() || self.grace.is_some() => {
                let expected = "left out for a counter that is advanced by hand";
                Err(Error::bad("start and grace", expected, "one of them"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what a number of different persons does not have.
    fn check_distinct(&self) -> Result<()> {
        let Some(max_keys) = self.distinct else { return Ok(()) };
        if self.takes_values {
            return Err(Error::bad("clamp", "left out where different persons are counted", "a range"));
        }
        if self.plan.workload != Workload::PrefixSum {
            let expected = "prefix-sum where different persons are counted: who leaves is not counted here";
            return Err(Error::bad("workload", expected, self.plan.workload));
        }
        if let Some(steps) = self.remember_ids {
            let expected = "left out where different persons are counted: a copy changes nothing";
            return Err(Error::bad("remember_ids", expected, steps));
        }
        let keys = self.lanes()?;
        if max_keys > keys {
            let expected = format!("at most {keys}, the number of keys with `other`");
            return Err(Error::bad("max_keys", expected, max_keys));
        }
        Ok(())
    }

    /// How many numbers a release has.
    fn lanes(&self) -> Result<u64> {
        let declared = self.declared_keys();
        if declared.is_empty() {
            return Ok(1);
        }
        Ok(KeySet::stored(declared.iter().cloned())?.names().len() as u64)
    }

    fn max_steps_behind(&self) -> i64 {
        (MAX_VALUES_BEHIND / (self.declared_keys().len() as i64 + 1)).clamp(1, MAX_STEPS_BEHIND)
    }

    /// Makes the plan of a spec with everything filled in. A spec of version 0.1 leaves out its grid.
    pub(crate) fn build(self) -> Result<CounterPlan> {
        self.build_on(DefaultGrid::First)
    }

    fn build_on(mut self, default_grid: DefaultGrid) -> Result<CounterPlan> {
        let declared = self.declared_keys();
        let keys = if declared.is_empty() { None } else { Some(KeySet::stored(declared.iter().cloned())?) };
        let clamp = self.value_range().map(|range| Clamp::new(range.lo(), range.hi())).transpose()?;
        let limits = match self.distinct {
            // A slot for each key.
            Some(max_keys) => Some(Participation::at_most(max_keys, 1)?),
            None => self.person_bound(),
        };
        let (plan, discovery, tree_rmse) = self.known_plan(keys.as_ref(), default_grid)?;
        let plan = match self.noise_name {
            1 => plan.with_first_noise_name(),
            Self::NOISE_NAME => plan,
            _ => return Err(Error::bad("noise_name", "1 or 2", self.noise_name)),
        };
        // None for a window whose cap holds only while no mechanism is named.
        self.plan.mechanism = plan.spec().mechanism;
        if default_grid == DefaultGrid::OfNoise {
            self.plan.grid = plan.grid();
        }
        self.fill_in_discovery(discovery.as_ref());
        let buckets = match (self.every, self.start) {
            (Some(every), Some(start)) => Some(buckets(start, every, &plan)?),
            _ => None,
        };
        let ranks = self.distinct.map(|_| ranks(keys.as_ref()));
        Ok(CounterPlan { spec: self, plan, discovery, keys, clamp, buckets, limits, ranks, tree_rmse })
    }

    /// The plan, and the error that the binary tree would have had. Counters that differ only in
    /// names and times share them, so that ten thousand of them start in a second.
    fn known_plan(&self, keys: Option<&KeySet>, default_grid: DefaultGrid) -> Result<Known> {
        static KNOWN: Mutex<BTreeMap<(DefaultGrid, String), Known>> = Mutex::new(BTreeMap::new());
        const MAX_KNOWN: usize = 256;
        let alike = (default_grid, StoredSpec::from(self).anonymous().text()?);
        if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&alike) {
            return Ok(known.clone());
        }
        let shape = keys.map_or(Shape::Scalar, |keys| Shape::Keyed { keys: keys.names().to_vec() });
        let discovery = self.discovery()?;
        let plan = match &discovery {
            Some(discovery) => discovery.totals().clone(),
            None => PlanSpec { shape, ..self.plan.clone() }.build()?,
        };
        let takes_first = self.plan.grid.is_none() && default_grid == DefaultGrid::First;
        let plan = if takes_first && discovery.is_none() { plan.with_first_default_grid() } else { plan };
        let tree_rmse = if discovery.is_some() { None } else { self.tree_rmse(&plan) };
        let made = (plan, discovery, tree_rmse);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        // Very many keys take more memory than a plan takes time.
        if self.declared_keys().len() <= 1_000 {
            known.insert(alike, made.clone());
        }
        Ok(made)
    }

    /// The error that the binary tree would have had, if it can serve: the usual comparison.
    fn tree_rmse(&self, plan: &Plan) -> Option<f64> {
        if plan.is_unbounded() {
            return None;
        }
        let is_pure = plan.budget().noise() == NoiseKind::Laplace;
        let mechanism = Some(if is_pure { Mechanism::LaplaceTree } else { Mechanism::Binary });
        let tree = PlanSpec { mechanism, shape: Shape::Scalar, keys_per_step: 1, ..self.plan.clone() };
        let tree = tree.build().ok()?;
        Some(tree.accuracy().rmse)
    }
}

/// The grid of a counter for which none was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DefaultGrid {
    /// That of version 0.1, which did not store it.
    First,
    /// One that is fine beside the noise. It is filled in, and stored.
    OfNoise,
}

/// The place of each key among all by name.
fn ranks(keys: Option<&KeySet>) -> Vec<u32> {
    let names = keys.map_or(&[][..], KeySet::names);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_unstable_by_key(|place| &names[*place]);
    let mut ranks = vec![0; names.len().max(1)];
    for (rank, place) in (0..).zip(order) {
        ranks[place] = rank;
    }
    ranks
}

/// What follows from the choices on which a plan depends: the plan, how keys are found, and the error
/// that the binary tree would have had.
type Known = (Plan, Option<Discovery>, Option<f64>);

/// The buckets of a counter by the clock. A stream without a known end gets a bucket for every time
/// until the year 9999.
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

impl CounterPlan {
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

    /// How keys are found, if they are not declared. The plan is then that of its totals.
    #[must_use]
    pub fn discovery(&self) -> Option<&Discovery> {
        self.discovery.as_ref()
    }

    /// What its noise costs. Accounts add up [`CounterPlan::key_delta`] by itself, also beside a ρ.
    #[must_use]
    pub fn spend(&self) -> Spend {
        let noise = |discovery: &Discovery| [discovery.persons().spend(), discovery.totals().spend()];
        self.discovery.as_ref().map_or_else(|| self.plan.spend(), |found| Spend::composed(noise(found)))
    }

    /// δ_key: what it costs besides, for keys that appear although one person decides whether they can.
    #[must_use]
    pub fn key_delta(&self) -> Option<f64> {
        self.discovery.as_ref().map(Discovery::key_delta)
    }

    /// What is protected: a person if persons are bounded, else an event.
    #[must_use]
    pub fn unit(&self) -> Unit {
        let neighbours = self.spec.plan.neighbours;
        if self.spec.bounds_persons { Unit::person(neighbours) } else { Unit::event(neighbours) }
    }

    /// The names of the numbers of a release, if keys are declared.
    #[must_use]
    pub fn lane_names(&self) -> Option<&[String]> {
        self.keys.as_ref().map(KeySet::names)
    }

    /// The root mean squared error that the binary tree would have had under the same budget, if it
    /// can serve.
    #[must_use]
    pub fn tree_rmse(&self) -> Option<f64> {
        self.tree_rmse
    }

    /// How many numbers a release has, unless its keys are found.
    pub(crate) fn width(&self) -> Option<usize> {
        let has_found_keys = self.discovery.is_some();
        (!has_found_keys).then(|| self.keys.as_ref().map_or(1, |keys| keys.names().len()))
    }

    /// The number of steps that can be taken.
    pub(crate) fn steps(&self) -> u64 {
        self.buckets.as_ref().map_or(self.plan.horizon(), Buckets::steps)
    }

    pub(crate) fn keys(&self) -> Option<&KeySet> {
        self.keys.as_ref()
    }

    pub(crate) fn clamp(&self) -> Option<Clamp> {
        self.clamp
    }

    /// The grid that amounts are cut to, in steps of the finest: about a millionth of the largest
    /// amount. Totals are exact on every grid. The cut stays because version 0.1 made it, and a
    /// counter of that version keeps its releases.
    pub(crate) fn grid_steps(&self) -> i128 {
        let magnitude = self.spec.value_range().map_or(1.0, |range| range.magnitude());
        (magnitude.ceil() as u64).max(1).next_power_of_two().into()
    }

    pub(crate) fn buckets(&self) -> Option<&Buckets> {
        self.buckets.as_ref()
    }

    pub(crate) fn limits(&self) -> Option<Participation> {
        self.limits
    }

    /// The place of a key among all by name, where different persons are counted.
    pub(crate) fn rank(&self, lane: usize) -> Option<u32> {
        self.ranks.as_ref()?.get(lane).copied()
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
        let discovery = self.discovery.as_ref().map(|discovery| discovery.with_stream(stream));
        Self { plan: self.plan.with_stream(stream), discovery, ..self.clone() }
    }
}
