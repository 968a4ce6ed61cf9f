//! The streaming engine: from white noise to rows of L g, with a few numbers per lane.
//!
//! A [`Recipe`] defines what every lane does. A [`StreamingCorrelator`] runs it, for one lane or
//! for a hundred million. Noise does not depend on data, so the engine takes steps in bursts of
//! eight, ahead of the caller. A burst costs one pass over the state. Rows made ahead are part of
//! the saved state, so a restored correlator resumes exactly where it was. A large family of keys
//! is made row by row instead, straight into the caller's memory, because eight rows ahead would
//! take as much memory as the state. [`LazyLanes`] advances lanes that are requested one by one.
//!
//! | file | content |
//! |---|---|
//! | `recipe` | the definition |
//! | `reference` | a direct implementation of the definition: the oracle |
//! | `many_lanes` | many lanes, tile by tile |
//! | `kernel` | the steps of a tile |
//! | `single` | one lane |
//! | `single_lane` | the same with the same decays at every step, eight steps at a time |
//! | `single_chains` | the same with chains |
//! | `lazy` | lanes that are each at their own step |
//! | `chains` | numbers that change from step to step |
//! | `grades` | the numbers of steps, burst by burst |

mod chains;
mod grades;
mod kernel;
mod lazy;
mod many_lanes;
mod recipe;
#[cfg(test)]
mod reference;
mod single;
mod single_chains;
mod single_lane;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use zeroize::Zeroize;

pub use chains::{ChainBlock, ChainBounds, ChainRow, ChainSource, MAX_CHAINS};
pub(crate) use chains::{ChainReader, total};
pub(crate) use grades::GradeBlocks;
use grades::{BurstGrades, GradeReader};
pub(crate) use lazy::{LazyLanes, Tile};
use many_lanes::ManyLanes;
pub use recipe::{Decay, GradeBlock, GradeBounds, Grading, Recipe, SlowDecay};
pub(crate) use recipe::{GRADED_BLOCK, MIN_GRADE, SLOW};
use single::Single;

use super::correlator::misfit;
use super::{Correlator, Real, WhiteField};
use crate::Result;

/// Steps that are taken together.
const BURST: usize = 8;

/// Steps of white noise that a single lane draws at a time: enough to hide the cost of the seek.
const WHITE_BLOCK: usize = 512;

/// Steps that a single lane makes at a time when many are requested: enough to keep two threads
/// busy.
const LONG_BLOCK: usize = 1 << 14;

/// The maximum number of bytes for rows made ahead. If a burst needs more, rows are made one by
/// one.
const MAX_AHEAD_BYTES: usize = 256 << 20;

/// The largest family of lanes whose rows are made ahead.
const MAX_FAMILY_AHEAD_LANES: usize = 1 << 14;

/// Runs a recipe over the lanes of a field.
pub(crate) struct StreamingCorrelator<F: Real> {
    lanes: LaneState<F>,
    rows: usize,
    width: usize,
    horizon: u64,
    field: Arc<dyn WhiteField>,
    grades: GradeReader,
    /// Rows returned to the caller.
    step: u64,
    /// Rows made. The state is the one after this many steps.
    made: u64,
    /// Rows made together.
    together: usize,
    /// The rows from `step` to `made` are at the end of this. It is empty until a row is made
    /// ahead.
    ahead: Vec<Vec<F>>,
    white: WhiteBlock,
}

/// White noise of a single lane, drawn in blocks that start at multiples of their length.
#[derive(Default)]
struct WhiteBlock {
    first: u64,
    drawn: Vec<f64>,
}

impl WhiteBlock {
    /// The white noise of a burst, and zeros beyond the horizon.
    fn burst(&mut self, field: &dyn WhiteField, step: u64, horizon: u64) -> [f64; BURST] {
        let first = step - step % WHITE_BLOCK as u64;
        if self.drawn.is_empty() || first != self.first {
            self.first = first;
            self.drawn.clear();
            self.drawn.resize(WHITE_BLOCK, 0.0);
            let within = (horizon - first).min(WHITE_BLOCK as u64) as usize;
            field.column(0, first, &mut self.drawn[..within]);
        }
        let offset = (step - first) as usize;
        std::array::from_fn(|k| self.drawn[offset + k])
    }
}

enum LaneState<F: Real> {
    Single(Single),
    Many(ManyLanes<F>),
}

impl<F: Real> StreamingCorrelator<F> {
    /// A correlator before its first step. Every row is multiplied by `scale`.
    pub(crate) fn new(recipe: &Recipe, horizon: u64, field: Arc<dyn WhiteField>, scale: f64) -> Self {
        let (width, is_family) = (field.width(), field.is_family());
        let lanes = if width == 1 && !is_family {
            LaneState::Single(Single::new(recipe, scale))
        } else {
            LaneState::Many(many(recipe, width, scale))
        };
        Self {
            lanes,
            rows: recipe.rows(),
            width,
            horizon,
            field,
            grades: GradeReader::new(recipe, horizon),
            step: 0,
            made: 0,
            together: rows_together::<F>(width, is_family),
            ahead: Vec::new(),
            white: WhiteBlock::default(),
        }
    }

