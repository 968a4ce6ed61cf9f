//! The error of every step, from the covariance of the recursion that makes the noise.
//!
//! **Definition.** Of the chains x and the noise z̃, C = E x xᵀ, k = E x z̃ and s = E z̃². A step does
//! x ← (1−p)∘x + b g and z̃ ← λz̃ + d(1ᵀx − λ1ᵀx₋), where x₋ is x before the step, and ‖L\[t;\]‖² = s.
//!
//! **Guarantee.** Every step is taken. All rows are kept at short horizons; beyond, rows lie at
//! strides of 1/1024 of the distance to the nearer end. Rows in between are interpolated linearly
//! and enlarged by the largest amount by which any of them is off, which is measured while every step
//! is taken (about 10⁻⁷). The mean and the maximum are over all steps.
//!
//! **Cost.** O(J²) per step to prepare. A difference of two rows takes O(J²) per step of the blocks
//! that hold them, and O(J) per block in between.

use std::sync::{Arc, Mutex, PoisonError};

use super::chain::{NO_ROW, NO_SQUARE, Row, Square, packed, unpacked};
use super::run::{Block, Run};
use crate::noise::{MAX_CHAINS as W, total, vectorised};
use crate::privacy::CompensatedSum;

/// The longest timeline of which every row is kept.
const MAX_KEPT: u64 = 1 << 11;

/// The length of a stride as a part of the distance to the nearer end.
const FINENESS: u64 = 1 << 10;

/// By how much more than the measured amount a row between two kept ones is enlarged.
const INTERPOLATION: f64 = 1e-9;

/// C, k and s.
#[derive(Clone)]
struct Covariance {
    square: Square,
    cross: Row,
    row: f64,
}

/// The covariance before a block, as it is held, and what a block does to a product with a past
/// row.
struct Held {
    square: Box<[f64]>,
    cross: Box<[f64]>,
    row: f64,
    /// Π(1−p), per chain.
    kept: Box<[f64]>,
    /// What the block adds to a product with z̃, per chain.
    added: Box<[f64]>,
}

/// E x z̃_s and E z̃ z̃_s with a past row s.
struct Product {
    cross: Row,
    own: f64,
}

/// ‖L\[t;\]‖² of the kept steps, its mean and its maximum.
pub(super) struct Profile {
    /// The block that was read last: differences are asked for in order.
    recent: Mutex<Option<(u64, Arc<Block>)>>,
    steps: Vec<u64>,
    rows: Vec<f64>,
    /// By how much rows between the kept ones are enlarged.
    enlarged: f64,
    held: Vec<Held>,
    pub(super) mean: f64,
    pub(super) max: f64,
}

impl Covariance {
    fn zero() -> Self {
        Self { square: NO_SQUARE, cross: NO_ROW, row: 0.0 }
    }

    fn from_held(held: &Held) -> Self {
        Self {
            square: unpacked(&held.square),
            cross: std::array::from_fn(|j| held.cross.get(j).copied().unwrap_or_default()),
            row: held.row,
        }
    }

    /// Takes the first `len` steps of a block, and tells each row.
    fn advance(
        &mut self,
        block: &Block,
        count: usize,
        factor: f64,
        len: usize,
        mut row: impl FnMut(usize, f64),
    ) {
        let Self { square, cross, row: own } = self;
        vectorised(
            #[inline(always)]
            || {
                for t in 0..len {
                    let drives = block.numbers.drives[t].map(f64::from);
                    let keeps = block.numbers.losses[t].map(|loss| 1.0 - f64::from(loss));
                    let norm = f64::from(block.norms[t]);
                    let mut moved = NO_ROW;
                    let mut image = NO_ROW;
                    for i in 0..W {
                        moved[i] = norm * (keeps[i] - factor);
                    }
                    for k in 0..count {
                        for i in 0..W {
                            image[i] += square[k][i] * moved[k];
                        }
                    }
                    let (mut first, mut second) = (NO_ROW, NO_ROW);
                    for i in 0..count {
                        first[i] = moved[i] * cross[i];
                        second[i] = moved[i] * image[i];
                    }
                    let fresh = norm * total(&drives);
                    *own = factor * factor * *own
                        + 2.0 * factor * total(&first)
                        + total(&second)
                        + fresh * fresh;
                    for i in 0..W {
                        cross[i] = keeps[i] * (factor * cross[i] + image[i]) + drives[i] * fresh;
                    }
                    for k in 0..count {
                        for i in 0..W {
                            square[k][i] = keeps[k] * keeps[i] * square[k][i] + drives[k] * drives[i];
                        }
                    }
                    row(t, *own);
                }
            },
        );
    }
}

