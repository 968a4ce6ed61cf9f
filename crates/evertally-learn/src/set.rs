//! Constraint sets for parameters.
//!
//! **Definition.** A closed convex set K: all of ℝᵈ, the Euclidean ball around the origin, or a
//! box. [`Set::project`] returns the nearest point of K. It computes the leader for linear losses
//! with a quadratic regulariser: argmin over K of ⟨s, θ⟩ + (λ/2)‖θ − c‖² is the projection of c −
//! s/λ.
//!
//! **Guarantee.** A projected point lies in K despite rounding, and projection does not increase
//! the distance between two points.

use std::fmt;

use evertally::{Error, Result};

use crate::positive;

/// A constraint set for parameters.
///
/// ```
/// use evertally_learn::Set;
/// let mut theta = [3.0, 4.0];
/// Set::ball(1.0)?.project(&mut theta);
/// assert!((theta[0] - 0.6).abs() < 1e-15 && (theta[1] - 0.8).abs() < 1e-15);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Set {
    /// All of ℝᵈ.
    #[default]
    Everything,
    /// The points of Euclidean norm at most `radius`.
    Ball {
        /// The largest norm.
        radius: f64,
    },
    /// The points whose every coordinate lies between `lo` and `hi`.
    Box {
        /// The least value of a coordinate.
        lo: f64,
        /// The greatest value of a coordinate.
        hi: f64,
    },
}

impl Set {
    /// The ball around the origin.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the radius is positive and finite.
    pub fn ball(radius: f64) -> Result<Self> {
        Self::Ball { radius }.checked()
    }

    /// The box [lo, hi]ᵈ.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless both ends are finite and lo < hi.
    pub fn cube(lo: f64, hi: f64) -> Result<Self> {
        Self::Box { lo, hi }.checked()
    }

    /// Refuses an invalid set. Its fields are public, so it need not come from [`Set::ball`] or
    /// [`Set::cube`].
    pub(crate) fn checked(self) -> Result<Self> {
        match self {
            Self::Ball { radius } => positive("radius", radius).map(|_| self),
            Self::Box { lo, hi } if !(lo.is_finite() && hi.is_finite() && lo < hi) => {
                Err(Error::bad("box", "two finite ends, the lower one first", format!("[{lo}, {hi}]")))
            }
            set => Ok(set),
        }
    }

    /// Moves a point to the nearest point of the set.
    pub fn project(&self, theta: &mut [f64]) {
        match *self {
            Self::Everything => {}
            Self::Ball { radius } => shorten(theta, radius),
            // Not `clamp`, which panics if the ends are not in order.
            Self::Box { lo, hi } => theta.iter_mut().for_each(|value| {
                if *value < lo {
                    *value = lo;
                } else if *value > hi {
                    *value = hi;
                }
            }),
        }
    }

    /// Whether a point lies in the set.
    #[must_use]
    pub fn contains(&self, theta: &[f64]) -> bool {
        match *self {
            Self::Everything => theta.iter().all(|value| value.is_finite()),
            Self::Ball { radius } => norm(theta) <= radius,
            Self::Box { lo, hi } => theta.iter().all(|value| (lo..=hi).contains(value)),
        }
    }

    /// The largest norm of a point of the set in this dimension, or `None` if it is unbounded.
    #[must_use]
    pub fn radius(&self, dimension: usize) -> Option<f64> {
        match *self {
            Self::Everything => None,
            Self::Ball { radius } => Some(radius),
            Self::Box { lo, hi } => Some(lo.abs().max(hi.abs()) * (dimension as f64).sqrt()),
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.pad("everything"),
            Self::Ball { radius } => f.pad(&format!("ball of radius {radius}")),
            Self::Box { lo, hi } => f.pad(&format!("box [{lo}, {hi}]")),
        }
    }
}

/// The Euclidean norm, without intermediate overflow or underflow. NaN if a coordinate is NaN and
/// none is infinite.
#[must_use]
pub fn norm(vector: &[f64]) -> f64 {
    let largest = largest_magnitude(vector);
    if largest == 0.0 {
        // The vector is zero, or has NaN coordinates, which the search for the largest skips.
        return vector.iter().sum::<f64>().abs();
    }
    if !largest.is_finite() {
        return largest;
    }
    if (1e-140..1e140).contains(&largest) {
        return vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    }
    largest * vector.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
}

fn largest_magnitude(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()))
}

