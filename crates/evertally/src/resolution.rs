//! The unit in which true totals are counted, and how inputs become integers of it.
//!
//! **Definition.** A plan counts in multiples of a power of two, its [`Resolution`]. A double is
//! rounded to the nearest multiple, a half away from zero; an integer on a grid of its own is
//! shifted, and rounded in the same way only if the grid is finer.
//!
//! **Guarantee.** An integer counts as the double that holds it does, bit for bit. Beyond
//! [`Resolution::max_units`] an input is refused, so sums of two totals fit 128 bits.
//!
//! **Cost.** A few shifts, the same for every double.

use crate::workload::Workload;
use crate::{Error, Result};

/// Units in the largest contribution, as a power of two, at least. A decayed total is cut at every
/// step, of which there may be 2^60, so that its unit is finer; totals may then be 2^40 times the
/// largest contribution instead of 2^60 times.
fn unit_bits(workload: Workload) -> i32 {
    match workload {
        Workload::Decay { .. } => 80,
        _ => 60,
    }
}

/// The largest magnitude of a total in units, as a power of two; sums of two still fit.
const MAX_UNITS_BITS: i32 = 120;

/// The largest magnitude of a total, as a power of two: with as much noise it is still a double.
const MAX_TOTAL_BITS: i32 = 1022;

/// The factor by which rounding to units can enlarge what one contribution moves, in this many
/// lanes.
pub(crate) fn rounding_charge(workload: Workload, horizon: u64, width: usize) -> f64 {
    let steps = match workload {
        Workload::Decay { .. } => horizon as f64 + 1.0,
        _ => 1.0,
    };
    // Twice what is needed, which covers the rounding of this very product.
    1.0 + steps * (width as f64).sqrt() * (1.0 - f64::from(unit_bits(workload))).exp2()
}

/// The unit in which a plan's totals are counted: a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolution {
    exponent: i32,
}

impl Resolution {
    /// The unit for contributions of this magnitude.
    pub(crate) fn new(workload: Workload, magnitude: f64) -> Self {
        Self { exponent: libm::ilogb(magnitude) - unit_bits(workload) }
    }

    /// The unit 2^exponent.
    pub(crate) fn of_exponent(exponent: i32) -> Self {
        Self { exponent }
    }

    /// By how many bits this unit is finer than a coarser one.
    pub(crate) fn bits_below(self, coarser: Self) -> u32 {
        debug_assert!(self.exponent <= coarser.exponent);
        (coarser.exponent - self.exponent).unsigned_abs()
    }

    /// The bits from this unit to a power of two that is not below it.
    pub(crate) fn bits_to(self, power: f64) -> Option<u32> {
        let exponent = libm::ilogb(power);
        let is_power = libm::scalbn(1.0, exponent) == power;
        is_power.then(|| u32::try_from(exponent - self.exponent).ok()).flatten()
    }

    /// The most units that a total may have, in either direction.
    pub(crate) fn max_units(self) -> i128 {
        1 << (MAX_TOTAL_BITS - self.exponent).clamp(0, MAX_UNITS_BITS)
    }

    /// Whether a total can have this many units.
    pub(crate) fn holds(self, units: i128) -> bool {
        units.unsigned_abs() <= self.max_units().unsigned_abs()
    }

    /// The nearest integer number of units, a half away from zero; `None` beyond
    /// [`Resolution::max_units`] or where x is not a number.
    ///
    /// By the bits of the double, with the same few shifts for every number: inputs are private,
    /// and so is how long they take.
    pub(crate) fn count(self, x: f64) -> Option<i128> {
        const MAX_SHIFT: i32 = MAX_UNITS_BITS - 52;
        let bits = x.to_bits();
        let (field, fraction) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
        // |x| is significand·2^(exponent of its last bit). Subnormal numbers lack the leading bit.
        let significand = i128::from(fraction | u64::from(field > 0) << 52);
        let shift = field.max(1) - 1075 - self.exponent;
        let (left, right) = (shift.clamp(0, MAX_SHIFT + 1), (-shift).clamp(0, 60));
        let magnitude = ((significand << left) + ((1 << right) >> 1)) >> right;
        let units = if x.is_sign_negative() { -magnitude } else { magnitude };
        (field < 0x7ff && left <= MAX_SHIFT && magnitude <= self.max_units()).then_some(units)
    }

    /// The nearest integer number of units to amount·2^grid_exponent, a half away from zero; `None`
    /// beyond [`Resolution::max_units`]. Equal to [`Resolution::count`] of the same number wherever
    /// a double holds it.
    pub(crate) fn count_on_grid(self, amount: i128, grid_exponent: i32) -> Option<i128> {
        let (magnitude, most) = (amount.unsigned_abs(), self.max_units().unsigned_abs());
        let shift = grid_exponent.saturating_sub(self.exponent);
        let bits = shift.unsigned_abs();
        let units = if shift >= 0 {
            // What would be shifted out at the top is beyond the most units.
            let fits = magnitude <= most.checked_shr(bits).unwrap_or(0);
            fits.then(|| magnitude.checked_shl(bits).unwrap_or(0))?
        } else {
            (magnitude.checked_shr(bits - 1).unwrap_or(0) + 1) >> 1
        };
        (units <= most).then_some(if amount < 0 { -(units as i128) } else { units as i128 })
    }

