//! The integer sampler by itself, for `cargo xtask bench exact`. Counters reach it only through
//! their plans.

use super::{IntegerLaw, IntegerNoise};
use crate::noise::{LaneTag, StreamKey};

/// Integer draws of several lanes. Not part of the interface.
#[doc(hidden)]
#[derive(Debug)]
pub struct IntegerDraws {
    noise: IntegerNoise,
    lanes: Vec<LaneTag>,
}

impl IntegerDraws {
    /// Discrete Gaussian draws of `lanes` lanes, named by the numbers from 0.
    #[must_use]
    pub fn gaussian(stream: StreamKey, lanes: u32) -> Self {
        Self::new(IntegerNoise::new(stream, IntegerLaw::Gaussian), lanes)
    }

    /// The same with discrete Laplace draws.
    #[must_use]
    pub fn laplace(stream: StreamKey, lanes: u32) -> Self {
        Self::new(IntegerNoise::new(stream, IntegerLaw::Laplace), lanes)
    }

    fn new(noise: IntegerNoise, lanes: u32) -> Self {
        let mut tagger = noise.tagger();
        let lanes = (0..lanes).map(|lane| tagger.tag(&lane.to_le_bytes())).collect();
        Self { noise, lanes }
    }

    /// One draw of every lane.
    pub fn each(&self, index: u64, scale: u64, out: &mut [i64]) {
        self.noise.draw_each(&self.lanes, index, scale, out);
    }

    /// One draw of one lane.
    #[must_use]
    pub fn one(&self, lane: usize, index: u64, scale: u64) -> i64 {
        self.noise.draw(self.lanes[lane], index, scale)
    }

    /// Consecutive draws of one lane.
    pub fn steps(&self, lane: usize, first: u64, scales: &[u64], out: &mut [i64]) {
        self.noise.draw_steps(self.lanes[lane], first, scales, out);
    }
}
