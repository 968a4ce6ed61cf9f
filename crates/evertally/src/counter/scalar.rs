//! A counter of one number a step.

use std::fmt;

use super::engine::Engine;
use crate::noise::{NoiseKey, Progress};
use crate::plan::{Lanes, Plan};
use crate::release::Release;
use crate::{Error, Result};

/// A private running total, or another workload, of one stream of numbers.
///
/// ```
/// use evertally::{Budget, Counter, NoiseKey, Plan};
/// let plan = Plan::prefix_sum(100).budget(Budget::new(1.0, 1e-6)?).build()?;
/// let mut counter = Counter::new(&plan, NoiseKey::from_os()?)?.remember_releases()?;
/// for x in 0..100 {
///     counter.step(f64::from(x))?;
/// }
/// let second_half = counter.interval(50, 99)?;
/// assert!((second_half.value - 3725.0).abs() < 10.0 * second_half.standard_error);
/// assert!(counter.step(1.0).is_err(), "the horizon is spent");
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct Counter {
    engine: Engine,
}

impl Counter {
    /// A counter before its first step.
    ///
    /// The key must be fresh: two counters of equal plans under one key share their noise, and their difference would be
    /// exact.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if the plan is for vectors or keys.
    pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
        Self::with_progress(plan, key, &())
    }

    /// Like [`Counter::new`], and reports on long preparation of noise.
    ///
    /// # Errors
    /// As [`Counter::new`].
    #[expect(clippy::needless_pass_by_value, reason = "taking the key keeps it from being used twice")]
    pub fn with_progress(plan: &Plan, key: NoiseKey, progress: &dyn Progress) -> Result<Self> {
        check(plan)?;
        Ok(Self { engine: Engine::new(plan, &key, progress) })
    }

    /// Keeps every released value, so that [`Counter::interval`] can be asked. Memory then grows with the steps taken.
    ///
    /// # Errors
    /// [`Error::BadParameter`] after the first step.
    pub fn remember_releases(mut self) -> Result<Self> {
        self.engine.remember()?;
        Ok(self)
    }

    /// Takes the input of the next step and releases its private answer.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step, [`Error::BadInput`] for a number that cannot be counted; neither
    /// changes the counter.
    pub fn step(&mut self, x: f64) -> Result<Release> {
        let mut value = [x];
        let step = self.engine.step(&mut value)?;
        self.engine.release(step, value[0])
    }

    /// The total over the steps `first..=last`, from the remembered releases, with its exact standard error.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for steps not taken yet, or if releases are not remembered; [`Error::Unsupported`] unless
    /// the workload is the prefix sum.
    pub fn interval(&self, first: u64, last: u64) -> Result<Release> {
        self.engine.interval(0, first, last)
    }

    /// The number of steps taken.
    #[must_use]
    pub fn steps_taken(&self) -> u64 {
        self.engine.steps_taken()
    }

    /// The plan that the counter follows.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.engine.plan()
    }

    /// The state as bytes. It holds true totals: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        self.engine.save()
    }

    /// Continues from a saved state; the releases that follow are those that would have followed, bit for bit.
    ///
    /// A state must be resumed once only: two runs from one state release different totals under the same noise.
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or belongs to another plan or key.
    #[expect(clippy::needless_pass_by_value, reason = "taking the key keeps it from being used twice")]
    pub fn resume(plan: &Plan, key: NoiseKey, state: &[u8]) -> Result<Self> {
        check(plan)?;
        Ok(Self { engine: Engine::resume(plan, &key, state, &())? })
    }
}

fn check(plan: &Plan) -> Result<()> {
    match plan.lanes() {
        Lanes::Scalar => Ok(()),
        other => Err(Error::bad("plan", "for one number a step", format!("one for {other:?}"))),
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter")
            .field("plan", self.plan())
            .field("steps_taken", &self.steps_taken())
            .finish_non_exhaustive()
    }
}
