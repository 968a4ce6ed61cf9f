//! Many lanes at once: each lane follows the recipe step by step, and lanes stand side by side in vector registers.
//!
//! **Definition.** For every lane exactly the operations of [`super::recipe`], in its order: decays first to last, then slow decays, then the
//! grades. Nothing is reassociated or contracted.
//!
//! **Guarantee.** A lane's noise is a function of its white noise alone: the same bits whatever the other lanes, the number of threads, the
//! width of vectors and the number of steps taken in one call.
//!
//! **Cost.** Lanes are held in tiles of [`TILE`], each with its rows one after the other. Taking `BURST` steps in one call reads and writes every
//! number of the state once for all of them, in registers in between; so the state costs an eighth of its size in memory traffic a
//! step, and drawing the white noise is the larger part of the work.

use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroize;

use super::BURST;
use super::grades::Grades;
use super::recipe::Recipe;
use crate::noise::vectorise::vectorised;
use crate::noise::{Real, WhiteField};

/// Lanes in a tile: its white noise for a burst and its state stay in the nearest caches.
pub(super) const TILE: usize = 256;

/// Lanes that share a register or two.
const CHUNK: usize = 16;

/// Lanes below which one thread is quicker than several.
const LANES_FOR_THREADS: usize = 8 * TILE;

/// The recipe's numbers in the precision of the lanes, and the step that they make.
pub(super) struct Kernel<F> {
    decays: Vec<(F, F)>,
    slow: Vec<(F, F)>,
    impulse: F,
    scale: F,
    is_graded: bool,
}

/// The state of many lanes.
pub(super) struct Wide<F: Real> {
    kernel: Kernel<F>,
    rows: usize,
    width: usize,
    /// Tile by tile; in a tile, row by row, every row padded to whole chunks.
    tiles: Vec<Vec<F>>,
}

impl<F: Real> Wide<F> {
    /// All lanes before their first step. Every row handed out is multiplied by `scale`.
    pub(super) fn new(recipe: &Recipe, width: usize, scale: f64) -> Self {
        let rows = recipe.rows();
        let tiles = tiles(width).map(|lanes| vec![F::ZERO; rows * padded(lanes.len())]).collect();
        Self { kernel: Kernel::new(recipe, scale), rows, width, tiles }
    }

    /// Takes as many steps as there are rows in `out`, at most a burst, and writes what they release.
    ///
    /// The white noise is that of `first` and the indices after it; a row holds one number a lane.
    pub(super) fn step(
        &mut self,
        field: &dyn WhiteField,
        first: u64,
        grades: &Grades<F>,
        out: &mut [&mut [F]],
    ) {
        if let [row] = out {
            return self.step_once(field, first, grades, row);
        }
        let kernel = &self.kernel;
        // Every tile gets its part of every row, so that threads write to memory of their own.
        let mut parts: Vec<Vec<&mut [F]>> =
            self.tiles.iter().map(|_| Vec::with_capacity(out.len())).collect();
        for row in out.iter_mut() {
            for (part, chunk) in parts.iter_mut().zip(row.chunks_mut(TILE)) {
                part.push(chunk);
            }
        }
        let work = |((state, mut out), lanes): ((&mut Vec<F>, Vec<&mut [F]>), Range<usize>)| {
            let mut white = [0.0; BURST * TILE];
            let white = &mut white[..out.len() * lanes.len()];
            let stride = padded(lanes.len());
            field.tile(first, lanes, white);
            kernel.step(state, stride, white, out.len(), (grades, 0), |k, start, released| {
                out[k][start..start + released.len()].copy_from_slice(released);
            });
        };
        let all = self.tiles.iter_mut().zip(parts).zip(tiles(self.width));
        if self.width < LANES_FOR_THREADS {
            all.for_each(work);
        } else {
            let all: Vec<_> = all.collect();
            all.into_par_iter().for_each(work);
        }
    }

