//! What every lane does at a step: a few numbers, shared by all lanes.
//!
//! **Definition.** A lane is driven by its own white noise g and holds one number per decay. At
//! step t, with h = g/e_t,
//!
//! > v_j ← θ_j v_j + h,  u = κh + Σ_j η_j v_j,  z = d_t u + ζ,  ζ ← ζ − (d_{t+1} − d_t)·u,
//!
//! and z is row t of L g. Without grades e = d = 1, ζ is not held, and z = u. Then L is Toeplitz
//! with the coefficients l_k = κ·\[k = 0\] + Σ_j η_j θ_j^k. With grades, L = A diag(d) A⁻¹ T(l)
//! diag(1/e), where A is the prefix sum. This follows from summation by parts: Σ_{s≤t} d_s(u_s −
//! u_{s−1}) = d_t u_t − Σ_{s<t} (d_{s+1} − d_s) u_s. Differences of u are never formed, so nothing
//! cancels.
//!
//! **Slow decays.** If θ = 1 − p is so close to one that a double cannot represent p accurately,
//! the lane holds e = S − v instead, where S is the running sum of h. Then e ← e + p(S − e), with
//! the S of the step before, and η v = ηS − ηe. While p·t is small, e is small compared with S, and
//! p keeps all its digits.

use super::chains::ChainSource;

/// An ordinary decay: v ← decay·v + h, weighted into u.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decay {
    /// θ, at most one.
    pub decay: f64,
    /// η.
    pub weight: f64,
}

/// A decay by 1 − loss, for a loss that is too small to be represented in a double near one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowDecay {
    /// p.
    pub loss: f64,
    /// η.
    pub weight: f64,
}

/// Losses below this are run as slow decays.
pub(crate) const SLOW: f64 = 1.0 / (1_u64 << 30) as f64;

/// The smallest e of a grading is at least this fraction of its largest, unless e never rises.
pub(crate) const MIN_GRADE: f64 = 1.0 / 64.0;

/// The diagonals e and d of consecutive steps.
#[derive(Debug, Clone, Default)]
pub struct GradeBlock {
    /// e_t.
    pub grades: Vec<f64>,
    /// d_t.
    pub norms: Vec<f64>,
}

/// The source of the grades, in blocks that start at multiples of `GRADED_BLOCK`. The grades of a
/// step therefore do not depend on where a counter was resumed.
pub trait Grading: Send + Sync {
    /// Writes the grades and norms of the block that holds this step, up to the horizon. No grade
    /// may be below 1/64 of another, unless none ever rises.
    fn block(&self, step: u64, out: &mut GradeBlock);

    /// Bounds on all grades and norms.
    fn bounds(&self) -> GradeBounds;
}

/// Bounds on all grades e and norms d of a horizon.
#[derive(Debug, Clone, Copy)]
pub struct GradeBounds {
    /// An upper bound on every e.
    pub largest_grade: f64,
    /// A lower bound on every e.
    pub least_grade: f64,
    /// An upper bound on every d.
    pub largest_norm: f64,
    /// A lower bound on every d.
    pub least_norm: f64,
    /// An upper bound on every d/e.
    pub largest_ratio: f64,
    /// An upper bound on the sum of all |d_{t+1} − d_t|.
    pub norm_variation: f64,
    /// Whether neither e nor d ever rises, up to rounding, and d never falls by more than half in a
    /// step. Then e and d may fall as far as they like.
    pub is_falling: bool,
}

impl GradeBounds {
    /// A bound on the sum of all |1/d_{t+1} − 1/d_t|.
    #[must_use]
    pub fn inverse_variation(&self) -> f64 {
        self.norm_variation / (self.least_norm * self.least_norm)
    }
}

/// Steps whose grades are computed together.
pub(crate) const GRADED_BLOCK: u64 = 512;

/// The numbers of a streaming mechanism. They define its decoder L.
///
/// With chains (`chains`) there are no decays, no impulse and no grades.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Recipe {
    /// Ordinary decays. If there are slow decays, the first ordinary decay has θ = 1 and is S. Its
    /// own weight η may be zero.
    pub decays: Vec<Decay>,
    /// Slow decays.
    pub slow: Vec<SlowDecay>,
    /// κ.
    pub impulse: f64,
    /// e and d, or nothing if both are one.
    pub grading: Option<std::sync::Arc<dyn Grading>>,
    /// Numbers that change from step to step.
    pub chains: Option<std::sync::Arc<dyn ChainSource>>,
}

impl Recipe {
    /// The recipe for single precision, and a factor on the noise. The factor covers what rounding
    /// the recipe's numbers does to the sensitivity.
    ///
    /// In single precision θ = 1 − p keeps fewer digits of p. If there is a running sum, losses
    /// below 2⁻⁶ are therefore run as slow decays, which keep all digits. What remains is a
    /// relative error of at most δ in every term η/(1−θx): 2⁻²⁵/p for the other decays, and 2⁻²⁴
    /// for weights, losses and grades. All terms of l lie in one quadrant on the unit circle, so l
    /// changes by a relative √2δ at most, and R = A/l likewise. With grades, this holds for a
    /// column before its rows are weighted by e. The weighting may remove everything but the rows
    /// of its smallest e, so the error is divided by [`MIN_GRADE`]. If e never rises, it is not:
    /// then ‖diag(e)Cx‖ ≤ ‖C‖·‖diag(e)x‖ for every causal C (docs/exact.md). Rounding the norms d has the
    /// same kind of effect as rounding the steps, and is not covered.
    ///
    /// The numbers of chains are single-precision already. What is rounded is the loss 1 − λ of the
    /// workload, by a relative δ = 2⁻²⁴ at most. A′⁻¹A − I = (λ − λ′)S A, with S the shift, changes
    /// a column by a relative δ, and the norms d are those of A instead of A′, another δ times the
    /// ratio of later norms to the column's own. The factor itself is rounded once.
    pub(super) fn in_singles(&self) -> (Self, f64) {
        let unit = libm::exp2(-24.0);
        if let Some(source) = &self.chains {
            let bounds = source.bounds();
            let ratio = bounds.largest_norm / bounds.least_norm;
            return (self.clone(), 1.0 + (3.0 + ratio) * unit);
        }
        let has_sum = self.decays.first().is_some_and(|first| first.decay == 1.0);
        let mut recipe = Self { decays: Vec::new(), ..self.clone() };
        let mut error = unit;
        for decay in &self.decays {
            let loss = 1.0 - decay.decay;
            if has_sum && loss > 0.0 && loss < libm::exp2(-6.0) {
                recipe.slow.push(SlowDecay { loss, weight: decay.weight });
            } else {
                error = error.max(if loss > 0.0 { 0.5 * unit / loss } else { 0.0 });
                recipe.decays.push(*decay);
            }
        }
        // Weight, loss, 1/e and d are each rounded once.
        error += 4.0 * unit;
        let spread = match &self.grading {
            Some(grading) if !grading.bounds().is_falling => 1.0 / MIN_GRADE,
            _ => 1.0,
        };
        (recipe, 1.0 + 2.0 * spread * error)
    }

    /// The number of numbers that a lane holds.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.chains {
            Some(chains) => chains.chains() + 1,
            None => self.decays.len() + self.slow.len() + usize::from(self.grading.is_some()),
        }
    }
}
