//! The plan: everything that is decided before the first event.
//!
//! A plan fixes the horizon, the workload, the budget, who is protected and the mechanism. The noise
//! scale and the error of every step follow from these. Making a plan may take seconds. Stepping a
//! counter that was made from it is fast.
//!
//! # The privacy argument
//! Let x and x' be neighbouring inputs in the sense of the plan's [`Neighbours`], [`Participation`]
//! and [`Contribution`]. Then ‖R(x − x')‖ ≤ Δ·m·r, with Δ the factorization's sensitivity, m the
//! largest magnitude of a contribution and r the factor for replacement. All three are rounded up.
//! Releasing R x + (σ·Δ·m·r)·g with white noise g meets the budget by the definition of σ. The
//! released A x + (σ·Δ·m·r)·L g = L (R x + …) is computed from that alone. Gaussian noise keeps the
//! guarantee when inputs are chosen adaptively, because A is lower triangular and the noise depends
//! on L Lᵀ only (Denisov et al., 2022). For Laplace noise see the module of that mechanism.

mod accuracy;
mod builder;
mod choice;
mod compare;
mod cost;
mod covariance;
mod exact;
mod grid;
mod name;
mod planner;
mod sharding;
mod spending;
mod together;
mod unbounded;
mod white;

use std::fmt;
use std::sync::Arc;

pub use accuracy::{Accuracy, ReportAccuracy};
pub use builder::PlanBuilder;
pub use compare::{Comparison, Optimum};
pub(crate) use exact::Exact;
pub(crate) use name::first;
pub use name::version_1;
pub(crate) use together::raises;
pub use unbounded::Milestone;

use crate::factorization::{Dense, Factorization, Mechanism};
use crate::noise_name::Naming;
use crate::objective::Objective;
use crate::privacy::{Budget, Contribution, Neighbours, Participation};
use crate::release::{Release, Rounding, Spread};
use crate::report::Report;
use crate::resolution::Resolution;
use crate::spec::{Arithmetic, Horizon, PlanSpec, Shape};
use crate::workload::Workload;
use crate::{Error, Result};

/// A finished plan. Cloning it is cheap.
///
/// ```
/// use evertally::{Budget, Counter, NoiseKey, Plan};
///
/// let plan = Plan::prefix_sum(1000).budget(Budget::new(1.0, 1e-6)?).build()?;
/// println!("{}", plan.accuracy());
/// let mut counter = Counter::new(&plan, NoiseKey::from_os()?)?;
/// for x in [3.0, 1.0, 4.0] {
///     let release = counter.step(x)?;
///     println!("{} ± {}", release.value, release.margin(0.95));
/// }
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    factorization: Arc<dyn Factorization>,
    workload: Workload,
    budget: Budget,
    neighbours: Neighbours,
    participation: Participation,
    objective: Objective,
    report: Option<Report>,
    contribution: Contribution,
    keys_per_step: u64,
    shape: Arc<Shape>,
    /// The shape of the full plan, if this is a part of one.
    whole: Option<Arc<Shape>>,
    stream: String,
    /// What is counted, encoded by the caller.
    definition: Arc<[u8]>,
    /// A digest of the declared keys of the full plan. Parts of the plan keep it.
    declared_keys: Option<[u8; 32]>,
    naming: Naming,
    memory_limit: u64,
    is_unbounded: bool,
    sensitivity: f64,
    scale: f64,
    /// Only if releases are made of integers.
    exact: Option<Exact>,
    /// Whether nobody named the grid.
    has_default_grid: bool,
    accuracy: Accuracy,
    /// The plan that version 0.1 made, if its noise had another scale.
    before_version_2: Option<Arc<Inner>>,
}

impl Plan {
    /// A plan for running totals over `horizon` steps.
    pub fn prefix_sum(horizon: u64) -> PlanBuilder {
        PlanBuilder::new(Workload::PrefixSum, horizon.into())
    }

    /// A plan for totals over the last `width` steps.
    pub fn sliding_window(horizon: u64, width: u64) -> PlanBuilder {
        PlanBuilder::new(Workload::SlidingWindow { width }, horizon.into())
    }

