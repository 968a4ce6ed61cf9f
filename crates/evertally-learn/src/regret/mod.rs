//! Measured regret: a learner's losses, compared with the best fixed parameters and the bounds.
//!
//! **Definition.** The average regret of a run is (1/n) Σ_t (ℓ_t(θ_t) − ℓ_t(θ*)), with ℓ_t the loss
//! on the data of step t, θ_t the parameters *before* that step, and θ* the best fixed point of the
//! set for all data together. Linearised regret replaces the difference of losses by ⟨g_t, θ_t − u⟩
//! with the best u. By convexity it is at least as large.
//!
//! The mean of the θ_t is the model that online-to-batch conversion takes: on independent data from
//! one distribution, its expected risk exceeds that of any fixed point by no more than the expected
//! average regret.
//!
//! **Not private.** Everything here is computed from the data without noise. It is for experiments
//! on public data, and for people who may see the data anyway. Its publication spends privacy that
//! the learner's budget does not cover.
//!
//! **Guarantee.** Totals are compensated sums. The gap of the comparator is included: the true
//! regret lies between [`RegretReport::regret`] and [`RegretReport::regret_at_most`].
//!
//! **Cost.** Three passes over d numbers per example.

mod report;
#[cfg(test)]
mod tests;

pub use report::{OnlineToBatch, RegretReport, Risk};

use std::fmt;

use evertally::internals::sums::CompensatedSum;
use evertally::{Error, Result};

use crate::hindsight::best_for_linear;
use crate::loss::dot;
use crate::set::Set;

/// Records the losses of a run. Not private: see the [module](self).
///
/// ```
/// use evertally_learn::{Set, regret::RegretMeter};
///
/// let mut meter = RegretMeter::new(1)?;
/// for (theta, gradient) in [(0.0, 1.0), (-0.5, 1.0)] {
///     meter.record(&[theta], gradient * theta, &[gradient])?; // the loss is linear
/// }
/// // The total loss was −0.5. The point −1 would have had −2.
/// assert_eq!(meter.linear_regret(Set::ball(1.0)?), Some(0.75));
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Clone)]
pub struct RegretMeter {
    examples: u64,
    loss: CompensatedSum,
    linear: CompensatedSum,
    gradients: Vec<CompensatedSum>,
    points: Vec<CompensatedSum>,
}

impl RegretMeter {
    /// A meter for `dimension` parameters.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a dimension of zero.
    pub fn new(dimension: usize) -> Result<Self> {
        if dimension == 0 {
            return Err(Error::bad("dimension", "at least one", dimension));
        }
        let zero = vec![CompensatedSum::default(); dimension];
        let (loss, linear) = (CompensatedSum::default(), CompensatedSum::default());
        Ok(Self { examples: 0, loss, linear, gradients: zero.clone(), points: zero })
    }

    /// Records an example at the parameters `theta`: its loss, and the gradient of the loss there.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for vectors of another dimension, [`Error::BadInput`] for a number
    /// that is not finite. Nothing is recorded then.
    pub fn record(&mut self, theta: &[f64], loss: f64, gradient: &[f64]) -> Result<()> {
        let dimension = self.points.len();
        for (name, length) in [("theta", theta.len()), ("gradient", gradient.len())] {
            if length != dimension {
                return Err(Error::bad(name, format!("{dimension} numbers"), length));
            }
        }
        let linear = dot(theta, gradient);
        if !(loss.is_finite() && linear.is_finite() && gradient.iter().chain(theta).all(|x| x.is_finite())) {
            return Err(Error::BadInput { step: self.examples, reason: "a number that is not finite" });
        }
        self.examples += 1;
        self.loss.add(loss);
        self.linear.add(linear);
        self.gradients.iter_mut().zip(gradient).for_each(|(sum, &value)| sum.add(value));
        self.points.iter_mut().zip(theta).for_each(|(sum, &value)| sum.add(value));
        Ok(())
    }

    /// The number of examples.
    #[must_use]
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// The total loss.
    #[must_use]
    pub fn total_loss(&self) -> f64 {
        self.loss.value()
    }

    /// The sum of all gradients.
    #[must_use]
    pub fn gradient_sum(&self) -> Vec<f64> {
        self.gradients.iter().map(|sum| sum.value()).collect()
    }

    /// The mean of the parameters, over examples: the model of online-to-batch conversion. If every
    /// step has the same number of examples, it follows from releases alone and is as private as
    /// they are. Otherwise it is weighted by the number of examples, and only
    /// [`Learner::average`](crate::Learner::average) may be published.
    #[must_use]
    pub fn average(&self) -> Vec<f64> {
        let n = self.examples.max(1) as f64;
        self.points.iter().map(|sum| sum.value() / n).collect()
    }

    /// Linearised average regret against the best point of a set. `None` before the first example,
    /// or if the set has no best point.
    #[must_use]
    pub fn linear_regret(&self, set: Set) -> Option<f64> {
        let (_, best) = best_for_linear(&self.gradient_sum(), set)?;
        (self.examples > 0).then(|| (self.linear.value() - best) / self.examples as f64)
    }
}

/// Shows the number of examples, and nothing computed from them.
impl fmt::Debug for RegretMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegretMeter").field("examples", &self.examples).finish_non_exhaustive()
    }
}
