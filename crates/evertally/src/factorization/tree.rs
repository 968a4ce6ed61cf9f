//! The padded binary tree, and the factorizations that read prefixes off its nodes one by one.
//!
//! The tree has 2^⌈log₂ n⌉ leaves. Step t, counted from zero, is leaf t. The prefix up to and including
//! it has t + 1 items, and the one-bits of t + 1 name the nodes that cover it. R has one row per node.
//! A [`Reading`] defines how a node is estimated, and with it L.

use std::sync::Arc;

use super::{Cost, Dense, Factorization, IntegerDecoder, Mechanism, Request, code_stack, dense_size};
use crate::Result;
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, WhiteField};
use crate::privacy::{MARGIN, Participation, round_up};

/// How the nodes that cover a prefix are read.
pub(crate) trait Reading: Send + Sync + 'static {
    fn mechanism(&self) -> Mechanism;

    /// The variance of what a node of this height is read as.
    fn variance(&self, height: u32) -> f64;

    /// The covariance of a node of this height with the nodes that cover the first `items` of its
    /// leaves.
    fn covariance(&self, height: u32, items: u64) -> f64;

    /// Calls `visit(node, weight)` for the noisy values that the node with this last leaf is read
    /// from.
    fn weights(&self, n: usize, height: u32, last: usize, visit: &mut dyn FnMut(usize, f64));

    /// Floating-point operations per step.
    fn operations(&self, levels: u32) -> f64;

    fn integer(&self, _levels: u32) -> Option<IntegerDecoder> {
        None
    }

    fn correlator(&self, levels: u32, field: Arc<dyn WhiteField>) -> Box<dyn Correlator>;
}

/// The factorization of a reading.
pub(crate) struct Tree<D> {
    reading: D,
    horizon: u64,
}

impl<D: Reading> Tree<D> {
    pub(crate) fn new(reading: D, request: &Request<'_>) -> Result<Self> {
        request.prefix_sum_only(&reading.mechanism())?;
        Ok(Self { reading, horizon: request.horizon })
    }

    fn variance_of(&self, covered: u64) -> f64 {
        sum_over_bits(covered, |height| self.reading.variance(height))
    }
}

impl<D: Reading> Factorization for Tree<D> {
    fn mechanism(&self) -> Mechanism {
        self.reading.mechanism()
    }

    fn horizon(&self) -> u64 {
        self.horizon
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        sensitivity(self.horizon, participation)
    }

    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn gram_falls(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.variance_of(step + 1)
    }

    /// Nodes above the highest differing bit are shared and cancel. Below it, the later prefix has
    /// a node that contains all remaining nodes of the earlier one.
    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let (earlier, later) = low_parts(earlier + 1, later + 1);
        let shared = self.reading.covariance(later.ilog2(), earlier);
        self.variance_of(earlier) + self.variance_of(later) - 2.0 * shared
    }

    fn mean_row_norm_squared(&self) -> f64 {
        mean_over_bits(self.horizon, |height| self.reading.variance(height))
    }

    fn max_row_norm_squared(&self) -> f64 {
        max_over_bits(self.horizon, |height| self.reading.variance(height))
    }

    fn cost(&self) -> Cost {
        let levels = levels(self.horizon);
        let bytes_per_coordinate = code_stack::bytes_per_coordinate(levels);
        Cost { shared_bytes: 0, bytes_per_coordinate, operations_per_step: self.reading.operations(levels) }
    }

    fn dense(&self) -> Result<Dense> {
        let n = dense_size(&self.mechanism(), self.horizon)?;
        let encoder = encoder(n);
        let mut decoder = Matrix::zeros(n, encoder.rows());
        for t in 0..n {
            let mut covered = t + 1;
            while covered > 0 {
                let height = covered.trailing_zeros();
                let add = &mut |node, weight| decoder[(t, node)] += weight;
                self.reading.weights(n, height, covered - 1, add);
                covered &= covered - 1;
            }
        }
        Ok(Dense { decoder, encoder })
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        self.reading.integer(levels(self.horizon))
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        self.reading.correlator(levels(self.horizon), field)
    }
}

/// The number of levels, leaves and root included: ⌈log₂ n⌉ + 1.
pub(crate) fn levels(horizon: u64) -> u32 {
    horizon.next_power_of_two().trailing_zeros() + 1
}

