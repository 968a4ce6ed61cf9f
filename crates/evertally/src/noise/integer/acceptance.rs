//! Accepts a proposal with a probability that is a multiple of an exponential.
//!
//! **Definition.** The acceptance probability is p = (m/n)·2^g·exp(−γ) ≤ 1. Here 1 ≤ m/n < 32 is a
//! ratio of counts, and γ = z²/2s² or z/s. The module decides whether W < p, for a uniform number W
//! in [0, 1) whose digits in base 2³² are random words.
//!
//! **Guarantee.** The decision is that of the real numbers. Integers enclose 2⁶³·p, and the first
//! digit encloses W. If the two intervals do not overlap, the decision is known. They overlap once
//! in 2³² times, and then `exact` continues with further digits.
//!
//! *Proof of the enclosure.* "Short by less than e" means rounded down: the true value is not below
//! the computed one, and above it by less than e.
//!
//! 1. s' = 2^a·s and z' = 2^a·z with 2⁵¹ ≤ s' < 2⁵². The reciprocal is R = ⌈2¹¹⁵/s'⌉ − 1.
//! 2. For z' < 2⁵⁸, X = ⌊z'R/2⁵⁷⌋ is z/s in units of 2⁻⁵⁸: it is short by less than 1 + z'/2⁵⁷ < 3.
//! 3. G is γ in units of 2⁻⁵⁶. Gaussian: for X < 2⁶², G = ⌊X²/2⁶¹⌋, short by less than 1 + (6X +
//!    9)/2⁶¹ < 14. Laplace: G = ⌊X/4⌋, short by less than 2.
//! 4. As G < 2⁶³, T = ⌊G·Λ/2⁶³⌋ with Λ = ⌊2⁶³·log2(e)⌋ is t = γ·log2(e) in units of 2⁻⁵⁶: short by
//!    less than 14·1.45 + 1 + 1 < 23.
//! 5. T = (k + f)·2⁵⁶ with an integer k and 0 ≤ f < 1, and E is 2⁻ᶠ in units of 2⁻⁶³, by the Taylor
//!    polynomial of degree 12. Its remainder is below ln(2)¹³/13! < 2⁻³⁹·⁴. Its coefficients are
//!    short by less than 4 units, and each of the 12 products by less than 1, so together they add
//!    less than 64. Step 4 adds less than 23·ln(2)·2⁷ units, because 2⁻ˣ is nowhere steeper than ln
//!    2. In all, E differs from 2^(k−t) by less than 2²⁴ units.
//! 6. P = ⌊E·Q/2^(58+k−g)⌋ with Q = ⌊2⁵⁸·m/n⌋ is p in units of 2⁻⁶³. Because p ≤ 1 and 2^(k−t) >
//!    0.49, the factor (m/n)·2^(g−k) is below 2.1 (so g ≤ k + 1). The error of E therefore grows to
//!    less than 2²⁵·⁰⁸, and rounding Q and P adds less than 2⁷. In all, P is off by less than 2²⁶ =
//!    [`SLACK`].
//!
//! If z' or X is too large for this, then γ ≥ 64 and p < 2^(5+g−92). Zero is close enough for g <
//! 50, and `exact` decides the rest.
//!
//! **Cost.** Sixteen 64-bit products, and no division.

use super::exact;
use super::law::IntegerLaw;
use super::words::Words;

/// ⌊2⁶⁴·ln 2⌋.
const LN_2: u64 = 0xb172_17f7_d1cf_79ab;
/// ⌊2⁶³·log2(e)⌋.
const LOG2_E: u64 = 0xb8aa_3b29_5c17_f0bb;

const DEGREE: usize = 12;
/// 2⁶³·ln(2)^i/i!, each short by less than 4: by ln(2)/i times the error of the one before, and by
/// at most 3/(2i) + 1 from its own roundings.
const COEFFICIENTS: [u64; DEGREE + 1] = {
    let mut coefficients = [1 << 63; DEGREE + 1];
    let mut i = 1;
    while i <= DEGREE {
        coefficients[i] = high(coefficients[i - 1], LN_2) / i as u64;
        i += 1;
    }
    coefficients
};

