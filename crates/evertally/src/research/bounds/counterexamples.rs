//! Inputs for which the paper's text fails as printed, run as it is printed.
//!
//! **Definition.** Each function plays or evaluates one statement of the paper on one small input
//! and returns the figures that decide it. The report on the paper shows them. Nothing else uses
//! them.
//!
//! **Guarantee.** The inputs are short enough to follow by hand, and every figure is a few
//! operations on floats, so it is exact to about 10⁻¹². Where a figure has a closed form, the tests
//! compare it with that form.
//!
//! **Cost.** At most one pass over the steps.

use crate::privacy::CompensatedSum;
use crate::{Error, Result};

/// The maximum number of steps that are played.
const MAX_STEPS: u64 = 1 << 20;

/// The average regret of follow-the-regularised-leader on one sequence, and two bounds on it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LeaderRegret {
    /// The average loss of the points played, less that of the best fixed point.
    pub regret: f64,
    /// (2η/n)Σg² + (ρ(u) − ρ(θ₁))/nη, as the paper's Theorem 30 prints it.
    pub printed: f64,
    /// The same with the norms that strong convexity asks for: (2η/nα)Σg² + (ρ(u) − ρ(θ₁))/nη for
    /// an α-strongly convex ρ, here α = 2·scale.
    pub strongly_convex: f64,
}

/// Plays Algorithm 2 of the paper on `[−1, 1]` with the regulariser ρ(θ) = scale·θ², the learning
/// rate η and the linear losses ½θ, −θ, θ, −θ, ….
///
/// The partial sums of the gradients are ½, −½, ½, …. A regulariser that is nearly flat lets the
/// player run to −1, 1, −1, …, where each next loss is one. The best fixed point loses ½ in all.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2²⁰ and the others are positive and finite.
///
/// ```
/// let flat = evertally::research::bounds::leader_regret(1000, 1e-6, 0.1)?;
/// assert!(flat.regret > 0.999 && flat.printed < 0.2 && flat.strongly_convex > flat.regret);
/// let round = evertally::research::bounds::leader_regret(1000, 0.5, 0.1)?;
/// assert!(round.regret < round.printed);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn leader_regret(horizon: u64, scale: f64, rate: f64) -> Result<LeaderRegret> {
    if !(1..=MAX_STEPS).contains(&horizon) {
        return Err(Error::bad("horizon", "from 1 to 2^20", horizon));
    }
    for (name, value) in [("scale", scale), ("rate", rate)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::bad(name, "a positive number", value));
        }
    }
    let rho = |theta: f64| scale * theta * theta;
    let (mut pushed, mut loss, mut norms) = (0.0_f64, CompensatedSum::default(), CompensatedSum::default());
    for t in 0..horizon {
        // The minimiser of η·pushed·θ + ρ(θ) over [−1, 1]; the first minimises ρ alone.
        let theta = (-rate * pushed / (2.0 * scale)).clamp(-1.0, 1.0);
        let gradient = match t {
            0 => 0.5,
            t if t % 2 == 1 => -1.0,
            _ => 1.0,
        };
        loss.add(gradient * theta);
        norms.add(gradient * gradient);
        pushed += gradient;
    }
    let steps = horizon as f64;
    // The best fixed point is ±1, and ρ(θ₁) = ρ(0) = 0.
    let diameter = rho(1.0) / (steps * rate);
    let width = 2.0 * rate / steps * norms.value();
    Ok(LeaderRegret {
        regret: (loss.value() + pushed.abs()) / steps,
        printed: width + diameter,
        strongly_convex: width / (2.0 * scale) + diameter,
    })
}

/// The largest value of the paper's dual program for γ_F of a two by two matrix, at the column
/// weights (1−s, s): the program of its Figure 2 with α and Ẑ at their best.
///
/// With w₁ = α1 and Z = √n UVᵀ the value is 2α√n‖A diag(w₂)‖_*, and α²n = ‖w₂‖² = ½ is best. So it
/// is ‖A diag(√v)‖_* with v = (1−s, s). For two rows ‖B‖_*² = ‖B‖_F² + 2|det B|.
///
/// # Errors
/// `BadParameter` unless 0 ≤ s ≤ 1. The paper's program admits only 0 < s < 1.
///
/// ```
/// use evertally::research::bounds::dual_value_of_two;
/// let a = [[1.0, 0.0], [0.0, 0.0]];
/// assert!(dual_value_of_two(a, 0.01)? < 1.0);
/// assert_eq!(dual_value_of_two(a, 0.0)?, 1.0);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn dual_value_of_two(matrix: [[f64; 2]; 2], share: f64) -> Result<f64> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::bad("share", "from 0 to 1", share));
    }
    let weights = [1.0 - share, share];
    let [[a, b], [c, d]] = matrix;
    let squares = weights[0] * (a * a + c * c) + weights[1] * (b * b + d * d);
    let determinant = (a * d - b * c).abs() * (weights[0] * weights[1]).sqrt();
    Ok((squares + 2.0 * determinant).sqrt())
}