    /// Bytes per lane, including rows made ahead.
    pub(crate) fn bytes_per_lane(rows: usize, width: usize, is_family: bool) -> u64 {
        let together = rows_together::<F>(width, is_family);
        // A single row is made in the caller's memory.
        let ahead = if together == 1 { 0 } else { together };
        ((rows + ahead) * size_of::<F>()) as u64
    }

    /// Writes the next row. Must not be called more often than the horizon has steps.
    pub(crate) fn next_into(&mut self, out: &mut [F]) {
        match &mut self.lanes {
            LaneState::Many(lanes) if self.together == 1 && self.step == self.made => {
                debug_assert!(self.step < self.horizon, "the horizon is spent");
                lanes.step(&*self.field, self.made, &self.grades.burst(self.made).rounded(), &mut [out]);
                self.made += 1;
                self.step += 1;
            }
            _ => out.copy_from_slice(self.next_row()),
        }
    }

    /// The next row. Must not be called more often than the horizon has steps.
    pub(crate) fn next_row(&mut self) -> &[F] {
        debug_assert!(self.step < self.horizon, "the horizon is spent");
        if self.step == self.made {
            self.make();
        }
        let row = self.ahead.len() - (self.made - self.step) as usize;
        self.step += 1;
        &self.ahead[row]
    }

    /// Takes a burst of steps, or a single step if rows are long. If the horizon cuts a burst
    /// short, many lanes take it step by step, and a single lane uses zeros as white noise.
    fn make(&mut self) {
        self.ahead.resize_with(self.together, || vec![F::ZERO; self.width]);
        match &mut self.lanes {
            LaneState::Single(lane) => {
                let mut values = self.white.burst(&*self.field, self.made, self.horizon);
                lane.burst(&self.grades.burst(self.made), &mut values);
                self.made += BURST as u64;
                for (row, value) in self.ahead.iter_mut().zip(&mut values) {
                    row[0] = F::from_f64(*value);
                    value.zeroize();
                }
            }
            LaneState::Many(lanes) => {
                let left = (self.horizon - self.made).min(self.ahead.len() as u64) as usize;
                let unused = self.ahead.len() - left;
                let grades = self.grades.burst(self.made).rounded();
                let mut out: Vec<&mut [F]> = self.ahead[unused..].iter_mut().map(Vec::as_mut_slice).collect();
                lanes.step(&*self.field, self.made, &grades, &mut out);
                self.made += left as u64;
            }
        }
    }

    /// Moves to a step using the key alone, by recomputing all steps before it.
    pub(crate) fn seek(&mut self, step: u64) {
        self.forget();
        let mut scratch = vec![F::ZERO; if self.width == 1 { 4 * LONG_BLOCK } else { 0 }];
        while self.step < step {
            match self.lanes {
                LaneState::Single(_) => {
                    let len = (step - self.step).min(scratch.len() as u64) as usize;
                    self.fill(&mut scratch[..len]);
                }
                LaneState::Many(_) => {
                    self.next_row();
                }
            }
        }
        scratch.as_mut_slice().zeroize();
    }

    /// Returns to the state before the first step.
    fn forget(&mut self) {
        match &mut self.lanes {
            LaneState::Single(lane) => lane.clear(),
            LaneState::Many(lanes) => lanes.clear(),
        }
        self.step = 0;
        self.made = 0;
        self.white = WhiteBlock::default();
    }

    /// The state, row by row, then the rows made ahead.
    pub(crate) fn save_state(&self) -> Vec<f64> {
        let mut saved = Vec::with_capacity((self.rows + self.ahead.len()) * self.width);
        match &self.lanes {
            LaneState::Single(lane) => lane.save(&mut saved),
            LaneState::Many(lanes) => lanes.save(&mut saved),
        }
        let first = self.ahead.len() - (self.made - self.step) as usize;
        for row in &self.ahead[first..] {
            saved.extend(row.iter().map(|value| value.to_f64()));
        }
        saved
    }

