//! Many lanes at once: each lane follows the recipe step by step, side by side in vector registers.
//!
//! **Definition.** [`super::kernel`], tile by tile.
//!
//! **Guarantee.** A lane's noise is a function of its white noise only. It has the same bits for
//! any other lanes, any number of threads, any vector width and any number of steps per call.
//!
//! **Cost.** Lanes are held in tiles of [`TILE`]. A tile holds its rows one after the other. Taking
//! `BURST` steps in one call reads and writes every number of the state once for all of them and
//! keeps it in registers in between. So the memory traffic per step is an eighth of the size of the
//! state, and drawing the white noise is the larger part of the work.

use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroize;

use super::BURST;
use super::grades::BurstGrades;
use super::kernel::{Kernel, padded};
use super::recipe::Recipe;
use crate::noise::keystream::wipe;
use crate::noise::{Real, WhiteField};

/// Lanes per tile. The white noise of a tile for one burst and its state stay in the nearest
/// caches.
pub(super) const TILE: usize = 1024;

/// Below this number of lanes, one thread is faster than several.
pub(super) const LANES_FOR_THREADS: usize = 8 * TILE;

/// The state of many lanes.
pub(super) struct ManyLanes<F: Real> {
    kernel: Kernel<F>,
    rows: usize,
    width: usize,
    /// Tile by tile, and row by row within a tile. Every row is padded to full chunks.
    tiles: Vec<Vec<F>>,
}

impl<F: Real> ManyLanes<F> {
    /// All lanes before their first step. All output is multiplied by `scale`.
    pub(super) fn new(recipe: &Recipe, width: usize, scale: f64) -> Self {
        let rows = recipe.rows();
        let tiles = tiles(width).map(|lanes| vec![F::ZERO; rows * padded(lanes.len())]).collect();
        Self { kernel: Kernel::new(recipe, scale), rows, width, tiles }
    }

    /// Takes one step per row of `out`, at most a burst, and writes the output of each step.
    ///
    /// The white noise has the indices from `first`. A row holds one number per lane.
    pub(super) fn step(
        &mut self,
        field: &dyn WhiteField,
        first: u64,
        grades: &BurstGrades<F>,
        out: &mut [&mut [F]],
    ) {
        let Ok(rows) = <&mut [&mut [F]; BURST]>::try_from(&mut *out) else {
            for (k, row) in out.iter_mut().enumerate() {
                self.step_once(field, first + k as u64, (grades, k), row);
            }
            return;
        };
        // Every tile gets its part of every row, so that threads write to disjoint memory.
        let mut rows = rows.each_mut().map(|row| row.chunks_mut(TILE));
        let work: Vec<Burst<'_, F>> = self
            .tiles
            .iter_mut()
            .zip(tiles(self.width))
            .map(|(state, lanes)| Burst {
                state,
                lanes,
                out: rows.each_mut().map(|row| row.next().unwrap_or_default()),
            })
            .collect();
        let kernel = &self.kernel;
        let len = BURST * padded(self.width.min(TILE));
        let scratch = || Scratch(vec![F::ZERO; len]);
        if self.width < LANES_FOR_THREADS {
            let mut values = scratch();
            work.into_iter().for_each(|burst| burst.take(kernel, field, first, grades, &mut values.0));
        } else {
            work.into_par_iter().for_each_init(scratch, |values, burst| {
                burst.take(kernel, field, first, grades, &mut values.0);
            });
        }
    }

