//! The record of one key in a page: its words as numbers.

use crate::counter::totals::carried;
use crate::key_record::{FIXED, Layout};
use crate::noise::LaneTag;

/// A tag as two words; the second has 24 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TagWords {
    pub(super) low: u64,
    high: u32,
}

impl From<LaneTag> for TagWords {
    fn from(tag: LaneTag) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k] = tag.to_bytes();
        Self { low: u64::from_le_bytes([a, b, c, d, e, f, g, h]), high: u32::from_le_bytes([i, j, k, 0]) }
    }
}

impl From<TagWords> for LaneTag {
    fn from(words: TagWords) -> Self {
        let [a, b, c, d, e, f, g, h] = words.low.to_le_bytes();
        let [i, j, k, _] = words.high.to_le_bytes();
        Self::from_bytes([a, b, c, d, e, f, g, h, i, j, k])
    }
}

/// A shared view of one record. It holds a true total, so there is no `Debug`.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) layout: Layout,
    pub(super) words: &'a [u64],
}

impl<'a> Record<'a> {
    /// The number of steps whose noise has been made.
    pub(super) fn made(self) -> u64 {
        self.words[0]
    }

    pub(super) fn tag(self) -> LaneTag {
        self.tag_words().into()
    }

    pub(super) fn tag_words(self) -> TagWords {
        TagWords { low: self.words[3], high: (self.words[4] & 0xFF_FFFF) as u32 }
    }

    pub(super) fn next(self) -> u32 {
        (self.words[4] >> 32) as u32
    }

    /// The stored total, and the number of steps it includes.
    pub(super) fn kept(self) -> (i128, u64) {
        let total = (u128::from(self.words[2]) << 64 | u128::from(self.words[1])) as i128;
        (total, if self.layout.decays() { self.words[FIXED] } else { 0 })
    }

    /// The total after `closed` steps. Decays of the steps without inputs are applied one by one, so
    /// the result is the same as if they had been applied in time.
    pub(super) fn total(self, closed: u64) -> i128 {
        let (mut total, mut step) = self.kept();
        if self.layout.decays() {
            while step < closed && total != 0 {
                total = carried(self.layout.workload(), total);
                step += 1;
            }
        }
        total
    }

    /// The words of the noise lane.
    pub(super) fn lane(self) -> &'a [u64] {
        &self.words[self.layout.head..]
    }
}

/// A mutable view of one record.
pub(super) struct RecordMut<'a> {
    pub(super) layout: Layout,
    pub(super) words: &'a mut [u64],
}

impl RecordMut<'_> {
    pub(super) fn set_lane(&mut self, made: u64, words: impl Iterator<Item = u64>) {
        self.words[0] = made;
        for (word, new) in self.words[self.layout.head..].iter_mut().zip(words) {
            *word = new;
        }
    }

    pub(super) fn set_total(&mut self, total: i128, step: u64) {
        self.words[1] = total as u64;
        self.words[2] = (total >> 64) as u64;
        if self.layout.decays() {
            self.words[FIXED] = step;
        }
    }

    pub(super) fn set_tag(&mut self, tag: TagWords, next: u32) {
        self.words[3] = tag.low;
        self.words[4] = u64::from(tag.high) | u64::from(next) << 32;
    }

    pub(super) fn set_next(&mut self, next: u32) {
        self.words[4] = self.words[4] & 0xFFFF_FFFF | u64::from(next) << 32;
    }
}