impl Product {
    /// Takes steps of a block.
    fn advance(&mut self, block: &Block, factor: f64, steps: std::ops::Range<usize>) {
        for t in steps {
            let before = total(&self.cross);
            for (cross, loss) in self.cross.iter_mut().zip(&block.numbers.losses[t]) {
                *cross *= 1.0 - f64::from(*loss);
            }
            self.own = factor * self.own + f64::from(block.norms[t]) * (total(&self.cross) - factor * before);
        }
    }

    /// Takes a whole block.
    fn pass(&mut self, held: &Held, factor: f64) {
        let added = self.cross.iter().zip(&held.added).map(|(cross, added)| cross * added).sum::<f64>();
        self.own = factor * self.own + added;
        self.cross.iter_mut().zip(&held.kept).for_each(|(cross, kept)| *cross *= kept);
    }
}

/// What a block does to the product with a past row: Π(1−p), and what every chain adds.
fn passage(block: &Block, count: usize, factor: f64) -> (Box<[f64]>, Box<[f64]>) {
    let (mut kept, mut added) = ([1.0; W], NO_ROW);
    for (losses, norm) in block.numbers.losses.iter().zip(&block.norms) {
        for j in 0..W {
            let before = kept[j];
            kept[j] *= 1.0 - f64::from(losses[j]);
            added[j] = factor * added[j] + f64::from(*norm) * (kept[j] - factor * before);
        }
    }
    (kept[..count].into(), added[..count].into())
}

impl Profile {
    /// `blocks` are all blocks, or none, which are then made again.
    pub(super) fn new(run: &Run, blocks: &[Block]) -> Self {
        let (timeline, count) = (run.timeline(), run.chains.count);
        let factor = 1.0 - run.chains.loss;
        let steps = stops(timeline.steps);
        let mut covariance = Covariance::zero();
        let mut made = Block::default();
        let (mut rows, mut held) = (Vec::with_capacity(steps.len()), Vec::new());
        let (mut sum, mut max) = (CompensatedSum::default(), 0.0_f64);
        let (mut between, mut enlarged) = (Vec::new(), 1.0_f64);
        for number in 0..timeline.blocks() {
            let block = match blocks.get(number as usize) {
                Some(block) => block,
                None => {
                    run.read(number, &mut made);
                    &made
                }
            };
            let (kept, added) = passage(block, count, factor);
            held.push(Held {
                square: packed(&covariance.square, count),
                cross: covariance.cross[..count].into(),
                row: covariance.row,
                kept,
                added,
            });
            let first = timeline.range(number).start;
            let mut own = CompensatedSum::default();
            covariance.advance(block, count, factor, block.norms.len(), |t, row| {
                own.add(row);
                max = max.max(row);
                let step = first + t as u64;
                if steps.get(rows.len()) != Some(&step) {
                    between.push(row);
                    return;
                }
                if let (Some(before), false) = (rows.last().copied(), between.is_empty()) {
                    let length = (between.len() + 1) as f64;
                    for (i, inner) in between.iter().enumerate() {
                        let line = before + (i + 1) as f64 / length * (row - before);
                        enlarged = enlarged.max(inner / line);
                    }
                    between.clear();
                }
                rows.push(row);
            });
            sum.add(own.value() * timeline.repetitions(number) as f64);
        }
        Self {
            recent: Mutex::new(None),
            steps,
            rows,
            enlarged: enlarged * (1.0 + INTERPOLATION),
            held,
            mean: sum.value() / timeline.horizon() as f64,
            max,
        }
    }

