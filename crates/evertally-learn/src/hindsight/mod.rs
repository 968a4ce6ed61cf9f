//! The best fixed parameters in hindsight, with a proof of how good they are.
//!
//! **Definition.** [`best_fixed`] looks for the θ of a set K at which Σ_i ℓ(θ; x_i, y_i) is least,
//! the comparator of regret. It knows all data and adds no noise: **nothing here is private**, and
//! nothing of it may be published on the strength of a learner's budget.
//!
//! **Guarantee.** What is returned is a point of K, its total loss, and a number that the total
//! loss of no point of K is below. With ℓ convex in scores, lines below it at every example add up
//! to c + ⟨g, θ⟩ below the total, whose least value over a ball is c − R‖g‖ and over a box a sum of
//! its corners: a bound however the slopes were found. At the optimum they are the loss's own
//! slopes there, and the bound is tight. For the hinge, slopes of a smoothed hinge lie between zero
//! and one, where the lines a(1 − ys) are below it. What rounding may have added to the bound is
//! taken off it.
//!
//! Over all of ℝᵈ there may be no best point (separable data under the logistic loss), and a line
//! has no least value. Then K is a ball so large that scores could reach ±1000, which
//! [`Hindsight::within`] says; least squares needs such a ball only where columns nearly depend on
//! each other.
//!
//! **How.** Least squares over ℝᵈ: singular values. Up to [`LARGEST_NEWTON`] parameters: Newton's
//! method with a logarithmic barrier for K (and for the corner of the hinge), whose weight falls
//! until the gap is 10⁻⁸ of n; then the gap is about the number of barriers times their weight.
//! Beyond: accelerated projected gradients with restarts, whose gap is reported as it is.
//!
//! **Cost.** Newton: O(n p²) a step for p parameters, some fifty steps. Gradients: O(n p) a step, a
//! few thousand.

mod accelerated;
mod least_squares;
mod newton;
mod problem;
#[cfg(test)]
mod tests;

use std::fmt;

use evertally::{Error, Result};

use crate::data::Dataset;
use crate::loss::{Loss, Losses, dot};
use crate::set::{Set, norm};
use problem::Problem;

/// The most parameters for which second derivatives are made.
pub const LARGEST_NEWTON: usize = 1024;

/// The gap, for each row, at which the search ends.
const TOLERANCE: f64 = 1e-8;

/// Over all of ℝᵈ a search goes as far as scores of this size.
const LARGEST_SCORE: f64 = 1e3;

/// The best fixed parameters that were found, and how much better any could be. Computed from the
/// data: not private.
#[derive(Clone, PartialEq)]
pub struct Hindsight {
    /// The parameters.
    pub theta: Vec<f64>,
    /// Their total loss.
    pub total_loss: f64,
    /// No parameters of [`Hindsight::within`] have a total loss below this.
    pub lower_bound: f64,
    /// Where parameters were compared: the set that was asked for, or a large ball in place of everything.
    pub within: Set,
}

impl Hindsight {
    /// By how much the total loss could at most be smaller.
    #[must_use]
    pub fn gap(&self) -> f64 {
        (self.total_loss - self.lower_bound).max(0.0)
    }
}

/// Sizes and no value: all of it comes from the data.
impl fmt::Debug for Hindsight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hindsight").field("parameters", &self.theta.len()).finish_non_exhaustive()
    }
}

/// The best fixed parameters for a loss over a dataset.
///
/// ```
/// use evertally_learn::{Dataset, Losses, Set, hindsight::best_fixed};
///
/// let data = Dataset::new(1, vec![1.0, 1.0, 1.0], vec![0.0, 1.0, 5.0])?;
/// let mean = best_fixed(&"squared".parse()?, &data, Set::Everything)?;
/// assert!((mean.theta[0] - 2.0).abs() < 1e-12);
/// let held = best_fixed(&"squared".parse()?, &data, Set::ball(1.5)?)?;
/// assert!((held.theta[0] - 1.5).abs() < 1e-6 && held.gap() < 1e-6);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadParameter`] without any data, for a set that is none, and for data too large to
/// square or to add up their losses; [`Error::BadInput`] for a label that the loss is not made for.
pub fn best_fixed(loss: &Losses, data: &Dataset, set: Set) -> Result<Hindsight> {
    if data.is_empty() {
        return Err(Error::bad("data", "at least one row", "none"));
    }
    let set = set.checked()?;
    loss.check(data)?;
    if !mean_square(data).is_finite() {
        return Err(Error::bad("features", "small enough to square", "larger ones"));
    }
    let found = solved(loss, data, set);
    if found.total_loss.is_finite() {
        Ok(found)
    } else {
        Err(Error::bad("data", "features and labels whose losses can be added up", "larger ones"))
    }
}

fn solved(loss: &Losses, data: &Dataset, set: Set) -> Hindsight {
    let least_squares = matches!((loss, set), (Losses::Squared(_), Set::Everything));
    if least_squares && let Some(found) = least_squares::solve(loss, data) {
        return found;
    }
    let within = if set == Set::Everything { Set::Ball { radius: far(data) } } else { set };
    let problem = Problem::new(loss, data, within);
    if problem.parameters() <= LARGEST_NEWTON {
        newton::solve(&problem)
    } else {
        accelerated::solve(&problem, accelerated::MOST_STEPS)
    }
}

/// The mean square of the norm of a row.
fn mean_square(data: &Dataset) -> f64 {
    data.features().iter().map(|value| value * value).sum::<f64>() / data.len() as f64
}

/// The radius that stands for everything: where scores could reach [`LARGEST_SCORE`].
fn far(data: &Dataset) -> f64 {
    let mean_norm = mean_square(data).sqrt();
    if mean_norm > 0.0 { (LARGEST_SCORE / mean_norm).min(1e100) } else { 1.0 }
}

/// The least value of ⟨g, θ⟩ over a set and where it is; none where there is none. This is the best
/// fixed point for linear losses with sum g.
///
/// ```
/// use evertally_learn::{Set, hindsight::best_for_linear};
/// let (theta, value) = best_for_linear(&[3.0, -4.0], Set::ball(5.0)?).expect("a ball has a lowest point");
/// assert_eq!((theta, value), (vec![-3.0, 4.0], -25.0));
/// assert!(best_for_linear(&[1.0], Set::Everything).is_none());
/// # Ok::<(), evertally::Error>(())
/// ```
#[must_use]
pub fn best_for_linear(sum: &[f64], set: Set) -> Option<(Vec<f64>, f64)> {
    let theta: Vec<f64> = match set {
        Set::Everything if sum.iter().all(|&value| value == 0.0) => vec![0.0; sum.len()],
        Set::Everything => return None,
        Set::Ball { radius } => {
            let length = norm(sum);
            let factor = if length > 0.0 { -radius / length } else { 0.0 };
            return Some((sum.iter().map(|value| factor * value).collect(), -radius * length));
        }
        Set::Box { lo, hi } => sum.iter().map(|&value| if value > 0.0 { lo } else { hi }).collect(),
    };
    let value = dot(&theta, sum);
    Some((theta, value))
}