    /// Takes one step and writes it straight into `out`. Nothing is allocated, for any number of
    /// lanes.
    fn step_once(
        &mut self,
        field: &dyn WhiteField,
        index: u64,
        grades: (&BurstGrades<F>, usize),
        out: &mut [F],
    ) {
        let kernel = &self.kernel;
        let work = |(tile, (state, out)): (usize, (&mut Vec<F>, &mut [F]))| {
            let lanes = tile * TILE..tile * TILE + out.len();
            let stride = padded(lanes.len());
            if lanes.len() == stride {
                return step_tile(kernel, state, field, (index, lanes), out, grades);
            }
            let values = &mut [F::ZERO; TILE][..stride];
            step_tile(kernel, state, field, (index, lanes), values, grades);
            out.copy_from_slice(&values[..out.len()]);
            wipe(values);
        };
        if self.width < LANES_FOR_THREADS {
            self.tiles.iter_mut().zip(out.chunks_mut(TILE)).enumerate().for_each(work);
        } else {
            self.tiles.par_iter_mut().zip(out.par_chunks_mut(TILE)).enumerate().for_each(work);
        }
    }

    /// The numbers of the state, row by row.
    pub(super) fn save(&self, out: &mut Vec<f64>) {
        for row in 0..self.rows {
            for (tile, lanes) in self.tiles.iter().zip(tiles(self.width)) {
                let padded = padded(lanes.len());
                out.extend(tile[row * padded..][..lanes.len()].iter().map(|value| value.to_f64()));
            }
        }
    }

    /// Returns to the state before the first step.
    pub(super) fn clear(&mut self) {
        self.tiles.iter_mut().for_each(|tile| tile.as_mut_slice().zeroize());
    }

    /// Restores the `rows × width` numbers that `save` wrote.
    pub(super) fn restore(&mut self, saved: &[f64]) {
        let mut saved = saved.iter();
        for row in 0..self.rows {
            for (tile, lanes) in self.tiles.iter_mut().zip(tiles(self.width)) {
                let padded = padded(lanes.len());
                for (value, saved) in tile[row * padded..][..lanes.len()].iter_mut().zip(&mut saved) {
                    *value = F::from_f64(*saved);
                }
            }
        }
    }
}

/// The memory in which tiles are computed. Raw noise passes through it.
struct Scratch<F: Real>(Vec<F>);

impl<F: Real> Drop for Scratch<F> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// One burst of one tile, and where its output goes.
struct Burst<'a, F: Real> {
    state: &'a mut Vec<F>,
    lanes: Range<usize>,
    out: [&'a mut [F]; BURST],
}

impl<F: Real> Burst<'_, F> {
    fn take(
        self,
        kernel: &Kernel<F>,
        field: &dyn WhiteField,
        first: u64,
        grades: &BurstGrades<F>,
        values: &mut [F],
    ) {
        let stride = padded(self.lanes.len());
        let values = &mut values[..BURST * stride];
        step_tile(kernel, self.state, field, (first, self.lanes), values, (grades, 0));
        for (row, released) in self.out.into_iter().zip(values.chunks(stride)) {
            row.copy_from_slice(&released[..row.len()]);
        }
    }
}

/// Takes one step of a tile per padded row of `values`, and replaces each row by the output.
fn step_tile<F: Real>(
    kernel: &Kernel<F>,
    state: &mut [F],
    field: &dyn WhiteField,
    (first, lanes): (u64, Range<usize>),
    values: &mut [F],
    grades: (&BurstGrades<F>, usize),
) {
    let (len, stride) = (lanes.len(), padded(lanes.len()));
    let steps = values.len() / stride;
    F::tile(field, first, lanes, &mut values[..steps * len]);
    spread(values, steps, len, stride);
    kernel.step(state, stride, len, values, steps, grades);
}

/// Moves contiguous rows of `len` numbers so that they are `stride` apart, with zeros between them.
pub(super) fn spread<F: Real>(values: &mut [F], rows: usize, len: usize, stride: usize) {
    if len == stride {
        return;
    }
    // The last row goes first, so that no row is overwritten before it is read.
    for row in (0..rows).rev() {
        values.copy_within(row * len..(row + 1) * len, row * stride);
        values[row * stride + len..(row + 1) * stride].fill(F::ZERO);
    }
}

fn tiles(width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..width).step_by(TILE).map(move |start| start..(start + TILE).min(width))
}

impl<F: Real> Drop for ManyLanes<F> {
    fn drop(&mut self) {
        self.clear();
    }
}