/// Shortens a vector that is longer than `max_norm` to that norm. The result is at most `max_norm`,
/// as computed by [`norm`].
pub(crate) fn shorten(vector: &mut [f64], max_norm: f64) {
    let mut length = norm(vector);
    if length > max_norm && length > 1e140 {
        // Its norm may overflow, and the factor may vanish. Scale it to a length near one first.
        let largest = largest_magnitude(vector);
        vector.iter_mut().for_each(|value| *value /= largest);
        let factor = max_norm / norm(vector);
        vector.iter_mut().for_each(|value| *value *= factor);
        length = norm(vector);
    }
    while length > max_norm {
        // One division leaves the norm within a few roundings of the bound. The step down takes it
        // below. The factor never becomes negative, which would reverse the direction.
        let factor = (max_norm / length).next_down().max(0.0);
        vector.iter_mut().for_each(|value| *value *= factor);
        length = norm(vector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The nearest point is in the set, and its direction to the original point has no acute
        /// angle with the direction to any other point of the set.
        #[test]
        fn projections_are_nearest_points(
            theta in prop::collection::vec(-5.0..5.0, 4),
            other in prop::collection::vec(-5.0..5.0, 4),
            size in 0.1..4.0,
        ) {
            for set in [Set::Everything, Set::ball(size).unwrap(), Set::cube(-size, 2.0 * size).unwrap()] {
                let (mut nearest, mut inside) = (theta.clone(), other.clone());
                set.project(&mut nearest);
                set.project(&mut inside);
                prop_assert!(set.contains(&nearest));
                let angle: f64 = (0..4).map(|i| (theta[i] - nearest[i]) * (inside[i] - nearest[i])).sum();
                prop_assert!(angle <= 1e-12, "{set}: {angle}");
                let mut again = nearest.clone();
                set.project(&mut again);
                prop_assert_eq!(again, nearest);
            }
        }

        #[test]
        fn shortened_vectors_are_never_too_long(
            vector in prop::collection::vec(prop::num::f64::NORMAL, 1..40),
            exponent in -100.0_f64..100.0,
        ) {
            let max_norm = 10.0_f64.powf(exponent);
            let (before, mut vector) = (vector.clone(), vector);
            shorten(&mut vector, max_norm);
            prop_assert!(norm(&vector) <= max_norm);
            prop_assert!(vector.iter().zip(&before).all(|(after, before)| *after == 0.0 || after.signum() == before.signum()));
            prop_assert!(norm(&vector) >= max_norm.min(norm(&before)) * (1.0 - 1e-12));
        }
    }

    #[test]
    fn sets_that_are_none_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Set::ball(bad).is_err());
            assert!(Set::cube(bad, bad).is_err());
        }
        assert!(Set::cube(1.0, -1.0).is_err());
        // An invalid box does not cause a panic.
        let mut theta = [0.0, f64::NAN];
        Set::Box { lo: 1.0, hi: -1.0 }.project(&mut theta);
        assert!(theta[1].is_nan());
        assert_eq!(Set::cube(-2.0, 1.0).unwrap().radius(4), Some(4.0));
        assert_eq!(Set::Everything.radius(4), None);
    }

    #[test]
    fn what_is_not_a_number_lies_in_no_set() {
        for set in [Set::Everything, Set::ball(1.0).unwrap(), Set::cube(-1.0, 1.0).unwrap()] {
            assert!(!set.contains(&[f64::NAN]) && !set.contains(&[f64::NAN, 0.5]), "{set}");
        }
        assert!(norm(&[f64::NAN, 0.0]).is_nan() && norm(&[1e200, f64::NAN]).is_nan());
    }

    /// Regression: a factor below the smallest double became negative.
    #[test]
    fn very_long_vectors_keep_their_direction() {
        for long in [1e140, 1e300, f64::MAX] {
            for max_norm in [1e-200, 1e-100, 1.0, 1e120] {
                let mut vector = [0.5 * long, -long, long];
                shorten(&mut vector, max_norm);
                let expected = [1.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0].map(|share| share * max_norm);
                assert!(
                    vector.iter().zip(expected).all(|(got, want)| (got / want - 1.0).abs() < 1e-12),
                    "{vector:?}"
                );
            }
        }
        // If the factor vanishes, the vector becomes zero. Its direction is not reversed.
        let mut vector = [1e130, -1e130];
        shorten(&mut vector, 1e-320);
        assert_eq!(vector, [0.0, 0.0]);
    }
}
