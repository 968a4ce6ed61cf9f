//! The privacy budget of a release, and the noise that it calls for.
//!
//! **Definition.** A budget is one of: (ε, δ)-differential privacy, reached with Gaussian noise by
//! one of three [`Calibration`]s; ρ-zCDP, reached with Gaussian noise; pure ε-differential privacy,
//! reached with Laplace noise. A noise multiplier σ is the zCDP budget that it spends.
//!
//! **Guarantee.** [`Budget::noise_multiplier`] is at least the standard deviation that the budget
//! calls for at sensitivity 1, and within a relative 10⁻¹² of it. It is computed once, when the
//! budget is made.

use std::fmt;

use super::calibration::{MAX_EPSILON, MIN_EPSILON, check_delta, check_in, plain};
use super::sensitivity::round_up;
use super::zcdp::{check_rho, sigma_of_rho};
use super::{Calibration, Spend, gaussian_sigma, paper_sigma, zcdp_rho};
use crate::{Error, Result};

/// The distribution of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoiseKind {
    /// Normal noise, scaled to the ℓ2 sensitivity.
    Gaussian,
    /// Laplace noise, scaled to the ℓ1 sensitivity.
    Laplace,
}

impl fmt::Display for NoiseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gaussian => "Gaussian",
            Self::Laplace => "Laplace",
        })
    }
}

/// The noise multipliers whose ρ is in range, rounded inwards.
const SIGMA_RANGE: (f64, f64) = (7.1e-4, 7e8);

/// How much a release may reveal about one contribution.
///
/// ```
/// use evertally::privacy::{Budget, Calibration};
///
/// let budget = Budget::new(0.5, 1e-6)?;
/// assert_eq!(budget.to_string(), "(ε = 0.5, δ = 1e-6)-DP, exact Gaussian calibration");
/// let paper = budget.with_calibration(Calibration::Paper)?;
/// assert!(budget.noise_multiplier() < 0.6 * paper.noise_multiplier());
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    guarantee: Guarantee,
    noise_multiplier: f64,
}

/// What a budget promises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Guarantee {
    /// (ε, δ), with the ρ of the calibration if it went through zCDP.
    Approximate {
        epsilon: f64,
        delta: f64,
        calibration: Calibration,
        rho: Option<f64>,
    },
    Concentrated {
        rho: f64,
    },
    Pure {
        epsilon: f64,
    },
}

