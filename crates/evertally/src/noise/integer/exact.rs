//! Whether a uniform number lies below a multiple of an exponential, to any number of digits.
//!
//! **Definition.** As in `chance`: W < p = (m/n)·2^g·exp(−γ), with γ = z²/2s² or z/s.
//!
//! **Guarantee.** The answer is that of the real numbers. W and p are enclosed more and more
//! tightly until their intervals part. They part with probability one: p is transcendental for z ≠
//! 0 (Lindemann), and for z = 0 it is one, which every W is below.
//!
//! *Proof of the enclosure.* S is the sum of (−γ)^i/i! in units of 2^−F, term by term: a term is
//! the one before times z²/(2s²i) or z/(si), rounded down, until one is zero; N is the number of
//! that one. A term is short by less than γ/i times what the one before is, and one, so by less
//! than Σ_l γ^l·(i−l)!/i! ≤ Σ_l γ^l/l! ≤ e^γ. The N-th is below e^γ for the same reason; N is
//! beyond γ, as terms before are at least 2^F > e^γ; so what the alternating sum leaves out is
//! below e^γ too. In all, S is off by less than (N + 1)·e^γ ≤ (N + 1)·2^⌈3c/2⌉ units, with c the
//! least whole number above γ. F has 3c bits for that bound and for the size of exp(−γ), and 64
//! more than the digits of W that are compared.
//!
//! **Cost.** Some ten microseconds for each digit looked at; one proposal in 2³² comes here. Far
//! out, where γ is in the thousands, milliseconds.

use super::acceptance::Acceptance;
use super::law::IntegerLaw;
use super::natural::Natural;
use super::words::Words;

/// Whether the chance is above the number with this first digit, and with the words that follow as
/// the further ones.
///
/// A word is taken only if the digits before are those of the chance itself: how many are taken
/// does not depend on how it is computed.
#[cold]
#[inline(never)]
pub(super) fn exceeds(acceptance: &Acceptance<'_>, digit: u32, words: &mut impl Words) -> bool {
    if acceptance.size == 0 {
        return true;
    }
    let mut uniform = Natural::from(u64::from(digit));
    let (mut digits, mut precision) = (1, 1);
    loop {
        let [least, most] = enclosure(acceptance, precision);
        // In the units of the enclosure.
        let scaled = |uniform: Natural| {
            let bits = fraction_bits(acceptance, precision) - 32 * digits;
            uniform.times(acceptance.ratio.denominator.into()).shifted(bits)
        };
        let (low, high) = (scaled(uniform.clone()), scaled(uniform.clone().plus(&Natural::from(1))));
        if high.compare(&least).is_le() {
            return true;
        }
        if low.compare(&most).is_ge() {
            return false;
        }
        if low.compare(&least).is_le() && most.compare(&high).is_le() {
            uniform = uniform.shifted(32).plus(&Natural::from(u64::from(words.next())));
            digits += 1;
        }
        precision += 1;
    }
}

/// Two numbers, in units of 2^−F, between which n·p lies.
pub(super) fn enclosure(acceptance: &Acceptance<'_>, precision: u64) -> [Natural; 2] {
    let mut term = Natural::power_of_two(fraction_bits(acceptance, precision));
    let mut sums = [term.clone(), Natural::from(0)];
    let mut i = 0;
    while !term.is_zero() {
        i += 1;
        term = match acceptance.law {
            // Rounding down one division after another is rounding down once.
            IntegerLaw::Gaussian => {
                let square = term.times(acceptance.size).times(acceptance.size);
                square.over(acceptance.scale.value).over(acceptance.scale.value).over(2 * i)
            }
            IntegerLaw::Laplace => term.times(acceptance.size).over(acceptance.scale.value).over(i),
        };
        let sum = &mut sums[usize::from(i % 2 == 1)];
        *sum = std::mem::replace(sum, Natural::from(0)).plus(&term);
    }
    let [even, odd] = sums;
    let sum = even.minus(&odd);
    let error = Natural::power_of_two((3 * above(acceptance)).div_ceil(2)).times(i + 1);
    [sum.clone().minus(&error), sum.plus(&error)]
        .map(|value| value.times(acceptance.ratio.numerator.into()).shifted(acceptance.doublings.into()))
}

/// The F of the enclosure.
pub(super) fn fraction_bits(acceptance: &Acceptance<'_>, precision: u64) -> u64 {
    32 * precision + 3 * above(acceptance) + 64
}

/// The least whole number above γ.
fn above(acceptance: &Acceptance<'_>) -> u64 {
    let (size, scale) = (u128::from(acceptance.size), u128::from(acceptance.scale.value));
    let below = match acceptance.law {
        IntegerLaw::Gaussian => size * size / (2 * scale * scale),
        IntegerLaw::Laplace => size / scale,
    };
    below as u64 + 1
}
