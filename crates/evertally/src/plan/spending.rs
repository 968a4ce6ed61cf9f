//! What a plan costs, and whom it protects.

use super::Plan;
use crate::privacy::{Spend, Unit};

impl Plan {
    /// What the whole stream of releases costs one protected unit, computed from the noise that is run.
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

    /// The unit that the plan protects, as far as its parameters tell: an event where it takes part
    /// in one step, a person where in several. Where one step is all that a person takes part in,
    /// say so by [`Unit::person`] to an odometer.
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
