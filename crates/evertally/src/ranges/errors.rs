//! The exact error of sums of bins under least squares.
//!
//! **Definition.** For an edge j and a number q, the sum is C_j − q·C_m, where C_j counts the first j bins
//! and C_m all of them. With q = 0 it is a cumulative count. Its least-squares estimate is Σ f_v·y_v over the
//! releases y of the lanes. [`Norms`] are ‖f‖₂ and ‖f‖₁.
//!
//! **Derivation.** For a range v on the path from the j-th bin upwards, let P be what it has before the edge.
//! The estimate of P is κ_v·x̂_v + E_v, where E_v depends on the z of the subtree alone. For the j-th bin,
//! κ = 1 and E = 0. With the child c of v on the path and the children before it,
//!
//! > κ_v = (Σ_before a + κ_c·a_c)/A,   E_v = Σ_children (f − κ_v)·z + E_c,
//!
//! where f is 1 before the path, κ_c on it and 0 after it: put x̂ = z + (a/A)(x̂_v − Σz) into
//! Σ_before x̂ + κ_c·x̂_c + E_c. The largest ranges have x̂ = z, so the sum is Σ(f − q)·z + E. Downwards, the
//! factor of z is 1 − t before the path, κ − t =: φ on it and −t after it, with t = q for the largest ranges.
//! On the path, z_v = g·y_v/w + (1 − g)·Σz_c, so t becomes κ_v − φ·(1 − g) for the children of v. Off the
//! path, the z are functions of separate lanes, with the known variances and magnitudes.
//!
//! The tests compare both norms with dense least squares.

use super::Ranges;
use crate::research::bounds::nuclear_mean_error;
use crate::research::gamma::{Subject, gamma_f};
use crate::{Result, Workload};

/// The most bins for which γ_F is computed. Beyond, a closed form bounds it.
const MAX_CERTIFIED: usize = 1 << 14;

/// The relative gap of γ_F: far more digits than are shown.
const GAP: f64 = 1e-7;

/// The size of the factors with which the releases of all lanes make an estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Norms {
    /// The root of the sum of their squares: the standard deviation, if each lane has one of one.
    pub euclidean: f64,
    /// The sum of their magnitudes.
    pub sum: f64,
}

impl Ranges {
    /// The factors of the estimate of C_j − q·C_m, for the edge j from 0 to the number of bins.
    ///
    /// # Panics
    /// If there is no such edge.
    #[must_use]
    pub fn norms(&self, edge: usize, q: f64) -> Norms {
        assert!(edge <= self.bins(), "an edge from 0 to the number of bins");
        let mut total = Total::default();
        let top = self.levels() - 1;
        let Some(bin) = edge.checked_sub(1) else {
            total.off_path(self, self.starts[top]..self.starts[top + 1], -q);
            return total.norms(self);
        };
        // Upwards: the lane on the path and its κ, level by level.
        let mut path = vec![(bin, 1.0)];
        for level in 1..=top {
            let (child, kappa) = path[level - 1];
            let lane = self.starts[level] + (child - self.starts[level - 1]) / self.branching;
            let first = self.children(level, lane).start;
            let before = self.before[child].0 - self.before[first].0;
            let counted = before + kappa * self.nodes[child].variance;
            path.push((lane, counted / self.nodes[lane].of_children));
        }
        // Downwards.
        let (mut siblings, mut t) = (self.starts[top]..self.starts[top + 1], q);
        for level in (0..=top).rev() {
            let (lane, kappa) = path[level];
            total.off_path(self, siblings.start..lane, 1.0 - t);
            total.off_path(self, lane + 1..siblings.end, -t);
            let (factor, node) = (kappa - t, &self.nodes[lane]);
            total.one(factor * node.gain / self.weights[level] as f64);
            if level > 0 {
                siblings = self.children(level, lane);
                t = kappa - factor * (1.0 - node.gain);
            }
        }
        total.norms(self)
    }

    /// The mean squared error of all cumulative counts C_1, …, C_m, in units of the squared error of the
    /// count of a single bin among plain bins, at the same privacy.
    #[must_use]
    pub fn squared_error(&self, is_pure: bool) -> f64 {
        self.norm(is_pure).powi(2) * self.mean_square()
    }

    /// The root mean squared error of all cumulative counts, for lanes with an error of one.
    #[must_use]
    pub fn count_error(&self) -> f64 {
        self.mean_square().sqrt()
    }

    fn mean_square(&self) -> f64 {
        let squares = (1..=self.bins()).map(|edge| self.norms(edge, 0.0).euclidean.powi(2));
        squares.sum::<f64>() / self.bins() as f64
    }

    /// A proven lower bound on [`Ranges::squared_error`] for any strategy with Gaussian noise, trees or not:
    /// γ_F(A_m)²/m for the matrix A_m of prefix sums. Beyond 2¹⁴ bins, the bound by the nuclear norm is used,
    /// which is a few percent lower.
    ///
    /// # Errors
    /// As [`gamma_f`].
    pub fn least_squared_error(&self) -> Result<f64> {
        let bins = self.bins();
        if bins > MAX_CERTIFIED {
            return Ok(nuclear_mean_error(bins as u64)?.lower);
        }
        Ok(gamma_f(Subject::workload(Workload::PrefixSum, bins), GAP, &())?.error_factor().0)
    }
}

#[derive(Default)]
struct Total {
    squares: f64,
    sum: f64,
}

impl Total {
    /// Adds a lane with its factor.
    fn one(&mut self, factor: f64) {
        self.squares += factor * factor;
        self.sum += factor.abs();
    }

    /// Adds the estimates z of ranges that are not on the path, with one factor for all.
    fn off_path(&mut self, ranges: &Ranges, lanes: std::ops::Range<usize>, factor: f64) {
        let (first, end) = (ranges.before[lanes.start], ranges.before[lanes.end]);
        self.squares += factor * factor * (end.0 - first.0);
        self.sum += factor.abs() * (end.1 - first.1);
    }

    /// Enlarged by more than the roundings of the sums over all lanes, so that no margin is too narrow.
    fn norms(self, ranges: &Ranges) -> Norms {
        let enlarged = 1.0 + 32.0 * f64::EPSILON * (1 + ranges.lanes()) as f64;
        Norms { euclidean: self.squares.max(0.0).sqrt() * enlarged, sum: self.sum * enlarged }
    }
}
