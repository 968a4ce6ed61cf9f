//! The unit of protection of a budget.
//!
//! **Definition.** A unit is a kind of thing, given by a name (an event, a person, a household),
//! and the relation under which it is hidden: whether it is present at all, or which of the
//! admissible ones it is.
//!
//! **What must agree.** Composition compares two inputs that differ in one unit, and every
//! mechanism must be private for that difference. So the name and the relation must be the same for
//! all mechanisms on one budget:
//!
//! - An event-level release protects a person with a hundred events a hundred times less than it
//!   states. A person-level release does not protect an event at its ε either. If contributions are
//!   bounded, removing an event may admit another one. That *replaces* a person's contribution,
//!   while the budget covers only adding and removing.
//! - Adding or removing is half of replacing, and replacing keeps the number of units. So neither
//!   implies the other at the same cost.
//!
//! **What may differ.** The number of steps in which a unit takes part ([`Participation`]) and its
//! contribution ([`Contribution`](super::Contribution)) may differ between mechanisms. Each of them
//! bounds what the same unit does to its own stream, with its own steps and values: a person may be
//! in four days of one stream and in ten hours of another.

use std::fmt;

use super::{Neighbours, Participation};
use crate::{Error, Result};

/// The maximum length of the name of a unit, a population or an entry.
const MAX_NAME_BYTES: usize = 200;

/// The protected unit and the relation under which it is hidden.
///
/// ```
/// use evertally::privacy::{Neighbours, Unit};
/// let unit = Unit::named("household", Neighbours::Replace)?;
/// assert_eq!(unit.to_string(), "one household (replace)");
/// assert_ne!(unit, Unit::person(Neighbours::Replace));
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unit {
    name: String,
    neighbours: Neighbours,
}

impl Unit {
    /// One event: one contribution to one step.
    #[must_use]
    pub fn event(neighbours: Neighbours) -> Self {
        Self { name: "event".to_owned(), neighbours }
    }

    /// One person, with all contributions.
    #[must_use]
    pub fn person(neighbours: Neighbours) -> Self {
        Self { name: "person".to_owned(), neighbours }
    }

    /// Any other unit, by its name in the singular.
    ///
    /// # Errors
    /// `BadParameter` for a name that is empty, has control characters or more than 200 bytes.
    pub fn named(name: impl Into<String>, neighbours: Neighbours) -> Result<Self> {
        Ok(Self { name: checked_name("unit", name.into())?, neighbours })
    }

    /// The default unit of a plan: an event if it takes part in one step only, and a person
    /// otherwise.
    pub(crate) fn taking_part(participation: Participation, neighbours: Neighbours) -> Self {
        if participation.max_steps() == 1 { Self::event(neighbours) } else { Self::person(neighbours) }
    }

    /// The name of the unit.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The relation under which it is hidden.
    #[must_use]
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one {} ({})", self.name, self.neighbours)
    }
}

/// Refuses a name that is not a single line of text.
pub(super) fn checked_name(what: &'static str, name: String) -> Result<String> {
    let expected = |words: &str| format!("a name {words}");
    if name.trim().is_empty() {
        return Err(Error::bad(what, expected("with at least one letter"), "none"));
    }
    if name.len() > MAX_NAME_BYTES {
        let got = format!("one of {}", name.len());
        return Err(Error::bad(what, expected(&format!("of at most {MAX_NAME_BYTES} bytes")), got));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::bad(what, expected("without control characters"), format!("{name:?}")));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for bad in ["", " ", "a\nb", "\u{7}", &"x".repeat(201)] {
            assert!(Unit::named(bad, Neighbours::AddRemove).is_err(), "{bad:?} was taken");
        }
        assert!(Unit::named("x".repeat(200), Neighbours::AddRemove).is_ok());
        let event = Unit::named("event", Neighbours::AddRemove).unwrap();
        assert_eq!(event, Unit::event(Neighbours::AddRemove));
        assert_ne!(event, Unit::event(Neighbours::Replace));
    }

    #[test]
    fn one_step_is_an_event_and_several_are_a_person() {
        let of = |participation| Unit::taking_part(participation, Neighbours::AddRemove);
        assert_eq!(of(Participation::single()), Unit::event(Neighbours::AddRemove));
        assert_eq!(of(Participation::at_most(4, 7).unwrap()), Unit::person(Neighbours::AddRemove));
    }
}
