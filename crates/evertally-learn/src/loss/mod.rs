//! Losses that are convex in linear scores of the features.
//!
//! **Definition.** A loss has k scores ⟨θ_j, x⟩ for j < k, where θ = (θ_0, …, θ_{k−1}) is stored
//! contiguously. It is a convex function of the scores that depends on the label. [`Squared`],
//! [`Logistic`] and [`Hinge`] have one score, [`Softmax`] has one per class.
//!
//! | loss | for score s and label y | labels |
//! |---|---|---|
//! | [`Squared`] | (s − y)²/2 | numbers |
//! | [`Logistic`] | ln(1 + e^{−ys}) | −1, +1 |
//! | [`Hinge`] | max(0, 1 − ys) | −1, +1 |
//! | [`Softmax`] | ln Σ_j e^{s_j} − s_y | 0, …, k − 1 |
//!
//! **Guarantee.** Slopes are finite for finite scores, and values are finite for scores and labels
//! up to 10¹⁵⁰. Their computation avoids cancellation and exponentials of positive numbers.
//! Gradients are subgradients at corners. Every loss states its Lipschitz constant if it has one,
//! so that a clipping norm can be chosen that clips nothing.
//!
//! **Cost.** O(k · width) per example, and no allocation beyond k numbers.

mod hinge;
mod logistic;
mod named;
mod softmax;
mod squared;
#[cfg(test)]
mod tests;

pub use hinge::{Hinge, SmoothedHinge};
pub use logistic::Logistic;
pub use named::Losses;
pub use softmax::Softmax;
pub use squared::Squared;

use evertally::{Error, Result};

use crate::data::{Dataset, Example};

/// A loss that is convex in linear scores.
///
/// The caller checks lengths and labels once, with [`Loss::parameters`] and [`Loss::check`],
/// instead of at every example. With invalid lengths or labels the methods may panic or return
/// meaningless numbers.
///
/// ```
/// use evertally_learn::{Example, loss::{Logistic, Loss}};
///
/// let example = Example { features: &[2.0, 1.0], label: 1.0 };
/// let mut gradient = [0.0; 2];
/// Logistic.gradient(&[0.0, 0.0], example, &mut gradient);
/// assert_eq!(gradient, [-1.0, -0.5]);
/// assert_eq!(Logistic.value(&[0.0, 0.0], example), 2.0_f64.ln());
/// ```
pub trait Loss {
    /// The number of scores k.
    fn scores(&self) -> usize {
        1
    }

    /// The loss at given scores.
    fn at(&self, scores: &[f64], label: f64) -> f64;

    /// Its gradient in the scores, or a subgradient.
    fn slopes(&self, scores: &[f64], label: f64, into: &mut [f64]);

    /// Its second derivatives in the scores, in row order.
    fn curvature(&self, scores: &[f64], label: f64, into: &mut [f64]);

    /// The prediction from the scores: a number, −1 or +1, or the index of a class.
    fn predicted(&self, scores: &[f64]) -> f64;

    /// Refuses a label that the loss does not accept.
    ///
    /// # Errors
    /// [`Error::BadParameter`], without the label.
    fn check_label(&self, label: f64) -> Result<()>;

    /// A bound on the norm of the gradient, over all θ of norm at most `radius` (over all θ for
    /// `None`) and features of norm at most `feature_norm`. `None` if there is no bound.
    fn lipschitz(&self, feature_norm: f64, radius: Option<f64>) -> Option<f64>;

    /// A bound on the largest eigenvalue of the second derivatives in the scores. `None` if the
    /// loss has corners.
    fn smoothness(&self) -> Option<f64>;

    /// Whether predictions are classes, which are either right or wrong.
    fn is_classification(&self) -> bool;

    /// A loss without corners that is close to this one, and closer for a smaller `width`. `None`
    /// if this loss has no corners.
    ///
    /// Every slope of the smoothed loss must be a slope of this loss at some point, so that
    /// [`Loss::offset`] is finite for it.
    fn smoothed(&self, _width: f64) -> Option<Box<dyn Loss>> {
        None
    }

