//! The discrete Gaussian and Laplace laws, sampled exactly.
//!
//! **Definition.** A draw z of scale s has P(z) ∝ exp(−γ(z)) over the integers, with γ(z) = z²/2s²
//! (Gaussian) or |z|/s (Laplace). The draw is the first accepted proposal. Sizes |z| lie in strips
//! of w numbers: strip j holds the sizes from jw to (j+1)w, without the last. A proposal takes four
//! words: one for a strip and a sign, two for a place in the strip, and one for the first digit of
//! a uniform number W in [0, 1). Further digits of W are drawn only if they affect the decision.
//! The proposal is accepted if W < p.
//!
//! Eight bits choose among strips. Each strip has a count n_i out of 256 ([`GAUSSIAN`],
//! [`LAPLACE`]). r is the number of zeros before the first one in the bits after the sign, so P(r)
//! = 2^−(r+1). With n_0 the count of the first strip:
//!
//! | law | w | strip j | probability q of the strip | p |
//! |---|---|---|---|---|
//! | Gaussian | ⌈s/4⌉ | i < 11 | n_i/2⁸ | (n_0/n_i) exp(−γ) |
//! | | | 11 + r | n_11/2^(9+r) | (n_0/n_11) 2^(r+1) exp(−γ) |
//! | Laplace | just above s·ln(2)/4 | 4r + i, i < 4 | n_i/2^(9+r) | (n_0/n_i) 2^r exp(−γ) |
//!
//! **Guarantee.** Given uniform words, a draw has the law exactly: no decision is made with rounded
//! numbers.
//!
//! *Proof.* In every row q·p = c·exp(−γ), with one constant c per law. A proposal is therefore z ≠
//! 0, and accepted, with probability q · (1/w) · ½ · p = (c/2w)·exp(−γ(z)). The formula also holds
//! for zero, because zero with a minus sign is rejected. Proposals share no words, so they are
//! independent, and the first accepted one has the law. The place is uniform by Lemire's rejection,
//! and W < p is decided as in `acceptance`. It remains to show that p is at most one:
//!
//! - Gaussian: sizes of strip j have γ ≥ (jw/s)²/2 ≥ j²/32, and n_i ≥ n_0·exp(−i²/32). For the
//!   other strips n_11 ≥ n_0·2^(r+1)·exp(−(11+r)²/32). This holds at r = 0 and therefore always,
//!   because from r to r + 1 the right side changes by the factor 2·exp(−(23+2r)/32) < 1.
//! - Laplace: sizes of strip 4r + i have γ ≥ (4r+i)·ln(2)/4, and n_i ≥ n_0·2^(−i/4).
//!
//! The tails are cut off: runs of 256 zeros are rejected, so the law is that of z given |z| < 267w
//! (Gaussian) or 1024w (Laplace). The rest has probability below 2⁻³²⁰⁰ and 2⁻²⁵⁵, which is less
//! than that of guessing the key. For s ≥ 16 every draw is therefore below 256 s in size.
//!
//! **Cost.** For scales of about a hundred and more, 1.14 proposals per draw (Gaussian) or 1.11
//! (Laplace), each with one polynomial of degree 12. About five proposals at scale 1. The time of a
//! draw depends on the words, that is, on the noise, and on nothing else.
//!
//! **Source.** Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy*
//! (2020), for exact rejection from a simpler law; Karney, *Sampling Exactly from the Normal
//! Distribution* (2016), for an integer part and a place in it; Lemire, *Fast Random Integer
//! Generation in an Interval* (2019).

use super::acceptance::{Acceptance, Ratio, Scale};
use super::words::Words;

/// The law of a draw z with scale s.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerLaw {
    /// P(z) ∝ exp(−z²/2s²).
    Gaussian,
    /// P(z) ∝ exp(−|z|/s).
    Laplace,
}

/// Strips of the Gaussian law that have their own count. The last count is for all other strips.
const GAUSSIAN_STRIPS: usize = 11;
/// Strips of the Laplace law over which exp(−γ) halves.
const LAPLACE_STRIPS: usize = 4;

static GAUSSIAN: Strips<{ GAUSSIAN_STRIPS + 1 }> = Strips::new([45, 44, 40, 34, 28, 21, 15, 10, 7, 4, 2, 6]);
static LAPLACE: Strips<LAPLACE_STRIPS> = Strips::new([80, 69, 58, 49]);

/// Bits of the first word before the run of zeros: eight for the strip and one for the sign.
const CHOICE_BITS: u32 = 9;
/// Runs of this many zeros are rejected.
const MAX_RUN: u32 = 256;

/// The strip of each byte.
struct Strips<const N: usize> {
    of_byte: [u8; 256],
    ratios: [Ratio; N],
}

