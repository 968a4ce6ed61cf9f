//! Choices first, then one expensive call.

use std::sync::Arc;

use super::accuracy::{Accuracy, deviation, nuclear_lower_bound};
use super::cost::{State, check_limit, held};
use super::exact::{Exact, Needs};
use super::name::keys_digest;
use super::{Arithmetic, Inner, Lanes, Objective, Plan};
use crate::counter::totals::{Unit, rounding_charge};
use crate::factorization::{Cost, Factorization, Mechanism, Request};
use crate::noise::{KeyedNoise, Progress};
use crate::noise_name::Naming;
use crate::privacy::{
    Budget, Contribution, Neighbours, NoiseKind, Participation, replace_factor, replace_factor_l1, round_up,
};
use crate::workload::{MAX_HORIZON, Workload};
use crate::{Error, Result};

/// Memory that a counter may hold unless the caller says otherwise: 2 GiB.
const MEMORY_LIMIT: u64 = 2 << 30;

/// Standard deviations beyond which no noise lies: a draw ends at 31 of its own, and for a sum to
/// reach this many, a thousand draws would have to lie at their ends together.
const FARTHEST_NOISE: f64 = 1024.0;

/// Collects what a plan is made of. [`PlanBuilder::build`] checks everything.
///
/// ```
/// use evertally::{Budget, Mechanism, Participation, Plan};
/// let plan = Plan::prefix_sum(365)
///     .budget(Budget::new(1.0, 1e-6)?)
///     .participation(Participation::at_most(12, 28)?)
///     .mechanism(Mechanism::SquareRoot)
///     .build()?;
/// assert_eq!(plan.mechanism(), Mechanism::SquareRoot);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct PlanBuilder {
    pub(super) workload: Workload,
    pub(super) horizon: u64,
    pub(super) is_unbounded: bool,
    budget: Option<Budget>,
    pub(super) mechanism: Option<Mechanism>,
    neighbours: Neighbours,
    participation: Participation,
    pub(super) objective: Objective,
    contribution: Contribution,
    pub(super) lanes: Arc<Lanes>,
    stream: String,
    definition: Arc<[u8]>,
    memory_limit: u64,
    pub(super) arithmetic: Option<Arithmetic>,
    pub(super) grid: Option<f64>,
}

impl PlanBuilder {
    pub(super) fn new(workload: Workload, horizon: u64) -> Self {
        Self {
            workload,
            horizon,
            is_unbounded: false,
            budget: None,
            mechanism: None,
            neighbours: Neighbours::AddRemove,
            participation: Participation::single(),
            objective: Objective::Mean,
            contribution: Contribution::unit(),
            lanes: Arc::new(Lanes::Scalar),
            stream: String::new(),
            definition: Arc::default(),
            memory_limit: MEMORY_LIMIT,
            arithmetic: None,
            grid: None,
        }
    }

    pub(super) fn unbounded(workload: Workload) -> Self {
        Self { is_unbounded: true, ..Self::new(workload, super::unbounded::cap(workload)) }
    }

    /// The privacy budget of the whole stream. Required.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// The mechanism; when absent, the most accurate one that fits the memory limit.
    pub fn mechanism(mut self, mechanism: Mechanism) -> Self {
        self.mechanism = Some(mechanism);
        self
    }

    /// Which change of the input is hidden: by default, that one contribution is present or absent.
    pub fn neighbours(mut self, neighbours: Neighbours) -> Self {
        self.neighbours = neighbours;
        self
    }

    /// In how many steps one person may take part: by default, one event in one step.
    pub fn participation(mut self, participation: Participation) -> Self {
        self.participation = participation;
        self
    }

    /// Which error to keep small: by default, the mean over all steps. It decides which mechanism
    /// is chosen, and the shape of [`Mechanism::GradedSquareRoot`] and [`Mechanism::Blt`].
    pub fn objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// How large one contribution to a step may be: by default, between zero and one. The caller
    /// must see to it that no contribution is larger; a counter sees sums only and cannot check.
    pub fn contribution(mut self, contribution: Contribution) -> Self {
        self.contribution = contribution;
        self
    }

    /// Counts vectors of this dimension; see [`crate::VectorCounter`].
    pub fn dimension(self, dimension: usize) -> Self {
        self.lanes(Arc::new(Lanes::Vector { dimension }))
    }

