//! How much noise a threshold must be above.
//!
//! **Definition.** Let z_t be the noise of one key at step t of n, and s_t its standard deviation. For a
//! probability p, [`Levels`] are numbers u_t = c·s_t with P(z_t ≥ u_t at any step) ≤ p.
//!
//! **Guarantee.** c is rounded up, and the bound holds for the noise that runs.
//!
//! *The maximum.* Let X_t = z_t/s_t be standard normal and A_t = {X_t ≥ c}. For any events,
//!
//! > P(A_1 ∪ … ∪ A_n) = P(A_1) + Σ_{t>1} P(A_t without A_1, …, A_{t−1}) ≤ Σ P(A_t) − Σ_{t>1} P(A_{t−1} ∩ A_t),
//!
//! because a step at which the noise is still above was not crossed (Hunter, 1976, with the steps in
//! order as the tree). Leaving out some of the joint probabilities makes the bound larger, so they are
//! subtracted for the first [`MAX_JOINT`] steps only, and the rest is the union bound. This needs no
//! inequality for the maximum of Gaussians, which has a direction that could be wrong.
//!
//! *The joint probability* is rounded down. It increases with the correlation ρ of X_{t−1} and X_t
//! (Slepian, 1962), so ρ is rounded down by far more than its error, and nothing is subtracted unless
//! ρ > 0. For ρ > 0, P(X_t ≥ c | X_{t−1} = x) increases with x. On each cell of a partition of [c, ∞)
//! it is therefore at least its value at the left end, and the last cell, which has no end, is left
//! out.
//!
//! *The noise that runs* is not Gaussian: draws are integers, and the filter rounds. The draws of a key
//! are within κ, in total variation, of rounded Gaussian draws (docs/exact.md), and p is reduced by κ
//! before c is computed. Rounding a draw moves it by at most ½. In N(z)_t these parts add up to at most
//! ½√n·‖L̃_t‖ ≤ ½√n·‖L_t‖, because the diagonal of L is at least one, and the filter adds its own η.
//! u_t is raised by η + √n·‖L_t‖. Draws have the standard deviation ⌈s·L_tt⌉, which is larger than s·L_tt
//! by a relative 2⁻³⁰ at most. u_t is raised by more.
//!
//! **Source.** Hunter, *An upper bound for the probability of a union* (1976); Slepian, *The one-sided
//! barrier problem for Gaussian noise* (1962).

use std::f64::consts::SQRT_2;

use crate::factorization::{Factorization, IntegerDecoder};
use crate::noise::integer::filter_rounding;
use crate::plan::Plan;
use crate::privacy::round_up;
use crate::{Error, Result};

/// The steps whose joint probabilities are computed. Each takes some microseconds.
const MAX_JOINT: u64 = 2048;

/// Cells of the partition, and their width times c.
const CELLS: usize = 64;
const CELL_WIDTH: f64 = 0.125;

/// By how much a correlation is rounded down.
const CORRELATION_MARGIN: f64 = 1e-6;

/// By how much a probability is moved to the safe side. The error function has a relative error of 10⁻¹⁵,
/// and differences of its values lose one digit.
const PROBABILITY_MARGIN: f64 = 1e-9;

/// The smallest probability of one step. Below it the error function would underflow.
const MIN_PROBABILITY: f64 = 1e-290;

/// By how much levels are raised for the rounding of standard deviations.
const LEVEL_MARGIN: f64 = 1.0 / (1_u64 << 28) as f64;

/// Numbers that the noise of one key exceeds at any step with a bounded probability only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Levels {
    quantile: f64,
    /// η, in units.
    rounding: f64,
}

