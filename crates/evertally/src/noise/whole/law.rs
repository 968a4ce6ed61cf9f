//! The discrete Gaussian and Laplace laws, sampled exactly.
//!
//! **Source.** Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020).

use super::words::Words;

/// The law of a draw z with scale s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeLaw {
    /// P(z) ∝ exp(−z²/2s²).
    Gaussian,
    /// P(z) ∝ exp(−|z|/s).
    Laplace,
}

impl WholeLaw {
    pub(crate) fn sample(self, scale: u64, words: &mut impl Words) -> i64 {
        match self {
            Self::Laplace => laplace(scale, words),
            Self::Gaussian => loop {
                let proposal = laplace(scale, words);
                let off = u128::from(proposal.unsigned_abs().abs_diff(scale));
                let s = u128::from(scale);
                if exponential(off * off, 2 * s * s, words) {
                    return proposal;
                }
            },
        }
    }
}

fn laplace(scale: u64, words: &mut impl Words) -> i64 {
    loop {
        let u = below(scale, words);
        if !exponential(u.into(), scale.into(), words) {
            continue;
        }
        let mut v = 0;
        while exponential(1, 1, words) {
            v += 1;
        }
        let size = u + scale * v;
        let negative = words.next() >> 31 == 1;
        if negative && size == 0 {
            continue;
        }
        let size = size as i64;
        return if negative { -size } else { size };
    }
}

/// Uniform below `end`.
fn below(end: u64, words: &mut impl Words) -> u64 {
    let mask = end.next_power_of_two() - 1;
    loop {
        let value = (u64::from(words.next()) | u64::from(words.next()) << 32) & mask;
        if value < end {
            return value;
        }
    }
}

/// True with probability exp(−numerator/denominator).
fn exponential(numerator: u128, denominator: u128, words: &mut impl Words) -> bool {
    for _ in 0..numerator / denominator {
        if !exponential_below_one(1, 1, words) {
            return false;
        }
    }
    exponential_below_one(numerator % denominator, denominator, words)
}

fn exponential_below_one(numerator: u128, denominator: u128, words: &mut impl Words) -> bool {
    let mut k = 1;
    while bernoulli(numerator, denominator * k, words) {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability numerator/denominator: a uniform number and the quotient are compared digit by digit.
fn bernoulli(numerator: u128, denominator: u128, words: &mut impl Words) -> bool {
    if numerator >= denominator {
        return true;
    }
    let mut rest = numerator;
    loop {
        let digit = u128::from(words.next() >> 16);
        let (quotient, left) = ((rest << 16) / denominator, (rest << 16) % denominator);
        if digit != quotient {
            return digit < quotient;
        }
        rest = left;
    }
}
