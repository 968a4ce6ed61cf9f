//! The privacy account of one population: a total that is stated first, and what was spent of it.
//!
//! **Definition.** An odometer has a total, a population and the [`Unit`] that is protected. Every
//! mechanism on the population is entered *before* it runs. A mechanism that would exceed the
//! total, or that protects another unit, is refused, and the odometer stays unchanged.
//!
//! **Guarantee.** All entered mechanisms together are within the total, for every unit of the
//! population. This holds even if the mechanisms, their inputs, their costs and the time to stop
//! are chosen after seeing earlier releases. In the terms of Rogers, Roth, Ullman and Vadhan
//! ("Privacy Odometers and Filters", 2016) this is a *filter*. The spending so far
//! ([`Odometer::spent`] and its ε) is for planning only. It would be a guarantee if the costs had
//! been fixed in advance, but a bound that holds at any chosen moment must be larger. The proof is
//! in the module of allowances and in `docs/budget.md`.
//!
//! **Assumptions.** Everything that is released about the population is entered. The entered spends
//! are true. The total, its split and the unit were chosen without looking at the data.
//!
//! **Cost.** Constant time per entry. The entries are stored.

use super::allowance::Allowance;
use super::calibration::{MAX_EPSILON, MIN_EPSILON, check_delta};
use super::spend_sum::SpendSum;
use super::spending::six_digits;
use super::unit::checked_name;
use super::{Budget, Spend, Unit};
use crate::{Error, Result};

/// One entered mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    name: String,
    spend: Spend,
}

impl Entry {
    /// The name of the entry.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cost of the mechanism.
    #[must_use]
    pub fn spend(&self) -> Spend {
        self.spend
    }
}

/// The privacy account of one population.
///
/// ```
/// use evertally::privacy::{Neighbours, Odometer, Unit};
/// use evertally::{Budget, Plan};
///
/// let unit = Unit::event(Neighbours::AddRemove);
/// let mut odometer = Odometer::new("visitors", unit, Budget::new(2.0, 1e-6)?)?;
/// let plan = Plan::prefix_sum(1000).budget(Budget::new(1.0, 1e-6)?).build()?;
/// for day in 1..=3 {
///     odometer.spend(format!("day {day}"), &plan.unit(), plan.spend())?;
/// }
/// // Three of ε = 1 cost no more than ε = 1.82 at the same δ, and a fourth would exceed 2.
/// assert!(odometer.spent().epsilon(1e-6)? < 1.82);
/// let error = odometer.spend("day 4", &plan.unit(), plan.spend()).unwrap_err();
/// let refusal = "the budget of visitors does not allow ρ = 0.0280145 (ε = 1 at δ = 1e-6)";
/// assert!(error.to_string().starts_with(refusal));
/// assert_eq!(odometer.entries().len(), 3);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Odometer {
    population: String,
    unit: Unit,
    total: Budget,
    pure_part: f64,
    key_part: f64,
    allowance: Allowance,
    spent: SpendSum,
    entries: Vec<Entry>,
}

impl Odometer {
    /// An odometer with nothing spent.
    ///
    /// An (ε, δ) total is for Gaussian noise, accounted exactly; see
    /// [`with_pure_part`](Self::with_pure_part) for pure noise beside it. A total of
    /// [`Calibration::Zcdp`](super::Calibration::Zcdp), like a ρ total, is accounted by zCDP. It
    /// admits both kinds of noise in any mix, at a few percent more for Gaussian noise. A pure
    /// total admits pure noise only.
    ///
    /// # Errors
    /// `BadParameter` for a name that is empty or not a single line of text. Also for a total of
    /// [`Calibration::Paper`](super::Calibration::Paper), which is a way to choose noise and not to
    /// account for it.
    pub fn new(population: impl Into<String>, unit: Unit, total: Budget) -> Result<Self> {
        let population = checked_name("population", population.into())?;
        let allowance = Allowance::new(&total, 0.0, 0.0)?;
        let (spent, entries) = (SpendSum::default(), Vec::new());
        Ok(Self { population, unit, total, pure_part: 0.0, key_part: 0.0, allowance, spent, entries })
    }