    /// The float nearest to this many units.
    pub(crate) fn value(self, units: i128) -> f64 {
        libm::scalbn(units as f64, self.exponent)
    }

    /// The release of a total: noise is added as an integer. The plan guarantees that noise is
    /// never too large to be counted in units.
    pub(crate) fn release(self, total: i128, noise: f64) -> f64 {
        self.value(total + self.count(noise).unwrap_or(self.max_units()))
    }

    /// An input in units, of the step that an error names.
    pub(crate) fn input(self, step: u64, x: f64) -> Result<i128> {
        if !x.is_finite() {
            return Err(Error::BadInput { step, reason: "not a finite number" });
        }
        self.count(x).ok_or_else(|| too_large(step))
    }
}

/// The refusal of what cannot be counted.
pub(crate) fn too_large(step: u64) -> Error {
    Error::BadInput { step, reason: "too large to be counted exactly" }
}

/// How the inputs of a step become units.
pub(super) trait Input<T>: Copy + Sync {
    /// The units of an input.
    ///
    /// # Errors
    /// [`Error::BadInput`], which names the step.
    fn checked(self, resolution: Resolution, step: u64, input: T) -> Result<i128>;

    /// The units of an input that was checked.
    fn units(self, resolution: Resolution, input: T) -> i128;
}

/// Inputs are doubles, which are rounded.
#[derive(Clone, Copy)]
pub(super) struct Doubles;

impl Input<f64> for Doubles {
    fn checked(self, resolution: Resolution, step: u64, input: f64) -> Result<i128> {
        resolution.input(step, input)
    }

    fn units(self, resolution: Resolution, input: f64) -> i128 {
        resolution.count(input).unwrap_or_default()
    }
}

/// Inputs are integers on a grid: multiples of 2 to the power of this.
#[derive(Clone, Copy)]
pub(super) struct OnGrid(pub(super) i32);

impl Input<i128> for OnGrid {
    fn checked(self, resolution: Resolution, step: u64, input: i128) -> Result<i128> {
        resolution.count_on_grid(input, self.0).ok_or_else(|| too_large(step))
    }

    fn units(self, resolution: Resolution, input: i128) -> i128 {
        resolution.count_on_grid(input, self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Beside the same by scaling and rounding in floats.
    #[test]
    fn numbers_are_counted_by_their_bits() {
        let numbers = [
            0.0,
            0.5,
            0.499_999_9,
            1.0,
            1.5,
            2.5,
            3.7,
            1e-300,
            5e-324,
            1e15 + 0.5,
            4.5e15,
            1e20,
            1e35,
            1.3e36,
            1e300,
        ];
        for exponent in [-900, -60, -42, -1, 0, 1, 40, 800] {
            let unit = Resolution::of_exponent(exponent);
            for x in numbers.into_iter().flat_map(|x| [x, -x]) {
                for x in [x, libm::scalbn(x, exponent)] {
                    let scaled = libm::scalbn(x, -exponent).round();
                    let expected = (scaled.abs() <= unit.max_units() as f64).then_some(scaled as i128);
                    assert_eq!(unit.count(x), expected, "{x} in units of 2^{exponent}");
                }
            }
            for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
                assert!(unit.count(x).is_none() || exponent > 700, "{x}");
            }
        }
    }

    proptest! {
        /// Integers on a grid count as the doubles do that hold them.
        #[test]
        fn integers_count_like_the_doubles_that_hold_them(
            amount in any::<i128>(), shift in 0_u32..128, grid in -80_i32..80, exponent in -160_i32..160,
        ) {
            let amount = amount.checked_shr(shift).unwrap_or(0);
            let double = amount as f64;
            prop_assume!(double as i128 == amount && amount != i128::MAX);
            let resolution = Resolution::of_exponent(exponent);
            prop_assert_eq!(resolution.count_on_grid(amount, grid), resolution.count(libm::scalbn(double, grid)));
        }

        /// What no double holds is still counted exactly.
        #[test]
        fn integers_beyond_doubles_are_exact(amount in -(1_i128 << 80)..(1_i128 << 80), finer in 0_i32..40) {
            let resolution = Resolution::of_exponent(-20 - finer);
            prop_assert_eq!(resolution.count_on_grid(amount, -20), Some(amount << finer));
        }
    }

    #[test]
    fn units_of_extreme_magnitudes() {
        for magnitude in [1e-300, 1e-5, 1.0, 3.0, 1e300] {
            let unit = Resolution::new(Workload::PrefixSum, magnitude);
            assert!(unit.value(1) <= magnitude * 2.0_f64.powi(-60));
            assert!(unit.value(1) > magnitude * 2.0_f64.powi(-62));
            let units = unit.count(magnitude).unwrap();
            assert!((unit.value(units) / magnitude - 1.0).abs() < 1e-15);
        }
    }
}
