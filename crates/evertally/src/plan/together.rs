//! Plans that are released together and keep one budget.
//!
//! **Definition.** Each plan has a share of the budget, of which all together are one. With the noise
//! multiplier σ of the whole budget, a plan of share w runs with σ/√w.
//!
//! **Guarantee.** Adaptive Gaussian mechanisms compose to one with μ² = Σ w/σ² = 1/σ² ([`Spend`]). What
//! integer draws cost is added: if the plans together would exceed δ, σ is raised until they do not.

use super::Plan;
use crate::privacy::{Budget, BudgetSpec, NoiseKind, Spend, round_up};
use crate::spec::PlanSpec;
use crate::{Error, Result};

/// By which powers of two σ is raised, one after another. By the curve, the integers of the noise cost less
/// than a millionth. At a large ε they cost more than δ whatever σ, because the distance of their draws from
/// Gaussian ones is multiplied by e^ε. By zCDP they cost nothing, and σ is a few percent larger.
const RAISES: [std::ops::RangeInclusive<i32>; 2] = [-46..=-24, -10..=-2];

/// By how much σ is raised, relatively, until several plans keep a budget: at first not at all.
pub(crate) fn raises() -> impl Iterator<Item = f64> {
    let powers = RAISES.into_iter().flatten();
    std::iter::once(0.0).chain(powers.map(|power| libm::exp2(f64::from(power))))
}

impl Plan {
    /// Makes plans that together keep a budget with δ above zero. Each spec comes with its share, in any
    /// unit; its own budget is replaced.
    ///
    /// ```
    /// use evertally::{Budget, BudgetSpec, Plan, PlanSpec, Spend};
    /// let budget = BudgetSpec::from(Budget::new(1.0, 1e-6)?);
    /// let spec = |stream: &str| PlanSpec { stream: stream.into(), ..PlanSpec::new(100, budget) };
    /// let plans = Plan::together(budget, &[(spec("visits"), 1.0), (spec("sales"), 3.0)])?;
    /// let spent = Spend::composed(plans.iter().map(Plan::spend));
    /// assert!(spent.delta_at(1.0)? <= 1e-6);
    /// // Three times the budget is less noise by the root of three.
    /// assert!((plans[0].noise_multiplier() / plans[1].noise_multiplier() - 3.0_f64.sqrt()).abs() < 1e-9);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] for pure ε, and for shares that are not positive numbers. The errors of
    /// [`PlanSpec::build`].
    pub fn together(budget: BudgetSpec, parts: &[(PlanSpec, f64)]) -> Result<Vec<Self>> {
        let (epsilon, delta) = match (budget.epsilon, budget.delta) {
            (Some(epsilon), Some(delta)) if delta > 0.0 => (epsilon, delta),
            _ => return Err(Error::bad("budget", "ε with a δ above zero, for plans together", budget)),
        };
        let whole = budget.budget()?;
        if whole.noise() != NoiseKind::Gaussian {
            return Err(Error::bad("budget", "one of Gaussian noise, for plans together", budget));
        }
        let all: f64 = parts.iter().map(|(_, share)| share).sum();
        if let Some((_, share)) = parts.iter().find(|(_, share)| !(*share > 0.0 && (share / all) > 0.0)) {
            return Err(Error::bad("share", "a positive number", share));
        }
        for raise in raises() {
            let sigma = whole.noise_multiplier() * (1.0 + raise);
            let build = |(spec, share): &(PlanSpec, f64)| {
                // A few roundings, each of half a unit in the last place.
                let own = round_up(sigma * (all / share).sqrt(), 8.0 * f64::EPSILON);
                PlanSpec { budget: Budget::of_noise_multiplier(own)?.into(), ..spec.clone() }.build()
            };
            let plans = parts.iter().map(build).collect::<Result<Vec<_>>>()?;
            if Spend::composed(plans.iter().map(Self::spend)).delta_at(epsilon)? <= delta {
                return Ok(plans);
            }
        }
        Err(Error::bad(
            "epsilon",
            "small enough that the noise of several counts can be fitted to it",
            epsilon,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(shares: &[f64]) -> Vec<(PlanSpec, f64)> {
        let spec = |place: usize| PlanSpec {
            stream: place.to_string(),
            ..PlanSpec::new(50, Budget::new(1.0, 1e-6).unwrap())
        };
        shares.iter().enumerate().map(|(place, share)| (spec(place), *share)).collect()
    }

    /// Within the budget, and not far within it: a tenth of a percent more of ε would not be kept.
    #[test]
    fn all_of_the_budget_is_used_and_no_more() {
        for (epsilon, delta) in [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-5)] {
            for shares in [&[1.0][..], &[1.0, 1.0], &[1.0, 2.0, 5.0], &[1e-3, 1.0]] {
                let budget = BudgetSpec::from(Budget::new(epsilon, delta).unwrap());
                let plans = Plan::together(budget, &parts(shares)).unwrap();
                let spent = Spend::composed(plans.iter().map(Plan::spend));
                assert!(spent.delta_at(epsilon).unwrap() <= delta, "{epsilon}, {shares:?}");
                assert!(spent.delta_at(0.999 * epsilon).unwrap() > delta, "{epsilon}, {shares:?}");
            }
        }
    }

    /// Integer draws cost e^ε times their distance from Gaussian ones, which at a large ε is more than δ.
    #[test]
    fn large_budgets_are_kept_by_zcdp() {
        for epsilon in [50.0, 300.0] {
            let budget = BudgetSpec::from(Budget::new(epsilon, 1e-6).unwrap());
            for shares in [&[1.0][..], &[1.0, 2.0]] {
                let plans = Plan::together(budget, &parts(shares)).unwrap();
                let spent = Spend::composed(plans.iter().map(Plan::spend));
                assert!(spent.delta_at(epsilon).unwrap() <= 1e-6, "{epsilon}, {shares:?}");
                assert!(spent.delta_at(0.75 * epsilon).unwrap() > 1e-6, "{epsilon}, {shares:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_shared_is_refused() {
        let budget = BudgetSpec::from(Budget::new(1.0, 1e-6).unwrap());
        for shares in [&[0.0][..], &[-1.0, 2.0], &[f64::NAN], &[f64::INFINITY], &[1.0, f64::INFINITY]] {
            assert!(Plan::together(budget, &parts(shares)).is_err(), "{shares:?}");
        }
        let pure = BudgetSpec::from(Budget::pure(1.0).unwrap());
        assert!(Plan::together(pure, &parts(&[1.0])).is_err());
    }
}
