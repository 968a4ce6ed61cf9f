//! Lanes that are each at their own step, and are advanced on demand.
//!
//! **Definition.** A lane is advanced from its step to a later one by the recipe, step by step,
//! with its own white noise. Lanes that are advanced together are in one [`Tile`], ordered by step.
//! A lane joins when the lanes before it have reached its step.
//!
//! **Guarantee.** The numbers of a lane are those of the same lane in
//! [`super::StreamingCorrelator`], bit for bit. They do not depend on the steps at which the lane
//! was advanced, or on the lanes it was advanced with: both run [`super::kernel`], in which lanes
//! do not interact.
//!
//! **Cost.** O(rows) operations and one draw for every step that a lane is behind, in bursts of
//! eight. The grades of a step are read once for all lanes of a call.

use rayon::prelude::*;
use zeroize::Zeroize;

use super::BURST;
use super::grades::{BurstGrades, GradeReader};
use super::kernel::{Kernel, padded};
use super::many_lanes::spread;
use super::recipe::Recipe;
use crate::noise::{KeyedNoise, LaneTag};

/// Steps whose grades are in memory at a time: a multiple of a burst.
const WAVE: u64 = 4096;

/// The maximum number of lanes that are advanced together. Their data for one burst stay in the
/// nearest cache.
const TILE: usize = 256;

/// Lanes in one chunk of the kernel.
const CHUNK_LANES: usize = 16;

/// Steps whose grades are read together. They start at a multiple of a burst.
struct Wave {
    start: u64,
    end: u64,
    grades: Vec<BurstGrades<f64>>,
}

/// Advances lanes.
pub(crate) struct LazyLanes {
    kernel: Kernel<f64>,
    rows: usize,
    noise: KeyedNoise,
    grades: GradeReader,
}

impl LazyLanes {
    /// The maximum number of lanes in a tile.
    pub(crate) const TILE: usize = TILE;

    pub(crate) fn new(recipe: &Recipe, horizon: u64, noise: KeyedNoise) -> Self {
        Self {
            kernel: Kernel::new(recipe, 1.0),
            rows: recipe.rows(),
            noise,
            grades: GradeReader::new(recipe, horizon),
        }
    }

    /// How many numbers a lane holds.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The white noise of the lanes.
    pub(crate) fn noise(&self) -> &KeyedNoise {
        &self.noise
    }

    /// Advances all lanes to the point where `to` steps are made, and leaves them with the noise of
    /// the last step. Every lane must be behind that point.
    pub(crate) fn advance(&mut self, tiles: &mut [Tile], to: u64) {
        let Some(earliest) = tiles.iter().filter_map(|tile| tile.made.first().copied()).min() else { return };
        let mut start = earliest - earliest % BURST as u64;
        while start < to {
            let end = to.min(start + WAVE);
            let bursts = (start..end).step_by(BURST);
            let grades = bursts.map(|first| self.grades.burst(first)).collect();
            let wave = Wave { start, end, grades };
            let (kernel, noise) = (&self.kernel, &self.noise);
            let run = |tile: &mut Tile| {
                tile.run(kernel, noise, &wave);
                if end == to {
                    tile.collect();
                }
            };
            if let [tile] = tiles {
                run(tile);
            } else {
                tiles.par_iter_mut().for_each(run);
            }
            start = end;
        }
    }
}

/// Lanes that are advanced together.
pub(crate) struct Tile {
    rows: usize,
    /// The number of steps that each lane had made when it was added, in non-decreasing order.
    made: Vec<u64>,
    tags: Vec<LaneTag>,
    /// The numbers of the lanes, lane by lane.
    numbers: Vec<f64>,
    /// The numbers of the first `running` lanes, row by row, at step `at`.
    state: Vec<f64>,
    running: usize,
    at: u64,
    released: Vec<f64>,
}