impl Levels {
    /// The levels of a plan of open keys for this probability.
    ///
    /// # Errors
    /// `BadParameter` if the probability is too small to be computed with, `Unsupported` if the noise is
    /// not made of integers.
    pub(super) fn new(plan: &Plan, probability: f64) -> Result<Self> {
        let factorization = plan.factorization();
        let Some((IntegerDecoder::Filter { recipe, .. }, exact)) = factorization.integer().zip(plan.exact())
        else {
            let reason = "keys are found by exact counts of persons, and its noise is not made of integers";
            return Err(Error::unsupported(plan.mechanism(), reason));
        };
        // A count is added to noise that was rounded to the grid of ones. That hides the count only if the
        // noise itself is on a grid that is no coarser.
        if exact.unit.bits_to(1.0).is_none() {
            return Err(Error::unsupported(
                plan.mechanism(),
                "its noise is in units of more than one person",
            ));
        }
        let steps = plan.horizon();
        let left = (probability - plan.total_variation()).next_down() * (1.0 - PROBABILITY_MARGIN);
        // Also refuses what is not a number.
        if !(left / steps as f64 >= MIN_PROBABILITY && left > probability / 2.0) {
            let expected = "large enough to be divided among all steps and keys of a person";
            return Err(Error::bad("key_delta", expected, format!("{probability:.1e} for each key")));
        }
        Ok(Self {
            quantile: quantile(left, &correlations(factorization), steps),
            rounding: filter_rounding(&recipe, steps),
        })
    }

    pub(super) fn quantile(self) -> f64 {
        self.quantile
    }

    /// u_t, in persons.
    pub(super) fn noise_below(self, plan: &Plan, step: u64) -> Result<f64> {
        let Some(exact) = plan.exact() else {
            return Err(Error::unsupported(plan.mechanism(), "keys are found by exact counts"));
        };
        plan.spread(step)?;
        let norm = plan.factorization().row_norm_squared(step).sqrt();
        let deviation = exact.scale * norm;
        let roundings = self.rounding + (plan.horizon() as f64).sqrt() * norm + 1.0;
        let units = round_up(self.quantile * deviation, LEVEL_MARGIN) + roundings;
        Ok(round_up(exact.unit.value(1) * units, LEVEL_MARGIN))
    }
}

/// The correlations of the noise at consecutive steps, rounded down.
fn correlations(factorization: &dyn Factorization) -> Vec<f64> {
    let steps = factorization.horizon().min(MAX_JOINT);
    let mut before = factorization.row_norm_squared(0);
    (1..steps)
        .map(|step| {
            let here = factorization.row_norm_squared(step);
            let apart = factorization.difference_norm_squared(step - 1, step);
            let correlation = (before + here - apart) / (2.0 * (before * here).sqrt());
            before = here;
            correlation - CORRELATION_MARGIN
        })
        .collect()
}

/// The least c at which [`shown_above`] is at most p, rounded up.
fn quantile(p: f64, correlations: &[f64], steps: u64) -> f64 {
    const HALVINGS: u32 = 30;
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        // The joint probabilities take long, and lower the union bound to no less than one step's.
        let is_within = tail(middle) <= p
            && (steps as f64 * tail(middle) <= p || shown_above(middle, correlations, steps) <= p);
        if is_within { high = middle } else { low = middle }
    }
    high
}

/// An upper bound on the probability that one of standard normal variables with these correlations of
/// neighbours reaches c.
fn shown_above(c: f64, correlations: &[f64], steps: u64) -> f64 {
    let joint: f64 = correlations.iter().map(|correlation| joint_tail(c, *correlation)).sum();
    let union = steps as f64 * tail(c);
    (union - joint * (1.0 - PROBABILITY_MARGIN)) + union * PROBABILITY_MARGIN
}

/// P(X ≥ c) for a standard normal X, rounded up.
fn tail(c: f64) -> f64 {
    round_up(0.5 * libm::erfc(c / SQRT_2), PROBABILITY_MARGIN)
}

