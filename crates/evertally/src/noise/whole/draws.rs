//! Whole-number noise as a pure function of (stream key, law, lane tag, index, scale).

use std::fmt;

use super::law::WholeLaw;
use super::words::Words;
use crate::noise::keyed::BLOCK_BITS;
use crate::noise::keystream::{BLOCK_WORDS, make_block, wipe};
use crate::noise::{LaneTag, StreamKey, Tagger};

/// Distinct from the contexts of [`KeyedNoise`](crate::noise::KeyedNoise), under the same stream key.
const CONTEXT: &[u8; 16] = b"evertally whole.";

/// Whole-number noise, a pure function of (stream key, law, lane tag, index, scale).
#[derive(Clone)]
pub(crate) struct WholeNoise {
    stream: StreamKey,
    cipher: StreamKey,
    law: WholeLaw,
}

impl WholeNoise {
    /// The number of draws of a lane.
    pub(crate) const DRAWS: u64 = 1 << 60;

    pub(crate) fn new(stream: StreamKey, law: WholeLaw) -> Self {
        Self { cipher: cipher(&stream, law, 0, 0), stream, law }
    }

    pub(crate) fn tag(&self, name: &[u8]) -> LaneTag {
        LaneTag::of(&self.stream, name)
    }

    pub(crate) fn tagger(&self) -> Tagger {
        Tagger::new(&self.stream)
    }

    /// Draw number `index` of a lane.
    pub(crate) fn draw(&self, lane: LaneTag, index: u64, scale: u64) -> i64 {
        assert!(index < Self::DRAWS && (1..1 << 52).contains(&scale));
        let mut words = LaneWords { noise: self, lane, index, block: [0; BLOCK_WORDS], used: 0, blocks: 0 };
        self.law.sample(scale, &mut words)
    }

    /// The same draw of several lanes.
    pub(crate) fn draw_each(&self, lanes: &[LaneTag], index: u64, scale: u64, out: &mut [i64]) {
        assert_eq!(lanes.len(), out.len(), "one place for each lane");
        for (value, &lane) in out.iter_mut().zip(lanes) {
            *value = self.draw(lane, index, scale);
        }
    }
}

fn cipher(stream: &StreamKey, law: WholeLaw, epoch: u64, block: u64) -> StreamKey {
    let mut label = [0; 17];
    label[0] = law as u8;
    label[1..9].copy_from_slice(&epoch.to_le_bytes());
    label[9..].copy_from_slice(&block.to_le_bytes());
    stream.derive(CONTEXT, &label)
}

struct LaneWords<'a> {
    noise: &'a WholeNoise,
    lane: LaneTag,
    index: u64,
    block: [u32; BLOCK_WORDS],
    used: usize,
    blocks: u64,
}

impl Words for LaneWords<'_> {
    fn next(&mut self) -> u32 {
        if self.blocks == 0 || self.used == BLOCK_WORDS {
            let input = self.lane.lane().input(self.index % (1 << BLOCK_BITS));
            let epoch = self.index >> BLOCK_BITS;
            if epoch == 0 && self.blocks == 0 {
                make_block::<20>(self.noise.cipher.bytes(), input, &mut self.block);
            } else {
                let cipher = cipher(&self.noise.stream, self.noise.law, epoch, self.blocks);
                make_block::<20>(cipher.bytes(), input, &mut self.block);
            }
            self.blocks += 1;
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }
}

impl Drop for LaneWords<'_> {
    fn drop(&mut self) {
        wipe(&mut self.block);
    }
}

impl fmt::Debug for WholeNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WholeNoise({:?}, ..)", self.law)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseKey;

    #[test]
    fn second_moments_are_near() {
        for (law, want) in [(WholeLaw::Gaussian, 1.0), (WholeLaw::Laplace, 2.0)] {
            let noise = WholeNoise::new(NoiseKey::insecure_from_seed(1).stream(b"test"), law);
            for scale in [100, 1 << 44, (1 << 52) - 1] {
                let lane = noise.tag(b"a");
                let mean = (0..10_000)
                    .map(|i| (noise.draw(lane, i, scale) as f64 / scale as f64).powi(2))
                    .sum::<f64>()
                    / 10_000.0;
                assert!((mean / want - 1.0).abs() < 0.2, "{law:?} {scale}: {mean}");
            }
        }
    }
}