/// The rows and columns of the matrix W_m of the paper's Section 1.2, built by its recursion: W₁ =
/// (1), and W_k is two copies of W_{k−1} on the diagonal above a row of ones.
///
/// # Errors
/// `BadParameter` unless 1 ≤ m ≤ 10.
///
/// ```
/// // The tree over n = 8 steps needs 15 rows and 8 columns.
/// assert_eq!(evertally::research::bounds::written_tree_size(3)?, (7, 4));
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn written_tree_size(levels: u32) -> Result<(usize, usize)> {
    if !(1..=10).contains(&levels) {
        return Err(Error::bad("levels", "from 1 to 10", levels));
    }
    let mut rows = vec![vec![1_u8]];
    for _ in 1..levels {
        let width = rows[0].len();
        let empty = vec![0_u8; width];
        let left = rows.iter().map(|row| [row.as_slice(), &empty].concat());
        let right = rows.iter().map(|row| [empty.as_slice(), row].concat());
        rows = left.chain(right).chain([vec![1; 2 * width]]).collect();
    }
    Ok((rows.len(), rows[0].len()))
}

/// What the proof of the paper's Theorem 6 minimises, in one dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Minimisers {
    /// The second derivative of φ₁ as printed, which the proof says is λ.
    pub first_curvature: f64,
    /// The minimiser of φ₁ as printed, which the proof says is θ̃.
    pub first: f64,
    /// θ̃ = −Σ∇/λ, the model without noise.
    pub without_noise: f64,
    /// The minimiser of φ₂ as printed, which the proof says is θ.
    pub second: f64,
    /// θ = −s/λ, the model with noise.
    pub with_noise: f64,
}

/// Minimises φ₁ and φ₂ of the proof of the paper's Theorem 6 as they are printed:
/// φ₁ = (1/λ)Σᵢ(∇ᵢθ + (λ/2)θ²), with the regulariser inside the sum, and
/// φ₂ = (1/λ)Σᵢ∇ᵢθ + (λ/2)θ² + (s − Σᵢ∇ᵢ)θ.
///
/// # Errors
/// `BadParameter` unless there are gradients and λ is positive.
///
/// ```
/// let found = evertally::research::bounds::printed_minimisers(&[1.0; 4], 4.5, 3.0)?;
/// assert!((found.first_curvature - 4.0).abs() < 1e-12);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn printed_minimisers(gradients: &[f64], noisy_sum: f64, lambda: f64) -> Result<Minimisers> {
    if gradients.is_empty() {
        return Err(Error::bad("gradients", "at least one", "none"));
    }
    if !(lambda > 0.0 && lambda.is_finite()) {
        return Err(Error::bad("lambda", "a positive number", lambda));
    }
    let sum: f64 = gradients.iter().sum();
    let square = |theta: f64| lambda / 2.0 * theta * theta;
    let first = |theta: f64| gradients.iter().map(|g| g * theta + square(theta)).sum::<f64>() / lambda;
    let second = |theta: f64| sum * theta / lambda + square(theta) + (noisy_sum - sum) * theta;
    let (first_curvature, first) = parabola(first);
    Ok(Minimisers {
        first_curvature,
        first,
        without_noise: -sum / lambda,
        second: parabola(second).1,
        with_noise: -noisy_sum / lambda,
    })
}

/// The second derivative of a parabola and the point where it is least, from three of its values.
fn parabola(f: impl Fn(f64) -> f64) -> (f64, f64) {
    let (left, middle, right) = (f(-1.0), f(0.0), f(1.0));
    let curvature = left + right - 2.0 * middle;
    (curvature, -(right - left) / (2.0 * curvature))
}

/// The δ that an adversary of two rounds can reach against a Gaussian mechanism of multiplier σ,
/// who decides after the first release how much to differ in the second.
///
/// Neighbours differ by √share in the first coordinate of Rx and then by √(1−share)·rule(loss) in
/// the second, where loss is the privacy loss of the first release and 0 ≤ rule ≤ 1. The result is
/// the hockey-stick divergence at ε of both releases together, by the trapezoidal rule over the
/// first.
///
/// # Errors
/// `BadParameter` unless ε ≥ 0, σ > 0 and 0 < share < 1.
///
/// ```
/// use evertally::privacy::gaussian_sigma;
/// let sigma = gaussian_sigma(0.5, 1e-6)?;
/// // Whoever always spends the rest reaches the δ of fixed streams, and nothing passes it.
/// let all = evertally::research::bounds::adaptive_delta(0.5, sigma, 0.3, |_| 1.0)?;
/// assert!((all / 1e-6 - 1.0).abs() < 1e-6);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn adaptive_delta(epsilon: f64, sigma: f64, share: f64, rule: impl Fn(f64) -> f64) -> Result<f64> {
    const NODES_A_SIDE: i32 = 4000;
    const REACH: f64 = 12.0;
    if !(epsilon >= 0.0 && epsilon.is_finite()) {
        return Err(Error::bad("epsilon", "a number from 0", epsilon));
    }
    if !(sigma > 0.0 && sigma.is_finite()) {
        return Err(Error::bad("sigma", "a positive number", sigma));
    }
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::bad("share", "between 0 and 1", share));
    }
    let (first, rest) = (share.sqrt() / sigma, (1.0 - share).sqrt() / sigma);
    let step = REACH / f64::from(NODES_A_SIDE);
    let mut sum = CompensatedSum::default();
    for i in -NODES_A_SIDE..=NODES_A_SIDE {
        let g = f64::from(i) * step;
        let loss = first * (first / 2.0 + g);
        let density = (-g * g / 2.0).exp() / std::f64::consts::TAU.sqrt();
        sum.add(density * step * divergence(rest * rule(loss).clamp(0.0, 1.0), epsilon - loss));
    }
    Ok(sum.value())
}