    /// Continues after `step` rows from the numbers that [`StreamingCorrelator::save_state`]
    /// returned at that point.
    pub(crate) fn restore_state(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        let state = self.rows * self.width;
        let rows_ahead = saved.len().checked_sub(state).ok_or_else(misfit)? / self.width;
        let made = step.checked_add(rows_ahead as u64).ok_or_else(misfit)?;
        let is_aligned = match self.lanes {
            // A single lane may be ahead of the horizon, because it always takes complete bursts.
            LaneState::Single(_) => made % BURST as u64 == 0 && made < self.horizon + BURST as u64,
            LaneState::Many(_) => made <= self.horizon,
        };
        if saved.len() != state + rows_ahead * self.width
            || rows_ahead > self.together
            || step > self.horizon
            || !is_aligned
            || !saved.iter().all(|value| F::from_f64(*value).to_f64().is_finite())
        {
            return Err(misfit());
        }
        self.forget();
        match &mut self.lanes {
            LaneState::Single(lane) => lane.restore(&saved[..state]),
            LaneState::Many(lanes) => lanes.restore(&saved[..state]),
        }
        if rows_ahead > 0 {
            self.ahead.resize_with(self.together, || vec![F::ZERO; self.width]);
        }
        let first = self.ahead.len() - rows_ahead;
        for (row, saved) in self.ahead[first..].iter_mut().zip(saved[state..].chunks(self.width)) {
            for (value, saved) in row.iter_mut().zip(saved) {
                *value = F::from_f64(*saved);
            }
        }
        (self.step, self.made) = (step, made);
        Ok(())
    }

    /// Fills `out` with rows.
    pub(crate) fn fill(&mut self, out: &mut [F]) {
        let mut out = out;
        if let LaneState::Single(_) = self.lanes {
            let done = self.fill_long(out);
            out = &mut out[done..];
        }
        for row in out.chunks_mut(self.width) {
            self.next_into(row);
        }
    }

    /// Writes complete bursts of a single lane from its current step. One thread draws the white
    /// noise and reads the grades of the next bursts while another computes these. Returns the
    /// number of values written.
    fn fill_long(&mut self, out: &mut [F]) -> usize {
        let mut done = 0;
        while self.step < self.made && done < out.len() {
            out[done] = self.next_row()[0];
            done += 1;
        }
        let LaneState::Single(lane) = &mut self.lanes else { return done };
        let whole = (out.len() - done).min(self.horizon.saturating_sub(self.made) as usize) / BURST * BURST;
        let (field, grades, mut first) = (&*self.field, &mut self.grades, self.made);
        let mut prepare = |len: usize, into: &mut Bursts| {
            into.white.resize(len, 0.0);
            field.column(0, first, &mut into.white);
            into.grades.clear();
            if grades.varies() {
                into.grades.extend((0..len / BURST).map(|i| grades.burst(first + (i * BURST) as u64)));
            }
            first += len as u64;
        };
        let (mut here, mut next) = (Bursts::default(), Bursts::default());
        prepare(whole.min(LONG_BLOCK), &mut here);
        let end = done + whole;
        while done < end {
            let block = &mut out[done..done + here.white.len()];
            done += block.len();
            let coming = (end - done).min(LONG_BLOCK);
            rayon::join(|| prepare(coming, &mut next), || here.make(lane, block));
            std::mem::swap(&mut here, &mut next);
        }
        here.white.zeroize();
        next.white.zeroize();
        self.made += whole as u64;
        self.step += whole as u64;
        done
    }
}

/// Many lanes, with the form of the recipe that suits their precision.
fn many<F: Real>(recipe: &Recipe, width: usize, scale: f64) -> ManyLanes<F> {
    if size_of::<F>() == size_of::<f64>() {
        return ManyLanes::new(recipe, width, scale);
    }
    let (recipe, charge) = recipe.in_singles();
    ManyLanes::new(&recipe, width, scale * charge)
}

/// The input of several bursts of a single lane.
#[derive(Default)]
struct Bursts {
    white: Vec<f64>,
    /// Empty without grades.
    grades: Vec<BurstGrades<f64>>,
}

impl Bursts {
    fn make<F: Real>(&mut self, lane: &mut Single, out: &mut [F]) {
        let white = self.white.as_chunks_mut::<BURST>().0;
        if self.grades.is_empty() {
            let flat = BurstGrades::flat();
            lane.bursts(white.iter_mut().map(|values| (values, &flat)));
        } else {
            lane.bursts(white.iter_mut().zip(&self.grades));
        }
        for (out, value) in out.iter_mut().zip(&self.white) {
            *out = F::from_f64(*value);
        }
    }
}

/// The number of rows that are made together.
fn rows_together<F: Real>(width: usize, is_family: bool) -> usize {
    let is_large = is_family && width > MAX_FAMILY_AHEAD_LANES;
    if !is_large && width <= MAX_AHEAD_BYTES / (BURST * size_of::<F>()) { BURST } else { 1 }
}

impl Correlator for StreamingCorrelator<f64> {
    fn next(&mut self, out: &mut [f64]) {
        self.next_into(out);
    }

    fn save(&self) -> Vec<f64> {
        self.save_state()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        self.restore_state(step, saved)
    }
}

impl<F: Real> Drop for StreamingCorrelator<F> {
    fn drop(&mut self) {
        self.ahead.iter_mut().for_each(|row| row.as_mut_slice().zeroize());
        self.white.drawn.zeroize();
    }
}