impl Tile {
    /// An empty tile for `lanes` lanes of `rows` numbers each.
    pub(crate) fn new(rows: usize, lanes: usize) -> Self {
        Self {
            rows,
            made: Vec::with_capacity(lanes),
            tags: Vec::with_capacity(lanes),
            numbers: Vec::with_capacity(rows * lanes),
            state: vec![0.0; rows * padded(lanes)],
            running: 0,
            at: 0,
            released: vec![0.0; lanes],
        }
    }

    /// Adds a lane after `made` steps, which must not be fewer than those of the lane before it.
    pub(crate) fn push(&mut self, made: u64, tag: LaneTag, numbers: impl Iterator<Item = f64>) {
        debug_assert!(
            self.made.last().is_none_or(|last| *last <= made),
            "lanes come in the order of their steps"
        );
        self.made.push(made);
        self.tags.push(tag);
        self.numbers.extend(numbers);
    }

    /// The numbers of each lane, in the order in which they were added.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &[f64]> {
        self.numbers.chunks(self.rows.max(1))
    }

    /// The noise of the last step, per lane.
    pub(crate) fn released(&self) -> &[f64] {
        &self.released
    }

    /// The same noise, which the caller turns into releases.
    pub(crate) fn released_mut(&mut self) -> &mut [f64] {
        &mut self.released
    }

    /// Advances the lanes from where they are in the wave to its end.
    fn run(&mut self, kernel: &Kernel<f64>, noise: &KeyedNoise, wave: &Wave) {
        // Memory for the actual number of lanes. For a single lane, wiping more would be most of
        // the work.
        if self.released.len() <= CHUNK_LANES {
            self.run_in(&mut [0.0; BURST * CHUNK_LANES], kernel, noise, wave);
        } else {
            self.run_in(&mut [0.0; BURST * TILE], kernel, noise, wave);
        }
    }

    fn run_in(&mut self, values: &mut [f64], kernel: &Kernel<f64>, noise: &KeyedNoise, wave: &Wave) {
        let stride = padded(self.released.len());
        let mut used = 0;
        self.at = self.at.max(wave.start);
        while self.at < wave.end {
            if self.running == 0 {
                self.at = self.at.max(self.made.first().copied().unwrap_or(wave.end));
                if self.at >= wave.end {
                    break;
                }
            }
            while self.made.get(self.running).is_some_and(|made| *made == self.at) {
                self.join(stride);
            }
            let joins = self.made.get(self.running).copied().unwrap_or(wave.end);
            let burst = self.at - self.at % BURST as u64;
            let stop = wave.end.min(joins).min(burst + BURST as u64);
            let steps = (stop - self.at) as usize;
            let (running, values) = (self.running, &mut values[..steps * stride]);
            noise.draw_steps(&self.tags[..running], self.at, steps, &mut values[..steps * running]);
            spread(values, steps, running, stride);
            let grades = &wave.grades[((burst - wave.start) / BURST as u64) as usize];
            let offset = (self.at - burst) as usize;
            kernel.step(&mut self.state, stride, running, values, steps, (grades, offset));
            self.released[..running].copy_from_slice(&values[(steps - 1) * stride..][..running]);
            used = used.max(values.len());
            self.at = stop;
        }
        values[..used].zeroize();
    }

    /// Adds the next lane to those that run. It must not happen earlier, because all lanes of a
    /// chunk move together, including unused ones.
    fn join(&mut self, stride: usize) {
        let lane = self.running;
        for (row, number) in self.numbers[lane * self.rows..][..self.rows].iter().enumerate() {
            self.state[row * stride + lane] = *number;
        }
        self.running += 1;
    }

    /// Copies the numbers of all lanes back from their rows.
    fn collect(&mut self) {
        let stride = padded(self.released.len());
        for (lane, numbers) in self.numbers.chunks_mut(self.rows.max(1)).enumerate().take(self.running) {
            for (row, number) in numbers.iter_mut().enumerate() {
                *number = self.state[row * stride + lane];
            }
        }
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        self.numbers.as_mut_slice().zeroize();
        self.state.as_mut_slice().zeroize();
        self.released.as_mut_slice().zeroize();
    }
}
