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

/// The budget that a subject is held to, as numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Target {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    /// μ = 1/σ: how many standard deviations of the noise may lie between neighbours, by the
    /// audit's own calibration.
    pub(crate) mu: f64,
    pub(crate) noise: NoiseKind,
}

/// The δ at which a budget without one is read.
const USUAL_DELTA: f64 = 1e-6;

impl Target {
    /// From (ε, δ), ρ or ε alone. Neither the plan's σ nor the budget's is read.
    pub(crate) fn of(promise: &Promise) -> Self {
        let budget = promise.budget;
        let mu = allowed_separation(&budget);
        let delta = budget.delta().unwrap_or(USUAL_DELTA);
        let epsilon = budget.epsilon().unwrap_or_else(|| epsilon_of_separation(mu, delta));
        Self { epsilon, delta, mu, noise: budget.noise() }
    }

    /// The share of degrees of freedom that sums of squares have, against those of normal noise.
    /// The excess kurtosis of Laplace noise is 3, and that of any weighted sum of it is smaller, so
    /// that a square has at most (2 + 3)/2 times the normal one's variance.
    pub(crate) fn freedom(&self) -> f64 {
        match self.noise {
            NoiseKind::Gaussian => 1.0,
            NoiseKind::Laplace => 0.4,
        }
    }

    /// The largest separation of neighbours that passes: what the budget allows of Gaussian noise.
    /// The separation of Laplace noise says nothing of ε, and is held against the declared one.
    pub(crate) fn separation_limit(&self, declared: f64) -> f64 {
        match self.noise {
            NoiseKind::Gaussian => self.mu,
            NoiseKind::Laplace => declared,
        }
    }
}

/// ln((p − δ)/q) of an event that has probability p at least on one stream and q at most on its
/// neighbour; zero where that proves nothing.
pub(crate) fn epsilon_of_event(at_least: f64, at_most: f64, delta: f64) -> f64 {
    let excess = at_least - delta;
    if excess > at_most { (excess / at_most).ln() } else { 0.0 }
}
