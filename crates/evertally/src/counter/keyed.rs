//! A counter of one number per step for each declared key.

use super::engine::Engine;
use crate::noise::{NoiseKey, Progress};
use crate::plan::Plan;
use crate::release::{Release, Spread};
use crate::spec::Shape;
use crate::{Error, Result};

/// Private running totals for a public set of keys. An event counts for one key, so all keys
/// together spend the budget once.
///
/// Every key is released at every step. For keys that are not known in advance, or too many to
/// release them all, see [`SparseCounter`](crate::SparseCounter). Its releases are those of a
/// `KeyedCounter` for the same keys of its plan ([`Plan::part`]), bit for bit.
///
/// A counter holds 16 bytes for each number of the mechanism's state and for the step ahead, 16 for
/// the total and 12 for the name's tag: 156 with `graded-square-root:6`, and 85 in floating point.
/// [`Plan::cost`] states it for every plan. The plan itself holds the names.
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

shared_methods!(
    KeyedCounter,
    Shape::Keyed { .. },
    "keys",
    ", and where two keys would share their noise, which happens to a million keys with probability 2⁻⁴⁹: take another key then"
);

impl KeyedCounter {
    /// The declared keys, in the order of inputs and releases.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        match self.plan().shape() {
            Shape::Keyed { keys } => keys,
            _ => &[],
        }
    }

    /// Takes the inputs of the next step, one for each key, and releases the private answers in the
    /// same order.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step, [`Error::BadParameter`] for another number of
    /// inputs, [`Error::BadInput`] for numbers that cannot be counted; none changes the counter.
    pub fn step(&mut self, x: &[f64]) -> Result<Vec<Release>> {
        let mut values = vec![0.0; x.len()];
        let spread = self.engine.step(x, &mut values)?;
        Ok(values.into_iter().map(|value| spread.around(value)).collect())
    }

    /// Like [`KeyedCounter::step`], but writes the private answers to `out` and returns their common
    /// error. It is for many keys, where a [`Release`] per key would take more memory than the
    /// counter. All threads share the work; the answers do not depend on their number.
    ///
    /// ```
    /// use evertally::{Budget, KeyedCounter, NoiseKey, Plan};
    /// let pages = (0..100_000).map(|page| format!("/page/{page}"));
    /// let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).keys(pages).build()?;
    /// let mut counter = KeyedCounter::new(&plan, NoiseKey::from_os()?)?;
    /// let (visits, mut private) = (vec![3.0; 100_000], vec![0.0; 100_000]);
    /// let spread = counter.step_into(&visits, &mut private)?;
    /// println!("{:.0} ± {:.0}", private[7], spread.margin(0.95));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`KeyedCounter::step`], and [`Error::BadParameter`] unless `out` has a place for each
    /// key. On an error `out` is unchanged.
    pub fn step_into(&mut self, x: &[f64], out: &mut [f64]) -> Result<Spread> {
        self.engine.step(x, out)
    }

    /// Like [`KeyedCounter::step`], for inputs that are integers on a grid: multiples of
    /// 2^`grid_exponent` ([`Counter::step_amount`](crate::Counter::step_amount)).
    ///
    /// # Errors
    /// As [`KeyedCounter::step`].
    pub fn step_amounts(&mut self, amounts: &[i128], grid_exponent: i32) -> Result<Vec<Release>> {
        let mut values = vec![0.0; amounts.len()];
        let spread = self.step_amounts_into(amounts, grid_exponent, &mut values)?;
        Ok(values.into_iter().map(|value| spread.around(value)).collect())
    }

    /// Like [`KeyedCounter::step_into`], for inputs that are integers on a grid: multiples of
    /// 2^`grid_exponent`.
    ///
    /// # Errors
    /// As [`KeyedCounter::step_into`].
    pub fn step_amounts_into(
        &mut self,
        amounts: &[i128],
        grid_exponent: i32,
        out: &mut [f64],
    ) -> Result<Spread> {
        self.engine.step_amounts(amounts, grid_exponent, out)
    }

    /// The total of one key over the steps `first..=last`, from the remembered releases, with its
    /// exact standard error.
    ///
    /// # Errors
    /// As [`crate::Counter::interval`], and [`Error::BadParameter`] for a key that was not
    /// declared.
    pub fn interval(&self, key: &str, first: u64, last: u64) -> Result<Release> {
        let lane = self.keys().iter().position(|declared| declared == key);
        let lane = lane.ok_or_else(|| Error::bad("key", "one of the declared keys", "another"))?;
        self.engine.interval(lane, first, last)
    }
}
