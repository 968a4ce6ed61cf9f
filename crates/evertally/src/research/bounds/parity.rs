//! Parity queries: the error of answering all C(d,w) parities of w out of d signs.
//!
//! **Definition.** The query matrix S has C(d,w) rows of the 2^d × 2^d Hadamard matrix. S Sᵀ =
//! 2^d·I, so its singular values are all 2^{d/2}, ‖S‖_* = 2^{d/2}C(d,w) and the paper's lemma gives
//! γ_F(S) ≥ C(d,w). L = I attains it, because every column of S has norm √C(d,w). So γ_F(S) =
//! C(d,w) exactly, and Gaussian noise on the answers is the best matrix mechanism.
//!
//! **Guarantee.** The binomial coefficient is rounded outwards. The constants are those of the
//! continual case.

use super::constant::{Reach, oblivious_constant, proven_paper_constant};
use super::{Interval, interval::ROUNDING};
use crate::privacy::gaussian_sigma;
use crate::{Error, Result};

/// Bounds on the mean squared error of all parities of `weight` out of `dimension` signs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ParityBounds {
    /// γ_F = C(d,w), the number of queries.
    pub gamma: Interval,
    /// The paper's bound, C(d,w)/(e^{2ε}−1)².
    pub paper: Result<f64>,
    /// The same with the constant that this library proves.
    pub any_mechanism: Result<f64>,
    /// σ²·C(d,w): the least of any matrix mechanism, attained by noise on the answers.
    pub matrix_mechanism: Result<f64>,
}

/// γ_F of the parity queries, which is their number C(d,w).
///
/// # Errors
/// `BadParameter` unless 1 ≤ d ≤ 1000 and w ≤ d.
///
/// ```
/// assert!((evertally::research::bounds::parity_gamma(10, 3)?.middle() - 120.0).abs() < 1e-9);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn parity_gamma(dimension: u32, weight: u32) -> Result<Interval> {
    if !(1..=1000).contains(&dimension) {
        return Err(Error::bad("dimension", "from 1 to 1000", dimension));
    }
    if weight > dimension {
        return Err(Error::bad("weight", format!("at most the dimension {dimension}"), weight));
    }
    let chosen = weight.min(dimension - weight);
    let binomial = (0..chosen).fold(1.0, |c, i| c * f64::from(dimension - i) / f64::from(i + 1));
    // At most a thousand roundings of half a unit each.
    let margin = if binomial < (1_u64 << 40) as f64 { ROUNDING } else { 1e-12 };
    Ok(Interval { lower: binomial * (1.0 - margin), upper: binomial * (1.0 + margin) })
}

/// All bounds for parity queries at a budget.
///
/// # Errors
/// As for [`parity_gamma`]. If a bound does not apply at (ε, δ), its own field holds the error.
///
/// ```
/// let bounds = evertally::research::bounds::parity_bounds(10, 2, 0.5, 1e-6)?;
/// assert!(bounds.paper? < bounds.any_mechanism? );
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn parity_bounds(dimension: u32, weight: u32, epsilon: f64, delta: f64) -> Result<ParityBounds> {
    let gamma = parity_gamma(dimension, weight)?;
    let down = |constant: f64| (constant * gamma.lower).next_down().max(0.0);
    Ok(ParityBounds {
        gamma,
        paper: proven_paper_constant(epsilon, delta, Reach::Oblivious).map(down),
        any_mechanism: oblivious_constant(epsilon, delta).map(down),
        matrix_mechanism: gaussian_sigma(epsilon, delta).map(|sigma| down(sigma * sigma * (1.0 - 1e-12))),
    })
}
