//! Adversaries with linear losses.

use evertally::internals::noise::WhiteNoise;
use evertally::{NoiseKey, Result};

use super::{Adversary, Move};
use crate::positive;
use crate::set::{Set, norm};

/// A vector of this length in a direction. For a direction of zero, it lies along the first
/// coordinate.
fn along(direction: &[f64], length: f64, into: &mut Vec<f64>) {
    into.clear();
    let norm = norm(direction);
    if norm > 0.0 {
        into.extend(direction.iter().map(|value| length * (value / norm)));
    } else {
        into.resize(direction.len(), 0.0);
        into.iter_mut().take(1).for_each(|first| *first = length);
    }
}

/// A gradient of norm κ along θ_t, whose loss there is κ‖θ_t‖.
#[derive(Debug, Clone)]
pub struct Greedy {
    clip: f64,
    gradient: Vec<f64>,
}

impl Greedy {
    /// With gradients of this norm.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] unless it is positive and finite.
    pub fn new(clip: f64) -> Result<Self> {
        Ok(Self { clip: positive("clip", clip)?, gradient: Vec::new() })
    }
}

impl Adversary for Greedy {
    fn next(&mut self, theta: &[f64]) -> Move<'_> {
        along(theta, self.clip, &mut self.gradient);
        Move::Linear(&self.gradient)
    }
}

/// Gradients ±κ along each coordinate in turn, with independent random signs. Every player has an
/// expected loss of zero. The best fixed point gains the length of the sum, about κ√n.
#[derive(Clone)]
pub struct RandomWalk {
    clip: f64,
    white: WhiteNoise,
    step: u64,
    gradient: Vec<f64>,
}

impl RandomWalk {
    /// With gradients of this norm, and signs from a seed that anyone can guess.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] unless the norm is positive and finite.
    pub fn insecure_from_seed(clip: f64, seed: u64) -> Result<Self> {
        let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(seed).stream(b"random walk"));
        Ok(Self { clip: positive("clip", clip)?, white, step: 0, gradient: Vec::new() })
    }
}

impl Adversary for RandomWalk {
    fn next(&mut self, theta: &[f64]) -> Move<'_> {
        self.gradient.clear();
        self.gradient.resize(theta.len(), 0.0);
        let coordinate = (self.step % theta.len().max(1) as u64) as usize;
        if let Some(entry) = self.gradient.get_mut(coordinate) {
            *entry = self.clip.copysign(self.white.draw(self.step));
        }
        self.step += 1;
        Move::Linear(&self.gradient)
    }
}

/// Knows λ, so it can compute what the regularised leader would play without noise. The difference
/// is the noise, and it chooses gradients along it. In the last steps it pushes the sum of
/// gradients to the length λB, where the fixed point of norm B is hardest to compete with.
#[derive(Debug, Clone)]
pub struct Exploiter {
    clip: f64,
    lambda: f64,
    distance: f64,
    steps_left: u64,
    set: Set,
    sum: Vec<f64>,
    gradient: Vec<f64>,
}

impl Exploiter {
    /// Plays `steps` steps against the regularised leader from the origin with this λ and set, for
    /// a fixed point of norm `distance`.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] unless all numbers are positive and finite.
    pub fn new(clip: f64, lambda: f64, distance: f64, steps: u64, set: Set) -> Result<Self> {
        let (lambda, distance) = (positive("lambda", lambda)?, positive("distance", distance)?);
        let clip = positive("clip", clip)?;
        Ok(Self { clip, lambda, distance, steps_left: steps, set, sum: Vec::new(), gradient: Vec::new() })
    }
}

impl Adversary for Exploiter {
    fn next(&mut self, theta: &[f64]) -> Move<'_> {
        self.sum.resize(theta.len(), 0.0);
        let missing = self.lambda * self.distance - norm(&self.sum);
        let left = self.clip * self.steps_left.saturating_sub(1) as f64;
        if missing.abs() > left {
            along(&self.sum, self.clip.copysign(missing), &mut self.gradient);
        } else {
            let mut noiseless: Vec<f64> = self.sum.iter().map(|value| -value / self.lambda).collect();
            self.set.project(&mut noiseless);
            let noise: Vec<f64> = theta.iter().zip(&noiseless).map(|(played, own)| played - own).collect();
            if norm(&noise) > 1e-9 * norm(theta) {
                along(&noise, self.clip, &mut self.gradient);
            } else {
                // Without noise, alternate the sign.
                along(&self.sum, -self.clip, &mut self.gradient);
            }
        }
        self.steps_left = self.steps_left.saturating_sub(1);
        self.sum.iter_mut().zip(&self.gradient).for_each(|(sum, value)| *sum += value);
        Move::Linear(&self.gradient)
    }
}
