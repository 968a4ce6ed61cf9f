//! Chained setters around a [`PlanSpec`].

use super::{Comparison, Plan};
use crate::Result;
use crate::factorization::Mechanism;
use crate::noise::Progress;
use crate::objective::Objective;
use crate::privacy::{BudgetSpec, Contribution, Neighbours, Participation};
use crate::report::Report;
use crate::spec::{Arithmetic, Horizon, PlanSpec, Shape};
use crate::workload::Workload;

/// Collects the choices of a plan. [`PlanBuilder::build`] checks all of them.
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
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct PlanBuilder {
    spec: PlanSpec,
}

impl From<PlanSpec> for PlanBuilder {
    fn from(spec: PlanSpec) -> Self {
        Self { spec }
    }
}

impl PlanBuilder {
    pub(super) fn new(workload: Workload, horizon: Horizon) -> Self {
        PlanSpec { workload, ..PlanSpec::new(horizon, BudgetSpec::default()) }.into()
    }

    /// The choices so far.
    #[must_use]
    pub fn spec(&self) -> &PlanSpec {
        &self.spec
    }

    /// The privacy budget of the whole stream. Required.
    pub fn budget(mut self, budget: impl Into<BudgetSpec>) -> Self {
        self.spec.budget = budget.into();
        self
    }

    /// The mechanism. By default, the most accurate one that fits the memory limit.
    pub fn mechanism(mut self, mechanism: Mechanism) -> Self {
        self.spec.mechanism = Some(mechanism);
        self
    }

    /// Which change of the input is hidden. By default, that one contribution is present or absent.
    pub fn neighbours(mut self, neighbours: Neighbours) -> Self {
        self.spec.neighbours = neighbours;
        self
    }

    /// In how many steps one person may take part. By default, one event in one step.
    pub fn participation(mut self, participation: Participation) -> Self {
        self.spec.participation = participation;
        self
    }

    /// Which error to keep small. By default, the mean over all steps. It decides which mechanism
    /// is chosen, and the form of [`Mechanism::GradedSquareRoot`] and [`Mechanism::Blt`].
    pub fn objective(mut self, objective: Objective) -> Self {
        self.spec.objective = objective;
        self
    }

    /// The sums that are read from the stream. Their weighted error is what to keep small.
    ///
    /// ```
    /// use evertally::{Budget, Plan};
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let totals = Plan::prefix_sum(56).budget(budget).build()?;
    /// let report = "1=1;7=1;total=1".parse()?;
    /// let plan = Plan::prefix_sum(56).budget(budget).report(report).build()?;
    /// let weeks = plan.accuracy().report.as_ref().map(|report| report.periods[1]);
    /// assert!(weeks < Some(totals.accuracy().rmse));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn report(mut self, report: Report) -> Self {
        self.spec.objective = Objective::Report;
        self.spec.report = Some(report);
        self
    }

    /// How large one contribution to a step may be. By default, between zero and one. The caller
    /// must ensure that no contribution is larger: a counter sees only sums and cannot check.
    pub fn contribution(mut self, contribution: Contribution) -> Self {
        self.spec.contribution = contribution;
        self
    }

    /// In how many keys one contribution to a step may count. By default, in one. If in several, the
    /// contribution bounds the norm of what it adds to them: see
    /// [`PlanSpec::keys_per_step`](crate::PlanSpec::keys_per_step).
    pub fn keys_per_step(mut self, keys: u64) -> Self {
        self.spec.keys_per_step = keys;
        self
    }

    /// Counts vectors of this dimension; see [`crate::VectorCounter`].
    pub fn dimension(self, dimension: usize) -> Self {
        self.shape(Shape::Vector { dimension })
    }

    /// Counts one number for each of these keys; see [`crate::KeyedCounter`]. The set must be
    /// public: keys taken from the data would reveal who is in it.
    pub fn keys<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.shape(Shape::Keyed { keys: keys.into_iter().map(Into::into).collect() })
    }

    /// Counts one number for each key of a set that is not declared; see [`crate::SparseCounter`].
    /// It needs a mechanism that streams, such as [`Mechanism::GradedSquareRoot`] for running
    /// totals and [`Mechanism::SquareRoot`] for decayed ones. Windows are refused.
    pub fn open_keys(self) -> Self {
        self.shape(Shape::OpenKeys)
    }

    /// What a step consists of. By default, one number.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.spec.shape = shape;
        self
    }

    /// Names the stream that is counted. Plans that differ only in this name have independent noise
    /// under one key, so that a key may serve several streams, with one input for each.
    pub fn stream(mut self, name: impl Into<String>) -> Self {
        self.spec.stream = name.into();
        self
    }

    /// Everything that decides which events are counted and how: columns, buckets of time, clamps,
    /// bounds on persons. The caller encodes it. Plans that differ in it have independent noise
    /// under one key. [`Fields`](crate::internals::noise_name::Fields) is a suitable encoding;
    /// `evertally-stream` makes one from its rules.
    pub fn definition(mut self, definition: impl Into<Vec<u8>>) -> Self {
        self.spec.definition = definition.into();
        self
    }

    /// The maximum memory of a counter in bytes. By default, two gibibytes. A counter of open keys
    /// refuses new keys once it holds this much.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.spec.memory_limit = Some(bytes);
        self
    }

    /// In which numbers releases are made. By default, numbers and keys take the exact path and
    /// vectors do not; a named mechanism without an exact path runs in floating point.
    pub fn arithmetic(mut self, arithmetic: Arithmetic) -> Self {
        self.spec.arithmetic = Some(arithmetic);
        self
    }

    /// The public grid to which releases are rounded on the exact path, in the units of the data. By
    /// default, the largest power of two, up to one and to the largest contribution, whose rounding
    /// adds at most 0.01 % to the squared error. One releases whole numbers.
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
        self.spec.grid = Some(step);
        self
    }

    /// Checks everything and makes the plan: [`PlanSpec::build`].
    ///
    /// # Errors
    /// As [`PlanSpec::build`].
    pub fn build(&self) -> Result<Plan> {
        self.spec.build()
    }

    /// Like [`PlanBuilder::build`], and reports on the preparation of a mechanism that was named.
    ///
    /// # Errors
    /// As [`PlanSpec::build`].
    pub fn build_with_progress(&self, progress: &dyn Progress) -> Result<Plan> {
        self.spec.build_with_progress(progress)
    }

    /// Plans for every mechanism: [`PlanSpec::compare`].
    ///
    /// # Errors
    /// As [`PlanSpec::compare`].
    pub fn compare(&self, progress: &dyn Progress) -> Result<Comparison> {
        self.spec.compare(progress)
    }
}
