//! The two precisions of noise.
//!
//! **Definition.** [`Real`] is `f32` or `f64`.
//!
//! **Guarantee.** Every draw is computed as an `f64`. For `f32` it is then rounded once, to
//! nearest. The tails of `f32` noise are therefore as right as those of `f64` noise, to probability
//! 2⁻⁶⁴, and a value never depends on how it was requested.
//!
//! **Cost.** None: the functions are conversions that are inlined.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use zeroize::DefaultIsZeroes;

use super::vector::Vector;

/// The precision of noise: `f32` or `f64`. The trait is sealed.
///
/// ```
/// use evertally::internals::noise::{NoiseKey, Real, WhiteNoise};
///
/// let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"visits"));
/// let (mut single, mut double) = ([0.0_f32; 10], [0.0_f64; 10]);
/// white.fill(0, &mut single);
/// white.fill(0, &mut double);
/// assert_eq!(single[6], f32::from_f64(double[6]));
/// ```
pub trait Real:
    Vector
    + Copy
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + fmt::Debug
    + DefaultIsZeroes
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + 'static
{
    /// Zero.
    const ZERO: Self;

    /// The value of this precision nearest to `value`.
    #[must_use]
    fn from_f64(value: f64) -> Self;

    /// The value itself; exact for both precisions.
    #[must_use]
    fn to_f64(self) -> f64;
}

impl Real for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<F: Real>(value: f64) -> f64 {
        F::from_f64(value).to_f64()
    }

    #[test]
    fn singles_are_rounded_to_nearest_and_doubles_are_kept() {
        for value in [0.0, -0.0, 0.1, -1.0 / 3.0, 1.0 + 2.0_f64.powi(-24), 9.5, -4.2e-9] {
            assert_eq!(there_and_back::<f64>(value).to_bits(), value.to_bits());
            let single = there_and_back::<f32>(value);
            assert!((single - value).abs() <= value.abs() * 2.0_f64.powi(-24), "{value}");
            assert_eq!(there_and_back::<f32>(single).to_bits(), single.to_bits());
        }
        assert_eq!(f32::ZERO.to_f64() + f64::ZERO, 0.0);
    }
}
