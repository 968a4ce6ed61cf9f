//! The two diagonals: the grades e as a sum of exponentials, and the column norms d in closed form.
//!
//! **Definition.** With t from 0 and the rates ρ_m = 4^(1−m), m = 0 … 21,
//!
//! > e_t² = a_∞ + Σ_m a_m exp(−ρ_m t),  a_m ∝ ρ_m^α exp(−cρ_m),  a_∞ = a_21,
//!
//! scaled so that e_0 = [`FIRST_GRADE`]. An integral over all rates would be (t+c)^−α; rates spaced by
//! four follow it to a few thousandths, up to 4^20 = 2^40 steps. As f̂² = Σ_l W_l exp(−Λ_l k), over all
//! pairs of decays of f̂,
//!
//! > d_t² = Σ_{i≥t} e_i² f̂(i−t)² = Σ_m a_m B_m exp(−ρ_m t),  B_m = Σ_l W_l/(1 − exp(−Λ_l − ρ_m)),
//!
//! with m = ∞ included, at ρ = 0.
//!
//! **Guarantee.** Every term of every sum is positive, so nothing cancels: [`ROUNDING`]. e² and d² fall,
//! and so do their ratios from step to step, because a sum of exponentials with positive weights is
//! log-convex. d_t²/e_t² is an average of the B_m, which grow with m, and its weights move to larger m:
//! so d/e never falls.
//!
//! **Cost.** O(J²·M) for preparation. A block of 512 steps takes at most M exponentials, and one
//! multiplication per step for each term that is not negligible there.

use super::super::diagonals::term::{CHUNK, NEGLIGIBLE, Term, pairs};
use super::super::diagonals::{Diagonals, Strides};
use crate::mixture::Mixture;
use crate::noise::{GRADED_BLOCK as BLOCK, GradeBlock, GradeBounds, Grading, vectorised};

/// The number of exponentials, without the constant.
pub(super) const TERMS: usize = 22;

/// e_0. Norms are then between 2^-15 and 8 at every step, which the filter of integers needs, and
/// numbers of lanes are as small as they can be.
const FIRST_GRADE: f64 = 4.0;

/// A bound on the relative amount by which rounding makes a column of R longer than stated.
///
/// In units of 2⁻⁵², a power exp(−ρk) within a block is off by at most 27: ρk is exact, one for the
/// first power, one for the power within a chunk, and 1.5 for each of 16 chunks. Adding up 23 positive
/// terms makes at most 12 more. A weight of f̂ is off by at most 4J = 64 (`mixture::pair`), so that the
/// products W of B_m are off by 129; the rates by 4, their function by 6, and their sum over 136 pairs
/// by 68. Terms with ρt above 42 are left out of e² and d² alike, and are below one unit of either,
/// because both fall no faster than 1/t. So e² is off by at most 40 units and d² by 249. Half of both
/// counts for the column.
pub(super) const ROUNDING: f64 = 256.0 * f64::EPSILON;

/// How e falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slope {
    /// α.
    pub(super) power: f64,
    /// c.
    pub(super) shift: f64,
}

impl Slope {
    /// The least largest ratio of the error of a step to the optimum for a stream that ends there.
    pub(super) const EVERY_STEP: Self = Self { power: 0.95, shift: 3.5 };

    /// The least largest ratio of the mean error so far to the same.
    pub(super) const ANYTIME: Self = Self { power: 2.0 / 3.0, shift: 0.5 };

    /// The rates and amplitudes of e², with the constant last.
    fn series(self) -> Vec<(f64, f64)> {
        let rate = |m: usize| libm::scalbn(4.0, -2 * m as i32);
        let amplitude = |rate: f64| libm::pow(rate, self.power) * libm::exp(-self.shift * rate);
        let mut series: Vec<(f64, f64)> = (0..TERMS).map(|m| (rate(m), amplitude(rate(m)))).collect();
        series.push((0.0, amplitude(rate(TERMS - 1))));
        let total: f64 = series.iter().map(|(_, amplitude)| amplitude).sum();
        for (_, amplitude) in &mut series {
            *amplitude *= FIRST_GRADE * FIRST_GRADE / total;
        }
        series
    }
}

