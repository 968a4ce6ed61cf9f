//! The cost of a mechanism for one protected unit, and of several mechanisms together.
//!
//! **Definition.** A [`Spend`] has four parts, each of which adds up over mechanisms:
//!
//! | part | meaning for the mechanism | adds up because |
//! |---|---|---|
//! | μ² = 1/σ² | two neighbouring inputs are no easier to distinguish than N(0, 1) from N(μ, 1), and it is μ²/2-zCDP | Gaussians compose to a Gaussian |
//! | ε | pure: no output is more likely by more than a factor e^ε | losses add |
//! | v | on every input it is within v, in total variation, of a mechanism of that μ² | distances add |
//! | d | on every input it is within d of another mechanism, of that μ² against its neighbour | see below |
//!
//! v is for noise that is Gaussian up to a known deviation, such as integer noise. zCDP needs no such
//! charge, and a mechanism that has one must be μ²/2-zCDP without it.
//!
//! d is for keys that are found ([`Discovery::key_delta`](crate::Discovery::key_delta)). For two
//! neighbours, the mechanism M on the first is within d, in total variation, of a mechanism M' that
//! depends on the second too, and M' on the first against M on the second is what the other parts say.
//! So every probability on the first is larger by at most d, without a factor e^ε, and d is added
//! to δ. It adds up: with M' in place of M, whatever follows, all probabilities change by at most d.
//!
//! **Guarantee.** Let mechanisms have the total (μ², E, V, D). Each may be chosen after seeing what
//! the others released, but the costs were known from the start. Together they are (ε, δ)-private
//! if one of these holds:
//!
//! - *by the curve*: δ ≥ δ_μ(ε − E) + (1 + e^ε)V, with δ_μ the curve of the Gaussian
//!   ([`gaussian_delta`]);
//! - *by zCDP*: ρ-zCDP with ρ = μ²/2 + Σ ε_i tanh(ε_i/2) is (ε, δ)-private ([`zcdp_delta`]),
//!
//! with δ − D in place of δ.
//!
//! [`Spend::epsilon`] and [`Spend::delta_at`] return the smaller result. If costs themselves depend
//! on what was released, only a total that was fixed in advance is a guarantee. That is the
//! [`Odometer`](super::Odometer), whose module has the proofs. Without pure parts the curve is
//! exact: Gaussian noise attains it.
//!
//! **Proof that ε-DP is ε tanh(ε/2)-zCDP.** The likelihood ratio r of two neighbours is in [e^{−ε},
//! e^ε] and has mean one. By convexity, E r^α ≤ cosh((α − ½)ε)/cosh(ε/2), the value on the two ends
//! of the interval. With v = (α − ½)², ln cosh(ε√v) is concave in v, since its slope is
//! (ε²/2)·tanh(y)/y at y = ε√v. So it is below its tangent at v = ¼, and ln E r^α ≤ ε tanh(ε/2)·(v
//! − ¼) = α(α − 1)·ε tanh(ε/2). Randomized response attains it as α → 1. For small ε it is the
//! familiar ε²/2 (Bun and Steinke, 2016), and for large ε it is ε.
//!
//! **Rounding.** Every part of a spend and of a sum of spends is rounded up.
//!
//! **Source.** Dong, Roth and Su, "Gaussian Differential Privacy" (2019); Bun and Steinke,
//! "Concentrated Differential Privacy" (2016).

use std::fmt;

use super::calibration::{MAX_EPSILON, MIN_DELTA, check_delta, check_in, plain};
use super::gaussian::SIGMA_RANGE;
use super::sensitivity::round_up;
use super::spend_sum::SpendSum;
use super::zcdp::RHO_RANGE;
use super::{NoiseKind, gaussian_delta, gaussian_epsilon, zcdp_delta, zcdp_epsilon};
use crate::{Error, Result};

