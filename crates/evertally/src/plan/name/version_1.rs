//! Texts of version 1, for crates whose own names of version 1 contain them. Nothing new uses them.

use super::first;
use crate::privacy::{Budget, Participation};

/// The text of a budget in 0.1.
#[must_use]
pub fn budget(budget: Budget) -> String {
    first::budget(budget.guarantee())
}

/// The text of a participation in 0.1.
#[must_use]
pub fn participation(participation: Participation) -> String {
    first::participation(participation)
}