/// e and d of one horizon.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    horizon: u64,
    terms: Vec<Term>,
}

impl Weights {
    pub(super) fn new(horizon: u64, slope: Slope, mixture: &Mixture) -> Self {
        let pairs = pairs(mixture);
        let term = |(rate, amplitude): (f64, f64)| {
            let gain: f64 = pairs.iter().map(|(pair, weight)| -weight / libm::expm1(-pair - rate)).sum();
            Term::new(rate, amplitude, amplitude * gain)
        };
        Self { horizon, terms: slope.series().into_iter().map(term).collect() }
    }

    /// The norm of the first column of R within the horizon: at most one.
    pub(super) fn first_norm(&self, mixture: &Mixture) -> f64 {
        let (n, pairs) = (self.horizon as f64, pairs(mixture));
        let gain = |rate: f64| {
            let share = |(pair, weight): &(f64, f64)| {
                weight * libm::expm1(-(pair + rate) * n) / libm::expm1(-pair - rate)
            };
            pairs.iter().map(share).sum::<f64>()
        };
        let square: f64 = self.terms.iter().map(|term| term.grade * gain(term.rate)).sum();
        (square.sqrt() / self.at(0).1).min(1.0)
    }

    /// The bytes held.
    pub(super) fn bytes(&self) -> u64 {
        (size_of::<Term>() * self.terms.len()) as u64
    }

    /// Exponentials evaluated for a block.
    pub(super) fn terms(&self) -> usize {
        self.terms.len()
    }

    fn fill(&self, first: u64, end: u64, out: &mut GradeBlock) {
        let len = (end - first) as usize;
        let from = first as f64;
        for values in [&mut out.grades, &mut out.norms] {
            values.clear();
            values.resize(len.next_multiple_of(CHUNK), 0.0);
        }
        for term in self.terms.iter().filter(|term| term.rate * from < NEGLIGIBLE) {
            vectorised(
                #[inline(always)]
                || term.add(from, &mut out.grades, &mut out.norms),
            );
        }
        for values in [&mut out.grades, &mut out.norms] {
            values.truncate(len);
            vectorised(
                #[inline(always)]
                || values.iter_mut().for_each(|square| *square = square.sqrt()),
            );
        }
    }
}

impl Diagonals for Weights {
    fn at(&self, step: u64) -> (f64, f64) {
        let mut stretch = GradeBlock::default();
        self.fill(step, step + 1, &mut stretch);
        (stretch.grades[0], stretch.norms[0])
    }

    fn strides(&self) -> Strides {
        Strides { fineness: 192, end: None }
    }
}

impl Grading for Weights {
    fn block(&self, step: u64, out: &mut GradeBlock) {
        let first = step - step % BLOCK;
        self.fill(first, (first + BLOCK).min(self.horizon), out);
    }

    /// e and d fall, and d/e rises, so the bounds are at the ends. They are widened by far more than
    /// rounding needs, except that it may make d waver at every step.
    fn bounds(&self) -> GradeBounds {
        const WIDER: f64 = 1.0 + 1e-9;
        let ((grade, norm), (last_grade, last_norm)) = (self.at(0), self.at(self.horizon - 1));
        let largest_norm = norm * WIDER;
        let wavering = 2.0 * ROUNDING * largest_norm * self.horizon as f64;
        GradeBounds {
            largest_grade: grade * WIDER,
            least_grade: last_grade / WIDER,
            largest_norm,
            least_norm: last_norm / WIDER,
            largest_ratio: last_norm / last_grade * WIDER,
            norm_variation: (norm - last_norm) * WIDER + wavering,
            is_falling: true,
        }
    }
}
