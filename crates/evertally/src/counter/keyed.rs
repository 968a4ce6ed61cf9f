//! A counter of one number a step for each declared key.

use std::fmt;

use super::engine::Engine;
use crate::noise::{NoiseKey, Progress};
use crate::plan::{Lanes, Plan};
use crate::release::Release;
use crate::{Error, Result};

/// Private running totals for a public set of keys. An event counts for one key, so all keys together spend the budget
/// once.
///
/// ```
/// use evertally::{Budget, KeyedCounter, NoiseKey, Plan};
/// let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).keys(["north", "south"]).build()?;
/// let mut counter = KeyedCounter::new(&plan, NoiseKey::from_os()?)?;
/// let releases = counter.step(&[12.0, 7.0])?;
/// assert_eq!(releases.len(), 2);
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct KeyedCounter {
    engine: Engine,
}

impl KeyedCounter {
    /// A counter before its first step, under a key that is used for nothing else.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if the plan declares no keys.
    pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
        Self::with_progress(plan, key, &())
    }

    /// Like [`KeyedCounter::new`], and reports on long preparation of noise.
    ///
    /// # Errors
    /// As [`KeyedCounter::new`].
    #[expect(clippy::needless_pass_by_value, reason = "taking the key keeps it from being used twice")]
    pub fn with_progress(plan: &Plan, key: NoiseKey, progress: &dyn Progress) -> Result<Self> {
        check(plan)?;
        Ok(Self { engine: Engine::new(plan, &key, progress) })
    }

    /// Keeps every released value, so that [`KeyedCounter::interval`] can be asked. Memory then grows with the steps taken.
    ///
    /// # Errors
    /// [`Error::BadParameter`] after the first step.
    pub fn remember_releases(mut self) -> Result<Self> {
        self.engine.remember()?;
        Ok(self)
    }

    /// The declared keys, in the order in which inputs and releases stand.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        match self.plan().lanes() {
            Lanes::Keyed { keys } => keys,
            _ => &[],
        }
    }

    /// Takes the inputs of the next step, one for each key, and releases the private answers in the same order.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step, [`Error::BadParameter`] for another number of inputs,
    /// [`Error::BadInput`] for numbers that cannot be counted; none changes the counter.
    pub fn step(&mut self, x: &[f64]) -> Result<Vec<Release>> {
        let mut values = x.to_vec();
        let step = self.engine.step(&mut values)?;
        let shape = self.engine.release(step, 0.0)?;
        Ok(values.into_iter().map(|value| Release { value, ..shape }).collect())
    }

    /// The total of one key over the steps `first..=last`, from the remembered releases, with its exact standard error.
    ///
    /// # Errors
    /// As [`crate::Counter::interval`], and [`Error::BadParameter`] for a key that was not declared.
    pub fn interval(&self, key: &str, first: u64, last: u64) -> Result<Release> {
        let lane = self.keys().iter().position(|declared| declared == key);
        let lane = lane.ok_or_else(|| Error::bad("key", "one of the declared keys", format!("'{key}'")))?;
        self.engine.interval(lane, first, last)
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
        Lanes::Keyed { .. } => Ok(()),
        other => Err(Error::bad("plan", "for keys", format!("one for {other:?}"))),
    }
}

impl fmt::Debug for KeyedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedCounter")
            .field("plan", self.plan())
            .field("steps_taken", &self.steps_taken())
            .finish_non_exhaustive()
    }
}
