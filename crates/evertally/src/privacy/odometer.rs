//! The account of one population: a total that is stated first, and what was spent of it.
//!
//! **Definition.** An odometer is made with a total, a population and the [`Unit`] that is
//! protected. Every mechanism that is to run on the population is entered *before* it runs; one
//! that would exceed the total, or that protects another unit, is refused, and changes nothing.
//!
//! **Guarantee.** All mechanisms that were entered are together within the total, for every unit of
//! the population, whatever was chosen after seeing what: the mechanisms, their inputs, their
//! costs, and when to stop. In the language of Rogers, Roth, Ullman and Vadhan ("Privacy Odometers
//! and Filters", 2016) this is a *filter*. What it reports as spent so far ([`Odometer::spent`] and
//! its ε) is for planning: it would be a guarantee had the costs been fixed in advance, whereas a
//! bound that holds at whatever moment one chooses to look must be larger. The proof stands in the
//! module of allowances and in `docs/budget.md`.
//!
//! **What it takes.** That everything that is released about the population is entered; that the
//! entered spends are true; and that the total, its split and the unit were chosen without looking
//! at the data.
//!
//! **Cost.** Constant time an entry; the entries are kept.

use super::allowance::Allowance;
use super::calibration::{MAX_EPSILON, MIN_EPSILON, check_delta};
use super::spend_sum::SpendSum;
use super::spending::short;
use super::unit::checked_name;
use super::{Budget, Spend, Unit};
use crate::{Error, Result};

/// One mechanism that was entered.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    name: String,
    spend: Spend,
}

impl Entry {
    /// What it was entered as.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it costs.
    #[must_use]
    pub fn spend(&self) -> Spend {
        self.spend
    }
}

/// The account of one population.
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
    allowance: Allowance,
    spent: SpendSum,
    entries: Vec<Entry>,
}

impl Odometer {
    /// An account with nothing spent.
    ///
    /// An (ε, δ) total is for Gaussian noise, accounted exactly; see
    /// [`with_pure_part`](Self::with_pure_part) for pure noise beside it. One of
    /// [`Calibration::Zcdp`](super::Calibration::Zcdp) is accounted by way of zCDP, as is a ρ
    /// total: it takes both kinds of noise as they come, at a few percent more for the Gaussian. A
    /// pure total takes pure noise only.
    ///
    /// # Errors
    /// `BadParameter` for a name that is empty or no line of text, and for a total of
    /// [`Calibration::Paper`](super::Calibration::Paper), which is a way to choose noise and not to
    /// account for it.
    pub fn new(population: impl Into<String>, unit: Unit, total: Budget) -> Result<Self> {
        let population = checked_name("population", population.into())?;
        let allowance = Allowance::new(&total, 0.0)?;
        let (spent, entries) = (SpendSum::default(), Vec::new());
        Ok(Self { population, unit, total, pure_part: 0.0, allowance, spent, entries })
    }

    /// Sets a part of an (ε, δ) total aside for pure noise: what is left for Gaussian noise is (ε − part, δ).
    ///
    /// The split must be stated first: were it left open, choosing between the two after seeing
    /// releases could exceed δ.
    ///
    /// # Errors
    /// `BadParameter` unless 0 ≤ part < ε, for a total that is not an exact (ε, δ), and where
    /// something was spent already.
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
            return Err(Error::bad("pure_part", "set before anything is spent", short(part)));
        }
        let allowance = Allowance::new(&self.total, part)?;
        Ok(Self { pure_part: part, allowance, ..self })
    }

    /// Enters a mechanism that is about to run.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`] where the total does not allow it, with what is left; `BadParameter`
    /// for a spend that protects another unit, and for a name that is empty or no line of text. The
    /// odometer is then unchanged.
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

    /// Whether a further mechanism of this cost would be admitted.
    #[must_use]
    pub fn can_afford(&self, spend: &Spend) -> bool {
        self.allowance.admits(&self.spent_with(spend).total())
    }

    /// Refuses what could not be entered, without entering anything.
    ///
    /// # Errors
    /// As [`spend`](Self::spend).
    pub fn check(&self, unit: &Unit, spend: &Spend) -> Result<()> {
        self.check_unit(unit)?;
        if self.can_afford(spend) { Ok(()) } else { Err(self.refusal(spend)) }
    }

    /// Whose account it is.
    #[must_use]
    pub fn population(&self) -> &str {
        &self.population
    }

    /// What is protected.
    #[must_use]
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// The total that was stated.
    #[must_use]
    pub fn total(&self) -> Budget {
        self.total
    }

    /// What was set aside of ε for pure noise.
    #[must_use]
    pub fn pure_part(&self) -> f64 {
        self.pure_part
    }

    /// The mechanisms that were entered, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What they cost together.
    #[must_use]
    pub fn spent(&self) -> Spend {
        self.spent.total()
    }

    /// A spend that is still admitted, and hardly more is: all Gaussian, and beside it the pure
    /// noise that was set aside. Where both draw on one allowance, the whole of it as Gaussian
    /// noise; [`room`](Self::room) says how much pure noise there could be instead.
    #[must_use]
    pub fn remaining(&self) -> Spend {
        let (mu_squared, pure_epsilon) = self.allowance.left(&self.spent());
        let pure_epsilon = if self.allowance.is_shared() { 0.0 } else { pure_epsilon };
        // Allowances are within what a spend may be, so that nothing is lost here.
        Spend::new(mu_squared, pure_epsilon, 0.0).unwrap_or(Spend::NOTHING)
    }

    /// The ε of the largest further mechanism that would be admitted: with Gaussian noise for (ε,
    /// δ), exactly calibrated, or with pure noise where δ = 0; rounded down. Zero where there is
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
        // The curve is rounded up and the answer must be affordable: a little less is tried until it is.
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
            (left, false) => self.in_words(&left),
            (left, true) => format!("{} of any noise", self.in_words(&left)),
        };
        let (asked, total) = (self.in_words(asked), self.total.to_string());
        Error::BudgetSpent { population: self.population.clone(), asked, left, total }
    }

    /// A spend with the ε that its Gaussian part alone would have at the δ of the total, which is
    /// how people think of it.
    fn in_words(&self, spend: &Spend) -> String {
        let gaussian = spend.gaussian_part();
        let epsilon =
            self.total.delta().filter(|&delta| delta > 0.0 && gaussian != Spend::NOTHING).and_then(|delta| {
                Some(format!(" (ε = {} at δ = {})", short(gaussian.epsilon(delta).ok()?), short(delta)))
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
