//! Anderson acceleration of a fixed-point iteration x ← x + f(x).

use std::collections::VecDeque;

use faer::linalg::solvers::SolveLstsq;

/// How many earlier steps are remembered.
const DEPTH: usize = 10;

/// Remembers the differences of the last steps and extrapolates from them.
#[derive(Default)]
pub(crate) struct Anderson {
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// Differences (Δx, Δf), oldest first.
    differences: VecDeque<(Vec<f64>, Vec<f64>)>,
}

impl Anderson {
    /// Moves x, whose residual is f(x): x + f − Σ γ_i (Δx_i + Δf_i), where γ makes f − Σ γ_i Δf_i smallest.
    pub(crate) fn advance(&mut self, x: &mut [f64], residual: &[f64]) {
        if let Some((last_x, last_residual)) = &self.last {
            let moved = x.iter().zip(last_x).map(|(a, b)| a - b).collect();
            let changed = residual.iter().zip(last_residual).map(|(a, b)| a - b).collect();
            if self.differences.len() == DEPTH {
                self.differences.pop_front();
            }
            self.differences.push_back((moved, changed));
        }
        self.last = Some((x.to_vec(), residual.to_vec()));
        let weights = self.weights(residual);
        for (x, f) in x.iter_mut().zip(residual) {
            *x += f;
        }
        for (weight, (moved, changed)) in weights.iter().zip(&self.differences) {
            for ((x, dx), df) in x.iter_mut().zip(moved).zip(changed) {
                *x -= weight * (dx + df);
            }
        }
    }

    /// Forgets the past, after a step that made things worse.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    fn weights(&self, residual: &[f64]) -> Vec<f64> {
        let (rows, columns) = (residual.len(), self.differences.len().min(residual.len()));
        if columns == 0 {
            return Vec::new();
        }
        // The newest differences matter most where there are more of them than unknowns.
        let skipped = self.differences.len() - columns;
        let changes = faer::Mat::from_fn(rows, columns, |i, j| self.differences[skipped + j].1[i]);
        let target = faer::Mat::from_fn(rows, 1, |i, _| residual[i]);
        let solved = changes.col_piv_qr().solve_lstsq(&target);
        let mut weights = vec![0.0; skipped];
        weights.extend((0..columns).map(|j| if solved[(j, 0)].is_finite() { solved[(j, 0)] } else { 0.0 }));
        weights
    }
}
