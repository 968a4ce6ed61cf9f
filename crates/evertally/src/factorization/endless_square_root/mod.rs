//! The endless square root: at every step, a squared error of at most 1.62 times what is possible if
//! the stream were known to end there.
//!
//! **Definition.** R = diag(e) T(f̂) diag(1/d) and L = A diag(d) T(f̂)⁻¹ diag(1/e). f̂ is a mixture of
//! [`DECAYS`] geometric decays close to the coefficients of (1−x)^{-1/2} (`Pair`). The grades fall like
//! e_t ≈ (t+c)^{−α/2}, as a sum of exponentials, and d_j is the norm of column j of diag(e) T(f̂) over
//! an infinite horizon (`weights`). No number depends on the horizon.
//!
//! | objective | α | c | kept small |
//! |---|---|---|---|
//! | mean, worst | 0.95 | 3.5 | the error of every step t, beside the optimum for t steps: at most 1.618 |
//! | anytime | 2/3 | 1/2 | the mean error of steps 1 to t, beside the same: at most 1.319 |
//!
//! Both figures are over all t ≤ 2^40; `cargo xtask bench unbounded` prints them, and how little any
//! mechanism must pay. Earlier steps do not know how far the stream goes: with e = 1, a column gets
//! longer forever, and Δ grows with the logarithm of the horizon. Grades that fall let every column end
//! at a finite length.
//!
//! **Privacy.** L R = A for any e, d > 0. Over infinitely many steps every column of R has norm one;
//! within n steps it is shorter. Of all columns, the first is shortened least: within m steps column
//! j has the share P(K < m) of its square, where P(K = k) ∝ e_{j+k}² f̂_k². e² is a sum of exponentials
//! with positive weights, so ln e² is convex, and e_{j+1+k}²/e_{j+k}² rises with k: the law of column j+1
//! is that of column j with weights that rise, so its P(K < m) is smaller, and column j has m = n − j
//! steps left. Δ is the norm of the first column, rounded up by [`weights::ROUNDING`]. Several
//! participations use the triangle inequality: Δ = k' times that.
//!
//! **Cost.** 17 numbers per lane and O(J) operations per step, for ever. A block of 512 steps takes
//! 23 exponentials. Preparation is as in `diagonals::profile`.
//!
//! **Source.** The square root is the paper's. That the price of an unknown end is bounded, and the
//! grades, are this library's.

mod weights;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use weights::{ROUNDING, Slope, Weights};

use super::diagonals::Parts;
use super::diagonals::profile::Profile;
use super::integer::falling_amplification;
use super::{Cost, Dense, Factorization, IntegerDecoder, Kind, Mechanism, Request, digest_of, run_by_engine};
use crate::mixture::Pair;
use crate::noise::{Correlator, GRADED_BLOCK as BLOCK, Grading, Progress, WhiteField};
use crate::objective::Objective;
use crate::privacy::{MARGIN, Participation, round_up};
use crate::{Error, Result};

pub(super) static KIND: Kind = Kind {
    name: "endless-square-root",
    code: 16,
    has_exact_path: true,
    preparation: |horizon, _, _| 3e3 * (horizon as f64).min(65536.0),
    factorize: |request, _| Ok(Arc::new(EndlessSquareRoot::new(request)?)),
    ..Kind::DEFAULT
};

/// The largest number of steps: the slowest decays and grades are made for it.
const MAX_HORIZON: u64 = 1 << 40;

/// The number of decays J. With twelve the largest ratio is the same to four digits, and the last
/// steps before 2^40 are a little worse.
const DECAYS: usize = 16;

/// The least loss of f̂: f̂ is close to the square root up to lags of about its inverse.
const LOW: f64 = 1.0 / (1_u64 << 37) as f64;

pub(crate) struct EndlessSquareRoot {
    parts: Parts<Weights>,
    profile: Profile,
    slope: Slope,
    /// The norm of the first column.
    first_norm: f64,
}

impl EndlessSquareRoot {
    pub(crate) fn new(request: &Request<'_>) -> Result<Self> {
        let (mechanism, horizon) = (Mechanism::EndlessSquareRoot, request.horizon);
        request.prefix_sum_only(&mechanism)?;
        if horizon > MAX_HORIZON {
            let reason = format!("its grades are made for up to 2^40 steps, not {horizon}");
            return Err(Error::too_costly(mechanism, reason));
        }
        let slope = match request.objective {
            Objective::Anytime => Slope::ANYTIME,
            Objective::Mean | Objective::Worst | Objective::Report => Slope::EVERY_STEP,
        };
        let pair = Pair::tilted(LOW, 1.0, DECAYS, 0.0, 0.0)
            .ok_or_else(|| Error::too_costly(mechanism, "its decays coincide"))?;
        let weights = Weights::new(horizon, slope, pair.encoder());
        let first_norm = weights.first_norm(pair.encoder());
        let parts = Parts::new(horizon, pair, weights);
        let profile = Profile::new(horizon, &parts.pair, &*parts.weights);
        Ok(Self { parts, profile, slope, first_norm })
    }
}

impl Factorization for EndlessSquareRoot {
    fn mechanism(&self) -> Mechanism {
        Mechanism::EndlessSquareRoot
    }

    fn horizon(&self) -> u64 {
        self.parts.horizon
    }

    /// No column is longer than the first. Several participations: by the triangle inequality.
    fn sensitivity(&self, participation: Participation) -> f64 {
        let steps = participation.bounded(self.parts.horizon) as f64;
        round_up(steps * self.first_norm, MARGIN + ROUNDING)
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

    /// No row depends on the horizon.
    fn mean_of_first(&self, steps: u64) -> Option<f64> {
        Some(Profile::new(steps, &self.parts.pair, &*self.parts.weights).mean())
    }

    fn cost(&self) -> Cost {
        let parts = &self.parts;
        Cost {
            shared_bytes: parts.weights.bytes() + 48 * DECAYS as u64 + self.profile.bytes() + 16 * BLOCK,
            bytes_per_coordinate: 8 * (DECAYS as u64 + 1),
            operations_per_step: 4.0 * DECAYS as f64 + 8.0 + 3.0 * parts.weights.terms() as f64,
        }
    }

    fn draws(&self) -> u64 {
        self.parts.horizon
    }

    fn dense(&self) -> Result<Dense> {
        self.parts.dense(&self.mechanism())
    }

    /// A later version may choose other numbers.
    fn digest(&self) -> Option<[u8; 32]> {
        let Slope { power, shift } = self.slope;
        Some(digest_of([power, shift, DECAYS as f64, LOW, weights::TERMS as f64].into_iter()))
    }

    fn recipe(&self) -> Option<crate::noise::Recipe> {
        Some(self.parts.recipe())
    }

    fn integer(&self) -> Option<IntegerDecoder> {
        let amplification = falling_amplification(&self.parts.weights.bounds(), self.parts.horizon, ROUNDING);
        Some(IntegerDecoder::Filter { recipe: self.parts.recipe(), amplification })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        run_by_engine(&self.parts.recipe(), self.parts.horizon, field)
    }
}
