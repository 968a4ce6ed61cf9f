//! Logarithm, sine and cosine that give the same bits on every machine.
//!
//! **Definition.** −2 ln of a 64-bit or 63-bit fraction, and (sin, cos) of 2π times a 64-bit
//! fraction of a turn, in double precision. A fraction is (w + ½)·2⁻⁶⁴ of a word w, so it is never
//! zero.
//!
//! **Guarantee.** Only IEEE 754 additions, multiplications, divisions and integer operations are
//! used, in a fixed order. Rust neither reorders nor contracts them, so the result is identical on
//! every platform and at every vector width. The standard library's functions do not guarantee
//! that, because they come from the platform. Errors stay below 2 units in the last place. No
//! branch and no table index depends on the argument, so the running time does not reveal it, apart
//! from what the processor's own divider leaks. Every operation that was optimised away (a scale
//! folded into an exponent, a conversion into a constant) was exact. The tests compare every
//! function, bit for bit, with a version that contains those operations.
//!
//! **Cost.** About 40 operations for the logarithm and 55 for sine and cosine together. Loops over
//! them vectorise.
//!
//! **Source.** The reductions and minimax polynomials are those of FreeBSD's msun (`e_log.c`,
//! `k_sin.c`, `k_cos.c`; Sun Microsystems 1993, freely granted), with the special cases removed
//! because the arguments cannot reach them.

const TWO_POW_32: f64 = 4294967296.0;
const TWO_POW_51: f64 = 2251799813685248.0;
const TWO_POW_52: f64 = 2.0 * TWO_POW_51;
const TWO_POW_61: f64 = TWO_POW_32 * 536870912.0;
const TWO_POW_84: f64 = TWO_POW_32 * TWO_POW_52;
const TWO_POW_MINUS_64: f64 = 1.0 / (TWO_POW_32 * TWO_POW_32);
const SIGN: u64 = 1 << 63;

/// ln 2 as a sum of two doubles.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
/// The minimax polynomial of the logarithm.
const LN_SERIES: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];
/// The upper half of √½, as bits: mantissas are brought into [√½, √2).
const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_0000_0000;
const ONE_BITS: u64 = 0x3ff0_0000_0000_0000;

/// high·2³² + low + ½ + 2⁸⁴ + 2⁵¹ − `bias`, rounded once. The `bias` must bring the sum below 2⁶⁴.
///
/// Both halves are written straight into the mantissas of 2⁸⁴ and 2⁵¹, whose last bits stand for
/// 2³² and ½. Vector units have no cheap conversion of 64-bit integers, and this conversion needs
/// no multiplication. The first difference is exact.
#[inline(always)]
fn joined(high: u64, low: u32, bias: f64) -> f64 {
    let high = f64::from_bits(TWO_POW_84.to_bits() | high);
    let low = f64::from_bits(TWO_POW_51.to_bits() | u64::from(low) << 1 | 1);
    (high - bias) + low
}

/// −2 ln((w + ½)·2⁻⁶⁴). It ranges from 0 (of either sign) to 130 ln 2, so tails are right to
/// probability 2⁻⁶⁴.
#[inline(always)]
pub(crate) fn minus_twice_ln_64(word: u64) -> f64 {
    minus_twice_ln::<64>(joined(word >> 32, word as u32, TWO_POW_84 + TWO_POW_51))
}

/// −2 ln((v + ½)·2⁻⁶³) for v the low 63 bits of the word.
#[inline(always)]
pub(crate) fn minus_twice_ln_63(word: u64) -> f64 {
    minus_twice_ln::<63>(joined((word & !SIGN) >> 32, word as u32, TWO_POW_84 + TWO_POW_51))
}

