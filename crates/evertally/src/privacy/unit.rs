//! Which unit of protection a budget speaks of.
//!
//! **Definition.** A unit is a kind of thing, by name (an event, a person, a household), and the
//! relation under which it is hidden: whether it is there at all, or which of the admissible ones
//! it is.
//!
//! **What must agree, and what need not.** Composition is about two worlds that differ in one unit,
//! and every mechanism must be private for that difference. So the name and the relation must be
//! the same for all mechanisms on one budget:
//!
//! - An event-level release protects a person with a hundred events a hundred times less than it
//!   says. Nor does a person-level release protect an event at its ε: where contributions are
//!   bounded, taking out an event may let another in, which *replaces* a person's contribution
//!   where only adding and removing was paid for.
//! - Adding or removing is half of replacing, and replacing keeps the number of units, so that
//!   neither implies the other at the same cost.
//!
//! In how many steps a unit takes part ([`Participation`]) and how much it contributes
//! ([`Contribution`](super::Contribution)) may differ between mechanisms. Each bounds what the same
//! unit does to that stream, whose steps and values are its own: a person may be in four days of
//! one and in ten hours of another.

use std::fmt;

use super::{Neighbours, Participation};
use crate::{Error, Result};

/// The longest name of a unit, a population or an entry.
const MAX_NAME_BYTES: usize = 200;

/// What is protected, and under which relation.
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

    /// One person with everything that they contribute.
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

    /// What a plan protects unless its maker knows better: an event where it takes part in one step
    /// only, else a person.
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

/// Refuses a name that could not stand in a line of text.
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
