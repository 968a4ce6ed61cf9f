//! The graded square root: within 0.2 % of the least possible mean error, in constant memory.
//!
//! **Definition.** R = diag(e) T(f̂) diag(1/d) and L = A diag(d) T(f̂)⁻¹ diag(1/e). f̂ is a mixture
//! of J geometric decays close to the coefficients of (1−x)^{-1/2} (`Pair`); the grades e give less
//! weight to both ends of the horizon, by a short sum of exponentials (`weights`); d_j is the norm
//! of column j of diag(e) T(f̂), so that every column of R has norm one. The few numbers behind e
//! and f̂ come from the horizon and the objective alone (`shape`).
//!
//! **Privacy.** L R = A diag(d) T(f̂)⁻¹ diag(1/e) diag(e) T(f̂) diag(1/d) = A for any e > 0,
//! d > 0 and f̂ with f̂₀ ≠ 0, so no approximation enters: L is run by the mixture Ŝ with T(f̂)
//! T(Ŝ) = A, which has exactly the same poles and zeros as f̂, and d has a closed form. Two roundings
//! remain: that of d, bounded by `weights::Weights::rounding`, and that of floating-point
//! arithmetic, within the margin that every sensitivity has. Δ = 1, enlarged by both.
//! Several participations use the triangle inequality: Δ = k'.
//!
//! **Cost.** By default J = 2 + log₂(n)/3 decays: J + 1 numbers per lane and O(J) operations per step,
//! in arithmetic that gives the same bits on every machine.
//! Preparation takes O(n J²) up to 2^16 steps, and beyond that O(J² log n); see `diagonals::profile` for how
//! closely the errors are then known.
//!
//! **Source.** The square root is the paper's. Columns of equal norm follow from the dual of γ_F: at
//! its optimum all columns have equal norm. The fitted grades and their closed form are this
//! library's; `cargo xtask fit graded` makes the table.

mod shape;
mod table;
#[cfg(test)]
mod tests;
mod weights;

use std::sync::Arc;

pub use shape::{PARAMETERS, Shape};
use weights::Weights;

use super::diagonals::profile::Profile;
use super::diagonals::{Diagonals, Parts};
use super::integer::graded_amplification;
use super::{Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, Request, digest_of, run_by_engine};
use crate::mixture::Pair;
use crate::noise::{Correlator, GRADED_BLOCK as BLOCK, Grading, Progress, Recipe, WhiteField};
use crate::privacy::{MARGIN, Participation, round_up};
use crate::{Error, Result};

pub(super) static KIND: Kind = Kind {
    name: "graded-square-root",
    code: 9,
    has_exact_path: true,
    preparation: |horizon, _, _| 1e3 * (horizon as f64).min(65536.0),
    factorize: |request, decays| Ok(Arc::new(GradedSquareRoot::new(request, decays)?)),
    ..Kind::DEFAULT
};

/// The longest horizon: beyond it the slowest decays are too close to one for doubles.
const MAX_HORIZON: u64 = 1 << 40;

/// The largest number of decays. No horizon needs more.
const MAX_DECAYS: u64 = 64;

/// The default number of decays. At any horizon the mean error is within 0.015 % of the error with
/// twice as many.
fn terms(horizon: u64) -> usize {
    (2 + (0.33 * libm::log2(horizon as f64)).ceil() as usize).max(7)
}

/// f̂ and Ŝ, from nodes for losses between 5/n and one: wider intervals approximate the ends of the
/// horizon better than the error needs. `None` if the shape makes a decay grow.
fn pair(horizon: u64, shape: &Shape, terms: usize) -> Option<Pair> {
    let n = horizon as f64;
    let lost = -libm::expm1(-shape.decline / n);
    Pair::tilted(1.0 / (0.2 * n + 1.0), 1.0, terms, lost, shape.tilt)
}

pub(crate) struct GradedSquareRoot {
    parts: Parts<Weights>,
    profile: Profile,
    shape: Shape,
    mechanism: Mechanism,
}

impl GradedSquareRoot {
    pub(crate) fn new(request: &Request<'_>, decays: Option<u64>) -> Result<Self> {
        let mechanism = Mechanism::GradedSquareRoot { decays };
        if decays.is_some_and(|decays| decays > MAX_DECAYS) {
            return Err(Error::bad("decays", format!("at most {MAX_DECAYS}"), decays.unwrap_or_default()));
        }
        check(&mechanism, request)?;
        let terms = decays.map_or_else(|| terms(request.horizon), |decays| decays as usize);
        let shape = Shape::for_horizon(request.horizon, request.objective);
        Self::from_pair(mechanism, request, shape, pair(request.horizon, &shape, terms))
    }