    /// Reserves a part of an (ε, δ) total for pure noise. The rest, (ε − part, δ), is for Gaussian
    /// noise.
    ///
    /// The split must be stated first. If it were left open, choosing between the two kinds after
    /// seeing releases could exceed δ.
    ///
    /// # Errors
    /// `BadParameter` unless 0 ≤ part < ε, for a total that is not an exact (ε, δ), and if
    /// something was already spent.
    ///
    /// ```
    /// use evertally::privacy::{Budget, Neighbours, Odometer, Unit};
    /// let unit = Unit::event(Neighbours::AddRemove);
    /// let mut odometer = Odometer::new("visitors", unit.clone(), Budget::new(3.0, 1e-6)?)?;
    /// assert!(!odometer.can_afford(&Budget::pure(0.5)?.spend()));
    /// odometer = odometer.with_pure_part(0.5)?;
    /// odometer.spend("a pure one", &unit, Budget::pure(0.5)?.spend())?;
    /// odometer.spend("and a Gaussian", &unit, Budget::new(2.4, 1e-6)?.spend())?;
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn with_pure_part(self, part: f64) -> Result<Self> {
        if !self.entries.is_empty() {
            return Err(Error::bad("pure_part", "set before anything is spent", six_digits(part)));
        }
        let allowance = Allowance::new(&self.total, part, self.key_part)?;
        Ok(Self { pure_part: part, allowance, ..self })
    }

    /// Reserves a part of the δ of an (ε, δ) total for keys that appear although one unit decides whether
    /// they can ([`Discovery::key_delta`](crate::Discovery::key_delta)). The rest is for noise. Without such a
    /// part, no discovery is admitted.
    ///
    /// The split must be stated first, for the same reason as that of
    /// [`with_pure_part`](Self::with_pure_part).
    ///
    /// # Errors
    /// `BadParameter` unless 0 ≤ part < δ, for a total that is not an exact (ε, δ), and if something was
    /// already spent.
    ///
    /// ```
    /// use evertally::privacy::{Budget, Neighbours, Odometer, Unit};
    /// use evertally::Plan;
    /// let unit = Unit::person(Neighbours::AddRemove);
    /// let total = Budget::new(2.0, 1e-6)?;
    /// let discovery = Plan::discover(365).budget(Budget::new(1.0, 5e-7)?).build()?;
    /// let refusing = Odometer::new("visitors", unit.clone(), total)?;
    /// assert!(!refusing.can_afford(&discovery.spend()));
    /// let mut odometer = refusing.with_key_part(5e-7)?;
    /// odometer.spend("pages", &unit, discovery.spend())?;
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn with_key_part(self, part: f64) -> Result<Self> {
        if !self.entries.is_empty() {
            return Err(Error::bad("key_part", "set before anything is spent", six_digits(part)));
        }
        let allowance = Allowance::new(&self.total, self.pure_part, part)?;
        Ok(Self { key_part: part, allowance, ..self })
    }

    /// Enters a mechanism that is about to run.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`], with what is left, if the total does not allow it. `BadParameter`
    /// for a spend that protects another unit, and for a name that is empty or not a single line of
    /// text. The odometer stays unchanged.
    pub fn spend(&mut self, name: impl Into<String>, unit: &Unit, spend: Spend) -> Result<()> {
        let name = checked_name("name", name.into())?;
        self.check_unit(unit)?;
        let with = self.spent_with(&spend);
        if !self.allowance.admits(&with.total()) {
            return Err(self.refusal(&spend));
        }
        self.spent = with;
        self.entries.push(Entry { name, spend });
        Ok(())
    }

    /// Whether another mechanism of this cost would be admitted.
    #[must_use]
    pub fn can_afford(&self, spend: &Spend) -> bool {
        self.allowance.admits(&self.spent_with(spend).total())
    }

    /// Returns the error that entering this spend would give, without entering anything.
    ///
    /// # Errors
    /// As for [`spend`](Self::spend).
    pub fn check(&self, unit: &Unit, spend: &Spend) -> Result<()> {
        self.check_unit(unit)?;
        if self.can_afford(spend) { Ok(()) } else { Err(self.refusal(spend)) }
    }

    /// The population of the account.
    #[must_use]
    pub fn population(&self) -> &str {
        &self.population
    }

    /// What is protected.
    #[must_use]
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// The stated total.
    #[must_use]
    pub fn total(&self) -> Budget {
        self.total
    }

    /// The part of ε that is reserved for pure noise.
    #[must_use]
    pub fn pure_part(&self) -> f64 {
        self.pure_part
    }

    /// The part of δ that is reserved for keys that appear.
    #[must_use]
    pub fn key_part(&self) -> f64 {
        self.key_part
    }

