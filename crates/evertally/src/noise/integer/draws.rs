//! Integer noise as a pure function of (stream key, law, lane tag, index, scale).
//!
//! **Definition.** The draw that `law` makes from the words of (lane, index) in `words`.
//!
//! **Guarantee.** A draw has the law exactly, under the usual assumptions on BLAKE3 and ChaCha20.
//! It is the same number on every machine and in every form of the call. It is independent of every
//! other (law, lane, index) and of all floating-point noise under the same stream key. The scale
//! does not affect the words, so drawing one (lane, index) at two scales gives the same noise
//! twice. The caller must use one scale only.
//!
//! **Cost.** One cipher block and one polynomial per draw, and an eighth of that again for rejected
//! proposals. For several lanes, or several steps of one lane, the blocks are made side by side, in
//! a third of the time. The time of a draw depends on the noise, never on data.
//!
//! **Source.** See `law`.

use std::borrow::Borrow;
use std::fmt;

use super::law::{IntegerLaw, ScaledLaw};
use super::words::{LaneWords, block_input, cipher_key};
use crate::noise::keyed::BLOCK_BITS;
use crate::noise::keystream::{BLOCK_WORDS, Group, INPUT, LANES, make_block, make_blocks, wipe};
use crate::noise::{LaneTag, StreamKey, Tagger};

/// Integer noise: a pure function of (stream key, law, lane tag, index, scale).
#[doc(hidden)]
#[derive(Clone)]
pub struct IntegerNoise {
    stream: StreamKey,
    /// The cipher key of first blocks at indices below 2⁴⁰.
    cipher: StreamKey,
    law: IntegerLaw,
}

impl IntegerNoise {
    /// The number of draws of a lane. Indices run from 0 to `DRAWS − 1`.
    pub const DRAWS: u64 = 1 << 60;
    /// Scales run from 1 to `SCALES − 1`.
    pub const SCALES: u64 = 1 << 52;

    /// The noise of this law under a stream key.
    #[must_use]
    pub fn new(stream: StreamKey, law: IntegerLaw) -> Self {
        Self { cipher: cipher_key(&stream, law, 0, 0), stream, law }
    }

    /// The tag of a name. It is the same for the same name and stream, for every law and for
    /// [`KeyedNoise`](crate::noise::KeyedNoise).
    #[must_use]
    pub fn tag(&self, name: &[u8]) -> LaneTag {
        LaneTag::of(&self.stream, name)
    }

    /// Derives the tags of many names, each in less time than [`tag`](Self::tag).
    #[must_use]
    pub fn tagger(&self) -> Tagger {
        Tagger::new(&self.stream)
    }

    /// Draw number `index` of a lane, at this scale.
    ///
    /// # Panics
    /// If the index or the scale is out of range: continuing would use the noise of another index,
    /// or not have the law.
    #[must_use]
    pub fn draw(&self, lane: LaneTag, index: u64, scale: u64) -> i64 {
        check(index, 1);
        let law = self.at(scale);
        let mut block = [0; BLOCK_WORDS];
        self.with_key(index, |key| make_block::<20>(key, block_input(lane, index), &mut block));
        let z = law.draw(&mut self.words(lane, index, &block, 1));
        wipe(&mut block);
        z
    }

    /// Writes the draw with this index of several lanes.
    ///
    /// # Panics
    /// If `out` does not have one place per lane, or as in [`draw`](Self::draw).
    pub fn draw_each(&self, lanes: &[LaneTag], index: u64, scale: u64, out: &mut [i64]) {
        assert_eq!(lanes.len(), out.len(), "one place for each lane");
        check(index, 1);
        let law = self.at(scale);
        self.draw_many(out, |i| (lanes[i], index), |_| &law);
    }

    /// Writes the draws `first`, `first + 1`, … of one lane, each at its own scale.
    ///
    /// # Panics
    /// If `out` does not have one place per scale, or as in [`draw`](Self::draw).
    pub fn draw_steps(&self, lane: LaneTag, first: u64, scales: &[u64], out: &mut [i64]) {
        assert_eq!(scales.len(), out.len(), "one place for each scale");
        check(first, out.len());
        self.draw_many(out, |i| (lane, first + i as u64), |i| self.at(scales[i]));
    }

    /// Draws these lanes and indices, with blocks made side by side.
    fn draw_many<L: Borrow<ScaledLaw>>(
        &self,
        out: &mut [i64],
        at: impl Fn(usize) -> (LaneTag, u64),
        law: impl Fn(usize) -> L,
    ) {
        let mut groups = [Group::default()];
        let mut done = 0;
        while done < out.len() {
            // Blocks that are made together share one key.
            let epoch = at(done).1 >> BLOCK_BITS;
            let left = (done..out.len()).take(LANES);
            let count = left.take_while(|&i| at(i).1 >> BLOCK_BITS == epoch).count();
            for i in 0..count {
                let (lane, index) = at(done + i);
                for (row, word) in groups[0][INPUT..].iter_mut().zip(block_input(lane, index)) {
                    row[i] = word;
                }
            }
            self.with_key(at(done).1, |key| make_blocks::<20>(key, &mut groups, count));
            let words = groups[0].as_flattened();
            for i in 0..count {
                let (lane, index) = at(done + i);
                let mut words = self.words(lane, index, &words[i..], LANES);
                out[done + i] = law(done + i).borrow().draw(&mut words);
            }
            done += count;
        }
        wipe(&mut groups);
    }

    fn at(&self, scale: u64) -> ScaledLaw {
        assert!((1..Self::SCALES).contains(&scale), "a scale is an integer from 1 to 2^52 - 1");
        ScaledLaw::new(self.law, scale)
    }

    /// Calls `work` with the cipher key of first blocks.
    fn with_key(&self, index: u64, work: impl FnOnce(&[u8; 32])) {
        if index >> BLOCK_BITS == 0 {
            work(self.cipher.bytes());
        } else {
            work(cipher_key(&self.stream, self.law, index, 0).bytes());
        }
    }

    #[inline(always)]
    fn words<'a>(&'a self, lane: LaneTag, index: u64, first: &'a [u32], stride: usize) -> LaneWords<'a> {
        LaneWords::new(&self.stream, self.law, (lane, index), first, stride)
    }
}

fn check(first: u64, count: usize) {
    let end = first.checked_add(count as u64);
    assert!(
        end.is_some_and(|end| end <= IntegerNoise::DRAWS),
        "the range of noise passes the last index of a lane"
    );
}

impl fmt::Debug for IntegerNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IntegerNoise({:?}, ..)", self.law)
    }
}

#[cfg(test)]
mod tests;