/// Δ of the tree's R, one row per node. Every item lies in one node of each level; when one person takes part
/// k' times at least b apart, a node of 2^j leaves holds at most min(k', ⌈2^j/b⌉) of them, so
/// Σ count² ≤ k'·Σ_j min(k', ⌈2^j/b⌉). Equality for one step.
pub(crate) fn sensitivity(horizon: u64, participation: Participation) -> f64 {
    let times = participation.bounded(horizon);
    let gap = participation.min_gap();
    let squares: f64 = (0..levels(horizon)).map(|j| times.min((1_u64 << j).div_ceil(gap)) as f64).sum();
    round_up((times as f64 * squares).sqrt(), MARGIN)
}

/// The number of integers in 1..=n whose bit `bit` is set.
fn count_with_bit(n: u64, bit: u32) -> u64 {
    let period = 1_u128 << (bit + 1);
    let half = 1_u128 << bit;
    let numbers = u128::from(n) + 1;
    let full_periods = numbers / period * half;
    (full_periods + (numbers % period).saturating_sub(half)) as u64
}

/// Σ over the set bits of `c` of `weight(bit)`.
fn sum_over_bits(c: u64, weight: impl Fn(u32) -> f64) -> f64 {
    (0..64).filter(|bit| c >> bit & 1 == 1).map(weight).sum()
}

/// Σ over 1..=n of Σ over set bits of `weight(bit)`, divided by n.
fn mean_over_bits(n: u64, weight: impl Fn(u32) -> f64) -> f64 {
    (0..levels(n)).map(|bit| weight(bit) * (count_with_bit(n, bit) as f64 / n as f64)).sum()
}

/// max over 1..=n of Σ over set bits of `weight(bit)`, for positive weights.
///
/// The best integer below n shares a prefix with n, has a zero where n has a one, and ones after it.
fn max_over_bits(n: u64, weight: impl Fn(u32) -> f64) -> f64 {
    (0..64)
        .filter(|bit| n >> bit & 1 == 1)
        .map(|bit| n & !(1 << bit) | ((1 << bit) - 1))
        .map(|c| sum_over_bits(c, &weight))
        .fold(sum_over_bits(n, &weight), f64::max)
}

/// The bits of `later` and `earlier` at and below the highest one in which they differ.
pub(crate) fn low_parts(earlier: u64, later: u64) -> (u64, u64) {
    let highest = 63 - (earlier ^ later).leading_zeros();
    let mask = if highest == 63 { u64::MAX } else { (1 << (highest + 1)) - 1 };
    (earlier & mask, later & mask)
}

/// The rows of R: one for each node of the padded tree, level by level from the leaves, cut to n columns.
fn nodes(horizon: usize) -> Vec<std::ops::Range<usize>> {
    let leaves = horizon.next_power_of_two();
    let mut nodes = Vec::new();
    let mut size = 1;
    while size <= leaves {
        nodes.extend((0..leaves / size).map(|i| (i * size)..((i + 1) * size)));
        size *= 2;
    }
    nodes
}

/// R as a dense matrix.
pub(crate) fn encoder(horizon: usize) -> Matrix {
    let nodes = nodes(horizon);
    Matrix::from_fn(nodes.len(), horizon, |i, j| f64::from(u8::from(nodes[i].contains(&j))))
}

/// The row of `nodes` that holds the node of this height whose last leaf is `last`.
pub(crate) fn node_index(horizon: usize, height: u32, last: usize) -> usize {
    let leaves = horizon.next_power_of_two();
    let below: usize = (0..height).map(|j| leaves >> j).sum();
    below + (last >> height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_bits_match_enumeration() {
        let weight = |bit: u32| 1.0 + f64::from(bit) * 0.3;
        for n in 1..300_u64 {
            let values: Vec<f64> = (1..=n).map(|c| sum_over_bits(c, weight)).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            let max = values.iter().copied().fold(0.0, f64::max);
            assert!((mean_over_bits(n, weight) - mean).abs() < 1e-12, "{n}");
            assert!((max_over_bits(n, weight) - max).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn counts_at_the_longest_horizon() {
        assert_eq!(count_with_bit(1 << 60, 60), 1);
        assert_eq!(count_with_bit(1 << 60, 0), 1 << 59);
        assert_eq!(levels(1 << 60), 61);
        assert_eq!(levels(1), 1);
        assert_eq!(levels(100), 8);
    }
}
