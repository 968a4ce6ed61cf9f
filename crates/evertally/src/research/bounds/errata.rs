//! The cost of following the paper's text literally where it contains an error.
//!
//! Each figure here is the factor by which the noise is too small for the budget: noise made for σ
//! then protects like noise for σ/factor. The report on the paper shows these figures. Nothing else
//! uses them.

use super::landau::{row_norm_squared, square_root_row_norm_squared};
use crate::noise::{CausalConvolver, inverse_square_root_coefficients};
use crate::{Error, Result};

/// The maximum horizon over which these sums are taken term by term.
const MAX_HORIZON: u64 = 1 << 22;

fn short(horizon: u64) -> Result<u64> {
    if (1..=MAX_HORIZON).contains(&horizon) {
        Ok(horizon)
    } else {
        Err(Error::bad("horizon", "from 1 to 2^22", horizon))
    }
}

/// Fresh noise in every round, as Algorithm 1 is printed. The first input enters n releases with
/// independent noises of variances σ²G(n)G(t). The shortfall is (Σ_t 1/G(n)G(t))^{1/2}.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2²².
///
/// ```
/// assert!(evertally::research::bounds::fresh_noise_shortfall(1024)? > 5.0);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn fresh_noise_shortfall(horizon: u64) -> Result<f64> {
    let n = short(horizon)?;
    let sum: f64 = (1..=n).map(|t| 1.0 / row_norm_squared(t as f64)).sum();
    Ok((sum / row_norm_squared(n as f64)).sqrt())
}

/// One noise vector whose scale in round t is that of R(t) instead of R, as in Algorithm 3. The
/// releases are those of L⁻¹D⁻¹A x + σ g with D = diag(√G(t)). The shortfall is the norm of the
/// first column of L⁻¹D⁻¹A.
///
/// # Errors
/// As for [`fresh_noise_shortfall`].
///
/// ```
/// assert!(evertally::research::bounds::growing_scale_shortfall(2)? > 1.07);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn growing_scale_shortfall(horizon: u64) -> Result<f64> {
    let n = short(horizon)? as usize;
    let mut column: Vec<f64> = (1..=n).map(|t| row_norm_squared(t as f64).powf(-0.5)).collect();
    CausalConvolver::new(&inverse_square_root_coefficients(n)).apply(&mut column);
    Ok(column.iter().map(|x| x * x).sum::<f64>().sqrt())
}

/// Noise scaled by C but not by ‖R‖₁→₂, as in the corollary's second step. The shortfall is ‖R‖₁→₂
/// = √G(n).
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰.
///
/// ```
/// assert!((evertally::research::bounds::unscaled_noise_shortfall(2)? - 1.25_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn unscaled_noise_shortfall(horizon: u64) -> Result<f64> {
    Ok(square_root_row_norm_squared(horizon)?.lower.sqrt())
}

/// The regret of private follow-the-regularised-leader: the paper's figure, and the figure that its
/// proof supports.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Regret {
    /// ‖θ‖√((1 + ln(4n/5)/π)(κ² + κC√d)/2n), as printed.
    pub paper: f64,
    /// ‖θ‖√(2(κ² + κ²σ√d·E)/n), with E² the exact mean error factor of the square root at the full
    /// horizon.
    pub corrected: f64,
    /// The expected regret of the paper's algorithm at the paper's λ, on linear losses that are
    /// fixed in advance: gradients that alternate and then push one way.
    pub attained: f64,
}

/// Both regret bounds for a Lipschitz constant κ, dimension d, ‖θ_opt‖ and noise multiplier σ (the
/// paper's is C).
///
/// The proof bounds the regret by a/λ + λ‖θ‖²/2n with a = κ² + κ²σ√d·(1/n)Σ_t √(G(n)G(t)), whose
/// least value over λ is ‖θ‖√(2a/n). The mean of the roots is at most the root of the mean error
/// factor. (The algorithm draws its noise at scale σκ‖R‖. The proof loses that κ and prints κσ√d.)
///
/// On linear losses that do not depend on what is played, noise of mean zero does not change the
/// expected regret. Gradients κ, −κ, κ, … followed by p times κ have nκ²/2λ + pκ‖θ‖ − p²κ²/2λ in
/// all. This is largest, nκ²/2λ + λ‖θ‖²/2, if the sum of gradients ends at λ‖θ‖. At the paper's λ
/// the printed figure is the second term alone. `attained` takes the nearest p that the horizon and
/// its parity allow.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰ and the others are positive and finite.
///
/// ```
/// let regret = evertally::research::bounds::regret(1 << 20, 1.0, 1000, 1.0, 5.0)?;
/// assert!(regret.corrected > 1.9 * regret.paper);
/// assert!(regret.attained > regret.paper && regret.attained < regret.corrected);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn regret(horizon: u64, lipschitz: f64, dimension: u32, norm: f64, multiplier: f64) -> Result<Regret> {
    for (name, value) in [("lipschitz", lipschitz), ("norm", norm), ("multiplier", multiplier)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::bad(name, "a positive number", value));
        }
    }
    let n = super::checked(horizon)?;
    let closed = super::paper_upper_mean(horizon)?.upper.sqrt();
    let exact = super::square_root_mean_error(horizon)?.upper.sqrt();
    let noise = lipschitz * multiplier * f64::from(dimension).sqrt();
    let square = lipschitz * lipschitz;
    let printed = closed * (square + noise);
    Ok(Regret {
        paper: norm * (printed / (2.0 * n)).sqrt(),
        corrected: norm * (2.0 * (square + lipschitz * noise * exact) / n).sqrt(),
        attained: attained(n, lipschitz, norm, (2.0 * n * printed).sqrt() / norm),
    })
}

/// The average regret of gradients that alternate and then push p times, where p has the parity of
/// n.
fn attained(n: f64, lipschitz: f64, norm: f64, lambda: f64) -> f64 {
    let odd = n % 2.0;
    let pushes = (2.0 * ((lambda * norm / lipschitz - odd) / 2.0).round() + odd).clamp(odd, n);
    (pushes * lipschitz * norm + lipschitz * lipschitz * (n - pushes * pushes) / (2.0 * lambda)) / n
}
