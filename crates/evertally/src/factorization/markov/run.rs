//! What runs: the losses, drives and norms of any step, from what is held at the ends of blocks.

use super::chain::{Chains, Numbers, Scratch};
use super::gram::{Form, HeldForm};
use super::timeline::Timeline;
use crate::noise::{ChainBlock, ChainBounds, ChainSource};

/// The numbers of a block of the timeline.
#[derive(Default)]
pub(super) struct Block {
    scratch: Scratch,
    pub(super) numbers: Numbers,
    pub(super) norms: Vec<f32>,
}

/// See the module.
pub(super) struct Run {
    pub(super) chains: Chains,
    /// V after each block.
    forms: Vec<HeldForm>,
    /// d of the first step of each block.
    first_norms: Vec<f32>,
    bounds: ChainBounds,
    /// A bound on ‖L₀⁻¹‖, by the norms of its columns.
    pub(super) inverse_norm: f64,
}

impl Run {
    /// Also all blocks, from the numbers of all blocks.
    pub(super) fn new(chains: Chains, mut numbers: Vec<Numbers>) -> (Self, Vec<Block>) {
        let blocks = chains.timeline.blocks();
        let (is_kept, mut all) = (!numbers.is_empty(), Vec::with_capacity(numbers.len()));
        let mut run = Self {
            chains,
            forms: Vec::new(),
            first_norms: Vec::new(),
            bounds: ChainBounds {
                largest_norm: 0.0,
                least_norm: f64::INFINITY,
                norm_variation: 0.0,
                largest_rise: 1.0,
                largest_diagonal: 0.0,
                largest_drive: 0.0,
            },
            inverse_norm: 0.0,
        };
        let (mut form, mut block) = (Form::zero(), Block::default());
        let (mut after, mut inverse_squares) = (None, 0.0);
        for number in (0..blocks).rev() {
            // As for P: what is held is what goes on.
            let held = form.hold(run.chains.count);
            form = Form::from_held(&held);
            run.forms.push(held);
            match numbers.pop() {
                Some(numbers) => block.numbers = numbers,
                None => run.chains.numbers(number, &mut block.scratch, &mut block.numbers),
            }
            let squares = run.norms(number, &mut form, &mut block);
            inverse_squares += squares * run.chains.timeline.repetitions(number) as f64;
            run.extend_bounds(&block, after);
            after = block.norms.first().copied();
            run.first_norms.push(after.unwrap_or(1.0));
            if is_kept {
                all.push(std::mem::take(&mut block));
            }
        }
        run.forms.reverse();
        run.first_norms.reverse();
        run.inverse_norm = (inverse_squares * (1.0 + 1e-5)).sqrt();
        all.reverse();
        (run, all)
    }

    pub(super) fn timeline(&self) -> &Timeline {
        &self.chains.timeline
    }

    /// Writes the numbers of a block of the timeline.
    pub(super) fn read(&self, number: u64, block: &mut Block) {
        self.chains.numbers(number, &mut block.scratch, &mut block.numbers);
        let mut form = Form::from_held(&self.forms[number as usize]);
        self.norms(number, &mut form, block);
    }

    /// Moves V back over a block and writes its norms. Those of the steady block are equal.
    fn norms(&self, number: u64, form: &mut Form, block: &mut Block) -> f64 {
        let squares = form.back_over(&block.numbers, self.chains.count, self.chains.loss, &mut block.norms);
        if self.timeline().is_steady(number) {
            // What the norms of the steps before differ by is far below the last place.
            let largest = block.norms.iter().copied().fold(0.0, f32::max).next_up();
            block.norms.fill(largest);
        }
        squares
    }

    /// d of the step after a block of the horizon that has this place in the timeline.
    fn norm_after(&self, number: u64, is_last_repetition: bool) -> Option<f32> {
        let next = if is_last_repetition { number + 1 } else { number };
        self.first_norms.get(next as usize).copied()
    }

    fn extend_bounds(&mut self, block: &Block, after: Option<f32>) {
        let bounds = &mut self.bounds;
        for (t, (norm, drives)) in block.norms.iter().zip(&block.numbers.drives).enumerate() {
            let norm = f64::from(*norm);
            let next = block.norms.get(t + 1).copied().or(after).map_or(norm, f64::from);
            // Sums of single-precision numbers are exact, or off by one rounding.
            let drive = drives.iter().map(|drive| f64::from(*drive)).sum::<f64>() * (1.0 + 1e-12);
            bounds.largest_norm = bounds.largest_norm.max(norm);
            bounds.least_norm = bounds.least_norm.min(norm);
            bounds.norm_variation += (next - norm).abs() * (1.0 + 1e-6);
            bounds.largest_rise = bounds.largest_rise.max(next / norm).max(norm / next);
            bounds.largest_drive = bounds.largest_drive.max(drive);
            bounds.largest_diagonal = bounds.largest_diagonal.max(norm * drive * (1.0 + 1e-12));
        }
    }

    /// The bytes held.
    pub(super) fn bytes(&self) -> u64 {
        let count = self.chains.count;
        let form = 8 * (count * (count + 1) / 2 + count + 2);
        self.chains.bytes() + self.forms.len() as u64 * (form + 40) as u64
    }
}

impl ChainSource for Run {
    fn chains(&self) -> usize {
        self.chains.count
    }

    fn loss(&self) -> f64 {
        self.chains.loss
    }

    fn block(&self, step: u64, out: &mut ChainBlock) {
        let (number, place) = self.timeline().place(step);
        let mut block = Block {
            numbers: Numbers {
                losses: std::mem::take(&mut out.losses),
                drives: std::mem::take(&mut out.drives),
            },
            norms: std::mem::take(&mut out.norms),
            ..Block::default()
        };
        self.read(number, &mut block);
        let first = step - place as u64;
        let end = first + block.norms.len() as u64;
        let is_last = end >= self.timeline().horizon() || self.timeline().place(end).0 != number;
        let last = block.norms.last().copied().unwrap_or(1.0);
        block.norms.push(self.norm_after(number, is_last).unwrap_or(last));
        let Numbers { losses, drives } = block.numbers;
        *out = ChainBlock { first, losses, drives, norms: block.norms };
    }

    fn bounds(&self) -> ChainBounds {
        self.bounds
    }
}