    /// One step, straight into `out`: nothing is allocated, whatever the number of lanes.
    fn step_once(&mut self, field: &dyn WhiteField, index: u64, grades: &Grades<F>, out: &mut [F]) {
        let kernel = &self.kernel;
        let work = |(tile, (state, out)): (usize, (&mut Vec<F>, &mut [F]))| {
            let mut white = [0.0; TILE];
            let (white, lanes) = (&mut white[..out.len()], tile * TILE..tile * TILE + out.len());
            let stride = padded(lanes.len());
            field.tile(index, lanes, white);
            kernel.step(state, stride, white, 1, (grades, 0), |_, start, released| {
                out[start..start + released.len()].copy_from_slice(released);
            });
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

    /// Takes what `save` gave, `rows × width` numbers.
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

fn tiles(width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..width).step_by(TILE).map(move |start| start..(start + TILE).min(width))
}

/// Lanes as they stand in a row of the state: whole chunks.
pub(super) fn padded(lanes: usize) -> usize {
    lanes.next_multiple_of(CHUNK)
}

impl<F: Real> Kernel<F> {
    /// What is released is multiplied by `scale`.
    pub(super) fn new(recipe: &Recipe, scale: f64) -> Self {
        let real = F::from_f64;
        // S is weighted for itself and for every slow decay.
        let slow_weight: f64 = recipe.slow.iter().map(|slow| slow.weight).sum();
        let mut decays: Vec<(F, F)> = recipe.decays.iter().map(|d| (real(d.decay), real(d.weight))).collect();
        if let (Some(first), Some(sum)) = (decays.first_mut(), recipe.decays.first()) {
            first.1 = real(sum.weight + slow_weight);
        }
        Self {
            decays,
            slow: recipe.slow.iter().map(|slow| (real(slow.loss), real(slow.weight))).collect(),
            impulse: real(recipe.impulse),
            scale: real(scale),
            is_graded: recipe.grading.is_some(),
        }
    }

    /// Takes a number of steps, at most a burst, with the lanes that `white` has draws for, step by step: the first of a tile whose rows
    /// are `stride` apart. The grades of the first step stand at the given place. `put` gets what is released in pieces: the
    /// step, the first lane, and the numbers.
    pub(super) fn step(
        &self,
        state: &mut [F],
        stride: usize,
        white: &[f64],
        steps: usize,
        (grades, offset): (&Grades<F>, usize),
        mut put: impl FnMut(usize, usize, &[F]),
    ) {
        let lanes = white.len() / steps;
        for start in (0..lanes).step_by(CHUNK) {
            let len = CHUNK.min(lanes - start);
            let mut drawn = [[F::ZERO; CHUNK]; BURST];
            for (drawn, row) in drawn.iter_mut().zip(white.chunks_exact(lanes)) {
                for (drawn, white) in drawn.iter_mut().zip(&row[start..start + len]) {
                    *drawn = F::from_f64(*white);
                }
            }
            let state = &mut state[start..];
            if steps == BURST {
                vectorised(
                    #[inline(always)]
                    || step_chunk::<F, BURST>(self, state, stride, &mut drawn, grades, 0),
                );
            } else {
                for (k, drawn) in drawn[..steps].iter_mut().enumerate() {
                    let one = std::array::from_mut(drawn);
                    vectorised(
                        #[inline(always)]
                        || step_chunk::<F, 1>(self, state, stride, one, grades, offset + k),
                    );
                }
            }
            for (k, released) in drawn[..steps].iter().enumerate() {
                put(k, start, &released[..len]);
            }
        }
    }
}

/// K steps of one chunk of lanes: `drawn` holds white noise and is replaced by what is released. The grades of the first
/// step stand at `offset`.
#[inline(always)]
fn step_chunk<F: Real, const K: usize>(
    kernel: &Kernel<F>,
    state: &mut [F],
    stride: usize,
    drawn: &mut [[F; CHUNK]; K],
    grades: &Grades<F>,
    offset: usize,
) {
    let mut rows = state.chunks_mut(stride);
    if kernel.is_graded {
        for k in 0..K {
            for i in 0..CHUNK {
                drawn[k][i] *= grades.drive[offset + k];
            }
        }
    }
    let mut sums = [[F::ZERO; CHUNK]; K];
    for k in 0..K {
        for i in 0..CHUNK {
            sums[k][i] = kernel.impulse * drawn[k][i];
        }
    }
    let mut before = [[F::ZERO; CHUNK]; K];
    for (j, &(decay, weight)) in kernel.decays.iter().enumerate() {
        let Some(row) = rows.next().and_then(|row| row.first_chunk_mut::<CHUNK>()) else { return };
        let mut v = *row;
        let keeps_sum = j == 0 && !kernel.slow.is_empty();
        for k in 0..K {
            if keeps_sum {
                before[k] = v;
            }
            for i in 0..CHUNK {
                v[i] = decay * v[i] + drawn[k][i];
                sums[k][i] += weight * v[i];
            }
        }
        *row = v;
    }
    for &(loss, weight) in &kernel.slow {
        let Some(row) = rows.next().and_then(|row| row.first_chunk_mut::<CHUNK>()) else { return };
        let mut e = *row;
        for k in 0..K {
            for i in 0..CHUNK {
                e[i] += loss * (before[k][i] - e[i]);
                sums[k][i] -= weight * e[i];
            }
        }
        *row = e;
    }
    if kernel.is_graded {
        let Some(row) = rows.next().and_then(|row| row.first_chunk_mut::<CHUNK>()) else { return };
        let mut zeta = *row;
        for k in 0..K {
            let (norm, rise) = (grades.norm[offset + k], grades.rise[offset + k]);
            for i in 0..CHUNK {
                let u = sums[k][i];
                sums[k][i] = norm * u + zeta[i];
                zeta[i] -= rise * u;
            }
        }
        *row = zeta;
    }
    for k in 0..K {
        for i in 0..CHUNK {
            drawn[k][i] = kernel.scale * sums[k][i];
        }
    }
}

impl<F: Real> Drop for Wide<F> {
    fn drop(&mut self) {
        self.tiles.iter_mut().for_each(|tile| tile.as_mut_slice().zeroize());
    }
}
