//! Anderson acceleration of a fixed-point iteration x ← x + f(x).
//!
//! The weights of the last steps solve a least-squares problem with at most [`DEPTH`] unknowns. Its
//! normal equations are kept between steps, and each step adds one row, so a step costs O(n·DEPTH)
//! for vectors of length n. Their squared condition number does no harm: directions that are lost
//! in rounding are dropped, and the iteration corrects itself.

use std::collections::VecDeque;

use rayon::prelude::*;

/// The number of earlier steps that are remembered.
const DEPTH: usize = 10;

/// Eigenvalues of the scaled normal equations below this fraction of the largest are rounding
/// noise.
const NOISE: f64 = 1e-13;

/// Entries per parallel task.
const CHUNK: usize = 1 << 14;

/// One step back: Δx, Δf, and the products of Δf with those of the steps before it, newest first.
struct Difference {
    moved: Vec<f64>,
    changed: Vec<f64>,
    products: Vec<f64>,
}

/// Remembers the differences of the last steps and extrapolates from them.
#[derive(Default)]
pub(super) struct Anderson {
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// Newest first.
    differences: VecDeque<Difference>,
}

impl Anderson {
    /// Moves x, whose residual is f(x), to x + f − Σ γ_i (Δx_i + Δf_i), where γ minimises f − Σ γ_i
    /// Δf_i.
    pub(super) fn advance(&mut self, x: &mut [f64], residual: &[f64]) {
        if let Some((mut moved, mut changed)) = self.last.take() {
            moved.iter_mut().zip(&*x).for_each(|(before, now)| *before = now - *before);
            changed.iter_mut().zip(residual).for_each(|(before, now)| *before = now - *before);
            self.differences.truncate(DEPTH - 1);
            let mut products = vec![dot(&changed, &changed)];
            products.extend(self.differences.iter().map(|other| dot(&changed, &other.changed)));
            self.differences.push_front(Difference { moved, changed, products });
        }
        self.last = Some((x.to_vec(), residual.to_vec()));
        let weights = self.weights(residual);
        let differences = &self.differences;
        x.par_chunks_mut(CHUNK).zip(residual.par_chunks(CHUNK)).enumerate().for_each(|(c, (x, residual))| {
            x.iter_mut().zip(residual).for_each(|(x, f)| *x += f);
            let range = c * CHUNK..c * CHUNK + x.len();
            for (weight, difference) in weights.iter().zip(differences) {
                let (moved, changed) = (&difference.moved[range.clone()], &difference.changed[range.clone()]);
                for ((x, dx), df) in x.iter_mut().zip(moved).zip(changed) {
                    *x -= weight * (dx + df);
                }
            }
        });
    }

    /// Discards the history, after a step that made things worse.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// γ by the normal equations, scaled to a unit diagonal.
    fn weights(&self, residual: &[f64]) -> Vec<f64> {
        let count = self.differences.len();
        let norms: Vec<f64> = self.differences.iter().map(|d| d.products[0].sqrt()).collect();
        if count == 0 || norms.iter().any(|norm| !(*norm > 0.0 && norm.is_finite())) {
            return vec![0.0; count];
        }
        let gram = faer::Mat::from_fn(count, count, |i, j| {
            let (newer, older) = (i.min(j), i.max(j));
            self.differences[newer].products[older - newer] / (norms[i] * norms[j])
        });
        let target: Vec<f64> =
            self.differences.iter().zip(&norms).map(|(d, norm)| dot(&d.changed, residual) / norm).collect();
        let Ok(eigen) = gram.self_adjoint_eigen(faer::Side::Lower) else {
            return vec![0.0; count];
        };
        let (vectors, values) = (eigen.U(), eigen.S().column_vector());
        let mut weights = vec![0.0; count];
        for k in (0..count).filter(|k| values[*k] > NOISE * values[count - 1]) {
            let along: f64 = (0..count).map(|i| vectors[(i, k)] * target[i]).sum();
            for (i, weight) in weights.iter_mut().enumerate() {
                *weight += vectors[(i, k)] * along / (values[k] * norms[i]);
            }
        }
        weights
    }
}

/// Σ a_i b_i, added in an order that does not depend on the number of threads.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let chunks = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK));
    let sums: Vec<f64> = chunks.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_map_is_solved_in_as_many_steps_as_it_has_eigenvalues() {
        // x ← x + (b − K x) with five distinct eigenvalues, which converges slowly on its own.
        let stiff = |i: usize| 0.01 + 0.3 * (i % 5) as f64;
        let n = 40_000;
        let mut x = vec![0.0; n];
        let mut anderson = Anderson::default();
        for _ in 0..8 {
            let residual: Vec<f64> = (0..n).map(|i| stiff(i) * (1.0 - x[i])).collect();
            anderson.advance(&mut x, &residual);
        }
        let error = x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
        assert!(error < 1e-6, "{error}");
    }

    #[test]
    fn a_step_that_changes_nothing_is_survived() {
        let mut anderson = Anderson::default();
        let mut x = vec![1.0, 2.0];
        for _ in 0..5 {
            anderson.advance(&mut x, &[0.0, 0.0]);
        }
        assert_eq!(x, [1.0, 2.0]);
    }
}
