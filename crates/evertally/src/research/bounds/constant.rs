//! The cost of privacy itself: the least mean squared error of any noise, as a multiple of γ_F²/n.
//!
//! **Definition.** c(ε, δ) is a number with mean squared error ≥ c·γ_F(A)²/n for every (ε,
//! δ)-private mechanism for the linear queries A whose noise is oblivious of its input. The paper
//! uses c = 1/(e^{2ε}−1)². The constant here is larger and depends on δ.
//!
//! **Proof.** Let the release be Ax + z, and a a column of A. Privacy makes z and z + a
//! indistinguishable at (ε, δ), hence z and z + k·a at (kε, δ_k), δ_k = δ(e^{kε}−1)/(e^ε−1). This
//! holds for any domain of x, since z does not depend on x. Let u be a vector with ⟨u,a⟩ ≠ 0, X =
//! ⟨u,z⟩/⟨u,a⟩, p₊ = P[X ≥ k/2] and p₋ = P[X ≤ −k/2]. Comparing X + k with X on [k/2, ∞) gives 1 −
//! p₋ ≤ e^{kε}p₊ + δ_k. Comparing X − k with X on the other side gives the mirror image. Added up,
//! P[|X| ≥ k/2] ≥ q_k = 2(1−δ_k)/(1+e^{kε}). So E X² = ∫2r P[|X| ≥ r]dr ≥ Σ_k q_k·(k² − (k−1)²)/4 =
//! c, over the k with q_k > 0. Thus uᵀΣu ≥ c⟨u,a⟩² for Σ = E zzᵀ and every u and a. The columns of
//! R = Σ^{−1/2}A (pseudo-inverse) therefore have norms of at most 1/√c, and with L = Σ^{1/2}, A =
//! LR, γ_F² ≤ ‖L‖_F²/c = n·mse/c. ∎
//!
//! **Any mechanism.** If the error is the largest over all integer inputs, a mechanism M that looks
//! at its input does no better. Draw X uniformly from {0,…,N−1}^n and use z = M(X) − AX as noise.
//! Moving X by one in a coordinate leaves the box with probability 1/N, so z is private at (ε, δ +
//! e^ε/N) and its error is at most that of M. Let N grow. Over 0/1 streams this fails, and so does
//! the paper's bound: always releasing t/2 is perfectly private with error (n+1)(2n+1)/24.
//!
//! **The paper's constants.** 1/(e^{2ε}−1)² (oblivious) and 1/(e^{4ε}−1)² (any) are below c, and
//! thereby proven, as long as δ is small enough; [`largest_paper_delta`] is that limit. They cannot
//! hold for every δ ≤ 1/4e^ε as printed: as ε → 0 they grow without bound, while Gaussian noise at
//! a fixed δ does not.
//!
//! **Guarantee.** c is rounded down. If ε and δ are small, only every 1/(4096·max(ε,δ))-th k is
//! used, which costs less than a relative 10⁻³.

use crate::privacy::CompensatedSum;
use crate::{Error, Result};

/// The mechanisms to which a lower bound applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Mechanisms whose noise does not depend on the input.
    Oblivious,
    /// Every mechanism, with the error taken over all integer inputs.
    Any,
}

/// For kε beyond this, the terms add nothing.
const MAX_GROWTH: f64 = 45.0;
/// How finely kε and kδ are sampled if both are small.
const FINENESS: f64 = 4096.0;

/// c(ε, δ): mean squared error ≥ c·γ_F²/n for every (ε, δ)-private mechanism that is oblivious of
/// its input, and over all integer inputs for every mechanism. It is zero if δ leaves nothing to
/// prove.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000 and 0 ≤ δ < 1.
///
/// ```
/// use evertally::research::bounds::{Reach, oblivious_constant, paper_constant};
/// assert!(oblivious_constant(1.0, 1e-6)? > 20.0 * paper_constant(1.0, Reach::Oblivious)?);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn oblivious_constant(epsilon: f64, delta: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    Ok(constant(epsilon, delta))
}