    /// With e = 1: the normalised square root, f̂ within a relative 10⁻¹¹ of the root.
    pub(crate) fn flat(request: &Request<'_>) -> Result<Self> {
        check(&Mechanism::NormalizedSquareRoot, request)?;
        let n = request.horizon as f64;
        let terms = 10 + (1.5 * libm::log2(n)) as usize;
        let pair = Pair::tilted(0.1 / n, 2.0, terms, 0.0, 0.0);
        Self::from_pair(Mechanism::NormalizedSquareRoot, request, Shape::flat(), pair)
    }

    fn from_pair(
        mechanism: Mechanism,
        request: &Request<'_>,
        shape: Shape,
        pair: Option<Pair>,
    ) -> Result<Self> {
        let horizon = request.horizon;
        let parts = pair
            .and_then(|pair| parts(horizon, &shape, pair))
            .ok_or_else(|| Error::too_costly(mechanism, "its grades vanish at an end of this horizon"))?;
        let profile = Profile::new(horizon, &parts.pair, &*parts.weights);
        Ok(Self { parts, profile, shape, mechanism })
    }
}

/// Runs before the pair is made, because a pair needs decays that doubles can separate.
fn check(mechanism: &Mechanism, request: &Request<'_>) -> Result<()> {
    request.prefix_sum_only(mechanism)?;
    if request.horizon > MAX_HORIZON {
        let reason = format!("its decays are told apart up to 2^40 steps, not {}", request.horizon);
        return Err(Error::too_costly(mechanism, reason));
    }
    Ok(())
}

/// `None` if the shape gives a grade that is not safely positive.
fn parts(horizon: u64, shape: &Shape, pair: Pair) -> Option<Parts<Weights>> {
    let weights = Weights::new(horizon, shape, pair.encoder())?;
    Some(Parts::new(horizon, pair, weights))
}

/// The errors of a shape that a fit needs: the mean, the maximum, and a smooth substitute for the
/// maximum. Also the smaller of the grades at the two ends. `None` if the shape cannot be run.
#[doc(hidden)]
#[must_use]
pub fn trial(horizon: u64, shape: &Shape, power: i32) -> Option<Trial> {
    let parts = parts(horizon, shape, pair(horizon, shape, terms(horizon))?)?;
    let profile = if horizon <= 1 << 11 {
        Profile::exact(horizon, &parts.pair, &*parts.weights)
    } else {
        Profile::strided(horizon, &parts.pair, &*parts.weights)
    };
    let least_grade = parts.weights.at(0).0.min(parts.weights.at(horizon - 1).0);
    Some(Trial { mean: profile.mean(), max: profile.max(), soft_max: profile.soft_max(power), least_grade })
}

/// What [`trial`] measures.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// ‖L‖_F²/n.
    pub mean: f64,
    /// max ‖L\[t;\]‖².
    pub max: f64,
    /// A smooth substitute for `max`: the mean of this power.
    pub soft_max: f64,
    /// The smaller e of the first and last step.
    pub least_grade: f64,
}

impl Factorization for GradedSquareRoot {
    fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    fn horizon(&self) -> u64 {
        self.parts.horizon
    }

    /// Every column has norm one, up to rounding. Several participations: by the triangle inequality.
    fn sensitivity(&self, participation: Participation) -> f64 {
        let steps = participation.bounded(self.parts.horizon) as f64;
        round_up(steps, MARGIN + self.parts.weights.rounding())
    }

    /// R ≥ 0: its factors are.
    fn gram_is_nonnegative(&self) -> bool {
        true
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.profile.row(step)
    }

    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        self.parts.difference(earlier, later)
    }

    fn mean_row_norm_squared(&self) -> f64 {
        self.profile.mean()
    }

    fn max_row_norm_squared(&self) -> f64 {
        self.profile.max()
    }

    fn cost(&self) -> Cost {
        let (parts, decays) = (&self.parts, self.parts.decays.len() as u64);
        Cost {
            shared_bytes: parts.weights.bytes() + 48 * decays + self.profile.bytes() + 16 * BLOCK,
            bytes_per_coordinate: 8 * (decays + 1),
            operations_per_step: 4.0 * decays as f64 + 8.0 + 3.0 * parts.weights.terms() as f64,
        }
    }

    fn draws(&self) -> u64 {
        self.parts.horizon
    }

    fn dense(&self) -> Result<Dense> {
        self.parts.dense(&self.mechanism)
    }

    /// The shape comes from a fitted table and J from a rule. A later version may change both.
    fn digest(&self) -> Option<[u8; 32]> {
        let Shape { start, end, decline, tilt } = self.shape;
        let terms = self.parts.decays.len() as f64;
        Some(digest_of(start.into_iter().chain(end).chain([decline, tilt, terms])))
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(self.parts.recipe())
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        let amplification = graded_amplification(&self.parts.weights.bounds(), self.parts.horizon);
        Some(IntegerDecoder::Filter { recipe: self.parts.recipe(), amplification })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        run_by_engine(&self.parts.recipe(), self.parts.horizon, field)
    }
}