/// The cost of one or several mechanisms for one protected unit.
///
/// ```
/// use evertally::privacy::{Budget, Spend};
/// let spend = Budget::new(1.0, 1e-6)?.spend();
/// assert!((spend.epsilon(1e-6)? - 1.0).abs() < 1e-11);
/// // Four of them cost twice the μ, and not four times the ε.
/// let four = Spend::composed([spend; 4]);
/// assert!((four.mu() - 2.0 * spend.mu()).abs() < 1e-15);
/// assert!((four.epsilon(1e-6)? - 2.1229).abs() < 1e-4);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spend {
    pub(super) mu_squared: f64,
    pub(super) pure_epsilon: f64,
    /// Σ ε_i tanh(ε_i/2) of the pure mechanisms. It is not a function of their sum.
    pub(super) pure_rho: f64,
    pub(super) variation: f64,
    /// The part of δ for keys that appear.
    pub(super) key_delta: f64,
}

impl Spend {
    /// No cost.
    pub const NOTHING: Self =
        Self { mu_squared: 0.0, pure_epsilon: 0.0, pure_rho: 0.0, variation: 0.0, key_delta: 0.0 };

    /// The largest μ² of a spend: that of the smallest noise for which the curve is known.
    pub const MAX_MU_SQUARED: f64 = 1.0 / (SIGMA_RANGE.0 * SIGMA_RANGE.0);

