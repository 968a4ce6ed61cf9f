//! Lanes that are each at their own step, and are advanced on demand.
//!
//! **Guarantee.** The numbers of a lane are those of the same lane in [`super::FilterCorrelator`].
//! They do not depend on the steps at which it was advanced: both take the same steps of
//! [`super::Filter`], in which lanes do not interact.

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::IntegerNoise;
use super::filter::{Filter, are_within_reach};
use super::steps::{StepNumbers, StepReader};
use crate::noise::LaneTag;

/// Steps whose numbers are in memory at a time.
const WAVE: u64 = 4096;

/// A lane with its numbers, the number of steps it has made, and the noise of the last of them.
pub(crate) struct IntegerLane {
    tag: LaneTag,
    made: u64,
    numbers: Zeroizing<Vec<i128>>,
    noise: Zeroizing<i128>,
}

impl IntegerLane {
    /// Restores a lane from the words of its numbers, two per number.
    pub(crate) fn new(tag: LaneTag, made: u64, words: &[u64]) -> Self {
        Self { tag, made, numbers: Zeroizing::new(numbers(words).collect()), noise: Zeroizing::new(0) }
    }

    /// Whether these words could be those of a lane.
    pub(crate) fn is_within_reach(words: &[u64]) -> bool {
        numbers(words).all(|number| are_within_reach(&[number]))
    }

    /// The noise of the last step made.
    pub(crate) fn noise(&self) -> i128 {
        *self.noise
    }

    /// The numbers of the lane as words.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.numbers.iter().flat_map(|number| [*number as u64, (number >> 64) as u64])
    }
}

/// Converts words to numbers, two words per number.
fn numbers(words: &[u64]) -> impl Iterator<Item = i128> {
    words.as_chunks().0.iter().map(|[low, high]| (u128::from(*high) << 64 | u128::from(*low)) as i128)
}

/// Advances lanes.
pub(crate) struct IntegerLanes {
    filter: Filter,
    steps: StepReader,
    noise: IntegerNoise,
}

impl IntegerLanes {
    pub(crate) fn new(filter: Filter, steps: StepReader, noise: IntegerNoise) -> Self {
        Self { filter, steps, noise }
    }

    /// The number of numbers that a lane holds.
    pub(crate) fn rows(&self) -> usize {
        self.filter.rows()
    }

    /// The white noise of the lanes.
    pub(crate) fn noise(&self) -> &IntegerNoise {
        &self.noise
    }

    /// Advances all lanes to the point where `to` steps are made, and leaves them with the noise of
    /// the last step. Every lane must be behind that point.
    pub(crate) fn advance(&mut self, lanes: &mut [IntegerLane], to: u64) {
        let Some(mut start) = lanes.iter().map(|lane| lane.made).min() else { return };
        while start < to {
            let end = to.min(start + WAVE);
            let numbers: Vec<StepNumbers> = (start..end).map(|step| self.steps.at(step)).collect();
            let (filter, noise) = (&self.filter, &self.noise);
            lanes.par_iter_mut().with_min_len(8).for_each(|lane| {
                while lane.made < end {
                    let numbers = &numbers[(lane.made - start) as usize];
                    let z = i128::from(noise.draw(lane.tag, lane.made, numbers.scale));
                    *lane.noise = filter.step(&mut lane.numbers, numbers, |_| z);
                    lane.made += 1;
                }
            });
            start = end;
        }
    }
}
