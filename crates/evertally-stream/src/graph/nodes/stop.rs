//! The private step at which a count stops.
//!
//! **Definition.** There is one draw ρ for the threshold T, and one draw ν for each step. The count stops at
//! the first step with h + ν ≥ T + ρ, where h is the height after that step. All draws have the discrete
//! Laplace law P(x) ∝ exp(−|x|/s), in units of 2^−20, with s = ⌈2·2^20/ε⌉.
//!
//! **Guarantee.** The step is ε-private if neighbours have heights that differ by zero or one, at all steps
//! in the same direction: ε/2 for the threshold and ε/2 for all steps together. At a step with h ≥ ℓ it has
//! stopped, except with probability [`StopTest::delta`]: that of ρ − ν > ℓ − T. While no more than the
//! declared number of nodes exceed the bound, a stop in any of all steps has a probability of at most 1 %.
//! `docs/graphs.md` has the proofs.
//!
//! **Source.** Dwork, Naor, Reingold, Rothblum and Vadhan (2009), for the sparse vector technique; Lyu, Su
//! and Li, *Understanding the sparse vector technique* (2017), for monotone queries.

use crate::error::{Error, Result};
use evertally::Spend;
use evertally::internals::noise::{IntegerLaw, IntegerNoise, NoiseKey};

/// Units of noise in one node.
const UNIT: u64 = 1 << 20;
/// The largest scale of noise, in units.
const MAX_SCALE: u64 = 1 << 44;
/// The largest probability of a stop without a cause.
const NEEDLESS: f64 = 0.01;

/// Stops a count before one node could change too much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopTest {
    unit: u64,
    scale: u64,
    may_exceed: u32,
    threshold: u32,
    limit: u32,
    epsilon: f64,
    delta: f64,
}

impl StopTest {
    /// A test for so many steps, which `may_exceed` nodes with any number of edges do not trigger.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] unless 0 < δ < 1, and for an ε that is not above zero, or so small
    /// that the noise would be larger than what can be drawn.
    pub fn new(steps: u64, may_exceed: u32, epsilon: f64, delta: f64) -> Result<Self> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::bad("delta", "above 0 and below 1", delta));
        }
        let wanted = 2.0 * UNIT as f64 / epsilon;
        if !(epsilon > 0.0 && epsilon <= 1000.0 && wanted < MAX_SCALE as f64) {
            return Err(Error::bad("epsilon", "from 1e-6 to 1000 for the test of degrees", epsilon));
        }
        // One more than the quotient, so that roundings make the noise larger.
        let scale = wanted as u64 + 1;
        let needless = |nodes: u32| steps as f64 * upper_tail(scale, u64::from(nodes) * UNIT);
        let missed = |nodes: u32| upper_tail(scale, u64::from(nodes) * UNIT + 1);
        let above = first(|nodes| needless(nodes) <= NEEDLESS);
        let missing = first(|nodes| missed(nodes) <= delta);
        let threshold = above.max(1).checked_add(may_exceed);
        let limit = threshold.and_then(|threshold| threshold.checked_add(missing.max(1)));
        match (threshold, limit) {
            (Some(threshold), Some(limit)) => {
                let delta = missed(limit - threshold);
                Ok(Self { unit: UNIT, scale, may_exceed, threshold, limit, epsilon, delta })
            }
            _ => Err(Error::bad("the nodes that may exceed the bound", "fewer", may_exceed)),
        }
    }

    /// How many nodes may exceed the bound without a stop.
    #[must_use]
    pub fn may_exceed(&self) -> u32 {
        self.may_exceed
    }

    /// The height at which a stop is as likely as not.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// ℓ: no step of a graph of this height or more is counted, except with the probability
    /// [`StopTest::delta`].
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The scale of each draw, in units of 2^−20 nodes.
    #[must_use]
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// ε of the step at which the count stops.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The probability of no stop by the first step that must not be counted, rounded up.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// What it costs: the pure ε of the stop, and the δ of a missed stop, which is added to every δ.
    ///
    /// # Errors
    /// As [`Spend::new`].
    pub fn spend(&self) -> Result<Spend> {
        Ok(Spend::new(0.0, self.epsilon, 0.0)?.with_key_delta(self.delta)?)
    }

    /// The first step that is not counted, of the heights after each step. The noise is that of this label,
    /// which must not be used for anything else.
    #[must_use]
    pub fn first_stop(&self, heights: &[u64], key: &NoiseKey, label: &[u8]) -> Option<u64> {
        let noise = IntegerNoise::new(key.stream(label), IntegerLaw::Laplace);
        let (of_threshold, of_steps) = (noise.tag(b"threshold"), noise.tag(b"step"));
        let threshold = noise.draw(of_threshold, 0, self.scale);
        let stops = |(step, height): (usize, &u64)| {
            self.stops(*height, threshold, noise.draw(of_steps, step as u64, self.scale))
        };
        heights.iter().enumerate().position(stops).map(|step| step as u64)
    }

    /// Whether the noisy height reaches the noisy threshold. Draws are below 2^52 in size.
    pub(super) fn stops(&self, height: u64, of_threshold: i64, of_step: i64) -> bool {
        let side = |nodes: u64, noise: i64| i128::from(nodes) * i128::from(self.unit) + i128::from(noise);
        side(height, of_step) >= side(u64::from(self.threshold), of_threshold)
    }

    /// A test with a coarse unit, of which all outcomes can be enumerated.
    #[cfg(test)]
    pub(super) fn coarse(unit: u64, scale: u64, threshold: u32, limit: u32) -> Self {
        let epsilon = 2.0 * unit as f64 / scale as f64;
        let delta = upper_tail(scale, u64::from(limit - threshold) * unit + 1);
        Self { unit, scale, may_exceed: 0, threshold, limit, epsilon, delta }
    }
}

/// The smallest number for which a condition holds, which then holds for all larger ones.
fn first(holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0_u32, u32::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// P(x + y ≥ n) for independent draws x and y of this scale, rounded up.
///
/// With r = exp(−1/s) and c = (1 − r)/(1 + r), P(x + y = n) is c² r^n (n + 1 + 2r²/(1 − r²)), and the sum
/// over all from n on is c² r^n (n + 1 + 2r²/(1 − r²) + r/(1 − r))/(1 − r). For r near one, the roundings of
/// r^n grow with n/s, which is below 745 where the result is not zero.
pub(super) fn upper_tail(scale: u64, n: u64) -> f64 {
    let s = scale as f64;
    let r = (-1.0 / s).exp();
    let below_one = -(-1.0 / s).exp_m1();
    let c = below_one / (1.0 + r);
    let pairs = n as f64 + 1.0 + 2.0 * r * r / (below_one * (1.0 + r)) + r / below_one;
    let tail = c * c * (-(n as f64) / s).exp() * pairs / below_one;
    (tail * (1.0 + 1e-9)).next_up()
}
