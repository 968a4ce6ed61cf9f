//! Whole white noise of several lanes: one draw for every (index, lane).

use std::ops::Range;

use zeroize::Zeroize;

use super::IntegerNoise;
use crate::Result;
use crate::noise::field::check_tags;
use crate::noise::{LaneTag, WhiteField};

/// The draws of named lanes. A lane's do not depend on which others there are.
pub(crate) struct IntegerField {
    noise: IntegerNoise,
    tags: Vec<LaneTag>,
}

impl IntegerField {
    /// # Errors
    /// [`crate::Error::BadParameter`] where two lanes would share their noise.
    pub(crate) fn new<'a>(noise: IntegerNoise, names: impl Iterator<Item = &'a str>) -> Result<Self> {
        let mut tagger = noise.tagger();
        let tags: Vec<LaneTag> = names.map(|name| tagger.tag(name.as_bytes())).collect();
        check_tags(&tags)?;
        Ok(Self { noise, tags })
    }

    pub(crate) fn width(&self) -> usize {
        self.tags.len()
    }

    /// The draw with this index of some lanes.
    pub(crate) fn draw(&self, index: u64, scale: u64, lanes: Range<usize>, out: &mut [i64]) {
        self.noise.draw_each(&self.tags[lanes], index, scale, out);
    }

    /// The draws from `first` on of one lane, one for each scale.
    pub(crate) fn column(&self, lane: usize, first: u64, scales: &[u64], out: &mut [i64]) {
        self.noise.draw_steps(self.tags[lane], first, scales, out);
    }
}

/// The same draws, all of one scale, as doubles: exact, as whole numbers below 2^53 are. What adds
/// them up, and stays below, is exact too.
pub(crate) struct AsDoubles {
    pub(crate) field: IntegerField,
    pub(crate) scale: u64,
}

impl WhiteField for AsDoubles {
    fn width(&self) -> usize {
        self.field.width()
    }

    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        let mut whole = vec![0; lanes.len()];
        for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
            self.field.draw(index, self.scale, lanes.clone(), &mut whole);
            for (value, draw) in row.iter_mut().zip(&whole) {
                *value = *draw as f64;
            }
        }
        whole.zeroize();
    }

    fn is_family(&self) -> bool {
        true
    }
}
