//! Words of version 1 for crates whose own names of version 1 hold them. Nothing new uses them.

use super::first;
use crate::privacy::{Budget, Participation};

/// How 0.1 wrote a budget.
#[must_use]
pub fn budget(budget: Budget) -> String {
    first::budget(budget.guarantee())
}

/// How 0.1 wrote a participation.
#[must_use]
pub fn participation(participation: Participation) -> String {
    first::participation(participation)
}