    /// Counts one number for each of these keys; see [`crate::KeyedCounter`]. The set must be
    /// public: keys taken from the data would give away who is in it.
    pub fn keys<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.lanes(Arc::new(Lanes::Keyed { keys: keys.into_iter().map(Into::into).collect() }))
    }

    /// Counts one number for each key of a set that is not declared; see [`crate::SparseCounter`].
    /// It needs a mechanism that streams, such as [`Mechanism::GradedSquareRoot`] for running
    /// totals and [`Mechanism::SquareRoot`] for decayed ones; windows are refused.
    pub fn open_keys(self) -> Self {
        self.lanes(Arc::new(Lanes::OpenKeys))
    }

    pub(super) fn lanes(mut self, lanes: Arc<Lanes>) -> Self {
        if self.is_unbounded && lanes.are_named() {
            self.horizon = self.horizon.min(super::unbounded::KEYED_CAP);
        }
        self.lanes = lanes;
        self
    }

    /// Names the stream that is counted. Plans that differ in nothing but this name have
    /// independent noise under one key, so that a key may serve several streams, one input for
    /// each.
    pub fn stream(mut self, name: impl Into<String>) -> Self {
        self.stream = name.into();
        self
    }

    /// Everything that decides which events are counted and how, encoded by whoever feeds the
    /// counter: columns, buckets of time, clamps, bounds on persons. Plans that differ in it have
    /// independent noise under one key. [`crate::noise_name::Fields`] is an encoding that fits;
    /// `evertally-stream` makes one from its rules.
    pub fn definition(mut self, definition: impl Into<Vec<u8>>) -> Self {
        self.definition = definition.into().into();
        self
    }

    /// The most memory, in bytes, that a counter may hold. Two gibibytes unless said otherwise. A
    /// counter of open keys takes no further key when it holds so much.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// In which numbers releases are made. Where nothing is said, numbers and keys take the exact
    /// path and vectors do not; a mechanism that is named but has no exact path is run in floating
    /// point.
    pub fn arithmetic(mut self, arithmetic: Arithmetic) -> Self {
        self.arithmetic = Some(arithmetic);
        self
    }

    /// The public grid to which releases are rounded on the exact path, in the units of the data:
    /// one unless said otherwise, or the power of ten below the largest contribution where that is
    /// less than one.
    ///
    /// ```
    /// use evertally::{Budget, Contribution, Counter, NoiseKey, Plan};
    /// let euros = Contribution::range(0.0, 100.0)?;
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let plan = Plan::prefix_sum(365).budget(budget).contribution(euros).grid(0.25).build()?;
    /// let mut counter = Counter::new(&plan, NoiseKey::from_os()?)?;
    /// let quarters = counter.step(19.99)?.value / 0.25;
    /// assert_eq!(quarters, quarters.round());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn grid(mut self, step: f64) -> Self {
        self.grid = Some(step);
        self
    }

    /// Checks everything and makes the plan.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a value outside its range, [`Error::Unsupported`] or
    /// [`Error::TooCostly`] if the named mechanism, or every mechanism, cannot serve.
    pub fn build(&self) -> Result<Plan> {
        self.build_with_progress(&())
    }

    /// Like [`PlanBuilder::build`], and reports on the preparation of a mechanism that was named.
    ///
    /// # Errors
    /// As [`PlanBuilder::build`].
    pub fn build_with_progress(&self, progress: &dyn Progress) -> Result<Plan> {
        self.choose(progress)
    }

    pub(super) fn with_horizon(self, horizon: u64) -> Self {
        Self { horizon, ..self }
    }

    pub(super) fn horizon(&self) -> u64 {
        self.horizon
    }

    pub(super) fn named_mechanism(&self) -> Option<Mechanism> {
        self.mechanism
    }

    pub(super) fn chosen_objective(&self) -> Objective {
        self.objective
    }

    pub(super) fn participation_limit(&self) -> u64 {
        self.participation.bounded(self.horizon)
    }

    pub(super) fn request<'a>(&'a self, progress: &'a dyn Progress) -> Request<'a> {
        Request {
            horizon: self.horizon,
            workload: self.workload,
            participation: self.participation,
            objective: self.objective,
            progress,
        }
    }

    /// Checks all that does not depend on the mechanism.
    pub(super) fn checked_budget(&self) -> Result<Budget> {
        if self.horizon == 0 || self.horizon > MAX_HORIZON {
            return Err(Error::bad("horizon", "a number of steps from 1 to 2^60", self.horizon));
        }
        self.workload.validate()?;
        if let Some(grid) = self.grid {
            if !(grid.is_normal() && grid > 0.0) {
                return Err(Error::bad("grid", "a positive number", grid));
            }
            if !self.prefers_exact() {
                return Err(Error::bad("grid", "left out in floating point: releases are not rounded", grid));
            }
        }
        match &*self.lanes {
            Lanes::Scalar => {}
            Lanes::Vector { dimension } => {
                if *dimension == 0 {
                    return Err(Error::bad("dimension", "at least 1", 0));
                }
                if !self.contribution.is_vector() {
                    return Err(Error::bad(
                        "contribution",
                        "a bound on the norm of a vector",
                        self.contribution,
                    ));
                }
            }
            Lanes::Keyed { keys } => check_keys(keys)?,
            Lanes::OpenKeys => {
                if let Workload::SlidingWindow { .. } = self.workload {
                    let reason = "a window would keep every input of every key; declare the keys, or count running or decayed totals";
                    return Err(Error::unsupported("a counter of open keys", reason));
                }
            }
        }
        if self.contribution.is_vector() && !matches!(*self.lanes, Lanes::Vector { .. }) {
            return Err(Error::bad("contribution", "a range of numbers", self.contribution));
        }
        self.budget.ok_or_else(|| Error::bad("budget", "given", "nothing"))
    }

    pub(super) fn plan_for(
        &self,
        mechanism: Mechanism,
        budget: Budget,
        progress: &dyn Progress,
    ) -> Result<Plan> {
        self.check_noise(mechanism, budget)?;
        self.check_memory(mechanism, mechanism.min_cost(self.horizon, self.workload), State::Own)?;
        let factorization = mechanism.factorize(self.request(progress))?;
        self.assemble(factorization, budget)
    }

    /// Whether the exact path is to be taken where there is one.
    pub(super) fn prefers_exact(&self) -> bool {
        let has_numbers = !matches!(*self.lanes, Lanes::Vector { .. });
        self.arithmetic.map_or(has_numbers, |arithmetic| arithmetic == Arithmetic::Exact)
    }

    /// The exact path; none where floating point is to be taken.
    fn exact(
        &self,
        factorization: &dyn Factorization,
        budget: Budget,
        sensitivity: f64,
    ) -> Result<Option<Exact>> {
        if !self.prefers_exact() {
            return Ok(None);
        }
        let exact = Exact::new(&Needs {
            factorization,
            budget,
            workload: self.workload,
            lanes: &self.lanes,
            magnitude: self.contribution.magnitude(),
            participations: self.participation_limit(),
            sensitivity,
            grid: self.grid,
        });
        // Where nothing was said of numbers, a mechanism without an exact path is run as it is.
        let may_differ = self.arithmetic.is_none() && self.grid.is_none();
        match exact {
            Err(Error::Unsupported { .. }) if may_differ => Ok(None),
            other => other.map(Some),
        }
    }

    fn check_noise(&self, mechanism: Mechanism, budget: Budget) -> Result<()> {
        match (mechanism.noise(), budget.noise()) {
            (NoiseKind::Gaussian, NoiseKind::Laplace) => Err(Error::unsupported(
                mechanism,
                "its Gaussian noise cannot give pure ε (δ = 0); laplace-tree can",
            )),
            (NoiseKind::Laplace, NoiseKind::Gaussian) => {
                Err(Error::unsupported(mechanism, "it is calibrated to pure ε only: ask for δ = 0"))
            }
            // Laplace noise answers to the sum of magnitudes, which a bound on the Euclidean norm
            // does not bound well.
            (NoiseKind::Laplace, _) if self.contribution.is_vector() => Err(Error::unsupported(
                mechanism,
                "vectors are bounded in Euclidean norm, and Laplace noise needs another",
            )),
            _ => Ok(()),
        }
    }

    fn check_memory(&self, mechanism: Mechanism, noise: Cost, state: State) -> Result<()> {
        let cost = held(noise, state, &self.lanes, self.workload, self.horizon);
        check_limit(mechanism, cost, &self.lanes, self.memory_limit)
    }

    /// Refuses lanes that the mechanism has no noise for.
    fn check_lanes(&self, factorization: &dyn Factorization, is_streamed: bool) -> Result<()> {
        let mechanism = factorization.mechanism();
        if *self.lanes == Lanes::OpenKeys && !is_streamed {
            let reason = "open keys need a mechanism that streams: graded-square-root for running totals, square-root for decayed ones";
            return Err(Error::unsupported(mechanism, reason));
        }
        let draws = factorization.draws();
        let has_noise = if self.lanes.are_named() {
            draws <= KeyedNoise::DRAWS
        } else {
            draws.checked_mul(self.lanes.width() as u64).is_some()
        };
        if has_noise {
            return Ok(());
        }
        let reason = if self.lanes.are_named() {
            "there are 2^43 draws for a key, and it needs more"
        } else {
            "there are fewer noise indices than steps and coordinates"
        };
        Err(Error::too_costly(mechanism, reason))
    }

    pub(super) fn assemble(&self, factorization: Arc<dyn Factorization>, budget: Budget) -> Result<Plan> {
        let mechanism = factorization.mechanism();
        self.check_lanes(&*factorization, factorization.recipe().is_some())?;
        let sensitivity = factorization.sensitivity(self.participation);
        let replacement = match mechanism.noise() {
            NoiseKind::Laplace => replace_factor_l1(self.neighbours),
            NoiseKind::Gaussian => {
                replace_factor(self.neighbours, self.contribution, factorization.gram_is_nonnegative())
            }
        };
        let magnitude = self.contribution.magnitude();
        let charge = rounding_charge(self.workload, self.horizon, self.lanes.moved());
        // Four roundings of half an ulp each.
        let moved = round_up(sensitivity * charge * replacement, 4.0 * f64::EPSILON);
        let exact = self.exact(&*factorization, budget, moved)?;
        let state = if exact.is_some() {
            State::whole(&*factorization, &self.lanes)
        } else {
            State::doubles(&*factorization, &self.lanes)
        };
        self.check_memory(mechanism, factorization.cost(), state)?;
        let scale = match &exact {
            Some(exact) => exact.unit.value(1) * exact.scale,
            None => round_up(budget.noise_multiplier() * moved * magnitude, 4.0 * f64::EPSILON),
        };
        let (mean, max) = (factorization.mean_row_norm_squared(), factorization.max_row_norm_squared());
        // Coefficients or contributions that overflow have no noise to answer them with.
        let largest_noise = FARTHEST_NOISE * scale * max.sqrt();
        let unit = exact.as_ref().map_or(Unit::new(self.workload, magnitude), |exact| exact.unit);
        let is_countable = [largest_noise, magnitude].into_iter().all(|x| unit.count(x).is_some());
        if !(scale.is_normal() && is_countable && mean.is_finite()) {
            let reason = "the noise that it needs is outside the range of floating-point numbers";
            return Err(Error::unsupported(mechanism, reason));
        }
        let is_single = self.participation.bounded(self.horizon) == 1;
        let rmse = |norm| deviation(scale, norm, exact.as_ref().map(|exact| exact.grid), 1.0);
        let accuracy = Accuracy {
            mean_error: sensitivity * sensitivity * mean,
            max_error: sensitivity * sensitivity * max,
            rmse: rmse(mean),
            worst_rmse: rmse(max),
            lower_bound: (is_single && mechanism.noise() == NoiseKind::Gaussian)
                .then(|| nuclear_lower_bound(self.workload, self.horizon))
                .flatten(),
        };
        Ok(Plan {
            inner: Arc::new(Inner {
                factorization,
                workload: self.workload,
                budget,
                neighbours: self.neighbours,
                participation: self.participation,
                objective: self.objective,
                contribution: self.contribution,
                lanes: Arc::clone(&self.lanes),
                stream: self.stream.clone(),
                definition: Arc::clone(&self.definition),
                declared_keys: match &*self.lanes {
                    Lanes::Keyed { keys } => Some(keys_digest(keys)),
                    _ => None,
                },
                naming: Naming::default(),
                memory_limit: self.memory_limit,
                is_unbounded: self.is_unbounded,
                sensitivity,
                scale,
                exact,
                accuracy,
            }),
        })
    }
}

/// Refuses a set of keys that is empty or names one twice.
pub(super) fn check_keys(keys: &[String]) -> Result<()> {
    if keys.is_empty() {
        return Err(Error::bad("keys", "at least one", "none"));
    }
    let mut seen = std::collections::HashSet::new();
    match keys.iter().position(|key| !seen.insert(key.as_str())) {
        // Told by its place, because names may be confidential.
        Some(place) => Err(Error::bad("keys", "distinct", format!("number {place} of the keys again"))),
        None => Ok(()),
    }
}
