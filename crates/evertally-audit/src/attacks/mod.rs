//! The attacks, one file each.

pub(crate) mod covariance;
pub(crate) mod game;
pub(crate) mod low_bits;
pub(crate) mod one_run;
pub(crate) mod replay;
pub(crate) mod timing;

use evertally::privacy::NoiseKind;

use crate::calibration::{allowed_separation, epsilon_of_separation};
use crate::subject::Promise;

/// The budget of a subject's promise, as numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Target {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    /// μ = 1/σ: the allowed separation of neighbours in standard deviations of the noise, by the
    /// audit's own calibration.
    pub(crate) mu: f64,
    pub(crate) noise: NoiseKind,
}

/// The δ for a budget without one.
const DEFAULT_DELTA: f64 = 1e-6;

impl Target {
    /// Computed from (ε, δ), ρ or ε alone, without the σ of the plan or the budget.
    pub(crate) fn of(promise: &Promise) -> Self {
        let budget = promise.budget;
        let mu = allowed_separation(&budget);
        let delta = budget.delta().unwrap_or(DEFAULT_DELTA);
        let epsilon = budget.epsilon().unwrap_or_else(|| epsilon_of_separation(mu, delta));
        Self { epsilon, delta, mu, noise: budget.noise() }
    }

    /// The degrees of freedom of sums of squares, relative to those of normal noise. The excess
    /// kurtosis of Laplace noise is 3, and that of any weighted sum is smaller, so a square has at
    /// most (2 + 3)/2 times the variance of the normal one.
    pub(crate) fn freedom(&self) -> f64 {
        match self.noise {
            NoiseKind::Gaussian => 1.0,
            NoiseKind::Laplace => 0.4,
        }
    }

    /// The largest separation of neighbours that passes. For Gaussian noise it is what the budget
    /// allows. The separation of Laplace noise implies no ε, and is compared with the declared one.
    pub(crate) fn separation_limit(&self, declared: f64) -> f64 {
        match self.noise {
            NoiseKind::Gaussian => self.mu,
            NoiseKind::Laplace => declared,
        }
    }
}

/// ln((p − δ)/q) for an event with probability at least p on one stream and at most q on its
/// neighbour. Zero if that proves nothing.
pub(crate) fn epsilon_of_event(at_least: f64, at_most: f64, delta: f64) -> f64 {
    let excess = at_least - delta;
    if excess > at_most { (excess / at_most).ln() } else { 0.0 }
}