/// A lower bound on P(X ≥ c, Y ≥ c) for standard normal X and Y with at least this correlation.
fn joint_tail(c: f64, correlation: f64) -> f64 {
    if correlation <= 0.0 {
        return 0.0;
    }
    let rest = ((1.0 - correlation) * (1.0 + correlation)).max(0.0).sqrt();
    let width = CELL_WIDTH / c.max(1.0);
    let above = |x: f64| libm::erfc(x / SQRT_2);
    let mut sum = 0.0;
    let (mut left, mut left_tail) = (c, above(c));
    for cell in 1..=CELLS {
        let right = c + width * cell as f64;
        let right_tail = above(right);
        let given = if rest == 0.0 { 2.0 } else { above((c - correlation * left) / rest) };
        sum += 0.25 * (left_tail - right_tail) * given;
        (left, left_tail) = (right, right_tail);
    }
    sum * (1.0 - PROBABILITY_MARGIN)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Budget, Mechanism};

    /// P(X ≥ c, Y ≥ c) by the trapezoidal rule over ρ, from Plackett's identity: its derivative in ρ is
    /// the density at (c, c).
    pub(in crate::discovery) fn joint_by_plackett(c: f64, correlation: f64) -> f64 {
        const PARTS: usize = 20_000;
        // With ρ = sin θ the integrand is bounded at ρ = 1.
        let end = correlation.asin();
        let density = |angle: f64| (-c * c / (1.0 + angle.sin())).exp() / std::f64::consts::TAU;
        let width = end / PARTS as f64;
        let inner: f64 = (1..PARTS).map(|part| density(part as f64 * width)).sum();
        (0.5 * libm::erfc(c / SQRT_2)).powi(2) + width * (inner + 0.5 * (density(0.0) + density(end)))
    }

    #[test]
    fn joint_probabilities_are_rounded_down_and_not_by_much() {
        for c in [0.0, 0.5, 2.0, 4.0, 6.0, 9.0] {
            for correlation in [0.1, 0.5, 0.8, 0.95, 0.99, 0.9999] {
                let (bound, truth) = (joint_tail(c, correlation), joint_by_plackett(c, correlation));
                assert!(bound <= truth * (1.0 + 1e-7), "{c} {correlation}: {bound} {truth}");
                assert!(bound >= 0.5 * truth, "{c} {correlation}: {bound} {truth}");
            }
        }
        assert_eq!(joint_tail(3.0, -0.5), 0.0);
        assert_eq!(joint_tail(3.0, 0.0), 0.0);
    }

    /// The threshold must not fall anywhere as the horizon grows past the steps whose joint probabilities
    /// are computed.
    #[test]
    fn the_bound_is_between_one_step_and_the_union_at_every_horizon() {
        for steps in [1_u64, 2, 5, 100, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 1 << 20, 1 << 40] {
            let known = steps.min(MAX_JOINT) as usize - 1;
            let mut last = f64::INFINITY;
            for correlation in [0.0, 0.5, 0.9, 0.999] {
                let bound = shown_above(5.0, &vec![correlation; known], steps);
                assert!(bound <= steps as f64 * tail(5.0) * (1.0 + 2e-9), "{steps}");
                assert!(bound >= tail(5.0) * (1.0 - 1e-8), "{steps} {correlation}");
                assert!(bound <= last, "{steps}: more correlation, less to cross");
                last = bound;
            }
        }
    }

    #[test]
    fn more_steps_never_have_a_lower_quantile() {
        let mut last = 0.0;
        for steps in [1_u64, 2, 3, 10, 100, 1000, 2048, 2049, 3000, 1 << 20] {
            let known = steps.min(MAX_JOINT) as usize - 1;
            let c = quantile(1e-9, &vec![0.95; known], steps);
            assert!(c > last, "{steps}");
            assert!(shown_above(c, &vec![0.95; known], steps) <= 1e-9);
            last = c;
        }
    }

    #[test]
    fn correlations_are_those_of_the_dense_matrix() {
        for mechanism in [Mechanism::SquareRoot, Mechanism::GradedSquareRoot { decays: None }] {
            let budget = Budget::new(1.0, 1e-6).unwrap();
            let plan = Plan::prefix_sum(40).budget(budget).mechanism(mechanism).open_keys().build().unwrap();
            let decoder = plan.dense().unwrap().decoder;
            let product =
                |s: usize, t: usize| (0..40).map(|i| decoder[(s, i)] * decoder[(t, i)]).sum::<f64>();
            for (before, correlation) in correlations(plan.factorization()).into_iter().enumerate() {
                let t = before + 1;
                let expected = product(before, t) / (product(before, before) * product(t, t)).sqrt();
                assert!((expected - correlation - CORRELATION_MARGIN).abs() < 1e-8, "{mechanism} {t}");
                assert!(correlation < expected);
                assert!(decoder[(t, t)] >= 1.0 - 1e-9, "the diagonal is at least one");
            }
        }
    }
}
