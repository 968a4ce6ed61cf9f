//! The source of the random words of a draw.
//!
//! **Definition.** Draw i of a lane reads blocks of 16 words of ChaCha20. The input of all its
//! blocks holds the lane's tag in 88 bits and the low 40 bits of i in the others. Block b has its
//! own cipher key: BLAKE3, keyed with the stream key, of a context, the law, ⌊i/2⁴⁰⌋ and b.
//!
//! **Guarantee.** No two draws of any law, lane or index share a word: either the cipher keys
//! differ or the block inputs do. Words are wiped when the draw is made.
//!
//! **Cost.** Nearly all draws need only the first block, whose key is precomputed for indices below
//! 2⁴⁰. Another key costs one compression of BLAKE3.

use super::law::IntegerLaw;
use crate::noise::keyed::BLOCK_BITS;
use crate::noise::keystream::{BLOCK_WORDS, make_block, wipe};
use crate::noise::{LaneTag, StreamKey};

/// It has the same length as the contexts of [`KeyedNoise`](crate::noise::KeyedNoise) under the
/// same stream key, and is distinct from them.
const CONTEXT: &[u8; 16] = b"evertally whole.";

/// An endless sequence of uniform 32-bit words.
pub(crate) trait Words {
    fn next(&mut self) -> u32;
}

/// The words of one draw.
pub(super) struct LaneWords<'a> {
    stream: &'a StreamKey,
    law: IntegerLaw,
    lane: LaneTag,
    index: u64,
    /// Holds the first block. Its words are `stride` places apart.
    first: &'a [u32],
    stride: usize,
    /// The number of words read so far.
    used: usize,
    /// The current block, from the second on.
    later: [u32; BLOCK_WORDS],
}

impl<'a> LaneWords<'a> {
    /// The words of draw `index` of a lane, whose first block is given.
    #[inline(always)]
    pub(super) fn new(
        stream: &'a StreamKey,
        law: IntegerLaw,
        (lane, index): (LaneTag, u64),
        first: &'a [u32],
        stride: usize,
    ) -> Self {
        Self { stream, law, lane, index, first, stride, used: 0, later: [0; BLOCK_WORDS] }
    }

    #[cold]
    fn later(&mut self, used: usize) -> u32 {
        if used.is_multiple_of(BLOCK_WORDS) {
            let cipher = cipher_key(self.stream, self.law, self.index, (used / BLOCK_WORDS) as u64);
            make_block::<20>(cipher.bytes(), block_input(self.lane, self.index), &mut self.later);
        }
        self.later[used % BLOCK_WORDS]
    }
}

impl Words for LaneWords<'_> {
    #[inline(always)]
    fn next(&mut self) -> u32 {
        let used = self.used;
        self.used += 1;
        if used < BLOCK_WORDS { self.first[used * self.stride] } else { self.later(used) }
    }
}

impl Drop for LaneWords<'_> {
    fn drop(&mut self) {
        if self.used > BLOCK_WORDS {
            wipe(&mut self.later);
        }
    }
}

/// The caller's words of the input of every block of a draw.
#[inline(always)]
pub(super) fn block_input(lane: LaneTag, index: u64) -> [u32; 4] {
    lane.lane().input(index & ((1 << BLOCK_BITS) - 1))
}

/// The key of block `block` of the draws whose index has the same high bits.
pub(super) fn cipher_key(stream: &StreamKey, law: IntegerLaw, index: u64, block: u64) -> StreamKey {
    let mut label = [0; 17];
    label[0] = match law {
        IntegerLaw::Gaussian => 0,
        IntegerLaw::Laplace => 1,
    };
    label[1..9].copy_from_slice(&(index >> BLOCK_BITS).to_le_bytes());
    label[9..].copy_from_slice(&block.to_le_bytes());
    stream.derive(CONTEXT, &label)
}

/// Words from a list, for tests.
#[cfg(test)]
pub(super) struct Listed<'a>(&'a [u32]);

#[cfg(test)]
impl<'a> Listed<'a> {
    /// These words, followed by zeros.
    pub(super) fn new(words: &'a [u32]) -> Self {
        Self(words)
    }
}

#[cfg(test)]
impl Words for Listed<'_> {
    fn next(&mut self) -> u32 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }
}

/// Words from a simple generator, for tests.
#[cfg(test)]
#[derive(Clone)]
pub(super) struct SimpleGenerator(pub(super) u64);

#[cfg(test)]
impl Words for SimpleGenerator {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }
}
