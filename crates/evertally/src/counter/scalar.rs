//! A counter of one number per step.

use super::engine::Engine;
use crate::Result;
use crate::noise::{NoiseKey, Progress};
use crate::plan::Plan;
use crate::release::Release;
use crate::spec::Shape;

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

shared_methods!(Counter, Shape::Scalar, "one number per step");

impl Counter {
    /// Takes the input of the next step and releases its private answer.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`](crate::Error::HorizonSpent) after the last step,
    /// [`Error::BadInput`](crate::Error::BadInput) for a number that cannot be counted; neither
    /// changes the counter.
    pub fn step(&mut self, x: f64) -> Result<Release> {
        let mut value = [0.0];
        let spread = self.engine.step(&[x], &mut value)?;
        Ok(spread.around(value[0]))
    }

    /// Like [`Counter::step`], for an input that is the integer `amount` on a grid:
    /// amount·2^`grid_exponent`. It reaches the total without becoming a double, so amounts that no
    /// double holds are counted exactly as well. If a double holds the input, the release is the
    /// same.
    ///
    /// ```
    /// use evertally::{Budget, Counter, NoiseKey, Plan};
    /// let plan = Plan::prefix_sum(8).budget(Budget::new(1.0, 1e-6)?).build()?;
    /// let mut halves = Counter::new(&plan, NoiseKey::insecure_from_seed(1))?;
    /// let mut doubles = Counter::new(&plan, NoiseKey::insecure_from_seed(1))?;
    /// assert_eq!(halves.step_amount(7, -1)?, doubles.step(3.5)?);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Counter::step`].
    pub fn step_amount(&mut self, amount: i128, grid_exponent: i32) -> Result<Release> {
        let mut value = [0.0];
        let spread = self.engine.step_amounts(&[amount], grid_exponent, &mut value)?;
        Ok(spread.around(value[0]))
    }

    /// The total over the steps `first..=last`, from the remembered releases, with its exact
    /// standard error.
    ///
    /// # Errors
    /// [`Error::BadParameter`](crate::Error::BadParameter) for steps not taken yet, or if releases
    /// are not remembered; [`Error::Unsupported`](crate::Error::Unsupported) unless the workload is
    /// the prefix sum.
    pub fn interval(&self, first: u64, last: u64) -> Result<Release> {
        self.engine.interval(0, first, last)
    }
}