    /// ‖L\[t;\]‖².
    pub(super) fn row(&self, run: &Run, step: u64) -> f64 {
        let (number, place) = run.timeline().place(step);
        let step = run.timeline().range(number).start + place as u64;
        match self.steps.binary_search(&step) {
            Ok(i) => self.rows[i],
            Err(i) => {
                let (before, after) = (self.steps[i - 1], self.steps[i]);
                let part = (step - before) as f64 / (after - before) as f64;
                (self.rows[i - 1] + part * (self.rows[i] - self.rows[i - 1])) * self.enlarged
            }
        }
    }

    /// ‖L\[t;\] − L\[s;\]‖² for `earlier` s < `later` t.
    pub(super) fn difference(&self, run: &Run, earlier: u64, later: u64) -> f64 {
        let timeline = run.timeline();
        let factor = 1.0 - run.chains.loss;
        let (block, first_place, here) = self.at(run, earlier);
        let (last, last_place, there) = self.at(run, later);
        let mut product = Product { cross: here.cross, own: here.row };
        let (first_block, last_block) = (earlier / timeline.block, later / timeline.block);
        if first_block == last_block {
            product.advance(&block, factor, first_place + 1..last_place + 1);
        } else {
            product.advance(&block, factor, first_place + 1..block.norms.len());
            let over_block = libm::pow(factor, timeline.block as f64);
            let mut number = first_block + 1;
            while number < last_block {
                let (place, _) = timeline.place(number * timeline.block);
                product.pass(&self.held[place as usize], over_block);
                // Nothing is left of a product that has decayed: the blocks in between are skipped.
                let is_over = product.own.abs() < 1e-30 * here.row
                    && product.cross.iter().all(|cross| cross.abs() < 1e-30 * here.row);
                number = if is_over { last_block } else { number + 1 };
            }
            product.advance(&last, factor, 0..last_place + 1);
        }
        (here.row + there.row - 2.0 * product.own).max(0.0)
    }

    /// The block of a step, its place there, and the covariance after it.
    fn at(&self, run: &Run, step: u64) -> (Arc<Block>, usize, Covariance) {
        let (number, place) = run.timeline().place(step);
        let block = self.block(run, number);
        let mut covariance = Covariance::from_held(&self.held[number as usize]);
        let factor = 1.0 - run.chains.loss;
        covariance.advance(&block, run.chains.count, factor, place + 1, |_, _| ());
        (block, place, covariance)
    }

    /// ‖L\[t;\]‖² without interpolation.
    #[cfg(test)]
    pub(super) fn exact_row(&self, run: &Run, step: u64) -> f64 {
        self.at(run, step).2.row
    }

    /// A block of the timeline.
    fn block(&self, run: &Run, number: u64) -> Arc<Block> {
        // A block that a panic left behind is as good as any.
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        match &*recent {
            Some((held, block)) if *held == number => Arc::clone(block),
            _ => {
                let mut block = Block::default();
                run.read(number, &mut block);
                Arc::clone(&recent.insert((number, Arc::new(block))).1)
            }
        }
    }

    /// The bytes held.
    pub(super) fn bytes(&self) -> u64 {
        let count = self.held.first().map_or(0, |held| held.cross.len());
        let held = 8 * (count * (count + 1) / 2 + 3 * count + 1) + 64;
        (16 * self.rows.len() + held * self.held.len()) as u64
    }
}

/// The steps whose rows are kept.
fn stops(steps: u64) -> Vec<u64> {
    if steps <= MAX_KEPT {
        return (0..steps).collect();
    }
    let mut stops = vec![0];
    let mut step = 0;
    while step + 1 < steps {
        let nearer = step.min(steps - 1 - step);
        step = (step + (nearer / (FINENESS + 1)).max(1)).min(steps - 1);
        stops.push(step);
    }
    stops
}