    /// A spend of three parts: μ² = 1/σ² for Gaussian noise, ε for pure noise, and the total
    /// variation between the actual noise and such Gaussian noise.
    ///
    /// # Errors
    /// `BadParameter` unless 0 ≤ μ² ≤ 10¹², 0 ≤ ε ≤ 1000 and 0 ≤ variation < 1, and variation = 0
    /// if μ² = 0.
    ///
    /// ```
    /// let spend = evertally::privacy::Spend::new(0.25, 0.1, 0.0)?;
    /// assert_eq!((spend.mu_squared(), spend.pure_epsilon()), (0.25, 0.1));
    /// assert!(evertally::privacy::Spend::new(-1.0, 0.0, 0.0).is_err());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn new(mu_squared: f64, pure_epsilon: f64, variation: f64) -> Result<Self> {
        check_in("mu_squared", mu_squared, 0.0, Self::MAX_MU_SQUARED)?;
        check_in("epsilon", pure_epsilon, 0.0, MAX_EPSILON)?;
        check_in("variation", variation, 0.0, 1.0_f64.next_down())?;
        if variation > 0.0 && mu_squared == 0.0 {
            return Err(Error::bad(
                "variation",
                "zero without Gaussian noise, from which it is the distance",
                six_digits(variation),
            ));
        }
        let pure_rho = rho_of_pure(pure_epsilon);
        Ok(Self { mu_squared, pure_epsilon, pure_rho, variation, key_delta: 0.0 })
    }

    /// Noise of standard deviation σ at sensitivity one.
    pub(crate) fn of_noise(kind: NoiseKind, sigma: f64) -> Self {
        match kind {
            NoiseKind::Gaussian => Self::of_gaussian(sigma),
            NoiseKind::Laplace => Self::of_laplace(sigma),
        }
    }

    /// A part of δ for keys that appear, and nothing else.
    pub(crate) fn of_keys(key_delta: f64) -> Self {
        Self { key_delta, ..Self::NOTHING }
    }

    /// The same with a part of δ for keys that appear although one unit decides whether they can
    /// ([`Discovery::key_delta`](crate::Discovery::key_delta)). It is added to every δ.
    ///
    /// # Errors
    /// `BadParameter` unless 0 ≤ `key_delta` < 1.
    ///
    /// ```
    /// use evertally::privacy::Budget;
    /// let spend = Budget::new(1.0, 1e-6)?.spend().with_key_delta(1e-7)?;
    /// assert!((spend.delta_at(1.0)? / 1.1e-6 - 1.0).abs() < 1e-9);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn with_key_delta(self, key_delta: f64) -> Result<Self> {
        check_in("key_delta", key_delta, 0.0, 1.0_f64.next_down())?;
        Ok(Self { key_delta, ..self })
    }

    /// The same noise, produced by draws that are this far from it in total variation.
    pub(crate) fn with_variation(self, variation: f64) -> Self {
        Self { variation, ..self }
    }

    /// Gaussian noise of standard deviation σ at sensitivity one. μ² = 1/σ² is rounded up past the
    /// two roundings of the formula.
    pub(super) fn of_gaussian(sigma: f64) -> Self {
        Self { mu_squared: (1.0 / (sigma * sigma)).next_up().next_up(), ..Self::NOTHING }
    }

    /// Laplace noise of standard deviation σ at sensitivity one: ε = √2/σ, rounded up. The constant
    /// is above √2.
    pub(super) fn of_laplace(sigma: f64) -> Self {
        let epsilon = (std::f64::consts::SQRT_2 / sigma).next_up();
        Self { pure_epsilon: epsilon, pure_rho: rho_of_pure(epsilon), ..Self::NOTHING }
    }

    /// The cost of several mechanisms together. The order matters only for the last digit.
    #[must_use]
    pub fn composed(spends: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = SpendSum::default();
        spends.into_iter().for_each(|spend| sum.add(&spend));
        sum.total()
    }

    /// μ² of the Gaussian part.
    #[must_use]
    pub fn mu_squared(&self) -> f64 {
        self.mu_squared
    }

    /// μ of the Gaussian part, rounded up: the distance between two neighbours in standard
    /// deviations.
    #[must_use]
    pub fn mu(&self) -> f64 {
        if self.mu_squared == 0.0 { 0.0 } else { self.mu_squared.sqrt().next_up() }
    }

    /// ε of the pure part.
    #[must_use]
    pub fn pure_epsilon(&self) -> f64 {
        self.pure_epsilon
    }

    /// The total variation between the actual noise and Gaussian noise of that μ².
    #[must_use]
    pub fn variation(&self) -> f64 {
        self.variation
    }

    /// The part of δ for keys that appear.
    #[must_use]
    pub fn key_delta(&self) -> f64 {
        self.key_delta
    }

    /// (1 + e^ε)V, rounded up: what the distance from Gaussian noise adds to δ.
    pub(super) fn charge(&self, epsilon: f64) -> f64 {
        if self.variation == 0.0 {
            0.0
        } else {
            round_up(self.variation * (1.0 + epsilon.exp()), 8.0 * f64::EPSILON)
        }
    }

    /// ρ of all parts together as zCDP: μ²/2 + Σ ε_i tanh(ε_i/2), rounded up.
    #[must_use]
    pub fn rho(&self) -> f64 {
        let half = self.mu_squared / 2.0;
        if self.pure_rho == 0.0 { half } else { (half + self.pure_rho).next_up() }
    }

    /// The smallest ε ≥ 0 that is known to be spent at δ, for costs that were fixed in advance. It
    /// is rounded up, and infinite if no ε is known. δ = 0 gives the ε of the pure parts.
    ///
    /// # Errors
    /// `BadParameter` unless δ = 0 or 10⁻³⁰⁰ ≤ δ < 1.
    ///
    /// ```
    /// use evertally::privacy::{Budget, Spend};
    /// let both = Spend::composed([Budget::new(1.0, 1e-6)?.spend(), Budget::pure(0.5)?.spend()]);
    /// assert!((both.epsilon(1e-6)? - 1.5).abs() < 1e-11);
    /// assert_eq!(both.epsilon(0.0)?, f64::INFINITY);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        if delta == 0.0 {
            let is_pure = self.mu_squared == 0.0 && self.key_delta == 0.0;
            return Ok(if is_pure { self.pure_epsilon } else { f64::INFINITY });
        }
        check_delta(delta)?;
        let delta = if self.key_delta == 0.0 { delta } else { (delta - self.key_delta).next_down() };
        if delta < MIN_DELTA {
            return Ok(f64::INFINITY);
        }
        Ok(self.epsilon_by_curve(delta)?.min(self.epsilon_by_zcdp(delta)?))
    }

    /// The smallest δ that is known to be spent at ε, for costs that were fixed in advance. It is
    /// rounded up.
    ///
    /// # Errors
    /// `BadParameter` unless 0 ≤ ε ≤ 10¹².
    ///
    /// ```
    /// use evertally::privacy::Budget;
    /// assert!((Budget::new(1.0, 1e-6)?.spend().delta_at(1.0)? / 1e-6 - 1.0).abs() < 1e-9);
    /// assert_eq!(Budget::pure(1.0)?.spend().delta_at(1.0)?, 0.0);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn delta_at(&self, epsilon: f64) -> Result<f64> {
        check_in("epsilon", epsilon, 0.0, 1e12)?;
        let delta = self.delta_by_curve(epsilon)?.min(self.delta_by_zcdp(epsilon)?);
        Ok(if self.key_delta == 0.0 { delta } else { (delta + self.key_delta).next_up().min(1.0) })
    }

    pub(super) fn epsilon_by_curve(&self, delta: f64) -> Result<f64> {
        if self.mu_squared == 0.0 {
            return Ok(self.pure_epsilon);
        }
        // The charge is taken at an ε that is large enough. The result is smaller, and its charge
        // would be smaller too.
        let left = match self.variation {
            0.0 => delta,
            _ => (delta - self.charge(self.epsilon_by_zcdp(delta)?)).next_down(),
        };
        match self.sigma() {
            Some(sigma) if left >= MIN_DELTA => {
                let gaussian = gaussian_epsilon(sigma, left)?;
                Ok(if self.pure_epsilon == 0.0 { gaussian } else { (gaussian + self.pure_epsilon).next_up() })
            }
            _ => Ok(f64::INFINITY),
        }
    }

    pub(super) fn epsilon_by_zcdp(&self, delta: f64) -> Result<f64> {
        match self.rho() {
            0.0 => Ok(0.0),
            rho if rho > RHO_RANGE.1 => Ok(f64::INFINITY),
            rho => zcdp_epsilon(rho.max(RHO_RANGE.0), delta),
        }
    }

    pub(super) fn delta_by_curve(&self, epsilon: f64) -> Result<f64> {
        if epsilon < self.pure_epsilon {
            return Ok(1.0);
        }
        if self.mu_squared == 0.0 {
            return Ok(0.0);
        }
        let Some(sigma) = self.sigma() else { return Ok(1.0) };
        let left = if self.pure_epsilon == 0.0 {
            epsilon
        } else {
            (epsilon - self.pure_epsilon).next_down().max(0.0)
        };
        let gaussian = gaussian_delta(sigma, left)?;
        let charge = self.charge(epsilon);
        Ok(if charge == 0.0 { gaussian } else { (gaussian + charge).next_up().min(1.0) })
    }

    pub(super) fn delta_by_zcdp(&self, epsilon: f64) -> Result<f64> {
        match self.rho() {
            0.0 => Ok(0.0),
            rho if rho > RHO_RANGE.1 => Ok(1.0),
            rho => zcdp_delta(rho.max(RHO_RANGE.0), epsilon),
        }
    }

    /// Only the Gaussian noise.
    pub(super) fn gaussian_part(&self) -> Self {
        Self { mu_squared: self.mu_squared, ..Self::NOTHING }
    }

    /// 1/μ, rounded down and into the range in which the curve is known, or `None` if the noise is
    /// too small for it.
    fn sigma(&self) -> Option<f64> {
        let sigma = (1.0 / self.mu()).next_down().min(SIGMA_RANGE.1);
        (sigma >= SIGMA_RANGE.0).then_some(sigma)
    }
}

