//! A budget in the words in which it is given.
//!
//! **Definition.** A person states a budget as ε with δ, where δ = 0 asks for pure ε; as ρ of zCDP;
//! or as the noise multiplier σ. [`BudgetSpec::budget`] is the one rule that turns these into a
//! [`Budget`]. Every interface calls it, so that the same words mean the same noise everywhere.

use std::fmt;
use std::str::FromStr;

use super::budget::Guarantee;
use super::calibration::plain;
use super::{Budget, Calibration};
use crate::{Error, Result};

/// A budget as it is given: ε with δ, or ρ, or σ.
///
/// ```
/// use evertally::{Budget, BudgetSpec};
/// let given: BudgetSpec = "epsilon=1,delta=1e-6".parse()?;
/// assert_eq!(given.budget()?, Budget::new(1.0, 1e-6)?);
/// assert_eq!(BudgetSpec { rho: Some(0.5), ..BudgetSpec::default() }.budget()?, Budget::zcdp(0.5)?);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetSpec {
    /// ε, together with δ.
    pub epsilon: Option<f64>,
    /// δ, together with ε; zero asks for pure ε.
    pub delta: Option<f64>,
    /// How (ε, δ) sets the noise. By default, exactly.
    pub calibration: Option<Calibration>,
    /// ρ of zCDP.
    pub rho: Option<f64>,
    /// The noise multiplier σ.
    pub sigma: Option<f64>,
}

impl BudgetSpec {
    /// The budget that was given.
    ///
    /// # Errors
    /// `BadParameter` if nothing was given, more than one budget, ε or δ alone, a calibration for a
    /// budget that has no choice of one, or a number outside its range.
    pub fn budget(&self) -> Result<Budget> {
        let budget = match (self.epsilon, self.delta, self.rho, self.sigma) {
            (None, None, None, None) => return Err(Error::bad("budget", "given", "nothing")),
            (Some(epsilon), Some(0.0), None, None) => Budget::pure(epsilon)?,
            (Some(epsilon), Some(delta), None, None) => Budget::new(epsilon, delta)?,
            (Some(_), None, None, None) => return Err(Error::bad("delta", "given with epsilon", "nothing")),
            (None, Some(_), None, None) => return Err(Error::bad("epsilon", "given with delta", "nothing")),
            (None, None, Some(rho), None) => Budget::zcdp(rho)?,
            (None, None, None, Some(sigma)) => Budget::of_noise_multiplier(sigma)?,
            _ => {
                let expected = "only one of epsilon with delta, rho and sigma";
                return Err(Error::bad("budget", expected, "several"));
            }
        };
        self.calibration.map_or(Ok(budget), |calibration| budget.with_calibration(calibration))
    }
}

/// With the calibration filled in.
impl From<Budget> for BudgetSpec {
    fn from(budget: Budget) -> Self {
        let nothing = Self::default();
        match budget.guarantee() {
            Guarantee::Approximate { epsilon, delta, calibration, .. } => {
                Self { epsilon: Some(epsilon), delta: Some(delta), calibration: Some(calibration), ..nothing }
            }
            Guarantee::Concentrated { rho } => Self { rho: Some(rho), ..nothing },
            Guarantee::Pure { epsilon } => Self { epsilon: Some(epsilon), delta: Some(0.0), ..nothing },
        }
    }
}

/// What was given, as in `epsilon=1,delta=1e-6,calibration=zcdp`, `rho=0.5` or `sigma=4`.
impl fmt::Display for BudgetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.epsilon.map(|epsilon| format!("epsilon={}", plain(epsilon))),
            self.delta.map(|delta| format!("delta={}", plain(delta))),
            self.calibration.map(|calibration| format!("calibration={calibration}")),
            self.rho.map(|rho| format!("rho={}", plain(rho))),
            self.sigma.map(|sigma| format!("sigma={}", plain(sigma))),
        ];
        f.pad(&parts.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl FromStr for BudgetSpec {
    type Err = Error;

    /// Reads what `Display` writes, in any order. What it means is for [`BudgetSpec::budget`] to say.
    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            let expected = "epsilon=E,delta=D, with calibration=NAME if wanted, or rho=R or sigma=S";
            Error::bad("budget", expected, format!("{text:?}"))
        };
        let mut spec = Self::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(refuse)?;
            let number = match name {
                "epsilon" => &mut spec.epsilon,
                "delta" => &mut spec.delta,
                "rho" => &mut spec.rho,
                "sigma" => &mut spec.sigma,
                "calibration" if spec.calibration.is_none() => {
                    spec.calibration = Some(value.parse()?);
                    continue;
                }
                _ => return Err(refuse()),
            };
            let given = value.parse().map_err(|_| refuse())?;
            if number.replace(given).is_some() {
                return Err(refuse());
            }
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn given(text: &str) -> Result<Budget> {
        text.parse::<BudgetSpec>()?.budget()
    }

    #[test]
    fn each_way_of_giving_a_budget_is_its_constructor() {
        assert_eq!(given("epsilon=0.5,delta=1e-6"), Budget::new(0.5, 1e-6));
        let zcdp = Budget::new(0.5, 1e-6).unwrap().with_calibration(Calibration::Zcdp);
        assert_eq!(given("calibration=zcdp,delta=1e-6,epsilon=0.5"), zcdp);
        assert_eq!(given("epsilon=2,delta=0"), Budget::pure(2.0));
        assert_eq!(given("rho=0.125"), Budget::zcdp(0.125));
        assert_eq!(given("sigma=4"), Budget::of_noise_multiplier(4.0));
    }

    #[test]
    fn every_other_text_is_refused_with_one_reason() {
        for (text, reason) in [
            ("", "budget must be epsilon=E,delta=D"),
            ("epsilon", "budget must be epsilon=E,delta=D"),
            ("epsilon=1,epsilon=1,delta=0", "budget must be epsilon=E,delta=D"),
            ("epsilon=one,delta=0", "budget must be epsilon=E,delta=D"),
            ("epsilon=1", "delta must be given with epsilon"),
            ("delta=1e-6", "epsilon must be given with delta"),
            ("epsilon=1,delta=1e-6,rho=1", "only one of epsilon with delta, rho and sigma"),
            ("rho=1,sigma=1", "only one of"),
            ("epsilon=1,delta=0,calibration=exact", "calibration must be left unset"),
            ("sigma=1,calibration=zcdp", "calibration must be left unset"),
            ("calibration=zcdp", "budget must be given"),
            ("epsilon=1,delta=1e-6,calibration=best", "calibration must be exact, zcdp or paper"),
            ("epsilon=0,delta=1e-6", "epsilon must be a number from 1e-6 to 1000"),
        ] {
            let error = given(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert_eq!(
            BudgetSpec::default().budget().unwrap_err().to_string(),
            "budget must be given, got nothing"
        );
    }

    proptest! {
        #[test]
        fn words_and_budgets_are_read_back(
            epsilon in 1e-6..1000.0, delta in 1e-300..0.5, rho in 1e-18..1e6, kind in 0..4,
        ) {
            let budget = match kind {
                0 => Budget::new(epsilon, delta).unwrap(),
                1 => Budget::new(epsilon, delta).unwrap().with_calibration(Calibration::Zcdp).unwrap(),
                2 => Budget::zcdp(rho).unwrap(),
                _ => Budget::pure(epsilon).unwrap(),
            };
            let spec = BudgetSpec::from(budget);
            prop_assert_eq!(spec.to_string().parse::<BudgetSpec>().unwrap(), spec);
            prop_assert_eq!(spec.budget().unwrap(), budget);
        }
    }
}
