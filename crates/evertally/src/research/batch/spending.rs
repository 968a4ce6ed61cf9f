//! What a set of answers costs, and whom it protects.

use super::{BatchPlan, ParityPlan};
use crate::privacy::{Spend, Unit};

impl BatchPlan {
    /// What one set of answers costs one person, computed from the noise that is run.
    ///
    /// ```
    /// use evertally::research::batch::BatchPlan;
    /// use evertally::{Budget, Matrix, Neighbours};
    /// let queries = Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
    /// let plan = BatchPlan::new(queries, Budget::zcdp(0.125)?, Neighbours::AddRemove)?;
    /// assert!((plan.spend().mu() - 0.5).abs() < 1e-14);
    /// assert_eq!(plan.unit().to_string(), "one person (add-remove)");
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn spend(&self) -> Spend {
        self.budget().spend()
    }

    /// One person, who is one unit of one cell. Where cells count something else, say so to an
    /// odometer by [`Unit::named`].
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::person(self.neighbours())
    }
}

impl ParityPlan {
    /// What one set of answers costs one person, computed from the noise that is run.
    ///
    /// ```
    /// use evertally::research::batch::ParityPlan;
    /// use evertally::{Budget, Neighbours};
    /// let plan = ParityPlan::new(30, 2, Budget::zcdp(0.125)?, Neighbours::Replace)?;
    /// assert!((plan.spend().mu() - 0.5).abs() < 1e-14);
    /// assert_eq!(plan.unit().to_string(), "one person (replace)");
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn spend(&self) -> Spend {
        self.budget().spend()
    }

    /// One person, who is one row. Where rows are something else, say so to an odometer by [`Unit::named`].
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::person(self.neighbours())
    }
}
