//! A counter of one vector a step.

use std::fmt;

use super::engine::Engine;
use crate::noise::{NoiseKey, Progress};
use crate::plan::{Lanes, Plan};
use crate::release::Tail;
use crate::{Error, Result};

/// A private running total of vectors whose contributions are bounded in Euclidean norm.
///
/// ```
/// use evertally::{Budget, Contribution, NoiseKey, Plan, VectorCounter};
/// let plan = Plan::prefix_sum(10)
///     .budget(Budget::new(1.0, 1e-6)?)
///     .dimension(3)
///     .contribution(Contribution::norm(1.0)?)
///     .build()?;
/// let mut counter = VectorCounter::new(&plan, NoiseKey::from_os()?)?;
/// let release = counter.step(&[0.6, 0.0, -0.8])?;
/// assert_eq!(release.values.len(), 3);
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct VectorCounter {
    engine: Engine,
}

/// One private vector; every coordinate has the same error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VectorRelease {
    /// The step, counted from zero.
    pub step: u64,
    /// The private values.
    pub values: Vec<f64>,
    /// The standard deviation of the noise in each.
    pub standard_error: f64,
    /// The shape of the noise.
    pub tail: Tail,
}

impl VectorCounter {
    /// A counter before its first step, under a key that is used for nothing else.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if the plan has no dimension.
    pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
        Self::with_progress(plan, key, &())
    }

    /// Like [`VectorCounter::new`], and reports on long preparation of noise.
    ///
    /// # Errors
    /// As [`VectorCounter::new`].
    #[expect(clippy::needless_pass_by_value, reason = "taking the key keeps it from being used twice")]
    pub fn with_progress(plan: &Plan, key: NoiseKey, progress: &dyn Progress) -> Result<Self> {
        check(plan)?;
        Ok(Self { engine: Engine::new(plan, &key, progress) })
    }

    /// Takes the vector of the next step and releases its private answer.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step, [`Error::BadParameter`] for a vector of another dimension,
    /// [`Error::BadInput`] for numbers that cannot be counted; none changes the counter.
    pub fn step(&mut self, x: &[f64]) -> Result<VectorRelease> {
        let mut values = x.to_vec();
        let step = self.engine.step(&mut values)?;
        let release = self.engine.release(step, 0.0)?;
        Ok(VectorRelease { step, values, standard_error: release.standard_error, tail: release.tail })
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

    /// Continues from a saved state, once; the releases that follow are those that would have followed, bit for bit.
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
        Lanes::Vector { .. } => Ok(()),
        other => Err(Error::bad("plan", "for vectors", format!("one for {other:?}"))),
    }
}

impl fmt::Debug for VectorCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorCounter")
            .field("plan", self.plan())
            .field("steps_taken", &self.steps_taken())
            .finish_non_exhaustive()
    }
}