impl fmt::Display for Spend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gaussian = (self.mu_squared > 0.0).then(|| format!("ρ = {}", six_digits(self.mu_squared / 2.0)));
        let pure = (self.pure_epsilon > 0.0).then(|| format!("pure ε = {}", six_digits(self.pure_epsilon)));
        // Integer noise is within 10⁻²⁰ of Gaussian noise, which is not worth printing.
        let beside =
            (self.variation > 1e-15).then(|| format!("a distance of {}", six_digits(self.variation)));
        let of_keys = (self.key_delta > 0.0)
            .then(|| format!("δ = {} for groups that appear", six_digits(self.key_delta)));
        let parts: Vec<String> = [gaussian, pure, beside, of_keys].into_iter().flatten().collect();
        f.pad(&if parts.is_empty() { "nothing".to_owned() } else { parts.join(" and ") })
    }
}

/// The zCDP of an ε-DP mechanism, ε tanh(ε/2), rounded up past the five roundings of the formula.
pub(super) fn rho_of_pure(epsilon: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let tanh = -(-epsilon).exp_m1() / (1.0 + (-epsilon).exp());
    round_up(epsilon * tanh, 16.0 * f64::EPSILON)
}

/// A number with six digits, as a person would write it.
pub(super) fn six_digits(value: f64) -> String {
    let digits = format!("{value:.5e}").parse();
    plain(digits.unwrap_or(value))
}

#[cfg(test)]
mod tests;
