//! The fitted numbers. Made by `cargo xtask fit graded`; not to be edited.

use super::shape::PARAMETERS;

/// Knots for the mean error.
pub(super) const MEAN: &[(u64, [f64; PARAMETERS])] = &[
    (1, [-2.0, -0.5, 0.0, -2.0, -0.5, 0.0, 0.5, 0.02]),
];

/// Knots for the worst step.
pub(super) const WORST: &[(u64, [f64; PARAMETERS])] = &[
    (1, [-2.0, -0.5, 0.0, -2.0, -0.5, 0.0, 0.5, 0.02]),
];