fn constant(epsilon: f64, delta: f64) -> f64 {
    // The terms end when kε is large or when δ_k reaches one, which is soon after kδ does. Both are
    // sampled finely.
    let stride = (1.0 / (FINENESS * epsilon.max(delta))).floor().max(1.0);
    let mut sum = CompensatedSum::default();
    let mut previous = 0.0_f64;
    loop {
        let k = previous + stride;
        let grown = k * epsilon;
        // This form of δ_k loses no digits for a tiny ε.
        let spent = if delta == 0.0 { 0.0 } else { delta * (grown.exp_m1() / epsilon.exp_m1()) };
        let tail = 2.0 * (1.0 - spent) / (1.0 + grown.exp());
        if tail.is_nan() || tail <= 0.0 || (grown > MAX_GROWTH && previous > 0.0) {
            break;
        }
        sum.add(tail * (k - previous) * (k + previous) / 4.0);
        previous = k;
    }
    // Only the last term can lose digits, when δ_k comes near one. It loses 10⁻¹⁵ of its weight,
    // and the first term alone is far larger than that. The rest are sums and products of positive
    // numbers.
    (sum.value() * (1.0 - 1e-12)).max(0.0)
}

/// The paper's constant, rounded down: 1/(e^{2ε}−1)² for oblivious noise and 1/(e^{4ε}−1)² for any
/// mechanism.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000.
///
/// ```
/// use evertally::research::bounds::{Reach, paper_constant};
/// assert!((paper_constant(0.5, Reach::Oblivious)? - 0.3387).abs() < 1e-4);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_constant(epsilon: f64, reach: Reach) -> Result<f64> {
    check_epsilon(epsilon)?;
    let times = match reach {
        Reach::Oblivious => 2.0,
        Reach::Any => 4.0,
    };
    Ok((times * epsilon).exp_m1().powi(-2) * (1.0 - 1e-12))
}

/// The largest δ up to which the paper's constant is proven at this ε: c(ε, δ) is at least the
/// constant, and δ is at most the 1/4e^ε that the paper requires.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000.
///
/// ```
/// use evertally::research::bounds::{Reach, largest_paper_delta};
/// let limit = largest_paper_delta(0.01, Reach::Oblivious)?;
/// assert!(1e-3 < limit && limit < 0.01);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn largest_paper_delta(epsilon: f64, reach: Reach) -> Result<f64> {
    let wanted = paper_constant(epsilon, reach)?;
    let stated = (-epsilon).exp() / 4.0;
    if constant(epsilon, stated) >= wanted {
        return Ok(stated);
    }
    // The constant decreases in δ. The lower end always satisfies the condition, since it does at
    // zero (tested).
    let (mut low, mut high) = (0.0, stated);
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if constant(epsilon, middle) >= wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The paper's constant, if it is proven.
pub(super) fn proven_paper_constant(epsilon: f64, delta: f64, reach: Reach) -> Result<f64> {
    let value = paper_constant(epsilon, reach)?;
    check_delta(delta)?;
    let limit = largest_paper_delta(epsilon, reach)?;
    if delta > limit {
        return Err(Error::bad(
            "delta",
            format!("at most {limit:.2e} for this bound at epsilon = {epsilon}"),
            delta,
        ));
    }
    Ok(value)
}

fn check_epsilon(epsilon: f64) -> Result<()> {
    if (1e-6..=1000.0).contains(&epsilon) {
        Ok(())
    } else {
        Err(Error::bad("epsilon", "a number from 1e-6 to 1000", epsilon))
    }
}

fn check_delta(delta: f64) -> Result<()> {
    if (0.0..1.0).contains(&delta) {
        Ok(())
    } else {
        Err(Error::bad("delta", "a number from 0 to below 1", delta))
    }
}
