//! Any linear queries at once: the matrix mechanism for data that does not change.
//!
//! **Definition.** x is a histogram: the number of persons of each of m kinds. A is a matrix of n
//! queries. A x is released as L (R x + z), where A = L R is the factorization that certifies
//! γ_F(A) and z is white Gaussian noise.
//!
//! **Guarantee.** One person is one unit of one cell of x. With Δ the largest column norm of R,
//! white noise of deviation σΔ hides whether that unit is present. [`BatchPlan`] computes Δ from
//! the R that is run, and for [`Neighbours::Replace`] from the distances between its columns. The
//! mean squared error is within the certificate's gap of σ²γ_F²/n, which is the minimum over all
//! factorizations.
//!
//! | file | content |
//! |---|---|
//! | `plan` | the mechanism for a matrix that is written out |
//! | `fixed` | R in integer units, so that R x is exact and rounding cannot increase the effect of one person |
//! | `parity` | all parities of w among d columns, d up to 30, whose matrix is never written out |
//!
//! ```
//! use evertally::research::batch::BatchPlan;
//! use evertally::{Budget, Matrix, Neighbours, NoiseKey};
//!
//! // Three age groups; everybody, the younger two, and the older two.
//! let queries = Matrix::from_fn(3, 3, |query, cell| match (query, cell) {
//!     (1, 2) | (2, 0) => 0.0,
//!     _ => 1.0,
//! });
//! let plan = BatchPlan::new(queries, Budget::new(1.0, 1e-6)?, Neighbours::AddRemove)?;
//! for answer in plan.answer(&[120.0, 340.0, 80.0], NoiseKey::from_os()?)? {
//!     println!("{:.1} ± {:.1}", answer.value, answer.margin(0.95));
//! }
//! assert!(plan.mean_squared_error() < 1.0001 * plan.least_mean_squared_error());
//! # Ok::<(), evertally::Error>(())
//! ```
//!
//! [`Neighbours::Replace`]: crate::Neighbours::Replace

mod fixed;
mod parity;
mod plan;
mod spending;

pub use parity::{MAX_PARITIES, MAX_PARITY_COLUMNS, ParityPlan, ParityTotals, parity_queries};
pub use plan::BatchPlan;
use zeroize::Zeroize;

use crate::noise::{NoiseKey, WhiteNoise};
use crate::noise_name::NoiseName;
use crate::privacy::{Budget, Neighbours, NoiseKind, round_up};
use crate::release::Tail;
use crate::{Error, Result};

/// The private answer to one query, with its error.
///
/// ```
/// use evertally::research::batch::Answer;
/// let answer = Answer { query: 0, value: 100.0, standard_error: 10.0 };
/// let (low, high) = answer.interval(0.95);
/// assert!((low - 80.4).abs() < 0.01 && (high - 119.6).abs() < 0.01);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The query: the row of A, counted from zero.
    pub query: usize,
    /// The private answer.
    pub value: f64,
    /// The standard deviation of its noise.
    pub standard_error: f64,
}

impl Answer {
    /// Half the width of the interval that holds the true answer with probability `level`.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn margin(&self, level: f64) -> f64 {
        self.standard_error * Tail::Gaussian.quantile(level)
    }

    /// The interval around the value that holds the true answer with probability `level`.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let margin = self.margin(level);
        (self.value - margin, self.value + margin)
    }
}

/// The budget of a set of answers, who is protected, and the noise that follows.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NoiseScale {
    budget: Budget,
    neighbours: Neighbours,
    sensitivity: f64,
    /// The standard deviation of each white draw.
    scale: f64,
}

impl NoiseScale {
    /// The noise for a sensitivity Δ that is rounded up. `charge` ≥ 1 multiplies the deviation.
    fn new(budget: Budget, neighbours: Neighbours, sensitivity: f64, charge: f64) -> Self {
        // Two roundings of half an ulp each.
        let scale = round_up(budget.noise_multiplier() * sensitivity * charge, 2.0 * f64::EPSILON);
        Self { budget, neighbours, sensitivity, scale }
    }
}

/// White noise that depends on the name, the key and a hash of the data.
fn white_noise(name: &NoiseName, data: &blake3::Hasher, key: &NoiseKey) -> WhiteNoise {
    let mut label = name.as_bytes().to_vec();
    label.extend(data.finalize().as_bytes());
    let white = WhiteNoise::gaussian(key.stream(&label));
    label.zeroize();
    white
}

/// Refuses budgets that need Laplace noise.
fn check_gaussian(budget: Budget) -> Result<()> {
    match budget.noise() {
        NoiseKind::Gaussian => Ok(()),
        NoiseKind::Laplace => Err(Error::unsupported(
            "the matrix mechanism",
            "its Gaussian noise cannot give pure ε; use a budget with δ above zero",
        )),
    }
}
