//! How a decoder runs on integers, and how far its roundings can move the noise.

use std::sync::Arc;

use crate::mixture::Mixture;
use crate::noise::integer::Rows;
use crate::noise::{GradeBounds, Recipe, WindowDecay};

/// How the integer noise of a mechanism is made.
#[derive(Clone)]
#[doc(hidden)]
pub enum IntegerDecoder {
    /// L has decays for coefficients: the reversible filter runs it.
    Filter {
        recipe: Recipe,
        /// An upper bound on ‖L⁻¹ε‖ if |ε_t| ≤ 1 at every step.
        amplification: f64,
    },
    /// L is the root of a window.
    Window { recipe: Recipe, decays: Arc<[WindowDecay]>, width: u64, amplification: f64 },
    /// L is written out.
    Rows { rows: Rows, amplification: f64 },
    /// L and R have entries −1, 0 and 1. Draws are added up, and nothing is rounded.
    Sums {
        /// The largest number of draws in a release.
        max_draws: f64,
    },
}

/// The amplification of L = T(l) where R = T(r), r begins with one, is positive and does not
/// increase, and the workload is 1/(1−λx).
///
/// L⁻¹ = A⁻¹R has the coefficients r_k − λr_{k−1}, of which |r_k − λr_{k−1}| ≤ (r_{k−1} − r_k) +
/// (1−λ)r_{k−1}. Their sum is at most 2 + (1−λ)Σr_k, and bounds the norm of L⁻¹.
pub(super) fn toeplitz_amplification(encoder: &Mixture, factor: f64, horizon: u64) -> f64 {
    (2.0 + (1.0 - factor) * encoder.sum(horizon)) * (horizon as f64).sqrt()
}

/// The amplification of L where R = diag(e) T(f̂) diag(1/d).
///
/// L⁻¹ = R A⁻¹, and R A⁻¹ε = diag(e)·(T(f̂)A⁻¹·diag(1/d)ε + Σ_i (1/d_i − 1/d_{i+1})ε_i·column i+1
/// of T(f̂)). f̂ does not increase from one, so that T(f̂)A⁻¹ has a norm of at most two; a column
/// of diag(e)T(f̂) is d long.
pub(super) fn graded_amplification(bounds: &GradeBounds, horizon: u64) -> f64 {
    2.0 * bounds.largest_grade / bounds.least_norm * (horizon as f64).sqrt()
        + bounds.largest_norm * bounds.inverse_variation()
}

/// The same if neither e nor d ever rises, up to a relative `wobble`, for any range of e.
///
/// For causal C, ‖diag(e)Cx‖² = Σ_k (e_k² − e_{k+1}²)·‖(Cx)_{≤k}‖² ≤ ‖C‖²·‖diag(e)x‖², because
/// (Cx)_{≤k} depends on x_{≤k} alone. With C = T(f̂)A⁻¹ and x = ε/d, and as d ≥ e, the first part is at
/// most 2√n. Column i+1 of diag(e)T(f̂) is at most d_{i+1} long, so the second part is at most Σ (d_i −
/// d_{i+1})/d_i ≤ ln(d_0/d_{n−1}). Rounding adds to each of its terms.
pub(super) fn falling_amplification(bounds: &GradeBounds, horizon: u64, wobble: f64) -> f64 {
    let steps = horizon as f64;
    let slide = libm::log(bounds.largest_norm / bounds.least_norm);
    (2.0 * steps.sqrt() + slide + 8.0 * wobble * steps) * (1.0 + 1e-9)
}