/// −2 ln(u·2^−`SCALE`) for a normal u in (0, 2^`SCALE`]. The factor two, which the radius of a
/// normal pair needs, is part of every constant and therefore free.
#[inline(always)]
fn minus_twice_ln<const SCALE: u32>(u: f64) -> f64 {
    const TWICE_LN_2: [f64; 2] = [2.0 * LN_2[0], 2.0 * LN_2[1]];
    const TWICE_SERIES: [f64; 7] = {
        let mut series = LN_SERIES;
        let mut i = 0;
        while i < series.len() {
            series[i] *= 2.0;
            i += 1;
        }
        series
    };

    // With u = 2^(k + SCALE) m, `shifted` holds k + SCALE + 1023 above the bits of m − √½, so no
    // signed shift is needed. The last bits of 2⁵² are an integer, which gives the cheapest
    // conversion of a small exponent to a double.
    let shifted = u.to_bits().wrapping_add(ONE_BITS - SQRT_HALF_BITS);
    let k = f64::from_bits((shifted >> 52) | TWO_POW_52.to_bits()) - (TWO_POW_52 + 1023.0 + SCALE as f64);
    let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF_BITS));
    let f = m - 1.0;
    let square = f * f;
    let s = f / (2.0 + f);
    let rest = s * (square + ln_series(&TWICE_SERIES, s));
    ((square - (rest + k * TWICE_LN_2[1])) - (f + f)) - k * TWICE_LN_2[0]
}

/// The part of the logarithm that is a polynomial in s², with these coefficients.
#[inline(always)]
fn ln_series(&[l1, l2, l3, l4, l5, l6, l7]: &[f64; 7], s: f64) -> f64 {
    let z = s * s;
    let w = z * z;
    let even = w * (l2 + w * (l4 + w * l6));
    let odd = z * (l1 + w * (l3 + w * (l5 + w * l7)));
    even + odd
}

/// (sin 2πv, cos 2πv) for v = (w + ½)·2⁻⁶⁴.
#[inline(always)]
pub(crate) fn sin_cos_turn(word: u64) -> (f64, f64) {
    // Bits 30 and 31 of `turned` are the nearest quarter turn. The bits below are the rest, from −⅛
    // to ⅛ of a turn, plus ⅛, which the bias removes. Only the one rounding of the join is inexact.
    let turned = (word >> 32).wrapping_add(1 << 29);
    let rest = joined(turned & 0x3fff_ffff, word as u32, TWO_POW_84 + TWO_POW_61 + TWO_POW_51);
    let x = rest * (std::f64::consts::TAU * TWO_POW_MINUS_64);
    let (sin, cos) = sin_cos_near_zero(x);

    // Odd quarters exchange sine and cosine. Masks replace branches, and signs are bits. The
    // quarter's upper bit, now on top, is the sign of the sine. The upper bit of the next quarter
    // is the sign of the cosine.
    let quarter = turned << 32;
    let odd = ((quarter << 1) as i64 >> 63) as u64;
    let (s, c) = (sin.to_bits(), cos.to_bits());
    let exchange = (s ^ c) & odd;
    let (flip_sin, flip_cos) = (quarter & SIGN, quarter.wrapping_add(1 << 62) & SIGN);
    (f64::from_bits(s ^ exchange ^ flip_sin), f64::from_bits(c ^ exchange ^ flip_cos))
}

