//! The reversible filter: from whole white noise to whole correlated noise, and back.
//!
//! **Definition.** A lane holds a number v_j a decay, in parts 2⁻⁴⁰, and ζ where steps are graded.
//! At step t, with z the lane's draw and all products floored,
//!
//! > v_j ← θ_j v_j, c = Σ_j η_j v_j, p = round(d_t c + ζ), u = z + p, v_j ← v_j + z/d_t, ζ ← ζ −
//! (d_{t+1} − d_t)(c + z/d_t).
//!
//! u is the noise of the step. p is made of earlier draws alone, so that z = u − p: draws and noise
//! determine each other, step by step, in whole numbers. Without rounding u = L̃z, where L̃ = A
//! diag(d) A⁻¹ T(l) diag(1/d) has ones on its diagonal, and L̃ = T(l) where d = 1.
//!
//! **Guarantee.** |u − L̃z| ≤ [`rounding`] at every step. docs/exact.md says why that is all that
//! privacy needs.
//!
//! **Cost.** 16 bytes a decay and lane, two products of 128 by 64 bits a decay and step. Decays
//! keep all digits of their loss, however slow.

use super::factor::Factor;
use super::steps::{DRIVE_ERROR, StepNumbers};
use crate::noise::streaming::Recipe;

/// Bits behind the point of what a lane holds.
pub(super) const FRACTION: u32 = 40;

/// No draw lies farther out, in its standard deviations or scales: see [`super::law`].
pub(crate) const MAX_DRAW_SCALES: f64 = 256.0;

/// No number of a lane lies farther out, in parts: 2^45 steps of the farthest draws of the largest
/// scale do not take it there. Numbers that come from outside are held to it, so that products with
/// norms and weights fit 128 bits.
const MAX_PARTS: u128 = 1 << 120;

/// Whether numbers could be those of a lane.
pub(crate) fn are_within_reach(numbers: &[i128]) -> bool {
    numbers.iter().all(|number| number.unsigned_abs() <= MAX_PARTS)
}

/// What is left of a number after a step: by the loss near one, by the factor near zero. Both are
/// doubles, and exact.
#[derive(Debug, Clone, Copy)]
enum Keep {
    All,
    AllBut(Factor),
    Part(Factor),
}

impl Keep {
    #[inline(always)]
    fn of(self, v: i128) -> i128 {
        match self {
            Self::All => v,
            Self::AllBut(loss) => v - loss.times(v),
            Self::Part(factor) => factor.times(v),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Tap {
    keep: Keep,
    weight: Factor,
}

/// What every lane does at a step.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    taps: Vec<Tap>,
    is_graded: bool,
}

/// Every decay that counts: what it keeps, what it loses, and its weight.
fn decays(recipe: &Recipe) -> impl Iterator<Item = (Keep, f64, f64)> {
    let ordinary = recipe.decays.iter().map(|tap| {
        // The difference is exact from a half on.
        let keep = match tap.decay {
            1.0 => Keep::All,
            decay if decay >= 0.5 => Keep::AllBut(Factor::new(1.0 - decay)),
            decay => Keep::Part(Factor::new(decay)),
        };
        (keep, 1.0 - tap.decay, tap.weight)
    });
    let slow = recipe.slow.iter().map(|tap| (Keep::AllBut(Factor::new(tap.loss)), tap.loss, tap.weight));
    ordinary.chain(slow).filter(|(_, _, weight)| *weight > 0.0)
}

/// By how many parts c may be off: a number loses less than a part a step, beside what it is driven
/// wrongly by, and its product less than another.
pub(super) fn past_error(recipe: &Recipe, horizon: u64) -> f64 {
    let drive_error = if recipe.grading.is_some() { DRIVE_ERROR } else { 0.0 };
    let of = |(_, loss, weight): (Keep, f64, f64)| {
        let steps = (horizon as f64).min(1.0 / loss);
        weight * (steps * (1.0 + drive_error) + 1.0) + 1.0
    };
    decays(recipe).map(of).sum()
}

/// The bound on |u − L̃z|, in whole units.
pub(crate) fn rounding(recipe: &Recipe, horizon: u64) -> f64 {
    let past = past_error(recipe, horizon);
    let parts = match recipe.grading.as_ref().map(|grading| grading.bounds()) {
        None => past,
        Some(bounds) => {
            // ζ adds up what c and the drive are off by, times the rises, and a floor a step.
            bounds.largest_norm * past + 1.0 + bounds.norm_variation() * (past + DRIVE_ERROR) + horizon as f64
        }
    };
    0.5 + 1.01 * parts * libm::exp2(-f64::from(FRACTION))
}

impl Filter {
    /// The filter of a decoder whose first coefficient is one.
    pub(crate) fn new(recipe: &Recipe) -> Self {
        let taps =
            decays(recipe).map(|(keep, _, weight)| Tap { keep, weight: Factor::new(weight) }).collect();
        Self { taps, is_graded: recipe.grading.is_some() }
    }

    /// How many numbers a lane holds.
    pub(crate) fn rows(&self) -> usize {
        self.taps.len() + usize::from(self.is_graded)
    }

    /// Lets the numbers of a lane decay, and returns c.
    #[inline(always)]
    pub(super) fn past(&self, lane: &mut [i128]) -> i128 {
        let mut past = 0;
        for (state, tap) in lane.iter_mut().zip(&self.taps) {
            *state = tap.keep.of(*state);
            past += tap.weight.times(*state);
        }
        past
    }

    /// Adds what a step drives the numbers of a lane by.
    #[inline(always)]
    pub(super) fn drive(&self, lane: &mut [i128], drive: i128) {
        lane[..self.taps.len()].iter_mut().for_each(|state| *state += drive);
    }

    /// Takes a lane through a step. `white` is told what part of the noise is made of earlier
    /// draws, and answers with the draw; the noise of the step is returned.
    #[inline(always)]
    pub(crate) fn step(
        &self,
        lane: &mut [i128],
        numbers: &StepNumbers,
        white: impl FnOnce(i128) -> i128,
    ) -> i128 {
        let past = self.past(lane);
        let (Some(graded), Some(carry)) = (&numbers.graded, lane.get(self.taps.len())) else {
            let expected = rounded(past);
            let z = white(expected);
            self.drive(lane, z << FRACTION);
            return z + expected;
        };
        let expected = rounded(graded.norm.times(past) + carry);
        let z = white(expected);
        let drive = graded.drive(z);
        lane[self.taps.len()] -= graded.rise.times(past + drive);
        self.drive(lane, drive);
        z + expected
    }
}

/// The whole number nearest to so many parts.
#[inline(always)]
pub(super) fn rounded(parts: i128) -> i128 {
    (parts + (1 << (FRACTION - 1))) >> FRACTION
}
