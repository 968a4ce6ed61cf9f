//! The fitted numbers. Made by `cargo xtask fit markov`; not to be edited.

use super::weights::KNOTS;

/// Rows of one damping κ = −n ln λ: a horizon, ln v at the knots, and the interval of the nodes.
pub(super) struct Plane {
    pub(super) damping: f64,
    pub(super) rows: &'static [(u64, [f64; KNOTS + 2])],
}

/// For the mean error.
pub(super) const MEAN: &[Plane] =
    &[Plane { damping: 0.0, rows: &[(1, [0.0; KNOTS + 2]), (1024, [0.0; KNOTS + 2])] }];

/// For the worst step.
pub(super) const WORST: &[Plane] = MEAN;
