//! Integer white noise of several lanes: one draw for every (index, lane).

use std::ops::Range;

use zeroize::Zeroize;

use super::IntegerNoise;
use crate::Result;
use crate::noise::field::distinct_tags;
use crate::noise::{LaneTag, WhiteField};

/// The draws of named lanes. The draws of a lane do not depend on the other lanes.
pub(crate) struct IntegerField {
    noise: IntegerNoise,
    tags: Vec<LaneTag>,
}

impl IntegerField {
    /// # Errors
    /// [`crate::Error::BadParameter`] if two lanes would share their noise.
    pub(crate) fn new<'a>(noise: IntegerNoise, names: impl Iterator<Item = &'a str>) -> Result<Self> {
        Ok(Self { tags: distinct_tags(noise.tagger(), names)?, noise })
    }

    pub(crate) fn width(&self) -> usize {
        self.tags.len()
    }

    /// Writes the draw with this index for some lanes.
    pub(crate) fn draw(&self, index: u64, scale: u64, lanes: Range<usize>, out: &mut [i64]) {
        self.noise.draw_each(&self.tags[lanes], index, scale, out);
    }

    /// Writes the draws from index `first` of one lane, one per scale.
    pub(crate) fn column(&self, lane: usize, first: u64, scales: &[u64], out: &mut [i64]) {
        self.noise.draw_steps(self.tags[lane], first, scales, out);
    }
}

/// The same draws, all of one scale, as doubles. They are exact, because they are integers below
/// 2^53. Sums that stay below 2^53 are exact too.
pub(crate) struct AsDoubles {
    pub(crate) field: IntegerField,
    pub(crate) scale: u64,
}

impl WhiteField for AsDoubles {
    fn width(&self) -> usize {
        self.field.width()
    }

    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        let mut draws = vec![0; lanes.len()];
        for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
            self.field.draw(index, self.scale, lanes.clone(), &mut draws);
            for (value, draw) in row.iter_mut().zip(&draws) {
                *value = *draw as f64;
            }
        }
        draws.zeroize();
    }

    fn is_family(&self) -> bool {
        true
    }
}
