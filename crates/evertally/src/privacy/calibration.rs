//! The noise for a budget: the choice of calibration, and the closed form of the literature.
//!
//! There are three ways from (ε, δ) to the Gaussian noise multiplier σ:
//!
//! | name | definition | use |
//! |---|---|---|
//! | `exact` | the smallest σ that is private, [`gaussian_sigma`](super::gaussian_sigma) | the default |
//! | `zcdp` | through ρ-zCDP by its tight conversion, [`zcdp_sigma`](super::zcdp_sigma) | composition with other zCDP releases |
//! | `paper` | the closed form C(ε, δ), [`paper_sigma`] | comparison with published figures |
//!
//! At ε = 0.9, δ = 10⁻⁶ they give 4.66, 5.00 and 8.32. The noise of the closed form has three times
//! the variance.

use std::fmt;
use std::str::FromStr;

use super::sensitivity::round_up;
use crate::{Error, Result};

/// The smallest accepted ε.
pub(super) const MIN_EPSILON: f64 = 1e-6;
/// The largest accepted ε.
pub(super) const MAX_EPSILON: f64 = 1000.0;
/// The smallest accepted δ.
pub(super) const MIN_DELTA: f64 = 1e-300;

/// How (ε, δ) is turned into Gaussian noise.
///
/// ```
/// use evertally::privacy::Calibration;
/// assert_eq!("zcdp".parse::<Calibration>()?, Calibration::Zcdp);
/// assert_eq!(Calibration::default().to_string(), "exact");
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Calibration {
    /// The smallest noise that is (ε, δ)-private.
    #[default]
    Exact,
    /// The smallest noise that is (ε, δ)-private by the tight conversion from zCDP.
    Zcdp,
    /// The closed form C(ε, δ) of the continual-counting literature, proven for 0 < ε, δ < 1.
    Paper,
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Zcdp => "zcdp",
            Self::Paper => "paper",
        })
    }
}

impl FromStr for Calibration {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "exact" => Ok(Self::Exact),
            "zcdp" => Ok(Self::Zcdp),
            "paper" => Ok(Self::Paper),
            other => Err(Error::bad("calibration", "exact, zcdp or paper", format!("{other:?}"))),
        }
    }
}

/// The closed form C(ε, δ) = (2/ε) √(4/9 + ln(√(2/π)/δ)), rounded up.
///
/// Henzinger, Upadhyay and Upadhyay, "Almost Tight Error Bounds on Differentially Private Continual
/// Counting" (2023). It is 1.6 to 2.2 times the exact multiplier at the usual budgets.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ ε < 1 and 10⁻³⁰⁰ ≤ δ < 1, where the closed form is proven.
///
/// ```
/// let sigma = evertally::privacy::paper_sigma(0.5, 1e-6)?;
/// assert!((sigma - 14.984_8).abs() < 1e-3);
/// assert!(evertally::privacy::paper_sigma(2.0, 1e-6).is_err());
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_sigma(epsilon: f64, delta: f64) -> Result<f64> {
    if !(MIN_EPSILON..1.0).contains(&epsilon) {
        let expected = format!("at least {MIN_EPSILON:e} and below 1 for the paper's calibration");
        return Err(Error::bad("epsilon", expected, epsilon));
    }
    check_delta(delta)?;
    Ok(closed_form(epsilon, delta))
}

/// The formula itself. The sum under the root is at least 4/9 + ln √(2/π) > 0.21 and its terms are
/// at most 691, so sixteen units of rounding cover it.
fn closed_form(epsilon: f64, delta: f64) -> f64 {
    let inside = 4.0 / 9.0 + std::f64::consts::FRAC_2_PI.sqrt().ln() - delta.ln();
    round_up(2.0 / epsilon * inside.sqrt(), 16.0 * f64::EPSILON)
}

/// Refuses a value outside `low..=high`, including NaN and infinities.
pub(super) fn check_in(name: &'static str, value: f64, low: f64, high: f64) -> Result<()> {
    if value >= low && value <= high {
        Ok(())
    } else {
        Err(Error::bad(name, format!("a number from {} to {}", plain(low), plain(high)), value))
    }
}

/// Refuses a δ outside [10⁻³⁰⁰, 1). The message for zero points to pure budgets.
pub(super) fn check_delta(delta: f64) -> Result<()> {
    if (MIN_DELTA..1.0).contains(&delta) {
        return Ok(());
    }
    let mut expected = format!("a number from {} to below 1", plain(MIN_DELTA));
    if delta == 0.0 {
        expected.push_str(" (for pure privacy, delta = 0, use Budget::pure)");
    }
    Err(Error::bad("delta", expected, delta))
}

/// A number as a person would write it: 0.5, 1000, 1e-6.
pub(super) fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) { format!("{value:e}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::gaussian_sigma;

    #[test]
    fn closed_form_has_its_published_value() {
        assert!((closed_form(1.0, 1e-6) - 7.4924).abs() < 5e-5);
    }

    #[test]
    fn closed_form_is_private_wherever_it_is_accepted() {
        for epsilon in [1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999_999] {
            for delta in [1e-300, 1e-100, 1e-20, 1e-6, 1e-2, 0.1, 0.5, 0.9, 0.999_999] {
                assert!(paper_sigma(epsilon, delta).unwrap() > gaussian_sigma(epsilon, delta).unwrap());
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for calibration in [Calibration::Exact, Calibration::Zcdp, Calibration::Paper] {
            assert_eq!(calibration.to_string().parse::<Calibration>().unwrap(), calibration);
        }
        let error = "best".parse::<Calibration>().unwrap_err().to_string();
        assert_eq!(error, "calibration must be exact, zcdp or paper, got \"best\"");
    }

    #[test]
    fn numbers_are_written_plainly() {
        assert_eq!(plain(1.0), "1");
        assert_eq!(plain(0.0), "0");
        assert_eq!(plain(1e-6), "1e-6");
        assert_eq!(plain(0.25), "0.25");
        assert_eq!(plain(1e12), "1e12");
    }
}
