//! The cost of a set of answers, and the protected unit, for both kinds of plan.
//!
//! ```
//! use evertally::research::batch::{BatchPlan, ParityPlan};
//! use evertally::{Budget, Matrix, Neighbours};
//!
//! let queries = Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
//! let plan = BatchPlan::new(queries, Budget::zcdp(0.125)?, Neighbours::AddRemove)?;
//! assert!((plan.spend().mu() - 0.5).abs() < 1e-14);
//! assert_eq!(plan.unit().to_string(), "one person (add-remove)");
//!
//! let plan = ParityPlan::new(30, 2, Budget::zcdp(0.125)?, Neighbours::Replace)?;
//! assert!((plan.spend().mu() - 0.5).abs() < 1e-14);
//! assert_eq!(plan.unit().to_string(), "one person (replace)");
//! # Ok::<(), evertally::Error>(())
//! ```

use super::{BatchPlan, ParityPlan};
use crate::privacy::{Budget, Neighbours, Spend, Unit};

macro_rules! spending {
    ($plan:ident, data: $data:literal, answers: $answers:literal, person: $person:literal) => {
        impl $plan {
            /// The budget that one set of answers spends.
            #[must_use]
            pub fn budget(&self) -> Budget {
                self.noise.budget
            }

            #[doc = concat!("Which change of the ", $data, " is hidden.")]
            #[must_use]
            pub fn neighbours(&self) -> Neighbours {
                self.noise.neighbours
            }

            #[doc = concat!("How far one person can move ", $answers, ", rounded up.")]
            #[must_use]
            pub fn sensitivity(&self) -> f64 {
                self.noise.sensitivity
            }

            /// The cost of one set of answers for one person, computed from the noise that is run.
            #[must_use]
            pub fn spend(&self) -> Spend {
                self.noise.budget.spend()
            }

            #[doc = concat!("One person, who is one ", $person, ".")]
            ///
            /// Pass another unit to an odometer with [`Unit::named`] when the data count something
            /// else.
            #[must_use]
            pub fn unit(&self) -> Unit {
                Unit::person(self.noise.neighbours)
            }
        }
    };
}

spending!(BatchPlan, data: "data", answers: "R x", person: "unit of one cell");
spending!(ParityPlan, data: "table", answers: "the vector of parities", person: "row");
