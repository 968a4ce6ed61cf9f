//! What a plan costs, and whom it protects.

use super::Plan;
use crate::privacy::{Spend, Unit};

impl Plan {
    /// The privacy cost of the whole stream of releases for one protected unit, computed from the
    /// noise that is run.
    ///
    /// ```
    /// use evertally::{Budget, Plan};
    /// let plan = Plan::prefix_sum(1000).budget(Budget::new(1.0, 1e-6)?).build()?;
    /// assert_eq!(plan.spend().to_string(), "ρ = 0.0280145");
    /// assert!((plan.spend().mu() * plan.noise_multiplier() - 1.0).abs() < 1e-15);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn spend(&self) -> Spend {
        Spend::of_noise(self.budget().noise(), self.noise_multiplier()).with_variation(self.total_variation())
    }

    /// The unit that the plan protects, derived from its parameters: an event if the participation
    /// is a single step, and otherwise a person. If a person takes part in one step only, pass
    /// [`Unit::person`] to an odometer instead.
    ///
    /// ```
    /// use evertally::privacy::{Neighbours, Participation, Unit};
    /// use evertally::{Budget, Plan};
    /// let plan = Plan::prefix_sum(1000)
    ///     .budget(Budget::new(1.0, 1e-6)?)
    ///     .participation(Participation::at_most(4, 7)?)
    ///     .build()?;
    /// assert_eq!(plan.unit(), Unit::person(Neighbours::AddRemove));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::taking_part(self.participation(), self.neighbours())
    }
}