/// The hockey-stick divergence of N(μ, 1) from N(0, 1) at any real ε.
fn divergence(mu: f64, epsilon: f64) -> f64 {
    if mu <= 0.0 {
        return (-epsilon.exp_m1()).max(0.0);
    }
    let cdf = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * cdf(-mu / 2.0 - epsilon / mu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{gaussian_delta, gaussian_sigma};

    /// Nearly flat: every step after the first loses one, and the best point loses ½ in all.
    #[test]
    fn a_flat_regulariser_has_the_regret_of_its_closed_form() {
        for n in [2_u64, 3, 1000, 1001] {
            let steps = n as f64;
            let found = leader_regret(n, 1e-6, 0.1).unwrap();
            assert!((found.regret - (steps - 0.5) / steps).abs() < 1e-12, "{n}: {found:?}");
            let printed = 0.2 / steps * (steps - 0.75) + 1e-5 / steps;
            assert!((found.printed - printed).abs() < 1e-12, "{n}: {found:?}");
        }
        assert!(leader_regret(0, 1.0, 1.0).is_err() && leader_regret(9, 0.0, 1.0).is_err());
    }

    /// A 1-strongly convex regulariser keeps the printed bound, and the corrected one is the same.
    #[test]
    fn strong_convexity_is_what_was_missing() {
        for rate in [1e-3, 0.1, 1.0, 10.0] {
            let found = leader_regret(500, 0.5, rate).unwrap();
            assert!(found.regret <= found.printed && found.printed == found.strongly_convex, "{found:?}");
            for scale in [1e-9, 1e-3, 0.1, 7.0] {
                let found = leader_regret(500, scale, rate).unwrap();
                assert!(found.regret <= found.strongly_convex, "{scale} {rate} {found:?}");
            }
        }
    }

    #[test]
    fn the_dual_of_two_is_a_nuclear_norm() {
        // diag(a, d): |a|√(1−s) + |d|√s. A matrix of rank one: its Frobenius norm.
        for s in [0.0, 0.1, 0.5, 0.9, 1.0_f64] {
            let found = dual_value_of_two([[3.0, 0.0], [0.0, -2.0]], s).unwrap();
            assert!((found - (3.0 * (1.0 - s).sqrt() + 2.0 * s.sqrt())).abs() < 1e-14);
            let found = dual_value_of_two([[1.0, 2.0], [2.0, 4.0]], s).unwrap();
            assert!((found - (5.0 * (1.0 - s) + 20.0 * s).sqrt()).abs() < 1e-14);
        }
        assert!(dual_value_of_two([[1.0, 0.0], [0.0, 0.0]], 1.5).is_err());
    }

    #[test]
    fn printed_functions_have_the_minimisers_of_their_derivatives() {
        let gradients = [0.5, -1.0, 2.0, 0.25, 1.0];
        let (sum, t) = (2.75, 5.0);
        for (noisy, lambda) in [(3.0, 2.0), (-1.0, 0.5)] {
            let found = printed_minimisers(&gradients, noisy, lambda).unwrap();
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{found:?}");
            near(found.first_curvature, t);
            near(found.first, -sum / (lambda * t));
            near(found.second, -(sum / lambda + noisy - sum) / lambda);
        }
        assert!(printed_minimisers(&[], 1.0, 1.0).is_err());
    }

    /// The trapezoidal rule agrees with the exact divergence where the choice is no choice.
    #[test]
    fn an_adversary_that_never_chooses_reaches_the_exact_delta() {
        for (epsilon, delta) in [(0.5, 1e-6), (1.0, 1e-3), (0.1, 1e-10)] {
            let sigma = gaussian_sigma(epsilon, delta).unwrap();
            for share in [0.01, 0.5, 0.99] {
                let all = adaptive_delta(epsilon, sigma, share, |_| 1.0).unwrap();
                assert!((all / delta - 1.0).abs() < 1e-6, "{epsilon} {share}: {all}");
                let none = adaptive_delta(epsilon, sigma, share, |_| 0.0).unwrap();
                let alone = gaussian_delta(sigma / share.sqrt(), epsilon).unwrap();
                assert!((none - alone).abs() < delta * 1e-4, "{epsilon} {share}: {none} {alone}");
            }
        }
    }
}