impl Budget {
    pub(crate) fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// (ε, δ)-differential privacy by Gaussian noise, with the smallest noise that is private.
    ///
    /// # Errors
    /// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000 and 10⁻³⁰⁰ ≤ δ < 1.
    ///
    /// ```
    /// let budget = evertally::privacy::Budget::new(1.0, 1e-6)?;
    /// assert!((budget.noise_multiplier() - 4.2247).abs() < 1e-4);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn new(epsilon: f64, delta: f64) -> Result<Self> {
        Self::approximate(epsilon, delta, Calibration::Exact)
    }

    /// The same (ε, δ), reached by another calibration.
    ///
    /// # Errors
    /// `BadParameter` for [`Calibration::Paper`] unless ε < 1, and for a budget that is not (ε, δ),
    /// whose noise is fixed by its definition.
    ///
    /// ```
    /// use evertally::privacy::{Budget, Calibration};
    /// let budget = Budget::new(1.0, 1e-6)?.with_calibration(Calibration::Zcdp)?;
    /// assert!((budget.noise_multiplier() - 4.5309).abs() < 1e-4);
    /// assert!(Budget::pure(1.0)?.with_calibration(Calibration::Zcdp).is_err());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn with_calibration(self, calibration: Calibration) -> Result<Self> {
        match self.guarantee {
            Guarantee::Approximate { epsilon, delta, .. } => Self::approximate(epsilon, delta, calibration),
            Guarantee::Concentrated { .. } | Guarantee::Pure { .. } => {
                let expected =
                    format!("left unset for {self}: only epsilon with a delta above 0 has a choice");
                Err(Error::bad("calibration", expected, calibration))
            }
        }
    }

    fn approximate(epsilon: f64, delta: f64, calibration: Calibration) -> Result<Self> {
        check_in("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)?;
        check_delta(delta)?;
        let (rho, noise_multiplier) = match calibration {
            Calibration::Exact => (None, gaussian_sigma(epsilon, delta)?),
            Calibration::Paper => (None, paper_sigma(epsilon, delta)?),
            Calibration::Zcdp => {
                let rho = zcdp_rho(epsilon, delta)?;
                (Some(rho), sigma_of_rho(rho))
            }
        };
        Ok(Self { guarantee: Guarantee::Approximate { epsilon, delta, calibration, rho }, noise_multiplier })
    }

    /// ρ-zero-concentrated differential privacy by Gaussian noise: σ = 1/√(2ρ).
    ///
    /// # Errors
    /// `BadParameter` unless 10⁻¹⁸ ≤ ρ ≤ 10⁶.
    ///
    /// ```
    /// let budget = evertally::privacy::Budget::zcdp(0.5)?;
    /// assert!((budget.noise_multiplier() - 1.0).abs() < 1e-14);
    /// assert_eq!(budget.to_string(), "(ρ = 0.5)-zCDP");
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn zcdp(rho: f64) -> Result<Self> {
        check_rho(rho)?;
        Ok(Self { guarantee: Guarantee::Concentrated { rho }, noise_multiplier: sigma_of_rho(rho) })
    }

    /// The budget that Gaussian noise with multiplier σ spends: (1/2σ²)-zCDP, neither more nor less.
    /// Its noise multiplier is σ, rounded up.
    ///
    /// # Errors
    /// `BadParameter` unless 7.1·10⁻⁴ ≤ σ ≤ 7·10⁸.
    ///
    /// ```
    /// let budget = evertally::privacy::Budget::of_noise_multiplier(2.0)?;
    /// assert_eq!(budget.rho(), Some(0.125));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn of_noise_multiplier(sigma: f64) -> Result<Self> {
        check_in("sigma", sigma, SIGMA_RANGE.0, SIGMA_RANGE.1)?;
        // The conversion back to σ is rounded up by more than the formula can round ρ up.
        Self::zcdp(0.5 / (sigma * sigma))
    }

    /// Pure ε-differential privacy by Laplace noise, of scale 1/ε and standard deviation √2/ε.
    ///
    /// # Errors
    /// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000.
    ///
    /// ```
    /// let budget = evertally::privacy::Budget::pure(2.0)?;
    /// assert!((budget.noise_multiplier() - 0.5_f64.sqrt()).abs() < 1e-14);
    /// assert_eq!(budget.delta(), Some(0.0));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn pure(epsilon: f64) -> Result<Self> {
        check_in("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)?;
        // The margin also covers the division by √2 with which a sampler goes back to the scale.
        let noise_multiplier = round_up(std::f64::consts::SQRT_2 / epsilon, 8.0 * f64::EPSILON);
        Ok(Self { guarantee: Guarantee::Pure { epsilon }, noise_multiplier })
    }

    /// σ: the standard deviation of the noise for sensitivity 1, in ℓ2 for Gaussian and in ℓ1 for
    /// Laplace noise; rounded up.
    #[must_use]
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// σ for whole draws that are this far, in total variation, from rounded Gaussian ones; rounded up.
    ///
    /// Rounded Gaussian noise meets the exact curve, and whole noise meets it with δ enlarged by
    /// (1 + e^ε) times the distance. σ is therefore computed for δ less that charge. If the charge
    /// leaves too little of δ, σ is computed through zCDP, which discrete Gaussian noise meets as
    /// it is.
    pub(crate) fn integer_noise_multiplier(&self, total_variation: f64) -> Result<f64> {
        let Guarantee::Approximate { epsilon, delta, calibration, rho: None } = self.guarantee else {
            return Ok(self.noise_multiplier);
        };
        let charge = round_up(total_variation * (1.0 + epsilon.exp()), 1e-12);
        if charge > delta / 1024.0 {
            return Ok(sigma_of_rho(zcdp_rho(epsilon, delta)?).max(self.noise_multiplier));
        }
        let delta = (delta - charge).next_down();
        if let Calibration::Paper = calibration {
            paper_sigma(epsilon, delta)
        } else {
            gaussian_sigma(epsilon, delta)
        }
    }

    /// What one mechanism with this budget costs, computed from its noise multiplier.
    ///
    /// ```
    /// let spend = evertally::privacy::Budget::zcdp(0.125)?.spend();
    /// assert!((spend.mu() - 0.5).abs() < 1e-14);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn spend(&self) -> Spend {
        Spend::of_noise(self.noise(), self.noise_multiplier)
    }

    /// The distribution of the noise.
    #[must_use]
    pub fn noise(&self) -> NoiseKind {
        match self.guarantee {
            Guarantee::Approximate { .. } | Guarantee::Concentrated { .. } => NoiseKind::Gaussian,
            Guarantee::Pure { .. } => NoiseKind::Laplace,
        }
    }

    /// How (ε, δ) was turned into noise; `None` for budgets that leave no choice.
    #[must_use]
    pub fn calibration(&self) -> Option<Calibration> {
        match self.guarantee {
            Guarantee::Approximate { calibration, .. } => Some(calibration),
            Guarantee::Concentrated { .. } | Guarantee::Pure { .. } => None,
        }
    }

    /// ε; `None` for a zCDP budget, which has one for each δ ([`zcdp_epsilon`](super::zcdp_epsilon)).
    #[must_use]
    pub fn epsilon(&self) -> Option<f64> {
        match self.guarantee {
            Guarantee::Approximate { epsilon, .. } | Guarantee::Pure { epsilon } => Some(epsilon),
            Guarantee::Concentrated { .. } => None,
        }
    }

    /// δ; zero for a pure budget, `None` for a zCDP budget.
    #[must_use]
    pub fn delta(&self) -> Option<f64> {
        match self.guarantee {
            Guarantee::Approximate { delta, .. } => Some(delta),
            Guarantee::Pure { .. } => Some(0.0),
            Guarantee::Concentrated { .. } => None,
        }
    }

    /// ρ of a zCDP budget, or of an (ε, δ) budget that was calibrated through zCDP; else `None`.
    #[must_use]
    pub fn rho(&self) -> Option<f64> {
        match self.guarantee {
            Guarantee::Approximate { rho, .. } => rho,
            Guarantee::Concentrated { rho } => Some(rho),
            Guarantee::Pure { .. } => None,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.guarantee {
            Guarantee::Approximate { epsilon, delta, calibration, .. } => {
                let how = match calibration {
                    Calibration::Exact => "exact Gaussian calibration",
                    Calibration::Zcdp => "Gaussian calibration by zCDP",
                    Calibration::Paper => "Gaussian calibration by the paper's closed form",
                };
                write!(f, "(ε = {}, δ = {})-DP, {how}", plain(epsilon), plain(delta))
            }
            Guarantee::Concentrated { rho } => write!(f, "(ρ = {})-zCDP", plain(rho)),
            Guarantee::Pure { epsilon } => write!(f, "(ε = {})-DP, pure", plain(epsilon)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0];

    #[test]
    fn every_bad_number_is_refused() {
        for bad in BAD.into_iter().chain([0.0, 9e-7, 1000.1]) {
            assert!(
                matches!(Budget::new(bad, 1e-6), Err(Error::BadParameter { name: "epsilon", .. })),
                "{bad}"
            );
            assert!(matches!(Budget::pure(bad), Err(Error::BadParameter { name: "epsilon", .. })), "{bad}");
        }
        for bad in BAD.into_iter().chain([0.0, 9e-301, 1.0, 2.0]) {
            assert!(matches!(Budget::new(1.0, bad), Err(Error::BadParameter { name: "delta", .. })), "{bad}");
        }
        for bad in BAD.into_iter().chain([0.0, 9e-19, 1e7]) {
            assert!(matches!(Budget::zcdp(bad), Err(Error::BadParameter { name: "rho", .. })), "{bad}");
        }
    }

    #[test]
    fn a_noise_multiplier_is_kept_to_the_last_digits_and_never_lowered() {
        let some = [7.1e-4, 1e-3, 0.1, 1.0 / 3.0, 0.5, 1.0, 1.1, 4.224_679, 1e4, 1e8, 7e8];
        let more = (0..10_000).map(|i| libm::exp(f64::from(i) * 2.7e-3 - 7.0) * 1.000_1);
        for sigma in some.into_iter().chain(more) {
            let budget = Budget::of_noise_multiplier(sigma).unwrap();
            let ratio = budget.noise_multiplier() / sigma;
            assert!(budget.noise_multiplier() >= sigma && ratio < 1.0 + 1e-12, "{sigma}: {ratio:e}");
        }
        for bad in BAD.into_iter().chain([0.0, 7e-4, 1e9]) {
            let error = Budget::of_noise_multiplier(bad).unwrap_err().to_string();
            assert!(error.starts_with("sigma must be a number from 7.1e-4 to 7e8, got"), "{error}");
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = Budget::new(1.0, 0.0).unwrap_err().to_string();
        assert!(error.contains("use Budget::pure"), "{error}");
        let error = Budget::new(0.0, 1e-6).unwrap_err().to_string();
        assert_eq!(error, "epsilon must be a number from 1e-6 to 1000, got 0");
        let error =
            Budget::new(2.0, 1e-6).unwrap().with_calibration(Calibration::Paper).unwrap_err().to_string();
        assert_eq!(error, "epsilon must be at least 1e-6 and below 1 for the paper's calibration, got 2");
        let error = Budget::zcdp(0.5).unwrap().with_calibration(Calibration::Exact).unwrap_err().to_string();
        assert!(error.contains("left unset for (ρ = 0.5)-zCDP"), "{error}");
    }

    #[test]
    fn paper_is_accepted_below_one_only() {
        let paper = |epsilon| Budget::new(epsilon, 1e-6).unwrap().with_calibration(Calibration::Paper);
        assert!(paper(1.0).is_err());
        assert!(paper(1.0_f64.next_down()).is_ok());
    }

    #[test]
    fn accessors_report_what_was_given() {
        let exact = Budget::new(1.0, 1e-6).unwrap();
        assert_eq!((exact.epsilon(), exact.delta(), exact.rho()), (Some(1.0), Some(1e-6), None));
        assert_eq!((exact.noise(), exact.calibration()), (NoiseKind::Gaussian, Some(Calibration::Exact)));
        let zcdp = exact.with_calibration(Calibration::Zcdp).unwrap();
        let rho = zcdp.rho().unwrap();
        // The noise is enough for the ρ that is reported.
        assert!(2.0 * rho * zcdp.noise_multiplier().powi(2) >= 1.0);
        assert_eq!(zcdp.with_calibration(Calibration::Exact).unwrap(), exact);
        let direct = Budget::zcdp(rho).unwrap();
        assert_eq!(direct.noise_multiplier(), zcdp.noise_multiplier());
        assert_eq!((direct.epsilon(), direct.delta(), direct.rho()), (None, None, Some(rho)));
        let pure = Budget::pure(0.1).unwrap();
        assert_eq!((pure.epsilon(), pure.delta(), pure.rho()), (Some(0.1), Some(0.0), None));
        assert_eq!(pure.noise(), NoiseKind::Laplace);
        // The scale that a sampler derives is enough, too.
        assert!(pure.noise_multiplier() / std::f64::consts::SQRT_2 >= 10.0);
        assert_eq!(pure.to_string(), "(ε = 0.1)-DP, pure");
    }
}
