//! The steps of a tile: lanes in vector registers, one burst at a time.
//!
//! **Definition.** Every lane performs exactly the operations of [`super::recipe`], in its order:
//! decays from first to last, then slow decays, then the grades. Nothing is reassociated or
//! contracted.
//!
//! **Guarantee.** The output of a lane does not depend on the lanes beside it, on the vector width,
//! or on the number of steps per call.
//!
//! **Cost.** Four operations per decay and step. In a burst every number of the state is read and
//! written once, and the sums stay in registers.

use pulp::{Simd, WithSimd};

use super::BURST;
use super::grades::BurstGrades;
use super::recipe::Recipe;
use crate::noise::Real;

/// Lanes that are handled together: a multiple of every vector width.
const CHUNK: usize = 16;

/// The number of lanes of a row, rounded up to full chunks.
pub(super) fn padded(lanes: usize) -> usize {
    lanes.next_multiple_of(CHUNK)
}

/// The recipe's numbers in the precision of the lanes.
pub(super) struct Kernel<F> {
    /// θ and η. If there are slow decays, the first is S, with its own weight plus all of theirs.
    decays: Vec<(F, F)>,
    /// p and η.
    slow: Vec<(F, F)>,
    impulse: F,
    scale: F,
    is_graded: bool,
    /// The number of chains, and the loss 1 − λ of the workload that they make.
    chains: usize,
    loss: F,
}

impl<F: Real> Kernel<F> {
    /// All output is multiplied by `scale`.
    pub(super) fn new(recipe: &Recipe, scale: f64) -> Self {
        let real = F::from_f64;
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
            chains: recipe.chains.as_ref().map_or(0, |source| source.chains()),
            loss: real(recipe.chains.as_ref().map_or(0.0, |source| source.loss())),
        }
    }

    /// Takes up to a burst of steps with the first `lanes` lanes of a tile and with those that fill
    /// their last chunk. Rows of state and values are `stride` apart. On entry a row of values is
    /// the white noise of a step, and on return it is the output of that step. `grades` holds the
    /// grades and the place of the first step in them.
    pub(super) fn step(
        &self,
        state: &mut [F],
        stride: usize,
        lanes: usize,
        values: &mut [F],
        steps: usize,
        grades: (&BurstGrades<F>, usize),
    ) {
        debug_assert!(stride.is_multiple_of(CHUNK) && lanes <= stride && values.len() >= steps * stride);
        pulp::Arch::new().dispatch(Steps { kernel: self, state, stride, lanes, values, steps, grades });
    }
}

struct Steps<'a, F: Real> {
    kernel: &'a Kernel<F>,
    state: &'a mut [F],
    stride: usize,
    lanes: usize,
    values: &'a mut [F],
    steps: usize,
    grades: (&'a BurstGrades<F>, usize),
}

impl<F: Real> WithSimd for Steps<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = size_of::<F::Of<S>>() / size_of::<F>();
        let (row, vectors) = (self.stride / width, padded(self.lanes) / width);
        let (state, values) = (F::vectors::<S>(self.state), F::vectors::<S>(self.values));
        let (grades, offset) = self.grades;
        for at in 0..vectors {
            if self.steps == BURST {
                take::<F, S, BURST>(
                    simd,
                    self.kernel,
                    &mut state[at..],
                    row,
                    &mut values[at..],
                    grades,
                    offset,
                );
            } else {
                for k in 0..self.steps {
                    let values = &mut values[k * row + at..];
                    take::<F, S, 1>(simd, self.kernel, &mut state[at..], row, values, grades, offset + k);
                }
            }
        }
    }
}

