//! What every lane needs to know about a step: the scale of its draw and, if steps differ, the
//! diagonals and the numbers of the chains.
//!
//! **Definition.** With e and d the doubles of the grading, a draw of step t has the standard
//! deviation ⌈s·d_t/e_t⌉, and the filter is driven by z/d_t; see [`super::filter`]. Without grades
//! both are one. With chains it is ⌈s·d_t·Σb⌉, and chain j gets the share b_j/Σb of the drive, in parts
//! of 2⁻⁶⁰ that add up to one.

use std::sync::Arc;

use super::factor::Factor;
use super::filter::FRACTION;
use crate::noise::streaming::{ChainReader, ChainRow, GRADED_BLOCK, GradeBlocks, Recipe};

/// Norms are counted in parts of 2⁻⁵⁸. Doubles from 2⁻⁶ to 8 are exact in these parts. Smaller ones
/// are counted in parts that are finer by 2^k, with k from 1 to [`MAX_FINER`]: a norm and the next are
/// then below 2^54 parts, because the next is not smaller than half of it.
const NORM_BITS: u32 = 58;
const MAX_FINER: i32 = 12;

/// Bits of the numerator in an inverse norm.
const INVERSE_BITS: u32 = 122;

/// Bits of the shares of a drive.
const SHARE_BITS: u32 = 60;

/// The numbers of one step.
#[derive(Debug, Clone)]
pub(crate) struct StepNumbers {
    /// The standard deviation of the draw.
    pub(crate) scale: u64,
    pub(super) graded: Option<Graded>,
    /// The block of the step and its place in it.
    chains: Option<(Arc<[ChainFactors]>, usize)>,
}

impl StepNumbers {
    /// What every chain loses and gets, or nothing without chains.
    pub(super) fn chains(&self) -> &[ChainFactor] {
        self.chains.as_ref().map_or(&[], |(block, place)| &block[*place].0)
    }
}

/// What a chain loses, and its share of the drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainFactor {
    pub(super) loss: Factor,
    pub(super) share: Factor,
}

/// The factors of all chains at one step.
#[derive(Debug, Clone)]
struct ChainFactors(Box<[ChainFactor]>);

impl ChainFactors {
    /// The largest share takes what rounding leaves, so that the shares add up to one.
    fn new(losses: &ChainRow, drives: &ChainRow, count: usize) -> Self {
        let sum = sum(drives);
        let one = 1_i64 << SHARE_BITS;
        let mut parts: Vec<i64> = drives[..count]
            .iter()
            .map(|drive| libm::scalbn(f64::from(*drive) / sum, SHARE_BITS as i32).round() as i64)
            .collect();
        let left = one - parts.iter().sum::<i64>();
        if let Some(largest) = parts.iter_mut().max() {
            *largest += left;
        }
        let factor = |(loss, parts): (&f32, i64)| ChainFactor {
            loss: Factor::new(f64::from(*loss)),
            share: Factor::parts(parts, SHARE_BITS),
        };
        Self(losses.iter().zip(parts).map(factor).collect())
    }
}

/// Σb.
fn sum(drives: &ChainRow) -> f64 {
    drives.iter().map(|drive| f64::from(*drive)).sum()
}

/// The diagonals at one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Graded {
    /// d_t.
    pub(super) norm: Factor,
    /// d_{t+1} − d_t.
    pub(super) rise: Factor,
    /// k.
    finer: u32,
    /// d_t in parts 2^−(58+k).
    parts: i128,
    /// ⌊2^122/parts⌋.
    inverse: i128,
}

impl Graded {
    fn new(norm: f64, next: f64) -> Self {
        // Doubles of at least 2⁻⁶ have no digits below 2⁻⁵⁸.
        let finer = (-6 - libm::ilogb(norm.min(next))).clamp(0, MAX_FINER) as u32;
        let bits = NORM_BITS + finer;
        let [norm, next] = [norm, next].map(|d| libm::scalbn(d, bits as i32) as i64);
        Self {
            norm: Factor::parts(norm, bits),
            rise: Factor::parts(next - norm, bits),
            finer,
            parts: norm.into(),
            inverse: (1 << INVERSE_BITS) / i128::from(norm),
        }
    }

