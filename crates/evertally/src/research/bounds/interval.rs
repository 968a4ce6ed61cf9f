//! A number that is known to be between two floats.

use std::fmt;
use std::ops::{Add, Div, Mul};

/// Two floats with the true value between them.
///
/// Products, quotients and sums of positive intervals are rounded outwards, so results that are
/// computed from proven figures are proven too.
///
/// ```
/// use evertally::research::bounds::Interval;
/// let third = Interval::point(1.0) / Interval::point(3.0);
/// assert!(third.lower < 1.0 / 3.0 && 1.0 / 3.0 < third.upper);
/// assert!((third.middle() - 1.0 / 3.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// A lower bound on the true value.
    pub lower: f64,
    /// An upper bound on the true value.
    pub upper: f64,
}

/// The maximum relative rounding of an expression of a few dozen operations and elementary
/// functions: 2⁻⁴⁵, that is, 128 units in the last place.
pub(super) const ROUNDING: f64 = 1.0 / (1_u64 << 45) as f64;

impl Interval {
    /// A value that is exact as a float.
    #[must_use]
    pub fn point(value: f64) -> Self {
        Self { lower: value, upper: value }
    }

    /// A value computed with a relative error of at most [`ROUNDING`].
    pub(super) fn around(value: f64) -> Self {
        let margin = value.abs() * ROUNDING;
        Self { lower: (value - margin).next_down(), upper: (value + margin).next_up() }
    }

    /// The float in the middle, for display.
    #[must_use]
    pub fn middle(self) -> f64 {
        self.lower + (self.upper - self.lower) / 2.0
    }

    /// The square of a positive number.
    #[must_use]
    pub fn squared(self) -> Self {
        self * self
    }
}

/// For positive numbers only, like all operations of `Interval`.
impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { lower: (self.lower * other.lower).next_down(), upper: (self.upper * other.upper).next_up() }
    }
}

impl Div for Interval {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self { lower: (self.lower / other.upper).next_down(), upper: (self.upper / other.lower).next_up() }
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { lower: (self.lower + other.lower).next_down(), upper: (self.upper + other.upper).next_up() }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.middle(), f)
    }
}