/// (sin x, cos x) for x within π/4 of zero.
#[inline(always)]
fn sin_cos_near_zero(x: f64) -> (f64, f64) {
    const S1: f64 = -1.666_666_666_666_663_2e-1;
    const S2: f64 = 8.333_333_333_322_49e-3;
    const S3: f64 = -1.984_126_982_985_795e-4;
    const S4: f64 = 2.755_731_370_707_006_8e-6;
    const S5: f64 = -2.505_076_025_340_686_3e-8;
    const S6: f64 = 1.589_690_995_211_55e-10;
    const C1: f64 = 4.166_666_666_666_66e-2;
    const C2: f64 = -1.388_888_888_887_411e-3;
    const C3: f64 = 2.480_158_728_947_673e-5;
    const C4: f64 = -2.755_731_435_139_066_3e-7;
    const C5: f64 = 2.087_572_321_298_175e-9;
    const C6: f64 = -1.135_964_755_778_819_5e-11;

    let z = x * x;
    let w = z * z;
    let sin = x + z * x * (S1 + z * (S2 + z * (S3 + z * S4) + z * w * (S5 + z * S6)));
    let half = 0.5 * z;
    let near = 1.0 - half;
    let cos = near
        + (((1.0 - near) - half) + z * (z * (C1 + z * (C2 + z * C3)) + w * w * (C4 + z * (C5 + z * C6))));
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of the reference.
    fn ulps(got: f64, want: f64) -> f64 {
        let ulp = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
        (got - want).abs() / ulp
    }

    /// Words from a simple 64-bit generator, so that the points do not depend on the code under
    /// test, and the corners of the range.
    fn words() -> impl Iterator<Item = u64> {
        let mut state = 1_u64;
        let random = (0..2_000_000).map(move |i| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let word = state ^ (state >> 29);
            // A third of the points is dense near zero, and a third near the other end.
            match i % 3 {
                0 => word,
                1 => word >> (i % 64),
                _ => !(word >> (i % 64)),
            }
        });
        let corners = (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + 1, !power, u64::MAX - power]
        });
        random.chain(corners).chain([0, 1, u64::MAX, u64::MAX - 1])
    }

    /// The same functions without optimisation: scales are multiplications, and the halves are
    /// converted separately.
    mod unoptimised {
        use super::super::{
            LN_2, LN_SERIES, ONE_BITS, SQRT_HALF_BITS, TWO_POW_52, TWO_POW_MINUS_64, ln_series,
            sin_cos_near_zero,
        };

        const TWO_POW_MINUS_31: f64 = 1.0 / 2147483648.0;
        const TWO_POW_MINUS_32: f64 = TWO_POW_MINUS_31 / 2.0;
        const TWO_POW_MINUS_63: f64 = TWO_POW_MINUS_31 * TWO_POW_MINUS_32;

        /// (w + ½)·2⁻⁶⁴, rounded once: in (0, 1], and at least 2⁻⁶⁵, so that the logarithm reaches
        /// 65 ln 2 and tails are right to probability 2⁻⁶⁴.
        pub(super) fn open_unit(word: u64) -> f64 {
            let (high, low) = ((word >> 32) as u32, word as u32);
            f64::from(high) * TWO_POW_MINUS_32 + (f64::from(low) + 0.5) * TWO_POW_MINUS_64
        }

        /// (w + ½)·2⁻⁶³ for the low 63 bits of the word, rounded once.
        pub(super) fn open_unit_63(word: u64) -> f64 {
            let (high, low) = ((word >> 32) as u32 & 0x7fff_ffff, word as u32);
            f64::from(high) * TWO_POW_MINUS_31 + (f64::from(low) + 0.5) * TWO_POW_MINUS_63
        }

        /// −ln u for a normal u in (0, 1]; exactly zero (of either sign) at 1.
        pub(super) fn minus_ln(u: f64) -> f64 {
            // With u = 2^k m, `shifted` holds k + 1023 above the bits of m − √½, so no signed shift
            // is needed.
            let shifted = u.to_bits() + (ONE_BITS - SQRT_HALF_BITS);
            let k = f64::from_bits((shifted >> 52) | TWO_POW_52.to_bits()) - (TWO_POW_52 + 1023.0);
            let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF_BITS);
            let f = m - 1.0;
            let half_square = 0.5 * f * f;
            let s = f / (2.0 + f);
            let rest = s * (half_square + ln_series(&LN_SERIES, s));
            ((half_square - (rest + k * LN_2[1])) - f) - k * LN_2[0]
        }

        /// (sin 2πv, cos 2πv) for v = (w + ½)·2⁻⁶⁴.
        pub(super) fn sin_cos_turn(word: u64) -> (f64, f64) {
            // The nearest quarter turn, and the signed rest, at most an eighth of a turn on either
            // side of it. Both are exact in integers.
            let (high, low) = ((word >> 32) as u32, word as u32);
            let quarter = high.wrapping_add(1 << 29) >> 30;
            let rest = high.wrapping_sub(quarter << 30) as i32;
            let turn = f64::from(rest) * TWO_POW_MINUS_32 + (f64::from(low) + 0.5) * TWO_POW_MINUS_64;
            let x = turn * std::f64::consts::TAU;
            let (sin, cos) = sin_cos_near_zero(x);

            // Odd quarters exchange sine and cosine. Masks replace branches, and signs are bits.
            let quarter = u64::from(quarter);
            let odd = 0_u64.wrapping_sub(quarter & 1);
            let flip_sin = (quarter & 2) << 62;
            let flip_cos = ((quarter + 1) & 2) << 62;
            let (s, c) = (sin.to_bits(), cos.to_bits());
            (
                f64::from_bits(((s & !odd) | (c & odd)) ^ flip_sin),
                f64::from_bits(((c & !odd) | (s & odd)) ^ flip_cos),
            )
        }
    }

    #[test]
    fn no_optimisation_changes_a_bit() {
        for word in words() {
            let twice = |u: f64| (2.0 * unoptimised::minus_ln(u)).to_bits();
            assert_eq!(minus_twice_ln_64(word).to_bits(), twice(unoptimised::open_unit(word)), "{word:#x}");
            assert_eq!(
                minus_twice_ln_63(word).to_bits(),
                twice(unoptimised::open_unit_63(word)),
                "{word:#x}"
            );
            let (sin, cos) = sin_cos_turn(word);
            let (want_sin, want_cos) = unoptimised::sin_cos_turn(word);
            assert_eq!([sin.to_bits(), cos.to_bits()], [want_sin.to_bits(), want_cos.to_bits()], "{word:#x}");
        }
    }

    #[test]
    fn logarithm_agrees_with_the_platform() {
        let mut worst = 0.0_f64;
        for word in words() {
            for (got, u) in [
                (minus_twice_ln_64(word), unoptimised::open_unit(word)),
                (minus_twice_ln_63(word), unoptimised::open_unit_63(word)),
            ] {
                assert!(u > 0.0 && u <= 1.0);
                let want = -2.0 * u.ln();
                worst = worst.max(if want == 0.0 { got.abs() } else { ulps(got, want) });
            }
        }
        assert!(worst <= 2.0, "{worst} ulp");
        assert_eq!(unoptimised::open_unit(0), 2.0_f64.powi(-65));
        assert_eq!(unoptimised::open_unit(u64::MAX), 1.0);
        assert_eq!(minus_twice_ln_64(u64::MAX), 0.0);
        assert!(ulps(minus_twice_ln_64(0), 130.0 * std::f64::consts::LN_2) <= 1.0);
    }

    /// The reference is computed within an eighth of a turn of an axis, where the platform's
    /// argument is itself accurate.
    #[test]
    fn sine_and_cosine_agree_with_the_platform() {
        let mut worst = 0.0_f64;
        for word in words() {
            let quarter = (word.wrapping_add(1 << 61)) >> 62;
            let rest = word.wrapping_sub(quarter << 62) as i64;
            let turn = (rest as i128 * 2 + 1) as f64 * 2.0_f64.powi(-65);
            let (s, c) = (turn * std::f64::consts::TAU).sin_cos();
            let want = [(s, c), (c, -s), (-s, -c), (-c, s)][quarter as usize];
            let got = sin_cos_turn(word);
            worst = worst.max(ulps(got.0, want.0)).max(ulps(got.1, want.1));
        }
        assert!(worst <= 2.0, "{worst} ulp");
    }

    #[test]
    fn sine_and_cosine_at_the_axes() {
        let tiny = std::f64::consts::TAU * 2.0_f64.powi(-65);
        assert_eq!(sin_cos_turn(0), (tiny, 1.0));
        assert_eq!(sin_cos_turn(u64::MAX), (-tiny, 1.0));
        assert_eq!(sin_cos_turn(1 << 62), (1.0, -tiny));
        assert_eq!(sin_cos_turn(1 << 63), (-tiny, -1.0));
        assert_eq!(sin_cos_turn(3 << 62), (-1.0, tiny));
    }
}