    /// z/d_t in parts of 2^−FRACTION, for |z| below 2^57. It is off by less than [`DRIVE_ERROR`]
    /// parts.
    ///
    /// The inverse gives a quotient that is off by a relative 2⁻⁵⁷, or 2⁻⁶⁸ in finer parts, which are
    /// below 2^54. The rest of the dividend is below 2^100, so it survives the wrapping products.
    /// Dividing the rest in the same way corrects the quotient to within one part.
    #[inline(always)]
    pub(super) fn drive(&self, z: i128) -> i128 {
        const DIVIDEND: u32 = NORM_BITS + FRACTION;
        const DROPPED: u32 = 44;
        let quotient = (z * self.inverse) >> (INVERSE_BITS - DIVIDEND - self.finer);
        let rest = (z << (DIVIDEND + self.finer)).wrapping_sub(quotient.wrapping_mul(self.parts));
        quotient + (((rest >> DROPPED) * self.inverse) >> (INVERSE_BITS - DROPPED))
    }
}

/// The maximum error of a drive, in parts.
pub(super) const DRIVE_ERROR: f64 = 3.0;

/// Reads the numbers of steps in order. Going back reloads the block.
pub(crate) struct StepReader {
    grades: Option<GradeBlocks>,
    chains: Option<ChainReader>,
    /// The factors of the block that the reader holds.
    factors: Arc<[ChainFactors]>,
    horizon: u64,
    scale: f64,
}

impl StepReader {
    /// `scale` is s, already rounded up.
    pub(crate) fn new(recipe: &Recipe, horizon: u64, scale: f64) -> Self {
        let grades = recipe.grading.clone().map(|grading| GradeBlocks::new(grading, horizon));
        let chains = recipe.chains.clone().map(ChainReader::new);
        Self { grades, chains, factors: Arc::new([]), horizon, scale }
    }

    /// The number of steps.
    pub(super) fn horizon(&self) -> u64 {
        self.horizon
    }

    /// The numbers of a step below the horizon.
    pub(crate) fn at(&mut self, step: u64) -> StepNumbers {
        debug_assert!(step < self.horizon, "the horizon is spent");
        if let Some(chains) = &mut self.chains {
            let count = chains.chains();
            let (block, is_new) = chains.load(step);
            if is_new {
                let rows = block.losses.iter().zip(&block.drives);
                self.factors =
                    rows.map(|(losses, drives)| ChainFactors::new(losses, drives, count)).collect();
            }
            let i = (step - block.first) as usize;
            let (norm, next) = (f64::from(block.norms[i]), f64::from(block.norms[i + 1]));
            return StepNumbers {
                // The sum over the chains is rounded as well.
                scale: integer_scale(
                    self.scale * (norm * sum(&block.drives[i])) * (1.0 + 20.0 * f64::EPSILON),
                ),
                graded: Some(Graded::new(norm, next)),
                chains: Some((Arc::clone(&self.factors), i)),
            };
        }
        let Some(grades) = &mut self.grades else {
            return StepNumbers { scale: integer_scale(self.scale), graded: None, chains: None };
        };
        grades.load(step);
        let i = (step % GRADED_BLOCK) as usize;
        let (grade, norm) = (grades.here().grades[i], grades.here().norms[i]);
        let next = grades.next_norm(i);
        StepNumbers {
            scale: integer_scale(self.scale * (norm / grade)),
            graded: Some(Graded::new(norm, next)),
            chains: None,
        }
    }
}

/// An integer that is at least the product of three doubles, which two roundings may have reduced.
pub(super) fn integer_scale(scale: f64) -> u64 {
    (scale * (1.0 + 4.0 * f64::EPSILON)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a long division, digit by digit. No norm is below 2⁻¹⁸, and none falls by
        /// more than half.
        #[test]
        fn drives_are_quotients(
            z in -(1_i128 << 56)..(1_i128 << 56),
            norm in prop_oneof![0.02..7.9_f64, (-17.0..3.0_f64).prop_map(libm::exp2)],
            fall in 0.5..1.0_f64,
        ) {
            let graded = Graded::new(norm, norm * fall);
            // Every double is exact in its parts.
            let bits = (NORM_BITS + graded.finer) as i32;
            prop_assert_eq!(libm::scalbn(graded.parts as f64, -bits), norm);
            prop_assert_eq!(graded.rise, Factor::parts((libm::scalbn(norm * fall, bits) - libm::scalbn(norm, bits)) as i64, bits as u32));
            prop_assert_eq!(libm::scalbn(norm * fall, bits).fract(), 0.0);
            let (mut quotient, mut rest) = (0_i128, z.unsigned_abs());
            for _ in 0..NORM_BITS + graded.finer + FRACTION {
                rest *= 2;
                quotient = 2 * quotient + (rest / graded.parts.unsigned_abs()) as i128;
                rest %= graded.parts.unsigned_abs();
            }
            let quotient = if z < 0 { -quotient } else { quotient };
            prop_assert!((graded.drive(z) - quotient).abs() as f64 <= DRIVE_ERROR, "{} {quotient}", graded.drive(z));
        }
    }
}
