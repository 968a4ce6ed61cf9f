//! Natural numbers of any size, with only the operations that `exact` needs.
//!
//! **Definition.** Digits in base 2⁶⁴, the lowest first, without leading zeros. Zero has no digits.
//!
//! **Guarantee.** Exact. Digits are wiped when a number is dropped, because they hold random words.
//!
//! **Cost.** One pass over the digits per operation. They are needed once in 2³² proposals.

use std::cmp::Ordering;

use zeroize::ZeroizeOnDrop;

#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
#[cfg_attr(test, derive(Debug))]
pub(super) struct Natural(Vec<u64>);

impl From<u64> for Natural {
    fn from(value: u64) -> Self {
        Self(vec![value]).trimmed()
    }
}

impl Natural {
    pub(super) fn power_of_two(exponent: u64) -> Self {
        Self::from(1).shifted(exponent)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn times(mut self, factor: u64) -> Self {
        let mut carry = 0;
        for digit in &mut self.0 {
            let product = u128::from(*digit) * u128::from(factor) + carry;
            *digit = product as u64;
            carry = product >> 64;
        }
        self.0.push(carry as u64);
        self.trimmed()
    }

    /// Times 2^`bits`.
    pub(super) fn shifted(mut self, bits: u64) -> Self {
        self.0.splice(0..0, (0..bits / 64).map(|_| 0));
        self.times(1 << (bits % 64))
    }

    /// The quotient, rounded down.
    pub(super) fn over(mut self, divisor: u64) -> Self {
        let mut rest = 0;
        for digit in self.0.iter_mut().rev() {
            let dividend = rest << 64 | u128::from(*digit);
            *digit = (dividend / u128::from(divisor)) as u64;
            rest = dividend % u128::from(divisor);
        }
        self.trimmed()
    }

    pub(super) fn plus(mut self, other: &Self) -> Self {
        let len = self.0.len().max(other.0.len()) + 1;
        self.0.resize(len, 0);
        let mut carry = 0;
        for (i, digit) in self.0.iter_mut().enumerate() {
            let sum = u128::from(*digit) + u128::from(other.digit(i)) + carry;
            *digit = sum as u64;
            carry = sum >> 64;
        }
        self.trimmed()
    }

    /// The difference, or zero if it would be negative.
    pub(super) fn minus(mut self, other: &Self) -> Self {
        if self.compare(other).is_le() {
            return Self(Vec::new());
        }
        let mut borrow = false;
        for (i, digit) in self.0.iter_mut().enumerate() {
            let (less, first) = digit.overflowing_sub(other.digit(i));
            let (less, second) = less.overflowing_sub(borrow.into());
            *digit = less;
            borrow = first || second;
        }
        self.trimmed()
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn digit(&self, i: usize) -> u64 {
        self.0.get(i).copied().unwrap_or(0)
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn natural(value: u128) -> Natural {
        Natural::from((value >> 64) as u64).shifted(64).plus(&Natural::from(value as u64))
    }

    /// Compares with native arithmetic where the numbers fit, including values at the borders of
    /// digits.
    #[test]
    fn operations_are_those_of_numbers() {
        let values: Vec<u128> = [
            0,
            1,
            2,
            3,
            1 << 32,
            1 << 62,
            (1 << 64) - 1,
            1 << 64,
            (1 << 64) + 1,
            3 << 100,
            (1 << 126) - 1,
            1 << 126,
        ]
        .into_iter()
        .chain((1..30).map(|i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> (i + 2)))
        .collect();
        for &a in &values {
            assert_eq!(natural(a).is_zero(), a == 0);
            for &b in &values {
                assert_eq!(natural(a).plus(&natural(b)), natural(a + b), "{a} + {b}");
                assert_eq!(natural(a).minus(&natural(b)), natural(a.saturating_sub(b)), "{a} - {b}");
                assert_eq!(natural(a).compare(&natural(b)), a.cmp(&b), "{a}, {b}");
                if let (Some(product), Ok(b)) = (a.checked_mul(b), u64::try_from(b)) {
                    assert_eq!(natural(a).times(b), natural(product), "{a} * {b}");
                }
                if let Ok(b @ 1..) = u64::try_from(b) {
                    assert_eq!(natural(a).over(b), natural(a / u128::from(b)), "{a} / {b}");
                }
            }
        }
        for bits in [0, 1, 63, 64, 65, 126] {
            assert_eq!(natural(1).shifted(bits), natural(1 << bits));
            assert_eq!(Natural::power_of_two(bits), natural(1 << bits));
        }
    }

    #[test]
    fn numbers_grow_beyond_the_processors_own() {
        let mut factorial = Natural::from(1);
        for i in 1..=100 {
            factorial = factorial.times(i);
        }
        assert_eq!(factorial.0.len(), 9);
        for i in (1..=100).rev() {
            factorial = factorial.over(i);
        }
        assert_eq!(factorial, Natural::from(1));
    }
}
