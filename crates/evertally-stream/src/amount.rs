//! Values on a fixed grid, and their clamping.
//!
//! Sums of doubles depend on the order of their terms, and that order is private: a total that
//! moves by more than one event's share because of rounding breaks the sensitivity that the noise
//! is scaled to. So a value is first rounded to a multiple of 2⁻²⁰ (about one millionth) and totals
//! are integers on that grid. They are handed on as doubles, which hold whole numbers up to 2⁵³ and
//! fractional totals up to 2³³; a total that no double holds is refused, because rounding it could
//! move it by more than an event.

use crate::error::{Error, Result};

const GRID_BITS: u32 = 20;
const GRID: f64 = (1_u64 << GRID_BITS) as f64;

/// The largest magnitude of a total: doubles hold every whole number up to here.
pub const LARGEST_EXACT_TOTAL: f64 = (1_u64 << 53) as f64;

const LARGEST_TOTAL_ON_GRID: i128 = 1 << (53 + GRID_BITS);

/// A value as a whole number of grid steps. No `Debug`: values are private.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Amount(i128);

impl Amount {
    /// The count of one event.
    pub const ONE: Self = Self(1 << GRID_BITS);

    /// The nearest amount on the grid. Magnitudes are capped far above any total that is accepted.
    pub fn nearest(value: f64) -> Result<Self> {
        if value.is_nan() || value.is_infinite() {
            return Err(Error::NotFinite);
        }
        // Scaling by a power of two is exact, and the conversion saturates instead of wrapping.
        let scaled = (value * GRID).round_ties_even();
        Ok(Self((scaled as i128).clamp(-2 * LARGEST_TOTAL_ON_GRID, 2 * LARGEST_TOTAL_ON_GRID)))
    }

    /// The double nearest to this amount.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / GRID
    }

    /// The number of grid steps, for keeping an amount in a file.
    #[must_use]
    pub fn grid_steps(self) -> i128 {
        self.0
    }

    /// The amount of so many grid steps; `None` where no total could be so large.
    #[must_use]
    pub fn from_grid_steps(steps: i128) -> Option<Self> {
        (steps.abs() <= 2 * LARGEST_TOTAL_ON_GRID).then_some(Self(steps))
    }

    /// The sum, if it is still a total that doubles hold exactly.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        let sum = self.0.checked_add(other.0)?;
        let is_held = sum.abs() <= LARGEST_TOTAL_ON_GRID && sum as f64 as i128 == sum;
        is_held.then_some(Self(sum))
    }
}

/// The range that every value is brought into before it is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    lo: f64,
    hi: f64,
}

impl Clamp {
    /// Values below `lo` count as `lo`, values above `hi` as `hi`.
    pub fn new(lo: f64, hi: f64) -> Result<Self> {
        let expected = "two finite numbers lo,hi with lo < hi and magnitudes below 2^53";
        let usable = lo < hi && lo.abs() < LARGEST_EXACT_TOTAL && hi.abs() < LARGEST_EXACT_TOTAL;
        if !usable {
            return Err(Error::bad("the clamp", expected, format!("{lo},{hi}")));
        }
        let clamp = Self { lo, hi };
        // One amount alone would count every value alike, and a clamp near zero every event as nothing.
        if clamp.lowest() >= clamp.highest() {
            return Err(Error::bad("the clamp", "wider than the grid of 2^-20", format!("{lo},{hi}")));
        }
        Ok(clamp)
    }

    /// The lower end.
    #[must_use]
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The upper end.
    #[must_use]
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The amount that a value counts for. The result lies inside the range even where its ends are
    /// not on the grid. Infinities clamp like any large value; what is not a number is refused.
    pub fn apply(&self, value: f64) -> Result<Amount> {
        if value.is_nan() {
            return Err(Error::NotFinite);
        }
        let inside = Amount::nearest(value.clamp(self.lo, self.hi))?;
        Ok(inside.clamp(self.lowest(), self.highest()))
    }

    fn lowest(&self) -> Amount {
        Amount((self.lo * GRID).ceil() as i128)
    }

    fn highest(&self) -> Amount {
        Amount((self.hi * GRID).floor() as i128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_numbers_are_exact() {
        for value in [0.0, 1.0, -17.0, 9_007_199_254_740_992.0, -9_007_199_254_740_992.0] {
            assert_eq!(Amount::nearest(value).map(Amount::to_f64), Ok(value));
        }
        assert_eq!(Amount::ONE.to_f64(), 1.0);
    }

    #[test]
    fn totals_past_two_to_the_53_are_refused() {
        let most = Amount::nearest(LARGEST_EXACT_TOTAL).ok().unwrap();
        assert!(Amount::default().plus(most).is_some());
        assert!(most.plus(Amount::ONE).is_none());
        let huge = Amount::nearest(1e300).ok().unwrap();
        assert!(Amount::default().plus(huge).is_none());
        assert!(Amount::nearest(f64::INFINITY).is_err());
    }

    #[test]
    fn clamps_that_make_no_sense_are_refused() {
        for (lo, hi) in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (0.0, f64::NAN),
            (0.0, f64::INFINITY),
            (0.1, 0.1000001),
            (0.0, 1e-7),
        ] {
            assert!(Clamp::new(lo, hi).is_err(), "{lo},{hi} was taken");
        }
    }

    proptest! {
        #[test]
        fn clamped_amounts_lie_inside(lo in -1e9..1e9, width in 1e-3..1e9, value in prop::num::f64::ANY) {
            let clamp = Clamp::new(lo, lo + width).unwrap();
            match clamp.apply(value) {
                Ok(amount) => {
                    prop_assert!(amount.to_f64() >= lo && amount.to_f64() <= lo + width);
                    if value > lo && value < lo + width {
                        prop_assert!((amount.to_f64() - value).abs() <= 2.0 / GRID);
                    }
                }
                Err(_) => prop_assert!(value.is_nan()),
            }
        }
    }
}