    /// The largest c for which ⟨slopes, s⟩ + c is below this loss at all scores s, where `slopes`
    /// are those of the loss itself, or of its smoothed form, at `scores`. (It is minus the convex
    /// conjugate.)
    fn offset(&self, scores: &[f64], slopes: &[f64], label: f64) -> f64 {
        self.at(scores, label) - dot(slopes, scores)
    }

    /// The number of parameters for `width` features.
    fn parameters(&self, width: usize) -> usize {
        self.scores() * width
    }

    /// Computes the scores of a row.
    fn score(&self, theta: &[f64], features: &[f64], into: &mut [f64]) {
        for (score, weights) in into.iter_mut().zip(theta.chunks_exact(features.len().max(1))) {
            *score = dot(weights, features);
        }
    }

    /// The loss of θ on an example.
    fn value(&self, theta: &[f64], example: Example<'_>) -> f64 {
        with_scores(self.scores(), |scores| {
            self.score(theta, example.features, scores);
            self.at(scores, example.label)
        })
    }

    /// The gradient in θ, or a subgradient.
    fn gradient(&self, theta: &[f64], example: Example<'_>, into: &mut [f64]) {
        let slots = self.scores();
        with_scores(2 * slots, |both| {
            let (scores, slopes) = both.split_at_mut(slots);
            self.score(theta, example.features, scores);
            self.slopes(scores, example.label, slopes);
            for (weights, &slope) in into.chunks_exact_mut(example.features.len().max(1)).zip(&*slopes) {
                weights
                    .iter_mut()
                    .zip(example.features)
                    .for_each(|(weight, feature)| *weight = slope * feature);
            }
        });
    }

    /// The prediction of θ for a row.
    fn prediction(&self, theta: &[f64], features: &[f64]) -> f64 {
        with_scores(self.scores(), |scores| {
            self.score(theta, features, scores);
            self.predicted(scores)
        })
    }

    /// Refuses data whose labels the loss does not accept.
    ///
    /// # Errors
    /// [`Error::BadInput`] with the number of the first such row.
    fn check(&self, data: &Dataset) -> Result<()> {
        match data.labels().iter().position(|&label| self.check_label(label).is_err()) {
            None => Ok(()),
            Some(row) => {
                Err(Error::BadInput { step: row as u64, reason: "the loss does not accept its label" })
            }
        }
    }
}

/// Σ aᵢbᵢ.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Runs with a buffer for `count` numbers, on the stack if `count` is small.
fn with_scores<T>(count: usize, run: impl FnOnce(&mut [f64]) -> T) -> T {
    let mut few = [0.0; 32];
    match few.get_mut(..count) {
        Some(room) => run(room),
        None => run(&mut vec![0.0; count]),
    }
}

/// The methods of a loss with one score whose labels are −1 and +1 and whose slope is at most one.
macro_rules! sign_labels {
    () => {
        fn predicted(&self, scores: &[f64]) -> f64 {
            $crate::loss::sign(scores[0])
        }

        fn check_label(&self, label: f64) -> evertally::Result<()> {
            $crate::loss::check_sign(label)
        }

        fn lipschitz(&self, feature_norm: f64, _radius: Option<f64>) -> Option<f64> {
            Some(feature_norm)
        }

        fn is_classification(&self) -> bool {
            true
        }
    };
}
use sign_labels;

/// Refuses labels other than −1 and +1.
fn check_sign(label: f64) -> Result<()> {
    if label == 1.0 || label == -1.0 {
        Ok(())
    } else {
        Err(Error::bad("label", "-1 or +1", "another number"))
    }
}

/// −1 or +1.
fn sign(score: f64) -> f64 {
    if score < 0.0 { -1.0 } else { 1.0 }
}
