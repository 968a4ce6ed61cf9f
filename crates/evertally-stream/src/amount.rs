//! Values on a fixed grid, and their clamping.
//!
//! Sums of doubles depend on the order of their terms, and that order is private: a total that
//! moves by more than one event's share because of rounding breaks the sensitivity that the noise
//! is scaled to. So a value is first rounded to a multiple of 2⁻²⁰ (about one millionth). Amounts
//! and their sums are integers on that grid all the way into the counter
//! ([`evertally::Counter::step_amount`]), and every sum is exact.

use crate::error::{Error, Result};
use std::ops::{Add, AddAssign, Sub};

const GRID_BITS: u32 = 20;
const GRID: f64 = (1_u64 << GRID_BITS) as f64;

/// The largest magnitude of a single value. Doubles hold every integer up to here, so no value was
/// rounded before it came.
const MAX_VALUE: f64 = (1_u64 << 53) as f64;

/// A value, or a sum of values, as an integer number of grid steps. No `Debug`: values are private.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Amount(i128);

impl Amount {
    /// The count of one event.
    pub const ONE: Self = Self(1 << GRID_BITS);

    /// One grid step is 2 to the power of this.
    pub const GRID_EXPONENT: i32 = -(GRID_BITS as i32);

    /// The nearest amount on the grid.
    ///
    /// # Errors
    /// [`Error::NotFinite`], and [`Error::ValueTooLarge`] beyond 2^53.
    pub fn nearest(value: f64) -> Result<Self> {
        if value.is_nan() || value.is_infinite() {
            return Err(Error::NotFinite);
        }
        if value.abs() > MAX_VALUE {
            return Err(Error::ValueTooLarge);
        }
        // Scaling by a power of two is exact.
        Ok(Self((value * GRID).round_ties_even() as i128))
    }

    /// So many events of one each.
    #[must_use]
    pub fn of_count(count: u64) -> Self {
        Self(i128::from(count) << GRID_BITS)
    }

    /// The double nearest to this amount.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / GRID
    }

    /// Doubles that add up to this amount exactly: the nearest one, then what it leaves, twice.
    /// The last two are zero for every amount that a double holds.
    #[must_use]
    pub fn to_exact_f64s(self) -> [f64; 3] {
        let first = self.to_f64();
        let rest = self - Self((first * GRID) as i128);
        let second = rest.to_f64();
        [first, second, (rest - Self((second * GRID) as i128)).to_f64()]
    }

    /// The number of grid steps, for a file and for counters.
    #[must_use]
    pub fn grid_steps(self) -> i128 {
        self.0
    }

    /// The amount of this many grid steps.
    #[must_use]
    pub fn from_grid_steps(steps: i128) -> Self {
        Self(steps)
    }
}

/// Exact: no number of events reaches the end of 128 bits.
impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
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
        let usable = lo < hi && lo.abs() < MAX_VALUE && hi.abs() < MAX_VALUE;
        if !usable {
            return Err(Error::bad("the clamp", expected, format!("{lo},{hi}")));
        }
        let clamp = Self { lo, hi };
        // One amount alone would count every value alike, and a clamp near zero every event as
        // nothing.
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

    /// The amount that a value counts for. The result lies inside the range even if its ends are
    /// not on the grid. Infinities clamp like any large value.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for what is not a number.
    pub fn apply(&self, value: f64) -> Result<Amount> {
        if value.is_nan() {
            return Err(Error::NotFinite);
        }
        Ok(self.apply_to_sum(Amount::nearest(value.clamp(self.lo, self.hi))?))
    }

    /// The amount that a sum counts for: the nearest one inside the range.
    #[must_use]
    pub fn apply_to_sum(&self, sum: Amount) -> Amount {
        sum.clamp(self.lowest(), self.highest())
    }

    /// The lowest and the highest amount that a value counts for. Doubles hold both exactly.
    #[must_use]
    pub fn ends(&self) -> [Amount; 2] {
        [self.lowest(), self.highest()]
    }

    /// How far an amount in the range is above its lowest amount, and below its highest. Both are at
    /// least zero, and together they are the [width](Self::width) exactly.
    #[must_use]
    pub fn distances(&self, amount: Amount) -> [Amount; 2] {
        [amount - self.lowest(), self.highest() - amount]
    }

    /// The distance from the lowest amount to the highest, rounded up to a double.
    #[must_use]
    pub fn width(&self) -> f64 {
        let width = self.highest() - self.lowest();
        let nearest = width.to_f64();
        // The nearest double has few enough bits to be an amount.
        if (nearest * GRID) as i128 >= width.0 { nearest } else { nearest.next_up() }
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
    fn integers_are_exact() {
        for value in [0.0, 1.0, -17.0, 9_007_199_254_740_992.0, -9_007_199_254_740_992.0] {
            assert_eq!(Amount::nearest(value).map(Amount::to_f64), Ok(value));
        }
        assert_eq!(Amount::ONE.to_f64(), 1.0);
    }

    #[test]
    fn values_past_two_to_the_53_are_refused_and_totals_are_not() {
        let most = Amount::nearest(MAX_VALUE).ok().unwrap();
        let total = most + Amount::ONE + Amount(1);
        assert_eq!(total.grid_steps(), (1 << 73) + (1 << 20) + 1);
        assert!(Amount::nearest(1e300).is_err_and(|error| error == Error::ValueTooLarge));
        assert!(Amount::nearest(f64::INFINITY).is_err());
    }

    proptest! {
        #[test]
        fn doubles_add_up_to_the_amount(steps in any::<i128>(), shift in 7_u32..127) {
            let amount = Amount(steps >> shift);
            let doubles = amount.to_exact_f64s();
            let sum: i128 = doubles.iter().map(|part| (part * GRID) as i128).sum();
            prop_assert_eq!(sum, amount.0);
            if amount.to_f64() * GRID == amount.0 as f64 && (amount.0 as f64) as i128 == amount.0 {
                prop_assert_eq!(doubles, [amount.to_f64(), 0.0, 0.0]);
            }
        }
    }

    proptest! {
        /// What the sensitivity of means rests on.
        #[test]
        fn distances_add_up_to_the_width(
            lo in -9e15..9e15, width in -20_f64..52.0, value in 0.0..1.0,
        ) {
            let width = width.exp2();
            prop_assume!(lo + width < 9e15);
            let Ok(clamp) = Clamp::new(lo, lo + width) else { return Ok(()) };
            let amount = clamp.apply(lo + value * width).ok().unwrap();
            let [above, below] = clamp.distances(amount);
            let [lowest, highest] = clamp.ends();
            prop_assert!(above >= Amount(0) && below >= Amount(0));
            prop_assert!(above + below == highest - lowest);
            prop_assert!((clamp.width() * GRID) as i128 >= (above + below).0);
            prop_assert!((clamp.width().next_down() * GRID) < (above + below).0 as f64 * (1.0 + 1e-15));
            for end in [lowest, highest] {
                prop_assert_eq!((end.to_f64() * GRID) as i128, end.0);
            }
        }
    }

    #[test]
    fn a_width_that_no_double_holds_is_rounded_up() {
        let clamp = Clamp::new(-MAX_VALUE + 1.0, 1.0 / GRID).unwrap();
        let [above, below] = clamp.distances(clamp.apply(0.0).ok().unwrap());
        assert_eq!((above + below).0, (1 << 73) - (1 << 20) + 1);
        assert!((clamp.width() * GRID) as i128 > (above + below).0);
        assert_eq!(Clamp::new(-50.0, 50.0).unwrap().width(), 100.0);
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
