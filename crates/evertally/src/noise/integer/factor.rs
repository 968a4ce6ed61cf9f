//! Products of integers and doubles, computed in integers alone.
//!
//! **Definition.** A double f is exactly an integer m of at most 62 bits times 2^−shift. v·f is
//! ⌊v·m/2^shift⌋.
//!
//! **Guarantee.** The result is exactly that floor, as long as it fits. Nothing is rounded twice,
//! and nothing depends on the machine.

/// A factor f = mantissa·2^−shift, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Factor {
    mantissa: i64,
    shift: u32,
}

/// The maximum shift. v·m has fewer bits than this.
const MAX_SHIFT: i32 = 190;

impl Factor {
    pub(super) const ZERO: Self = Self { mantissa: 0, shift: 0 };

    /// A double below 2^40 in magnitude. Values below 2⁻¹³⁸ count as zero, because their product
    /// with any number that occurs is below one.
    pub(super) fn new(f: f64) -> Self {
        debug_assert!(f.abs() < 1e12, "factors are of the order of one");
        // For zero, `ilogb` is the smallest integer.
        let shift = 52_i32.saturating_sub(libm::ilogb(f));
        if shift > MAX_SHIFT {
            return Self::ZERO;
        }
        let mantissa = libm::scalbn(f, shift) as i64;
        // An integer of less than 53 bits needs no shift to the left.
        let spare = mantissa.trailing_zeros().min(shift.max(0) as u32);
        let (mantissa, shift) =
            if shift < 0 { (mantissa << -shift, 0) } else { (mantissa >> spare, shift as u32 - spare) };
        Self { mantissa, shift }
    }

    /// `mantissa` parts of size 2^−shift.
    pub(super) fn parts(mantissa: i64, shift: u32) -> Self {
        Self { mantissa, shift }
    }

    /// ⌊v·f⌋, for results below 2^126.
    #[inline(always)]
    pub(super) fn times(self, v: i128) -> i128 {
        let (high, low) = ((v >> 64) as i64, v as u64);
        let high = i128::from(high) * i128::from(self.mantissa);
        // Below 2^126 in magnitude, because a mantissa has at most 62 bits.
        let low = i128::from(low) * i128::from(self.mantissa);
        if self.shift >= 64 {
            // The floor of a floor is the floor.
            (high + (low >> 64)) >> (self.shift - 64)
        } else {
            (high << (64 - self.shift)) + (low >> self.shift)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ⌊v·m/2^s⌋ by long multiplication in four halves, with a separate sign.
    fn written_out(v: i128, mantissa: i64, shift: u32) -> i128 {
        let (magnitude, m) = (v.unsigned_abs(), u128::from(mantissa.unsigned_abs()));
        let digits = [
            magnitude & 0xffff_ffff,
            magnitude >> 32 & 0xffff_ffff,
            magnitude >> 64 & 0xffff_ffff,
            magnitude >> 96,
        ];
        let mut product = [0_u128; 7];
        for (i, digit) in digits.into_iter().enumerate() {
            for (k, part) in [m & 0xffff_ffff, m >> 32].into_iter().enumerate() {
                product[i + k] += digit * part;
            }
        }
        for i in 0..6 {
            product[i + 1] += product[i] >> 32;
            product[i] &= 0xffff_ffff;
        }
        let bit = |k: u32| product[(k / 32) as usize] >> (k % 32) & 1;
        let quotient =
            (shift..200).filter(|k| k - shift < 127).map(|k| bit(k) << (k - shift)).sum::<u128>() as i128;
        let has_rest = (0..shift).any(|k| bit(k) == 1);
        if (v < 0) == (mantissa < 0) { quotient } else { -quotient - i128::from(has_rest) }
    }

    proptest! {
        #[test]
        fn products_are_floors(v in -(1_i128 << 119)..(1_i128 << 119), f in prop_oneof![0.0..1.0_f64, -64.0..64.0_f64, 1e-30..1e-3_f64, Just(1.0), Just(0.5)]) {
            let factor = Factor::new(f);
            prop_assert_eq!(factor.mantissa as f64 / libm::exp2(f64::from(factor.shift)), f);
            prop_assert_eq!(factor.times(v), written_out(v, factor.mantissa, factor.shift));
        }
    }

    #[test]
    fn ones_and_zeros_are_exact() {
        for v in [0, 1, -1, i64::MAX.into(), i128::from(i64::MIN) * 3, (1 << 119) + 1, -(1 << 119) - 1] {
            assert_eq!(Factor::new(1.0).times(v), v);
            assert_eq!(Factor::new(0.0).times(v), 0);
            assert_eq!(Factor::new(1e-60).times(v), 0);
            assert_eq!(Factor::new(0.5).times(v), v >> 1);
            assert_eq!(Factor::parts(3 << 58, 60).times(v), (3 * v) >> 2);
        }
    }
}
