//! The comparison of `acceptance`, with as many digits as it takes.
//!
//! **Definition.** As in `acceptance`: W < p = (m/n)·2^g·exp(−γ), with γ = z²/2s² or z/s.
//!
//! **Guarantee.** The decision is that of the real numbers. W and p are enclosed more and more
//! tightly until their intervals are disjoint. That happens with probability one: p is
//! transcendental for z ≠ 0 (Lindemann), and for z = 0 it is one, and every W is below one.
//!
//! *Proof of the enclosure.* S is the sum of (−γ)^i/i! in units of 2^−F, term by term. A term is
//! the one before times z²/(2s²i) or z/(si), rounded down. The sum ends at the first zero term,
//! whose number is N. A term is short by less than γ/i times the error of the one before, plus one.
//! So it is short by less than Σ_l γ^l·(i−l)!/i! ≤ Σ_l γ^l/l! ≤ e^γ. The N-th term is below e^γ for
//! the same reason. N is beyond γ, because the terms before are at least 2^F > e^γ. The remainder
//! of the alternating sum is therefore below e^γ too. In all, S is off by less than (N + 1)·e^γ ≤
//! (N + 1)·2^⌈3c/2⌉ units, where c is the smallest integer above γ. F has 3c bits for that bound
//! and for the size of exp(−γ), and 64 more than the digits of W that are compared.
//!
//! **Cost.** About ten microseconds per digit. One proposal in 2³² gets here. Far out, where γ is
//! in the thousands, it takes milliseconds.

use super::acceptance::Acceptance;
use super::law::IntegerLaw;
use super::natural::Natural;
use super::words::Words;

/// Whether the probability exceeds the uniform number with this first digit and with the words that
/// follow as further digits.
///
/// A word is read only if all digits so far are those of the probability itself. The number of
/// words read therefore does not depend on how the probability is computed.
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

/// Two numbers, in units of 2^−F, that enclose n·p.
pub(super) fn enclosure(acceptance: &Acceptance<'_>, precision: u64) -> [Natural; 2] {
    let mut term = Natural::power_of_two(fraction_bits(acceptance, precision));
    let mut sums = [term.clone(), Natural::from(0)];
    let mut i = 0;
    while !term.is_zero() {
        i += 1;
        term = match acceptance.law {
            // Rounding down after each division is the same as rounding down once.
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

/// F, the number of fraction bits of the enclosure.
pub(super) fn fraction_bits(acceptance: &Acceptance<'_>, precision: u64) -> u64 {
    32 * precision + 3 * above(acceptance) + 64
}

/// The smallest integer above γ.
fn above(acceptance: &Acceptance<'_>) -> u64 {
    let (size, scale) = (u128::from(acceptance.size), u128::from(acceptance.scale.value));
    let below = match acceptance.law {
        IntegerLaw::Gaussian => size * size / (2 * scale * scale),
        IntegerLaw::Laplace => size / scale,
    };
    below as u64 + 1
}
