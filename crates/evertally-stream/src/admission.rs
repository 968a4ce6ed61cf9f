//! What counts, and as what: the rules that [`Gather`](crate::Gather), [`Follow`](crate::Follow) and
//! [`Clocked`](crate::Clocked) share.

use crate::amount::{Amount, Clamp};
use crate::buckets::Buckets;
use crate::contribution::ContributionBound;
use crate::error::Result;
use crate::keys::KeySet;
use crate::names::given_name;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// One raw event. No `Debug`: everything in it is private.
#[derive(Clone, Copy, Default)]
pub struct Event<'a> {
    /// When it happened, in microseconds since 1970-01-01T00:00:00Z.
    pub time: i64,
    /// What it belongs to, where keys are declared.
    pub key: Option<&'a str>,
    /// Whose it is, where contributions are bounded.
    pub person: Option<&'a str>,
    /// Its identity, where duplicates are dropped.
    pub id: Option<&'a str>,
    /// Its value, where values are summed.
    pub value: Option<f64>,
}

/// Why an event does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Persons are bounded, and it has none ([`given_name`]).
    Unnamed,
    /// Its step has been closed.
    Late,
    /// Its step begins too far in the future ([`Clocked`](crate::Clocked)).
    Early,
    /// An event with the same id was seen before (from the same person, where persons are known).
    Duplicate,
    /// Its person has spent what one person may contribute, or counted in this step or too near to it.
    OverBound,
}

/// The rules under which an event counts. Without any, every event counts as one under a single total.
///
/// Memory: nothing an event, with two exceptions. A contribution bound remembers persons × k steps,
/// and dropping duplicates remembers 16 bytes for each distinct id.
#[derive(Clone, Default)]
pub struct Admission {
    keys: Option<KeySet>,
    clamp: Option<Clamp>,
    bound: Option<ContributionBound>,
    seen: Option<SeenIds>,
}

impl Admission {
    /// Every event counts as one under a single total.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One total for each key of this set.
    #[must_use]
    pub fn keys(mut self, keys: KeySet) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Events count for their clamped value; an event without a value counts as one, clamped.
    #[must_use]
    pub fn clamp(mut self, clamp: Clamp) -> Self {
        self.clamp = Some(clamp);
        self
    }

    /// Persons are bounded.
    #[must_use]
    pub fn bound(mut self, bound: ContributionBound) -> Self {
        self.bound = Some(bound);
        self
    }

    /// A second event with an id that was seen is dropped: copies of an event are the event.
    #[must_use]
    pub fn drop_duplicates(mut self) -> Self {
        self.seen = Some(SeenIds::default());
        self
    }

    /// The number of totals in each step.
    #[must_use]
    pub fn width(&self) -> usize {
        self.keys.as_ref().map_or(1, |keys| keys.names().len())
    }

    /// The step of an event; or that it is nobody's, which is known before anything else is looked at.
    pub(crate) fn step_of(
        &self,
        event: &Event<'_>,
        buckets: &Buckets,
    ) -> Result<std::result::Result<u64, Refusal>> {
        if self.bound.is_some() && given_name(event.person).is_none() {
            return Ok(Err(Refusal::Unnamed));
        }
        buckets.step_of(event.time).map(Ok)
    }

    /// Decides on an event of a known step: where it counts and for how much, or why it does not.
    pub(crate) fn decide(
        &mut self,
        event: &Event<'_>,
        step: u64,
    ) -> Result<std::result::Result<(usize, Amount), Refusal>> {
        // Only a person who is bounded owns anything, and an event that is nobody's or in error
        // spends nothing.
        let owner = match &self.bound {
            None => None,
            Some(_) => match given_name(event.person) {
                None => return Ok(Err(Refusal::Unnamed)),
                named => named,
            },
        };
        let amount = match (&self.clamp, event.value) {
            (Some(clamp), value) => clamp.apply(value.unwrap_or(1.0))?,
            (None, Some(value)) => Amount::nearest(value)?,
            (None, None) => Amount::ONE,
        };
        // Events without an id are copies of nothing. Ids are told apart within a person, so that
        // nobody's id can suppress another person's event.
        if let (Some(seen), Some(id)) = (&mut self.seen, given_name(event.id))
            && !seen.is_new(owner, id)
        {
            return Ok(Err(Refusal::Duplicate));
        }
        if let (Some(bound), Some(person)) = (&mut self.bound, owner)
            && !bound.admit(person, step)
        {
            return Ok(Err(Refusal::OverBound));
        }
        let position = self.keys.as_ref().map_or(0, |keys| keys.position(event.key.unwrap_or_default()));
        Ok(Ok((position, amount)))
    }
}

/// Ids seen so far, as 128 bits under two secret hashers: 16 bytes an id whatever its length, and a
/// chance of mistaking one id for another below 2⁻⁶⁰ for a billion of them.
#[derive(Clone, Default)]
struct SeenIds {
    hashers: (RandomState, RandomState),
    seen: HashSet<(u64, u64)>,
}

impl SeenIds {
    fn is_new(&mut self, owner: Option<&str>, id: &str) -> bool {
        let whole = (owner, id);
        self.seen.insert((self.hashers.0.hash_one(whole), self.hashers.1.hash_one(whole)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_dropped_within_a_person() {
        let bound = ContributionBound::new(10, 1).unwrap();
        let mut rules = Admission::new().bound(bound).drop_duplicates();
        let mut counts = |person, id, step| {
            let event = Event { person: Some(person), id: Some(id), ..Event::default() };
            rules.decide(&event, step).unwrap().err()
        };
        assert_eq!(counts("p1", "1", 0), None);
        assert_eq!(counts("p1", "1", 1), Some(Refusal::Duplicate));
        assert_eq!(counts("p2", "1", 1), None);
        assert_eq!(counts("p1", "2", 0), Some(Refusal::OverBound));
    }

    #[test]
    fn events_without_an_id_are_copies_of_nothing() {
        let mut rules = Admission::new().drop_duplicates();
        let mut counts = |id| rules.decide(&Event { id, ..Event::default() }, 0).unwrap().is_ok();
        assert_eq!(
            [None, None, Some(""), Some(""), Some(" "), Some("1"), Some("1")].map(&mut counts),
            [true, true, true, true, true, true, false]
        );
    }

    #[test]
    fn an_event_without_a_person_spends_nothing() {
        let mut rules = Admission::new().bound(ContributionBound::new(1, 1).unwrap()).drop_duplicates();
        let mut counts =
            |person, id| rules.decide(&Event { person, id: Some(id), ..Event::default() }, 0).unwrap().err();
        for nobody in [None, Some(""), Some("\u{2003}\n")] {
            assert_eq!(counts(nobody, "1"), Some(Refusal::Unnamed));
        }
        assert_eq!(counts(Some("p1"), "1"), None);
        assert_eq!(counts(Some(" p1"), "1"), None, "a name is taken as it is");
    }

    #[test]
    fn a_value_in_error_spends_nothing() {
        let clamp = Clamp::new(0.0, 5.0).unwrap();
        let mut rules = Admission::new().clamp(clamp).drop_duplicates();
        let event = Event { id: Some("1"), value: Some(f64::NAN), ..Event::default() };
        assert!(rules.decide(&event, 0).is_err());
        let event = Event { value: Some(7.0), ..event };
        assert!(rules.decide(&event, 0).unwrap() == Ok((0, Amount::nearest(5.0).unwrap())));
    }
}
