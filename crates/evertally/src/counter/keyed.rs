//! A counter of one number a step for each declared key.

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
/// let mut counter = KeyedCounter::new(&plan, NoiseKey::from_os()?)?.remember_releases()?;
/// for _ in 0..24 {
///     let releases = counter.step(&[12.0, 7.0])?;
///     assert_eq!(releases.len(), 2);
/// }
/// let evening = counter.interval("south", 18, 23)?;
/// println!("{:.0} ± {:.0}", evening.value, evening.margin(0.95));
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct KeyedCounter {
    engine: Engine,
}

counter_face!(KeyedCounter, Lanes::Keyed { .. }, "keys");

impl KeyedCounter {
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
}