/// K steps of one vector of lanes, which is at the start of every row.
#[inline(always)]
fn take<F: Real, S: Simd, const K: usize>(
    simd: S,
    kernel: &Kernel<F>,
    state: &mut [F::Of<S>],
    row: usize,
    values: &mut [F::Of<S>],
    grades: &BurstGrades<F>,
    offset: usize,
) {
    let splat = |value: F| F::splat(simd, value);
    if kernel.chains > 0 {
        return take_chains::<F, S, K>(simd, kernel, state, row, values, grades, offset);
    }
    let mut h: [F::Of<S>; K] = std::array::from_fn(|k| values[k * row]);
    if kernel.is_graded {
        h = std::array::from_fn(|k| F::times(simd, h[k], splat(grades.drive[offset + k])));
    }
    let impulse = splat(kernel.impulse);
    let mut sums: [F::Of<S>; K] = std::array::from_fn(|k| F::times(simd, impulse, h[k]));
    let (decays, rest) = state.split_at_mut((kernel.decays.len() * row).min(state.len()));
    let sum_before = decays.first().copied();
    for (v, &(decay, weight)) in decays.iter_mut().step_by(row).zip(&kernel.decays) {
        let (decay, weight) = (splat(decay), splat(weight));
        let mut lane = *v;
        for k in 0..K {
            lane = F::plus(simd, F::times(simd, decay, lane), h[k]);
            sums[k] = F::plus(simd, sums[k], F::times(simd, weight, lane));
        }
        *v = lane;
    }
    let (slow, zeta) = rest.split_at_mut((kernel.slow.len() * row).min(rest.len()));
    if let (Some(sum), false) = (sum_before, slow.is_empty()) {
        // S before each step, computed by the same operations as above, with θ = 1.
        let mut before = [sum; K];
        for k in 1..K {
            before[k] = F::plus(simd, before[k - 1], h[k - 1]);
        }
        for (e, &(loss, weight)) in slow.iter_mut().step_by(row).zip(&kernel.slow) {
            let (loss, weight) = (splat(loss), splat(weight));
            let mut lane = *e;
            for k in 0..K {
                lane = F::plus(simd, lane, F::times(simd, loss, F::minus(simd, before[k], lane)));
                sums[k] = F::minus(simd, sums[k], F::times(simd, weight, lane));
            }
            *e = lane;
        }
    }
    if let (Some(zeta), true) = (zeta.first_mut(), kernel.is_graded) {
        let mut lane = *zeta;
        for (k, sum) in sums.iter_mut().enumerate() {
            let u = *sum;
            *sum = F::plus(simd, F::times(simd, splat(grades.norm[offset + k]), u), lane);
            lane = F::minus(simd, lane, F::times(simd, splat(grades.rise[offset + k]), u));
        }
        *zeta = lane;
    }
    let scale = splat(kernel.scale);
    for k in 0..K {
        values[k * row] = F::times(simd, scale, sums[k]);
    }
}

/// The same for chains.
#[inline(always)]
fn take_chains<F: Real, S: Simd, const K: usize>(
    simd: S,
    kernel: &Kernel<F>,
    state: &mut [F::Of<S>],
    row: usize,
    values: &mut [F::Of<S>],
    grades: &BurstGrades<F>,
    offset: usize,
) {
    let splat = |value: F| F::splat(simd, value);
    let single = |value: f32| F::splat(simd, F::from_f64(f64::from(value)));
    let Some(numbers) = &grades.chains else { return };
    let g: [F::Of<S>; K] = std::array::from_fn(|k| values[k * row]);
    let mut sums = [splat(F::ZERO); K];
    let (chains, zeta) = state.split_at_mut((kernel.chains * row).min(state.len()));
    for (j, x) in chains.iter_mut().step_by(row).enumerate() {
        let mut lane = *x;
        for k in 0..K {
            let drive = F::times(simd, single(numbers.drives[offset + k][j]), g[k]);
            let lost = F::times(simd, single(numbers.losses[offset + k][j]), lane);
            lane = F::plus(simd, lane, F::minus(simd, drive, lost));
            sums[k] = F::plus(simd, sums[k], lane);
        }
        *x = lane;
    }
    let (scale, loss) = (splat(kernel.scale), splat(kernel.loss));
    let Some(zeta) = zeta.first_mut() else { return };
    let mut lane = *zeta;
    for (k, u) in sums.into_iter().enumerate() {
        let z = F::plus(simd, F::times(simd, splat(grades.norm[offset + k]), u), lane);
        values[k * row] = F::times(simd, scale, z);
        lane = F::minus(simd, lane, F::times(simd, splat(grades.rise[offset + k]), u));
        lane = F::minus(simd, lane, F::times(simd, loss, lane));
    }
    *zeta = lane;
}