/// Fraction bits of the quotient z/s, of γ and t, and of a ratio.
const QUOTIENT_BITS: u32 = 58;
const GAMMA_BITS: u32 = 56;
const RATIO_BITS: u32 = 58;
/// The maximum error of the enclosure, in units of 2⁻⁶³.
const SLACK: u64 = 1 << 26;

/// The upper half of a product.
#[inline(always)]
const fn high(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

/// A scale s, and its reciprocal.
pub(super) struct Scale {
    pub(super) value: u64,
    /// The a of step 1.
    shift: u32,
    reciprocal: u64,
}

impl Scale {
    /// The scale is at least 1 and below 2⁵².
    pub(super) fn new(scale: u64) -> Self {
        let shift = scale.leading_zeros() - 12;
        // Rounded up, minus one, so that it fits even if s' is 2⁵¹.
        let reciprocal = (((1_u128 << 115) - 1) / u128::from(scale << shift)) as u64;
        Self { value: scale, shift, reciprocal }
    }
}

/// A ratio m/n of two counts, at least one and below 32.
#[derive(Clone, Copy)]
pub(super) struct Ratio {
    pub(super) numerator: u8,
    pub(super) denominator: u8,
    fixed: u64,
}

impl Ratio {
    pub(super) const fn new(numerator: u8, denominator: u8) -> Self {
        assert!(numerator >= denominator && numerator / denominator < 32);
        let fixed = ((numerator as u128) << RATIO_BITS) / denominator as u128;
        Self { numerator, denominator, fixed: fixed as u64 }
    }
}

/// The acceptance probability (m/n)·2^g·exp(−γ), at most one.
pub(super) struct Acceptance<'a> {
    pub(super) law: IntegerLaw,
    pub(super) scale: &'a Scale,
    /// The z of γ, not negative.
    pub(super) size: u64,
    pub(super) ratio: Ratio,
    /// The g.
    pub(super) doublings: u32,
}

impl Acceptance<'_> {
    /// Whether the probability exceeds the uniform number with this first digit and with the words
    /// that follow as further digits.
    #[inline(always)]
    pub(super) fn exceeds(&self, digit: u32, words: &mut impl Words) -> bool {
        if let Some(near) = self.near() {
            let least = u64::from(digit) << 31;
            if least + (1 << 31) + SLACK <= near {
                return true;
            }
            if least >= near + SLACK {
                return false;
            }
        }
        exact::exceeds(self, digit, words)
    }

    /// The probability in units of 2⁻⁶³, off by less than [`SLACK`].
    #[inline(always)]
    fn near(&self) -> Option<u64> {
        let Scale { shift, reciprocal, .. } = *self.scale;
        if self.size.leading_zeros() < shift + 6 {
            return self.near_far_out();
        }
        let quotient = (u128::from(self.size << shift) * u128::from(reciprocal)) >> 57;
        let gamma = match self.law {
            IntegerLaw::Gaussian if quotient < 1 << 62 => {
                (quotient * quotient) >> (2 * QUOTIENT_BITS + 1 - GAMMA_BITS)
            }
            IntegerLaw::Gaussian => return self.near_far_out(),
            IntegerLaw::Laplace => quotient >> (QUOTIENT_BITS - GAMMA_BITS),
        };
        let exponent = ((gamma * u128::from(LOG2_E)) >> 63) as u64;
        let halvings = (exponent >> GAMMA_BITS) as u32;
        let fraction = exponent << (64 - GAMMA_BITS);
        let mut power = COEFFICIENTS[DEGREE];
        for coefficient in COEFFICIENTS[..DEGREE].iter().rev() {
            power = coefficient - high(power, fraction);
        }
        let product = u128::from(power) * u128::from(self.ratio.fixed);
        Some(product.checked_shr(RATIO_BITS + halvings - self.doublings).unwrap_or(0) as u64)
    }

    /// The same for γ of 64 or more.
    #[cold]
    fn near_far_out(&self) -> Option<u64> {
        (self.doublings < 50).then_some(0)
    }
}

#[cfg(test)]
mod tests;
