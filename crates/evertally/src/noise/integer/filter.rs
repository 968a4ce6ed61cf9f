//! The reversible filter: from integer white noise to integer correlated noise, and back.
//!
//! **Definition.** A lane holds one number v_j per decay, in parts of 2⁻⁴⁰, and ζ if steps are
//! graded. At step t, with z the lane's draw and all products rounded down,
//!
//! > v_j ← θ_j v_j, c = Σ_j η_j v_j, p = round(d_t c + ζ), u = z + p, v_j ← v_j + z/d_t,
//! > ζ ← ζ − (d_{t+1} − d_t)(c + z/d_t).
//!
//! With chains ([`crate::noise::ChainSource`]), their numbers stand for the decays: v_j ← v_j − p_j v_j,
//! c = Σ_j v_j, v_j ← v_j + G_j z/d_t with shares G that add up to one, and ζ is multiplied by λ.
//!
//! u is the noise of the step. p depends only on earlier draws, so z = u − p: draws and noise
//! determine each other, step by step, in integers. Without rounding u = L̃z, where L̃ = A diag(d)
//! A⁻¹ T(l) diag(1/d) has ones on its diagonal, and L̃ = T(l) if d = 1.
//!
//! **Guarantee.** |u − L̃z| ≤ [`rounding`] at every step. docs/exact.md proves that privacy needs
//! nothing more.
//!
//! **Cost.** 16 bytes per decay and lane, and two products of 128 by 64 bits per decay and step.
//! Even the slowest decays keep all digits of their loss.

use super::factor::Factor;
use super::steps::{DRIVE_ERROR, StepNumbers};
use crate::noise::streaming::{ChainSource, Recipe};

/// Fraction bits of the numbers of a lane.
pub(super) const FRACTION: u32 = 40;

/// How many fraction bits fewer the numbers of a lane have if grades fall to zero, where sums of z/d
/// are much larger. Their draws then need no coarser unit.
pub(crate) const FEWER_BITS: u32 = 8;

/// The maximum draw, in its standard deviations or scales; see [`super::law`].
pub(crate) const MAX_DRAW_SCALES: f64 = 256.0;

/// The maximum number of a lane, in parts. 2^45 steps of the largest draws of the largest scale do
/// not reach it. Restored numbers are checked against it, so that products with norms and weights
/// fit into 128 bits.
const MAX_PARTS: u128 = 1 << 120;

/// Whether these could be the numbers of a lane.
pub(crate) fn are_within_reach(numbers: &[i128]) -> bool {
    numbers.iter().all(|number| number.unsigned_abs() <= MAX_PARTS)
}

/// What is left of a number after a step: given by the loss if the decay is near one, and by the
/// factor if it is near zero. Both are exact doubles.
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
    /// Fraction bits that are dropped: [`FEWER_BITS`] or none.
    dropped: u32,
    /// The number of chains, and what ζ keeps per step with them.
    chains: usize,
    kept: Keep,
}

