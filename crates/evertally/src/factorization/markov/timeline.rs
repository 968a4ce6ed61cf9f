//! Which steps share their numbers.
//!
//! A decayed total forgets: between a start and an end of some multiples of its memory, every step
//! is the same. The recursions therefore run over a shorter **timeline**: a start, one steady block
//! that stands for any number of blocks, and an end. Without decay, and at short horizons, the
//! timeline is the horizon.
//!
//! **Guarantee.** The steps of the steady block, those of the start's last block and the first of
//! the end ([`Timeline::frozen`]) have the same losses and drives. What a column adds beyond
//! [`CONVERGED`] memories to the square of its norm is below e^{−2·32} of it, so the column norms of
//! the timeline are those of the horizon.

use std::ops::Range;

use super::weights::MAX_DAMPING;

/// After this many memories −1/ln λ of a decay, everything that began is forgotten: e^{−32} is
/// below the rounding of doubles.
const CONVERGED: f64 = 32.0;

/// The shortest block.
const MIN_BLOCK: u64 = 256;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    horizon: u64,
    /// Steps of the timeline.
    pub(super) steps: u64,
    /// Steps of a block: a power of two.
    pub(super) block: u64,
    /// The number of the steady block, and how many blocks of the horizon it stands for.
    steady: Option<(u64, u64)>,
    /// Steps of the timeline that have the same numbers as the steady block.
    pub(super) frozen: Range<u64>,
}

impl Timeline {
    /// The timeline of a workload that multiplies the past by `factor` at every step.
    pub(super) fn new(horizon: u64, factor: f64) -> Self {
        let length = |steps: f64| {
            let root = libm::exp2((0.5 * libm::log2(steps)).ceil()) as u64;
            root.max(MIN_BLOCK)
        };
        let memory = if factor < 1.0 { -1.0 / libm::log(factor) } else { f64::INFINITY };
        let end = (0.5 * MAX_DAMPING + CONVERGED) * memory;
        if (horizon as f64) < 4.0 * end + 8.0 * MIN_BLOCK as f64 {
            let block = length(horizon as f64);
            return Self { horizon, steps: horizon, block, steady: None, frozen: 0..0 };
        }
        let block = length(2.0 * end);
        // The frozen part begins one block before the steady one.
        let blocks = (end / block as f64).ceil() as u64 + 1;
        let start = blocks * block;
        let end = start + horizon % block;
        let steps = start + block + end;
        let frozen = start - block..start + block + (CONVERGED * memory).ceil() as u64;
        let stands_for = (horizon - start - end) / block;
        Self { horizon, steps, block, steady: Some((blocks, stands_for)), frozen }
    }

    /// The number of blocks of the timeline.
    pub(super) fn blocks(&self) -> u64 {
        self.steps.div_ceil(self.block)
    }

    /// The steps of a block of the timeline.
    pub(super) fn range(&self, block: u64) -> Range<u64> {
        let first = block * self.block;
        first..(first + self.block).min(self.steps)
    }

    /// Whether all steps of this block have the same numbers.
    pub(super) fn is_steady(&self, block: u64) -> bool {
        self.steady.is_some_and(|(steady, _)| steady == block)
    }

    /// How many blocks of the horizon this block stands for.
    pub(super) fn repetitions(&self, block: u64) -> u64 {
        self.steady.filter(|(steady, _)| *steady == block).map_or(1, |(_, repeated)| repeated)
    }

    /// The block of the timeline, and the place in it, of a step of the horizon.
    pub(super) fn place(&self, step: u64) -> (u64, usize) {
        let (block, place) = (step / self.block, (step % self.block) as usize);
        let Some((steady, repeated)) = self.steady else { return (block, place) };
        let block = if block < steady { block } else { steady.max((block + 1).saturating_sub(repeated)) };
        (block, place)
    }

    /// Steps of the horizon.
    pub(super) fn horizon(&self) -> u64 {
        self.horizon
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_place_and_blocks_stand_for_all_steps() {
        for (horizon, factor) in
            [(1, 1.0), (255, 1.0), (256, 0.5), (100_000, 0.9), (1 << 40, 0.99), (12_345_678, 0.97)]
        {
            let timeline = Timeline::new(horizon, factor);
            let total: u64 = (0..timeline.blocks())
                .map(|block| {
                    timeline.repetitions(block) * (timeline.range(block).end - timeline.range(block).start)
                })
                .sum();
            assert_eq!(total, horizon, "{factor}");
            let last = timeline.place(horizon - 1);
            assert_eq!(last, (timeline.blocks() - 1, ((timeline.steps - 1) % timeline.block) as usize));
            if horizon < 200_000 {
                let mut counts = vec![0; timeline.blocks() as usize];
                for step in 0..horizon {
                    let (block, place) = timeline.place(step);
                    assert!(timeline.range(block).contains(&(block * timeline.block + place as u64)));
                    counts[block as usize] += 1;
                }
                for (block, count) in (0..).zip(counts) {
                    let range = timeline.range(block);
                    assert_eq!(count, timeline.repetitions(block) * (range.end - range.start));
                }
            }
        }
        assert!(Timeline::new(1 << 60, 0.99).steps < 20_000);
        assert_eq!(Timeline::new(1 << 20, 1.0).steps, 1 << 20);
    }
}
