//! The best fixed parameters in hindsight, with a certificate of how good they are.
//!
//! **Definition.** [`best_fixed`] searches for the θ in a set K that minimises Σ_i ℓ(θ; x_i, y_i).
//! It is the comparator of regret. It uses all data and adds no noise: **nothing here is private**,
//! and a learner's budget does not cover its publication.
//!
//! **Guarantee.** The result is a point of K, its total loss, and a lower bound on the total loss
//! of every point of K. As ℓ is convex in the scores, lines below it at every example add up to c +
//! ⟨g, θ⟩ below the total. The least value of this line is c − R‖g‖ over a ball, and a sum over
//! coordinates for a box. It is a bound for any choice of slopes. At the optimum the slopes of the
//! loss itself make the bound tight. Slopes of a smoothed hinge lie between zero and one, and for
//! those the lines a(1 − ys) are below the hinge. An allowance for rounding is subtracted from the
//! bound.
//!
//! Over all of ℝᵈ there may be no best point (separable data under the logistic loss), and a line
//! has no least value. Then K is replaced by a ball so large that scores could reach ±1000, and
//! [`Hindsight::within`] names it. Least squares needs such a ball only if columns are nearly
//! dependent.
//!
//! **Method.** Least squares over ℝᵈ uses singular values. Up to [`MAX_NEWTON_PARAMETERS`]
//! parameters, Newton's method with a logarithmic barrier for K (and for the corner of the hinge)
//! is used. The barrier's weight decreases until the gap is 10⁻⁸ of n. The gap is about the number
//! of barriers times their weight. For more parameters, accelerated projected gradients with
//! restarts are used, and their gap is reported.
//!
//! **Cost.** Newton: O(n p²) per step for p parameters, about fifty steps. Gradients: O(n p) per
//! step, a few thousand steps.

mod accelerated;
mod least_squares;
mod newton;
mod problem;
#[cfg(test)]
mod tests;

use std::fmt;

use evertally::{Error, Result};

use crate::data::Dataset;
use crate::loss::{Losses, dot};
use crate::set::{Set, norm};
use problem::Problem;

/// The maximum number of parameters for which second derivatives are computed.
pub const MAX_NEWTON_PARAMETERS: usize = 1024;

/// The gap per row at which the search ends.
const TOLERANCE: f64 = 1e-8;

/// Over all of ℝᵈ the search covers scores up to this size.
const MAX_SCORE: f64 = 1e3;

/// The best fixed parameters found, and a bound on how much better any could be. Computed from the
/// data: not private.
#[derive(Clone, PartialEq)]
pub struct Hindsight {
    /// The parameters.
    pub theta: Vec<f64>,
    /// Their total loss.
    pub total_loss: f64,
    /// No parameters of [`Hindsight::within`] have a total loss below this.
    pub lower_bound: f64,
    /// The set over which parameters were compared: the requested set, or a large ball instead of
    /// ℝᵈ.
    pub within: Set,
}

impl Hindsight {
    /// The largest possible improvement of the total loss.
    #[must_use]
    pub fn gap(&self) -> f64 {
        (self.total_loss - self.lower_bound).max(0.0)
    }
}

/// Shows sizes and no values, because all values come from the data.
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
/// [`Error::BadParameter`] without data, for an invalid set, and for data too large to square or to
/// add their losses; [`Error::BadInput`] for a label that the loss does not accept.
pub fn best_fixed(loss: &Losses, data: &Dataset, set: Set) -> Result<Hindsight> {
    if data.is_empty() {
        return Err(Error::bad("data", "at least one row", "none"));
    }
    let set = set.checked()?;
    loss.check(data)?;
    if !mean_square(data).is_finite() {
        return Err(Error::bad("features", "small enough to square", "larger values"));
    }
    let found = solve(loss, data, set);
    if found.total_loss.is_finite() {
        Ok(found)
    } else {
        Err(Error::bad("data", "features and labels whose losses have a finite sum", "larger values"))
    }
}

fn solve(loss: &Losses, data: &Dataset, set: Set) -> Hindsight {
    let least_squares = matches!((loss, set), (Losses::Squared(_), Set::Everything));
    if least_squares && let Some(found) = least_squares::solve(&**loss, data) {
        return found;
    }
    let within = if set == Set::Everything { Set::Ball { radius: search_radius(data) } } else { set };
    let problem = Problem::new(&**loss, data, within);
    if problem.parameters() <= MAX_NEWTON_PARAMETERS {
        newton::solve(&problem)
    } else {
        accelerated::solve(&problem, accelerated::MAX_STEPS)
    }
}

/// The mean square of the norm of a row.
fn mean_square(data: &Dataset) -> f64 {
    data.features().iter().map(|value| value * value).sum::<f64>() / data.len() as f64
}

/// The radius of the ball that replaces ℝᵈ: scores could reach [`MAX_SCORE`].
fn search_radius(data: &Dataset) -> f64 {
    let mean_norm = mean_square(data).sqrt();
    if mean_norm > 0.0 { (MAX_SCORE / mean_norm).min(1e100) } else { 1.0 }
}

/// The least value of ⟨g, θ⟩ over a set and the point that attains it, or `None` if there is none.
/// This is the best fixed point for linear losses with sum g.
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