impl<const N: usize> Strips<N> {
    const fn new(counts: [u8; N]) -> Self {
        let mut of_byte = [0; 256];
        let mut ratios = [Ratio::new(1, 1); N];
        let (mut strip, mut byte) = (0, 0);
        while strip < N {
            ratios[strip] = Ratio::new(counts[0], counts[strip]);
            let end = byte + counts[strip] as usize;
            while byte < end {
                of_byte[byte] = strip as u8;
                byte += 1;
            }
            strip += 1;
        }
        assert!(byte == of_byte.len(), "every byte stands for a strip");
        Self { of_byte, ratios }
    }

    #[inline(always)]
    fn choose(&self, word: u32) -> (usize, Ratio) {
        let strip = usize::from(self.of_byte[word as usize % 256]);
        (strip, self.ratios[strip])
    }
}

/// A law at one scale.
pub(super) struct ScaledLaw {
    law: IntegerLaw,
    scale: Scale,
    width: u64,
}

impl ScaledLaw {
    /// The scale is at least 1 and below 2⁵².
    pub(super) fn new(law: IntegerLaw, scale: u64) -> Self {
        let width = match law {
            IntegerLaw::Gaussian => scale.div_ceil(4),
            // 11357/2¹⁶ is above ln(2)/4 = 11356.53/2¹⁶.
            IntegerLaw::Laplace => ((u128::from(scale) * 11357) >> 16) as u64 + 1,
        };
        Self { law, scale: Scale::new(scale), width }
    }

    #[inline(always)]
    pub(super) fn draw(&self, words: &mut impl Words) -> i64 {
        loop {
            if let Some(z) = self.propose(words) {
                return z;
            }
        }
    }

    /// The proposed number, or nothing if it is rejected.
    #[inline(always)]
    fn propose(&self, words: &mut impl Words) -> Option<i64> {
        let choice = words.next();
        let place = u64::from(words.next()) | u64::from(words.next()) << 32;
        let digit = words.next();
        let acceptance = self.acceptance(choice, place, words)?;
        let is_negative = choice >> (CHOICE_BITS - 1) & 1 == 1;
        if is_negative && acceptance.size == 0 {
            return None;
        }
        // Fewer than 1024 strips of fewer than 2⁵⁰ numbers.
        let size = acceptance.size as i64;
        acceptance.exceeds(digit, words).then_some(if is_negative { -size } else { size })
    }

    /// The proposed size, with its acceptance probability.
    #[inline(always)]
    fn acceptance(&self, choice: u32, place: u64, words: &mut impl Words) -> Option<Acceptance<'_>> {
        let (strip, ratio, doublings) = self.strip(choice, words)?;
        let size = strip * self.width + below(self.width, place)?;
        Some(Acceptance { law: self.law, scale: &self.scale, size, ratio, doublings })
    }

    /// A strip j, with the ratio and the power of two in p.
    #[inline(always)]
    fn strip(&self, choice: u32, words: &mut impl Words) -> Option<(u64, Ratio, u32)> {
        Some(match self.law {
            IntegerLaw::Gaussian => {
                let (strip, ratio) = GAUSSIAN.choose(choice);
                if strip < GAUSSIAN_STRIPS {
                    (strip as u64, ratio, 0)
                } else {
                    let zeros = zeros(choice, words)?;
                    (strip as u64 + u64::from(zeros), ratio, zeros + 1)
                }
            }
            IntegerLaw::Laplace => {
                let (strip, ratio) = LAPLACE.choose(choice);
                let zeros = zeros(choice, words)?;
                (LAPLACE_STRIPS as u64 * u64::from(zeros) + strip as u64, ratio, zeros)
            }
        })
    }
}

/// A uniform number below `end`, made from a uniform 64-bit number, or nothing if that number is
/// rejected.
///
/// The result is the upper half of their product. A product is rejected if its lower half is among
/// the (2⁶⁴ mod `end`) lowest values. Of the others, each upper half occurs ⌊2⁶⁴/`end`⌋ times.
#[inline(always)]
fn below(end: u64, uniform: u64) -> Option<u64> {
    let product = u128::from(uniform) * u128::from(end);
    // The first comparison spares nearly all draws the division.
    let low = product as u64;
    let is_refused = low < end && low < end.wrapping_neg() % end;
    (!is_refused).then_some((product >> 64) as u64)
}

/// The number of zeros before the first one in the rest of this word and in further words.
#[inline(always)]
fn zeros(choice: u32, words: &mut impl Words) -> Option<u32> {
    match choice >> CHOICE_BITS {
        0 => further_zeros(words),
        rest => Some(rest.trailing_zeros()),
    }
}

#[cold]
fn further_zeros(words: &mut impl Words) -> Option<u32> {
    let mut count = u32::BITS - CHOICE_BITS;
    while count < MAX_RUN {
        let word = words.next();
        count += word.trailing_zeros();
        if word != 0 {
            return (count < MAX_RUN).then_some(count);
        }
    }
    None
}

#[cfg(test)]
mod tests;
