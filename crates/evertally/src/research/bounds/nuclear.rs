//! The nuclear norm of the prefix sum at any horizon, and the lower bound that it gives.
//!
//! **Definition.** The singular values of the prefix sum are ½csc((2i−1)π/(4n+2)), i = 1…n. Their
//! sum is ‖A‖_*, and γ_F(A) ≥ ‖A‖_*/√n (the paper's lemma, also Li and Miklau). So (‖A‖_*/n)² is
//! below every mean error factor.
//!
//! **How it is computed.** With M = 2n+1, the angles (2i−1)π/2M for i = 1…M are symmetric about the
//! middle one, π/2, so ‖A‖_* = (S − 1)/4 with S = Σ_{i≤M} csc((2i−1)π/2M). S/M is the Lebesgue
//! constant of M Chebyshev points, and S/M ~ (2/π)(ln(8M/π) + γ) + Σ_{s≥1} α_s M^{−2s}, α_s =
//! (−1)^{s+1}(2^{2s−1}−1)²π^{2s−1}B_{2s}²·4^{1−s}/((2s)! s). For n ≥ 64 four terms are used. For
//! smaller n the sum is taken term by term.
//!
//! **Its error.** From π csc(πs) = ∫₀^∞ u^{s−1}/(1+u)du follows S = (2M/π)∫₀^∞ tanh(My)/sinh(y) dy.
//! Only the part −2/(e^{2My}+1)·(1/sinh y − 1/y) of the integrand gives powers of 1/M, and 1/sinh y
//! − 1/y = Σ_{k≥1} (−1)^k 2y/(y²+k²π²). Truncating each geometric series 2y/(y²+k²π²) after s terms
//! leaves ±2y(y/kπ)^{2s}/(y²+k²π²). This decreases in k, so the alternating sum over k is at most
//! its first term, 2y^{2s+1}/π^{2s+2}. Hence the error of s terms is at most
//! (8/π^{2s+3})(2s+1)!/(2M)^{2s+2} in S/M: below 10⁻²³ for s = 4 and n ≥ 64.
//!
//! **Cost.** Constant.

use std::f64::consts::PI;

use super::landau::EULER;
use super::{Interval, checked};
use crate::Result;
use crate::privacy::CompensatedSum;

const EXPANSION_FROM: f64 = 64.0;

/// α₁ … α₄ without their powers of π.
const ALPHA: [f64; 4] =
    [1.0 / 72.0, -49.0 / (900.0 * 192.0), 961.0 / (1764.0 * 34_560.0), -16_129.0 / (900.0 * 10_321_920.0)];

/// ‖A‖_*/n for an integer n, which may exceed 2⁶⁰ here.
pub(super) fn nuclear_norm_per_step(n: f64) -> f64 {
    let points = 2.0 * n + 1.0;
    if n < EXPANSION_FROM {
        let mut sum = CompensatedSum::default();
        for i in 0..n as u32 {
            sum.add(0.5 / (f64::from(2 * i + 1) * PI / (2.0 * points)).sin());
        }
        return sum.value() / n;
    }
    let h = (PI / points) * (PI / points);
    let tail = h / PI * (ALPHA[0] + h * (ALPHA[1] + h * (ALPHA[2] + h * ALPHA[3])));
    let lebesgue = 2.0 / PI * ((8.0 / PI * points).ln() + EULER) + tail;
    // (MΛ − 1)/4n with M/n = 2 + 1/n.
    ((2.0 + 1.0 / n) * lebesgue - 1.0 / n) / 4.0
}

/// ‖A‖_*, the sum of the singular values of the n × n prefix sum.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰.
///
/// ```
/// // One step: A = (1).
/// assert!((evertally::research::bounds::nuclear_norm(1)?.middle() - 1.0).abs() < 1e-13);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn nuclear_norm(horizon: u64) -> Result<Interval> {
    let n = checked(horizon)?;
    Ok(Interval::around(nuclear_norm_per_step(n) * n))
}

/// (‖A‖_*/n)²: a lower bound on the mean error factor of every matrix mechanism, 4 % below the
/// least factor at n = 256 and 3 % at n = 1024.
///
/// # Errors
/// As for [`nuclear_norm`].
///
/// ```
/// let bound = evertally::research::bounds::nuclear_mean_error(1024)?;
/// assert!((bound.lower / 8.465_681_309_376_945 - 1.0).abs() < 1e-9);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn nuclear_mean_error(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(nuclear_norm_per_step(checked(horizon)?)).squared())
}

/// ‖A‖ = σ₁ = ½csc(π/(4n+2)), the largest singular value of the n × n prefix sum. It grows like
/// (2n+1)/π, so the infinite prefix sum is no bounded operator.
///
/// # Errors
/// As for [`nuclear_norm`].
///
/// ```
/// // Two steps: the golden ratio.
/// let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
/// assert!((evertally::research::bounds::spectral_norm(2)?.middle() - golden).abs() < 1e-12);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn spectral_norm(horizon: u64) -> Result<Interval> {
    let n = checked(horizon)?;
    Ok(Interval::around(0.5 / (PI / (4.0 * n + 2.0)).sin()))
}