    /// The entered mechanisms, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the entries cost together.
    #[must_use]
    pub fn spent(&self) -> Spend {
        self.spent.total()
    }

    /// A spend that would still be admitted and is nearly the largest: all of the Gaussian noise
    /// that is left, and the rest of the reserved pure noise. If both share one allowance, all of
    /// it is used for Gaussian noise; [`room`](Self::room) returns the pure noise that would be
    /// possible instead.
    #[must_use]
    pub fn remaining(&self) -> Spend {
        let (mu_squared, pure_epsilon) = self.allowance.left(&self.spent());
        let pure_epsilon = if self.allowance.is_shared() { 0.0 } else { pure_epsilon };
        // Allowances are within the range of a spend, so nothing is lost here.
        Spend::new(mu_squared, pure_epsilon, 0.0).unwrap_or(Spend::NOTHING)
    }

    /// The ε of the largest further mechanism that would be admitted, rounded down: with exactly
    /// calibrated Gaussian noise for (ε, δ), or with pure noise if δ = 0. It is zero if there is
    /// none.
    ///
    /// # Errors
    /// `BadParameter` unless δ = 0 or 10⁻³⁰⁰ ≤ δ < 1.
    ///
    /// ```
    /// use evertally::privacy::{Budget, Neighbours, Odometer, Unit};
    /// let unit = Unit::event(Neighbours::AddRemove);
    /// let mut odometer = Odometer::new("visitors", unit.clone(), Budget::new(2.0, 1e-6)?)?;
    /// odometer.spend("first", &unit, Budget::new(1.0, 1e-6)?.spend())?;
    /// assert!((odometer.room(1e-6)? - 1.6733).abs() < 1e-4);
    /// assert_eq!(odometer.room(0.0)?, 0.0);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn room(&self, delta: f64) -> Result<f64> {
        if delta == 0.0 {
            let (_, pure_epsilon) = self.allowance.left(&self.spent());
            return Ok(pure_epsilon.min(MAX_EPSILON));
        }
        check_delta(delta)?;
        let left = self.remaining().gaussian_part();
        let epsilon = left.epsilon_by_curve(delta)?.min(MAX_EPSILON);
        // The curve is rounded up and the result must be affordable, so slightly smaller values are
        // tried until one is.
        let fits = |epsilon: f64| {
            epsilon >= MIN_EPSILON
                && Budget::new(epsilon, delta).is_ok_and(|budget| self.can_afford(&budget.spend()))
        };
        let smaller = (-14..=-1).map(|power| epsilon * (1.0 - 10.0_f64.powi(power)));
        Ok(std::iter::once(epsilon).chain(smaller).find(|&epsilon| fits(epsilon)).unwrap_or(0.0))
    }

    fn spent_with(&self, spend: &Spend) -> SpendSum {
        let mut spent = self.spent;
        spent.add(spend);
        spent
    }

    fn check_unit(&self, unit: &Unit) -> Result<()> {
        if *unit == self.unit {
            return Ok(());
        }
        let expected = format!("{}, which is what the budget of {} protects", self.unit, self.population);
        Err(Error::bad("unit", expected, unit))
    }

    fn refusal(&self, asked: &Spend) -> Error {
        let left = match (self.remaining(), self.allowance.is_shared()) {
            (left, _) if left == Spend::NOTHING => "nothing".to_owned(),
            (left, false) => self.described(&left),
            (left, true) => format!("{} of any noise", self.described(&left)),
        };
        let (asked, total) = (self.described(asked), self.total.to_string());
        Error::BudgetSpent { population: self.population.clone(), asked, left, total }
    }

    /// A spend, described by the ε that its Gaussian part alone would have at the δ of the total.
    fn described(&self, spend: &Spend) -> String {
        let gaussian = spend.gaussian_part();
        let epsilon =
            self.total.delta().filter(|&delta| delta > 0.0 && gaussian != Spend::NOTHING).and_then(|delta| {
                Some(format!(
                    " (ε = {} at δ = {})",
                    six_digits(gaussian.epsilon(delta).ok()?),
                    six_digits(delta)
                ))
            });
        match epsilon {
            Some(epsilon) if *spend == gaussian => format!("{spend}{epsilon}"),
            Some(epsilon) => {
                let rest = Spend { mu_squared: 0.0, ..*spend }.to_string();
                if rest == "nothing" {
                    format!("{gaussian}{epsilon}")
                } else {
                    format!("{gaussian}{epsilon} and {rest}")
                }
            }
            None => spend.to_string(),
        }
    }
}
