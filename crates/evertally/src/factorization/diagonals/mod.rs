//! A Toeplitz pair between two diagonals: what the graded roots have in common.
//!
//! **Definition.** R = diag(e) T(f̂) diag(1/d) and L = A diag(d) T(f̂)⁻¹ diag(1/e), with f̂ and Ŝ a
//! [`Pair`] of mixtures whose product is A, and e and d from a [`Diagonals`].
//!
//! **Guarantee.** L R = A for any e > 0, d > 0 and f̂ with f̂₀ ≠ 0. Whoever chooses d answers for the
//! length of the columns of R.
//!
//! | file | content |
//! |---|---|
//! | `profile` | the error of every step |
//! | `term` | one exponential of e² and d², over many steps |

pub(super) mod profile;
pub(super) mod term;

use std::sync::Arc;

use super::{Dense, Mechanism, dense_size, series};
use crate::Result;
use crate::matrix::Matrix;
use crate::mixture::Pair;
use crate::noise::{GRADED_BLOCK as BLOCK, GradeBlock, Grading, Recipe};
use crate::privacy::CompensatedSum;

/// A grading whose steps can be asked for one by one.
pub(super) trait Diagonals: Grading + 'static {
    /// e_t and d_t, up to rounding those of a block.
    fn at(&self, step: u64) -> (f64, f64);

    /// How far apart steps may be for the error between them to be smooth.
    fn strides(&self) -> Strides;
}

/// The strides of a profile: short near the first step, and near the last one if e changes there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strides {
    /// The length of a stride as a fraction of the distance to the nearer end.
    pub(super) fineness: u64,
    /// The horizon, if e changes quickly before it.
    pub(super) end: Option<u64>,
}

impl Strides {
    /// The ends of strides from `first` to `last`, both included.
    fn stops(self, first: u64, last: u64) -> Vec<u64> {
        let mut stops = vec![first];
        let mut step = first;
        while step < last {
            let nearer = self.end.map_or(u64::MAX, |end| end - 1 - step).min(step - first);
            // After the middle, the end of a stride limits its length.
            step = (step + (nearer / (self.fineness + 1)).max(1)).min(last);
            stops.push(step);
        }
        stops
    }
}

/// What the noise and its error are computed from.
pub(super) struct Parts<W> {
    pub(super) horizon: u64,
    pub(super) pair: Pair,
    /// The decays 1 − τ_i of Ŝ.
    pub(super) decays: Vec<f64>,
    pub(super) weights: Arc<W>,
}

impl<W: Diagonals> Parts<W> {
    pub(super) fn new(horizon: u64, pair: Pair, weights: W) -> Self {
        let decays = pair.decays().collect();
        Self { horizon, pair, decays, weights: Arc::new(weights) }
    }

    pub(super) fn recipe(&self) -> Recipe {
        Recipe { grading: Some(Arc::clone(&self.weights) as _), ..self.pair.recipe() }
    }

    /// Calls `visit(j, (w T(f̂)⁻¹)_j/e_j)` for j from `last` down to zero, where w_s = d_s for s in
    /// `first..=last` and zero before: with first = 0, row `last` of L.
    ///
    /// T(f̂)⁻¹ = A⁻¹ T(Ŝ), so each entry is Σ_s (w_s − w_{s+1}) Ŝ_{s−j}: the mixture run backwards.
    pub(super) fn walk_row(&self, first: u64, last: u64, mut visit: impl FnMut(u64, f64)) {
        let decoder = self.pair.decoder();
        let mut stretch = GradeBlock::default();
        let mut states = vec![0.0; decoder.len()];
        let mut after = 0.0;
        for j in (0..=last).rev() {
            let i = (j % BLOCK) as usize;
            if j == last || i as u64 == BLOCK - 1 {
                self.weights.block(j, &mut stretch);
            }
            let weight = if j >= first { stretch.norms[i] } else { 0.0 };
            let fall = weight - after;
            after = weight;
            let mut entry = decoder.impulse() * fall;
            for (state, (decay, weight)) in states.iter_mut().zip(self.decays.iter().zip(decoder.weights())) {
                *state = decay * *state + fall;
                entry += weight * *state;
            }
            visit(j, entry / stretch.grades[i]);
        }
    }

    /// ‖L\[t;\] − L\[s;\]‖² for `earlier` s < `later` t: entry by entry at short horizons, in
    /// strides at longer ones.
    pub(super) fn difference(&self, earlier: u64, later: u64) -> f64 {
        if later >= profile::MAX_EXACT {
            return profile::difference(&self.pair, &*self.weights, earlier, later);
        }
        let mut sum = CompensatedSum::default();
        self.walk_row(earlier + 1, later, |_, entry| sum.add(entry * entry));
        sum.value()
    }

    /// From the definition: f̂ added up, inverted by long division.
    pub(super) fn dense(&self, mechanism: &Mechanism) -> Result<Dense> {
        let n = dense_size(mechanism, self.horizon)?;
        let coefficients = self.pair.encoder().coefficients(n);
        let inverse = series::divide(&[1.0], &coefficients, n);
        let weights: Vec<(f64, f64)> = (0..n as u64).map(|t| self.weights.at(t)).collect();
        let encoder = Matrix::from_fn(n, n, |i, j| {
            if j <= i { weights[i].0 * coefficients[i - j] / weights[j].1 } else { 0.0 }
        });
        let mut decoder = Matrix::zeros(n, n);
        for j in 0..n {
            let mut sum = 0.0;
            for t in j..n {
                sum += weights[t].1 * inverse[t - j];
                decoder[(t, j)] = sum / weights[j].0;
            }
        }
        Ok(Dense { decoder, encoder })
    }
}
