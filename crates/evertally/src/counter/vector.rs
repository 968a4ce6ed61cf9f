//! A counter of one vector per step.

use super::engine::Engine;
use crate::Result;
use crate::noise::{NoiseKey, Progress};
use crate::plan::Plan;
use crate::release::{Rounding, Spread, Tail};
use crate::spec::Shape;

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
    /// How each value was rounded.
    pub rounding: Rounding,
}

impl VectorRelease {
    fn new(spread: Spread, values: Vec<f64>) -> Self {
        let Spread { step, standard_error, tail, rounding } = spread;
        Self { step, values, standard_error, tail, rounding }
    }

    /// The error that all values have in common.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let Self { step, standard_error, tail, rounding, .. } = *self;
        Spread { step, standard_error, tail, rounding }
    }
}

shared_methods!(VectorCounter, Shape::Vector { .. }, "vectors");

impl VectorCounter {
    /// Takes the vector of the next step and releases its private answer.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`](crate::Error::HorizonSpent) after the last step,
    /// [`Error::BadParameter`](crate::Error::BadParameter) for a vector of another dimension,
    /// [`Error::BadInput`](crate::Error::BadInput) for numbers that cannot be counted; none changes
    /// the counter.
    pub fn step(&mut self, x: &[f64]) -> Result<VectorRelease> {
        let mut values = vec![0.0; x.len()];
        let spread = self.engine.step(x, &mut values)?;
        Ok(VectorRelease::new(spread, values))
    }

    /// Like [`VectorCounter::step`], but writes the private answer to `out` and returns the common
    /// error of its coordinates.
    ///
    /// ```
    /// use evertally::{Budget, Contribution, NoiseKey, Plan, VectorCounter};
    /// let plan = Plan::prefix_sum(10)
    ///     .budget(Budget::new(1.0, 1e-6)?)
    ///     .dimension(3)
    ///     .contribution(Contribution::norm(1.0)?)
    ///     .build()?;
    /// let mut counter = VectorCounter::new(&plan, NoiseKey::from_os()?)?;
    /// let mut private = [0.0; 3];
    /// let spread = counter.step_into(&[0.6, 0.0, -0.8], &mut private)?;
    /// assert_eq!(spread.standard_error, plan.standard_error(0)?);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`VectorCounter::step`], and [`Error::BadParameter`](crate::Error::BadParameter) unless
    /// `out` has a place for each coordinate. On an error `out` is unchanged.
    pub fn step_into(&mut self, x: &[f64], out: &mut [f64]) -> Result<Spread> {
        self.engine.step(x, out)
    }

    /// The total over the steps `first..=last`, from the remembered releases, with the exact
    /// standard error of each coordinate.
    ///
    /// # Errors
    /// As [`crate::Counter::interval`].
    pub fn interval(&self, first: u64, last: u64) -> Result<VectorRelease> {
        let spread = self.engine.interval(0, first, last)?.spread();
        let coordinates = 0..self.plan().shape().width();
        let values =
            coordinates.map(|c| Ok(self.engine.interval(c, first, last)?.value)).collect::<Result<_>>()?;
        Ok(VectorRelease::new(spread, values))
    }
}
