//! The attacks, one file each.

pub(crate) mod covariance;
pub(crate) mod game;
pub(crate) mod low_bits;
pub(crate) mod one_run;
pub(crate) mod replay;
pub(crate) mod timing;

use evertally::Result;
use evertally::privacy::{NoiseKind, gaussian_epsilon};

use crate::subject::Promise;

/// The budget that a subject is held to, as numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Target {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    /// σ, the noise at sensitivity one.
    pub(crate) multiplier: f64,
    pub(crate) noise: NoiseKind,
}

/// The δ at which a budget without one is read.
const USUAL_DELTA: f64 = 1e-6;

impl Target {
    pub(crate) fn of(promise: &Promise) -> Result<Self> {
        let budget = promise.budget;
        let multiplier = budget.noise_multiplier();
        let delta = budget.delta().unwrap_or(USUAL_DELTA);
        let epsilon = budget.epsilon().map_or_else(|| gaussian_epsilon(multiplier, delta), Ok)?;
        Ok(Self { epsilon, delta, multiplier, noise: budget.noise() })
    }

    /// The share of degrees of freedom that sums of squares have, against those of normal noise. The excess kurtosis of Laplace noise is 3,
    /// and that of any weighted sum of it is smaller, so that a square has at most (2 + 3)/2 times the normal one's variance.
    pub(crate) fn freedom(&self) -> f64 {
        match self.noise {
            NoiseKind::Gaussian => 1.0,
            NoiseKind::Laplace => 0.4,
        }
    }
}

/// ε at δ of two normal laws that lie so many standard deviations apart, as far as the library reaches.
pub(crate) fn epsilon_of_separation(separation: f64, delta: f64) -> Result<f64> {
    const SMALLEST: f64 = 1e-12;
    const LARGEST: f64 = 1e6;
    if separation <= SMALLEST { Ok(0.0) } else { gaussian_epsilon(1.0 / separation.min(LARGEST), delta) }
}

/// ln((p − δ)/q) of an event that has probability p at least on one stream and q at most on its neighbour; zero where that proves
/// nothing.
pub(crate) fn epsilon_of_event(at_least: f64, at_most: f64, delta: f64) -> f64 {
    let excess = at_least - delta;
    if excess > at_most { (excess / at_most).ln() } else { 0.0 }
}