    /// A plan for totals in which every step multiplies the past by `factor`.
    pub fn decay(horizon: u64, factor: f64) -> PlanBuilder {
        PlanBuilder::new(Workload::Decay { factor }, horizon.into())
    }

    /// A plan for any workload.
    pub fn for_workload(horizon: u64, workload: Workload) -> PlanBuilder {
        PlanBuilder::new(workload, horizon.into())
    }

    /// A plan for a stream without a known end; see [`Plan::is_unbounded`].
    ///
    /// ```
    /// use evertally::{Budget, Plan, Workload};
    /// let plan = Plan::unbounded(Workload::PrefixSum).budget(Budget::new(1.0, 1e-6)?).build()?;
    /// for milestone in plan.milestones()? {
    ///     println!("step {}: {:.1}", milestone.step, milestone.standard_error);
    /// }
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn unbounded(workload: Workload) -> PlanBuilder {
        PlanBuilder::new(workload, Horizon::Unbounded)
    }

    /// The number of steps n.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.inner.factorization.horizon()
    }

    /// What is released at each step.
    #[must_use]
    pub fn workload(&self) -> Workload {
        self.inner.workload
    }

    /// The mechanism that the caller named or the plan chose, with its parameters.
    #[must_use]
    pub fn mechanism(&self) -> Mechanism {
        self.inner.factorization.mechanism()
    }

    /// The factorization behind it; see [`crate::internals::factorization`].
    #[doc(hidden)]
    #[must_use]
    pub fn factorization(&self) -> &dyn Factorization {
        &*self.inner.factorization
    }

    /// The budget that the whole stream of releases spends.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.inner.budget
    }

    /// Which change of the input is hidden.
    #[must_use]
    pub fn neighbours(&self) -> Neighbours {
        self.inner.neighbours
    }

    /// In how many steps one person may take part.
    #[must_use]
    pub fn participation(&self) -> Participation {
        self.inner.participation
    }

    /// Which error the plan keeps small.
    #[must_use]
    pub fn objective(&self) -> Objective {
        self.inner.objective
    }

    /// The sums that are read from the stream, if they were declared.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.inner.report.as_ref()
    }

    /// How large one contribution may be.
    #[must_use]
    pub fn contribution(&self) -> Contribution {
        self.inner.contribution
    }

    /// In how many keys one contribution to a step may count.
    #[must_use]
    pub fn keys_per_step(&self) -> u64 {
        self.inner.keys_per_step
    }

    /// What a step consists of.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.inner.shape
    }

    /// All choices, with every default filled in. Building this spec gives the same plan again, with
    /// the same noise and fingerprint. The spec of a part ([`Plan::part`]) is that of the full plan,
    /// because a plan of the part's keys alone would have other noise for the same data.
    ///
    /// The spec names the mechanism, so a later version that would choose another mechanism still
    /// makes this plan. The exception is a window without a known end whose cap was lowered to keep it
    /// exact: the cap is lowered only if no mechanism is named. Two properties are not choices and
    /// are not in a spec: the keys of a part, and that the noise has the name of version 0.1
    /// ([`Plan::with_first_noise_name`]).
    #[must_use]
    pub fn spec(&self) -> PlanSpec {
        let inner = &*self.inner;
        let shape = inner.whole.as_ref().unwrap_or(&inner.shape);
        let has_lowered_cap = self.is_unbounded() && self.horizon() < unbounded::cap(inner.workload, shape);
        PlanSpec {
            horizon: if inner.is_unbounded { Horizon::Unbounded } else { Horizon::Steps(self.horizon()) },
            workload: inner.workload,
            budget: inner.budget.into(),
            mechanism: (!has_lowered_cap).then(|| self.mechanism()),
            neighbours: inner.neighbours,
            participation: inner.participation,
            objective: inner.objective,
            report: inner.report.clone(),
            contribution: inner.contribution,
            keys_per_step: inner.keys_per_step,
            shape: Shape::clone(shape),
            stream: inner.stream.clone(),
            definition: inner.definition.to_vec(),
            arithmetic: Some(self.arithmetic()),
            grid: self.grid(),
            memory_limit: Some(inner.memory_limit),
        }
    }

    /// σ: the standard deviation of the noise for sensitivity one, rounded up. On the exact path it
    /// is a few millionths larger than the budget's, which covers the cost of integer draws.
    #[must_use]
    pub fn noise_multiplier(&self) -> f64 {
        let exact = self.inner.exact.map(|exact| exact.noise_multiplier);
        exact.unwrap_or(self.inner.budget.noise_multiplier())
    }

    /// In which numbers releases are made.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        if self.inner.exact.is_some() { Arithmetic::Exact } else { Arithmetic::Float }
    }

    /// The public grid on which releases lie, in the units of the data. `None` in floating point.
    #[must_use]
    pub fn grid(&self) -> Option<f64> {
        self.inner.exact.map(|exact| exact.grid)
    }

    /// The total variation between all draws of the plan together and Gaussian draws rounded to
    /// integers. The exact calibration has been charged for it. Zero unless the noise is discrete
    /// Gaussian.
    #[must_use]
    pub fn total_variation(&self) -> f64 {
        self.inner.exact.map_or(0.0, |exact| exact.total_variation)
    }

    pub(crate) fn exact(&self) -> Option<&Exact> {
        self.inner.exact.as_ref()
    }

    /// The unit in which true totals are counted. Decayed totals are finer than the noise and are
    /// rounded when they are released.
    pub(crate) fn total_unit(&self) -> Resolution {
        match (&self.inner.exact, self.workload()) {
            (Some(exact), Workload::PrefixSum | Workload::SlidingWindow { .. }) => exact.unit,
            _ => Resolution::new(self.workload(), self.contribution().magnitude()),
        }
    }

    /// Δ of the factorization under the plan's participation, for contributions of magnitude one,
    /// rounded up.
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        self.inner.sensitivity
    }

    /// The standard deviation of each white draw before L is applied: σ·Δ times the largest
    /// contribution and the factor for replacement.
    #[must_use]
    pub fn noise_scale(&self) -> f64 {
        self.inner.scale
    }

    /// How accurate the releases are.
    #[must_use]
    pub fn accuracy(&self) -> &Accuracy {
        &self.inner.accuracy
    }

    /// The standard deviation of the noise in the release of a step, including the rounding to the
    /// grid.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] for a step beyond the horizon.
    pub fn standard_error(&self, step: u64) -> Result<f64> {
        self.check(step)?;
        Ok(self.error_of(self.inner.factorization.row_norm_squared(step), self.rounding()))
    }

    /// How a release is rounded.
    fn rounding(&self) -> Rounding {
        self.grid().map_or(Rounding::NONE, Rounding::to_grid)
    }

    /// The standard deviation of noise with this squared norm of L, after it was rounded.
    fn error_of(&self, norm_squared: f64, rounding: Rounding) -> f64 {
        accuracy::deviation(self.inner.scale, norm_squared, rounding)
    }

    /// L and R as dense matrices, for small horizons.
    ///
    /// # Errors
    /// [`Error::TooCostly`] for horizons beyond [`crate::factorization::MAX_DENSE`].
    pub fn dense(&self) -> Result<Dense> {
        self.inner.factorization.dense()
    }

    /// The total over the steps after `earlier` up to and including `later`, from their releases. It
    /// is an unbiased estimate with its exact standard error. `None` means the time before the first
    /// step.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless the workload is the prefix sum, and [`Error::BadParameter`] if
    /// the steps do not follow each other.
    pub fn interval(&self, earlier: Option<&Release>, later: &Release) -> Result<Release> {
        if self.workload() != Workload::PrefixSum {
            let reason = format!("sums between steps follow from prefix sums, not from {}", self.workload());
            return Err(Error::unsupported(self.mechanism(), reason));
        }
        self.check(later.step)?;
        let Some(earlier) = earlier else { return Ok(*later) };
        if earlier.step >= later.step {
            return Err(Error::bad(
                "interval",
                "an earlier and a later step",
                format!("{} and {}", earlier.step, later.step),
            ));
        }
        let norm = self.inner.factorization.difference_norm_squared(earlier.step, later.step);
        let rounding = self.rounding();
        Ok(Release {
            step: later.step,
            value: later.value - earlier.value,
            standard_error: self.error_of(norm, rounding.and(rounding)),
            tail: self.inner.factorization.tail(Some(earlier.step), later.step),
            rounding: rounding.and(rounding),
        })
    }

    /// How far the releases of a step may be from the truth.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] for a step beyond the horizon.
    pub fn spread(&self, step: u64) -> Result<Spread> {
        let standard_error = self.standard_error(step)?;
        let tail = self.inner.factorization.tail(None, step);
        Ok(Spread { step, standard_error, tail, rounding: self.rounding() })
    }

    /// The same plan for a stream of this name ([`PlanBuilder::stream`]), without planning again.
    /// Its noise under the same key is independent.
    #[must_use]
    pub fn with_stream(&self, name: impl Into<String>) -> Self {
        self.with(|inner| inner.stream = name.into())
    }

    /// The same plan with one change.
    fn with(&self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner::clone(&self.inner);
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    /// Whether the grid follows from the noise, because nobody named one.
    pub(crate) fn has_default_grid(&self) -> bool {
        self.inner.has_default_grid
    }

    /// The name of the stream that is counted; empty by default.
    #[must_use]
    pub fn stream_name(&self) -> &str {
        &self.inner.stream
    }

    /// The maximum number of bytes that a counter may hold.
    pub(crate) fn memory_limit(&self) -> u64 {
        self.inner.memory_limit
    }

    fn check(&self, step: u64) -> Result<()> {
        if step < self.horizon() { Ok(()) } else { Err(Error::HorizonSpent { horizon: self.horizon() }) }
    }

    /// The same plan for another definition of what is counted ([`PlanBuilder::definition`]),
    /// without planning again.
    #[must_use]
    pub fn with_definition(&self, definition: impl Into<Vec<u8>>) -> Self {
        self.with(|inner| inner.definition = definition.into().into())
    }

    /// The encoded definition of what is counted; empty by default.
    #[must_use]
    pub fn definition(&self) -> &[u8] {
        &self.inner.definition
    }

    /// A digest of the declared keys of the full plan, if there are any.
    pub(crate) fn declared_keys(&self) -> Option<[u8; 32]> {
        self.inner.declared_keys
    }

    pub(crate) fn naming(&self) -> Naming {
        self.inner.naming
    }

    /// The same plan with the noise that version 0.1 gave it, scaled as it was then. Use it only for
    /// ledgers and states that started under version 0.1. Such names omit the grid, the declared
    /// keys and the definition of what is counted.
    #[must_use]
    pub fn with_first_noise_name(&self) -> Self {
        self.with(|inner| {
            inner.naming = Naming::First;
            if let Some(before) = inner.before_version_2.take() {
                inner.factorization = Arc::clone(&before.factorization);
                (inner.sensitivity, inner.scale) = (before.sensitivity, before.scale);
                (inner.exact, inner.accuracy) = (before.exact, before.accuracy.clone());
            }
        })
    }

    /// Whether the noise of this plan has the name that version 0.1 gave it.
    #[must_use]
    pub fn has_first_noise_name(&self) -> bool {
        self.inner.naming == Naming::First
    }

    /// A hash of all choices that a saved state must have in common with the plan that resumes it.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        if self.has_first_noise_name() {
            return first::fingerprint(self);
        }
        let mut hasher = blake3::Hasher::new_derive_key("evertally plan fingerprint 2");
        let name = self.noise_name();
        hasher.update(&(name.as_bytes().len() as u64).to_le_bytes()).update(name.as_bytes());
        // A part of a plan has the name of the full plan, but its own keys in its own order.
        if let Shape::Keyed { keys } = self.shape() {
            for key in keys {
                hasher.update(&(key.len() as u64).to_le_bytes()).update(key.as_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("workload", &self.workload())
            .field("horizon", &self.horizon())
            .field("mechanism", &self.mechanism())
            .field("budget", &self.inner.budget)
            .field("neighbours", &self.inner.neighbours)
            .field("participation", &self.inner.participation)
            .field("objective", &self.inner.objective)
            .field("contribution", &self.inner.contribution)
            .field("keys_per_step", &self.inner.keys_per_step)
            .field("shape", &self.inner.shape)
            .field("arithmetic", &self.arithmetic())
            .field("noise_scale", &self.inner.scale)
            .finish()
    }
}
