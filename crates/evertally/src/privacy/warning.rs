//! What to say about a budget that promises little.
//!
//! **Definition.** A budget is questionable if ε is above 10, if δ is above 10⁻³, or if δ is above
//! one divided by a public number of protected units. None of these is an error: the mathematics
//! holds, but the promise is worth little.
//!
//! **Guarantee.** A warning depends on the budget and on a public number alone, so it reveals nothing
//! about data. The number of rows in a private file is private: do not pass it.

use std::fmt;

use super::Budget;
use super::calibration::plain;

/// Above this ε, hardly anything is promised.
const LARGE_EPSILON: f64 = 10.0;

/// Above this δ, the promise fails too often for any population.
const LARGE_DELTA: f64 = 1e-3;

/// The δ at which a budget without one is judged.
const USUAL_DELTA: f64 = 1e-6;

/// Why a budget promises little. `Display` explains it in one or two sentences.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BudgetWarning {
    /// ε is large. For ρ and σ, it is the ε at δ = 10⁻⁶.
    LargeEpsilon {
        /// ε.
        epsilon: f64,
    },
    /// δ is large for any population.
    LargeDelta {
        /// δ.
        delta: f64,
    },
    /// δ is above one divided by the number of protected units.
    DeltaAboveShare {
        /// δ.
        delta: f64,
        /// The public number of protected units.
        units: u64,
    },
}

impl Budget {
    /// What is questionable about this budget, if anything. `units` is how many rows or persons it
    /// protects, if that number is public.
    ///
    /// ```
    /// use evertally::privacy::Budget;
    /// assert!(Budget::new(1.0, 1e-6)?.warnings(None).is_empty());
    /// let warnings = Budget::new(20.0, 1e-4)?.warnings(Some(500));
    /// assert_eq!(warnings.len(), 1);
    /// assert!(warnings[0].to_string().starts_with("ε = 20 promises little"));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn warnings(&self, units: Option<u64>) -> Vec<BudgetWarning> {
        let usual = || self.spend().epsilon(USUAL_DELTA).ok();
        let epsilon = self.epsilon().or_else(usual).filter(|epsilon| *epsilon > LARGE_EPSILON);
        let large_delta = self.delta().and_then(|delta| match units {
            Some(units) if delta > 1.0 / units as f64 => {
                Some(BudgetWarning::DeltaAboveShare { delta, units })
            }
            _ if delta > LARGE_DELTA => Some(BudgetWarning::LargeDelta { delta }),
            _ => None,
        });
        epsilon
            .map(|epsilon| BudgetWarning::LargeEpsilon { epsilon })
            .into_iter()
            .chain(large_delta)
            .collect()
    }
}

impl fmt::Display for BudgetWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LargeEpsilon { epsilon } => write!(
                f,
                "ε = {} promises little: the releases may multiply the odds of a guess about one event or \
                 person by e^ε, which is more than 22,000. An ε of 1 or less is a strong promise",
                plain((epsilon * 1e4).round() / 1e4)
            ),
            Self::LargeDelta { delta } => write!(
                f,
                "δ = {} is large: it is the probability with which the promise may fail completely. It \
                 should be far below 1 divided by the number of people in the data, such as 1e-6",
                plain(delta)
            ),
            Self::DeltaAboveShare { delta, units } => write!(
                f,
                "δ = {} is more than 1/{units}: publishing one of the {units} rows in full, chosen at \
                 random, would be allowed. Choose δ far below 1/{units}",
                plain(delta)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_questioned_above_its_limits_and_not_at_them() {
        let warnings = |epsilon, delta, units| Budget::new(epsilon, delta).unwrap().warnings(units);
        assert_eq!(warnings(10.0, 1e-3, None), []);
        assert_eq!(warnings(10.5, 1e-3, None), [BudgetWarning::LargeEpsilon { epsilon: 10.5 }]);
        assert_eq!(warnings(10.0, 2e-3, None), [BudgetWarning::LargeDelta { delta: 2e-3 }]);
        assert_eq!(warnings(1.0, 1e-3, Some(1000)), []);
        let above = BudgetWarning::DeltaAboveShare { delta: 1e-3, units: 1001 };
        assert_eq!(warnings(1.0, 1e-3, Some(1001)), [above]);
        // One sentence about δ is enough, and the one with the number says more.
        assert_eq!(warnings(11.0, 0.1, Some(1001)).len(), 2);
        assert_eq!(warnings(1.0, 0.1, Some(5)), [BudgetWarning::LargeDelta { delta: 0.1 }]);
    }

    #[test]
    fn budgets_without_a_delta_are_judged_too() {
        assert_eq!(Budget::pure(1.0).unwrap().warnings(Some(2)), []);
        let large = BudgetWarning::LargeEpsilon { epsilon: 11.0 };
        assert_eq!(Budget::pure(11.0).unwrap().warnings(None), [large]);
        assert_eq!(Budget::zcdp(0.5).unwrap().warnings(None), []);
        let [BudgetWarning::LargeEpsilon { epsilon }] = Budget::zcdp(8.0).unwrap().warnings(None)[..] else {
            panic!("one warning about ε");
        };
        assert!(epsilon > 10.0, "{epsilon}");
    }

    #[test]
    fn a_warning_says_what_it_means_on_one_line() {
        for (warning, parts) in [
            (BudgetWarning::LargeEpsilon { epsilon: 20.0 }, ["ε = 20 ", "e^ε"]),
            (BudgetWarning::LargeDelta { delta: 0.4 }, ["δ = 0.4 ", "number of people"]),
            (BudgetWarning::DeltaAboveShare { delta: 1e-3, units: 5000 }, ["δ = 0.001 ", "1/5000"]),
        ] {
            let text = warning.to_string();
            assert!(parts.iter().all(|part| text.contains(part)) && !text.contains(['\n', '\\']), "{text}");
        }
    }
}