/// Every decay with an effect: what it keeps, what it loses, and its weight.
fn decays(recipe: &Recipe) -> impl Iterator<Item = (Keep, f64, f64)> {
    let ordinary = recipe.decays.iter().map(|tap| {
        // The difference is exact for decays of at least one half.
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

/// The maximum error of c, in parts. A number loses less than one part per step, in addition to the
/// error of its drive. Its product loses less than another part.
pub(super) fn past_error(recipe: &Recipe, horizon: u64) -> f64 {
    let drive_error = if recipe.grading.is_some() { DRIVE_ERROR } else { 0.0 };
    let of = |(_, loss, weight): (Keep, f64, f64)| {
        let steps = (horizon as f64).min(1.0 / loss);
        weight * (steps * (1.0 + drive_error) + 1.0) + 1.0
    };
    decays(recipe).map(of).sum()
}

/// The same for chains: a chain loses less than a part to its loss, another to its share, and its
/// share of the error of the drive, at each of the steps that it remembers.
fn past_error_of_chains(source: &dyn ChainSource, horizon: u64) -> f64 {
    // Every chain loses at least the share 1 − λ per step.
    let steps = (horizon as f64).min(1.0 / source.loss());
    (2.0 * source.chains() as f64 + DRIVE_ERROR) * steps
}

/// The bound on |u − L̃z|, in integer units.
pub(crate) fn rounding(recipe: &Recipe, horizon: u64) -> f64 {
    if let Some(source) = &recipe.chains {
        let (past, bounds) = (past_error_of_chains(&**source, horizon), source.bounds());
        // As below. ζ is rounded twice per step, and forgets like the workload.
        let steps = (horizon as f64).min(1.0 / source.loss());
        let parts =
            bounds.largest_norm * past + 1.0 + bounds.norm_variation * (past + DRIVE_ERROR) + 2.0 * steps;
        return 0.5 + 1.01 * parts * libm::exp2(-f64::from(FRACTION));
    }
    let past = past_error(recipe, horizon);
    let parts = match recipe.grading.as_ref().map(|grading| grading.bounds()) {
        None => past,
        Some(bounds) => {
            // ζ accumulates the errors of c and of the drive, times the rises, and one rounding per
            // step.
            bounds.largest_norm * past + 1.0 + bounds.norm_variation * (past + DRIVE_ERROR) + horizon as f64
        }
    };
    // Dropping bits of a drive that is off by three finer parts leaves it within the same three.
    0.5 + 1.01 * parts * libm::exp2(-f64::from(FRACTION - dropped(recipe)))
}

/// The fraction bits that the numbers of this recipe have fewer.
fn dropped(recipe: &Recipe) -> u32 {
    let is_falling = recipe.grading.as_ref().is_some_and(|grading| grading.bounds().is_falling);
    if is_falling { FEWER_BITS } else { 0 }
}

impl Filter {
    /// The filter of a decoder whose first coefficient is one.
    pub(crate) fn new(recipe: &Recipe) -> Self {
        let taps =
            decays(recipe).map(|(keep, _, weight)| Tap { keep, weight: Factor::new(weight) }).collect();
        let loss = recipe.chains.as_ref().map_or(0.0, |source| source.loss());
        Self {
            taps,
            is_graded: recipe.grading.is_some(),
            dropped: dropped(recipe),
            chains: recipe.chains.as_ref().map_or(0, |source| source.chains()),
            kept: if loss > 0.0 { Keep::AllBut(Factor::new(loss)) } else { Keep::All },
        }
    }

    /// The number of numbers that a lane holds.
    pub(crate) fn rows(&self) -> usize {
        let graded = usize::from(self.is_graded || self.chains > 0);
        self.taps.len() + self.chains + graded
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

    /// Adds the drive of a step to the numbers of a lane.
    #[inline(always)]
    pub(super) fn drive(&self, lane: &mut [i128], drive: i128) {
        lane[..self.taps.len()].iter_mut().for_each(|state| *state += drive);
    }

    /// Advances a lane by one step. `white` receives the part of the noise that comes from earlier
    /// draws and returns the draw. Returns the noise of the step.
    #[inline(always)]
    pub(crate) fn step(
        &self,
        lane: &mut [i128],
        numbers: &StepNumbers,
        white: impl FnOnce(i128) -> i128,
    ) -> i128 {
        if self.chains > 0 {
            return self.step_of_chains(lane, numbers, white);
        }
        let past = self.past(lane);
        let (Some(graded), Some(carry)) = (&numbers.graded, lane.get(self.taps.len())) else {
            let expected = rounded(past);
            let z = white(expected);
            self.drive(lane, z << FRACTION);
            return z + expected;
        };
        let expected = rounded_to(graded.norm.times(past) + carry, FRACTION - self.dropped);
        let z = white(expected);
        let drive = graded.drive(z) >> self.dropped;
        lane[self.taps.len()] -= graded.rise.times(past + drive);
        self.drive(lane, drive);
        z + expected
    }

    /// The same for chains.
    #[inline(always)]
    fn step_of_chains(
        &self,
        lane: &mut [i128],
        numbers: &StepNumbers,
        white: impl FnOnce(i128) -> i128,
    ) -> i128 {
        let (Some(graded), Some((zeta, lane))) = (&numbers.graded, lane.split_last_mut()) else {
            return white(0);
        };
        let mut past = 0;
        for (state, factor) in lane.iter_mut().zip(numbers.chains()) {
            *state -= factor.loss.times(*state);
            past += *state;
        }
        let expected = rounded(graded.norm.times(past) + *zeta);
        let z = white(expected);
        let drive = graded.drive(z);
        *zeta = self.kept.of(*zeta - graded.rise.times(past + drive));
        for (state, factor) in lane.iter_mut().zip(numbers.chains()) {
            *state += factor.share.times(drive);
        }
        z + expected
    }
}

/// Rounds a number of parts to the nearest integer.
#[inline(always)]
pub(super) fn rounded(parts: i128) -> i128 {
    rounded_to(parts, FRACTION)
}

/// The same for parts of this many fraction bits.
#[inline(always)]
fn rounded_to(parts: i128, fraction: u32) -> i128 {
    (parts + (1 << (fraction - 1))) >> fraction
}
