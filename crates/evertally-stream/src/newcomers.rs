//! Events of persons decided one by one: whether each counts, and whether its person is new in its key.
//!
//! **Definition.** Events come in the order in which they are decided. A person counts in at most k steps,
//! at least b apart, with one event in each ([`Newcomers::new`]); or once in each of their first q keys,
//! in the step of their first event there ([`Newcomers::once_per_key`]). This is the rule of
//! [`admission`](crate::admission). A person is *new* in a key at their first event that counts there.
//! Without keys, all events are of one key.
//!
//! **Guarantee.** The same answers as those of [`OpenGather`](crate::OpenGather), and of
//! [`Gather`](crate::Gather) with [`Share::once_per_key`], for events that come by time, however they are
//! divided among states that are saved and resumed. What is decided about a person depends on their own
//! events alone, and a person is new in at most k keys, or in q. A state names nobody: it is a [`Memory`],
//! in which the ids are the keys of each person. Ids of events are not part of it.
//!
//! **Cost.** That of a [`Memory`]: 16 bytes for each person and key, and 13 or more for each person.

use evertally::{NoiseKey, Participation};

use crate::admission::{IdStore, Outcome, PersonStore};
use crate::contribution::KnownIds;
use crate::error::Result;
use crate::memory::Memory;
use crate::names::given_name;
use crate::rules::Rules;
use crate::share::Share;

/// What the secrets of a state are derived for.
const LABEL: &[u8] = b"newcomers 1";

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Whether it counts.
    pub outcome: Outcome,
    /// Whether it is the first event of its person that counts in its key.
    pub is_new: bool,
}

/// Decides which events of persons count, and where persons are new. No `Debug`: it is private.
///
/// ```
/// use evertally::{NoiseKey, Participation};
/// use evertally_stream::Newcomers;
/// let key = NoiseKey::from_os()?;
/// let mut visits = Newcomers::new(Participation::at_most(2, 1)?, &key)?;
/// let mut arrives = |page, day| visits.decide(Some("ann"), Some(page), None, day);
/// assert!(arrives("/", 0).is_new);
/// assert!(!arrives("/about", 0).outcome.is_counted(), "one event a day");
/// let again = arrives("/", 1);
/// assert!(again.outcome.is_counted() && !again.is_new);
/// # Ok::<(), evertally_stream::Error>(())
/// ```
pub struct Newcomers {
    rules: Rules,
    memory: Memory,
    copies: KnownIds,
}

impl Newcomers {
    /// Persons who count in steps.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for limits that no store has.
    pub fn new(limits: Participation, key: &NoiseKey) -> Result<Self> {
        Self::under(Share::default(), limits, |rules, label| Memory::new(rules, key, label))
    }

    /// Persons who count once in each of their first `max_keys` keys.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] for no key.
    pub fn once_per_key(max_keys: u64, key: &NoiseKey) -> Result<Self> {
        let (share, limits) = once(max_keys)?;
        Self::under(share, limits, |rules, label| Memory::new(rules, key, label))
    }

    /// [`Newcomers::new`], after a state that was saved.
    ///
    /// # Errors
    /// [`evertally::Error::BadState`] for a state of other limits or another key, or a damaged one.
    pub fn resume(limits: Participation, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        Self::under(Share::default(), limits, |rules, label| Memory::resume(rules, key, label, state))
    }

    /// [`Newcomers::once_per_key`], after a state that was saved.
    ///
    /// # Errors
    /// As [`Newcomers::resume`].
    pub fn resume_once_per_key(max_keys: u64, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        let (share, limits) = once(max_keys)?;
        Self::under(share, limits, |rules, label| Memory::resume(rules, key, label, state))
    }

    fn under(
        share: Share,
        limits: Participation,
        memory: impl FnOnce(&Rules, &[u8]) -> Result<Memory>,
    ) -> Result<Self> {
        let rules = Rules { limits: Some(limits), share, has_ids: true, ..Rules::default() };
        // A slot is no step, so a state of the one is no state of the other.
        let label = [LABEL, if share.is_once_per_key() { b" in keys" } else { b" in steps" }].concat();
        let memory = memory(&rules, &label)?;
        Ok(Self { rules, memory, copies: KnownIds::default() })
    }

    /// Decides on the next event. With an `id`, a second event of the person with this id does not count.
    pub fn decide(
        &mut self,
        person: Option<&str>,
        key: Option<&str>,
        id: Option<&str>,
        step: u64,
    ) -> Arrival {
        let Some(person) = given_name(person) else {
            return Arrival { outcome: Outcome::Unnamed, is_new: false };
        };
        let in_key = (Some(person), given_name(key).unwrap_or_default());
        let id = given_name(id).map(|id| (Some(person), id));
        let Some((persons, keys)) = self.memory.stores() else {
            return Arrival { outcome: Outcome::Unnamed, is_new: false };
        };
        let is_new = !keys.contains(in_key);
        let is_copy = id.is_some_and(|id| self.copies.contains(id));
        let share = &self.rules.share;
        let outcome = if is_copy || (share.is_once_per_key() && !is_new) {
            Outcome::Duplicate
        } else if share.slots(step).any(|slot| persons.admit(person, slot)) {
            Outcome::Counted { step }
        } else {
            Outcome::OverBound
        };
        if !outcome.is_counted() {
            return Arrival { outcome, is_new: false };
        }
        if let Some(id) = id {
            self.copies.insert(id, step);
        }
        keys.insert(in_key, step);
        Arrival { outcome, is_new }
    }

    /// The state as bytes: guard it like the data.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        self.memory.save()
    }
}

/// The share of persons who count once per key, and the limits that it needs.
fn once(max_keys: u64) -> Result<(Share, Participation)> {
    let share = Share::once_per_key(max_keys)?;
    Ok((share, share.limits().unwrap_or_else(Participation::single)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buckets, Event, Gather, KeySet, OpenGather};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const SECOND: i64 = 1_000_000;
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    /// What counts and who is new, by step and key.
    type Table = BTreeMap<(u64, String), (u64, u64)>;

    /// Times, keys and persons in the order of times, of which no two are equal.
    fn arrivals() -> impl Strategy<Value = Vec<(i64, usize, String)>> {
        let event = (0_i64..6 * SECOND, 0_usize..5, 0_u8..4);
        prop::collection::btree_map(0_i64..6 * SECOND, event, 0..100).prop_map(|events| {
            let named = events.into_iter().map(|(time, (_, key, person))| (time, key, format!("p{person}")));
            named.collect()
        })
    }

    fn decided(
        events: &[(i64, usize, String)],
        batch: usize,
        mut newcomers: Newcomers,
        again: impl Fn(&[u8]) -> Newcomers,
    ) -> Table {
        let mut table = Table::new();
        for (number, (time, key, person)) in events.iter().enumerate() {
            if number % batch == 0 {
                newcomers = again(&newcomers.save());
            }
            let step = (time / SECOND) as u64;
            let arrival = newcomers.decide(Some(&format!(" {person}")), Some(NAMES[*key]), None, step);
            if arrival.outcome.is_counted() {
                let cell = table.entry((step, NAMES[*key].to_owned())).or_default();
                *cell = (cell.0 + 1, cell.1 + u64::from(arrival.is_new));
            } else {
                assert!(!arrival.is_new);
            }
        }
        table
    }

    fn buckets() -> Buckets {
        Buckets::new(0, "1s".parse().unwrap(), 6).unwrap()
    }

    fn event<'a>((time, key, person): &'a (i64, usize, String)) -> Event<'a> {
        Event { time: *time, key: Some(NAMES[*key]), person: Some(person), ..Event::default() }
    }

    proptest! {
        #[test]
        fn who_counts_and_is_new_is_as_in_a_finished_input(
            events in arrivals(), steps in 1_u64..5, gap in 1_u64..3, batch in 1_usize..20,
        ) {
            let (key, limits) = (NoiseKey::insecure_from_seed(1), Participation::at_most(steps, gap).unwrap());
            let rules = Rules { limits: Some(limits), ..Rules::default() };
            let mut gather = OpenGather::new(buckets(), rules, 1 << 20).unwrap();
            events.iter().for_each(|arrival| assert!(gather.push(&event(arrival)).unwrap().is_none()));
            let gathered = gather.finish().unwrap();
            let expected: Table = (0..6)
                .flat_map(|step| gathered.of_step(step).map(move |row| (step, row)))
                .map(|(step, row)| ((step, row.key.to_owned()), (row.amount.to_f64() as u64, row.new_persons)))
                .collect();
            let again = |state: &[u8]| Newcomers::resume(limits, &key, state).unwrap();
            prop_assert_eq!(decided(&events, batch, Newcomers::new(limits, &key).unwrap(), again), expected);
        }

        #[test]
        fn once_per_key_is_as_in_a_finished_input(
            events in arrivals(), keys in 1_u64..5, batch in 1_usize..20,
        ) {
            let (key, (share, limits)) = (NoiseKey::insecure_from_seed(1), once(keys).unwrap());
            let declared = Some(KeySet::new(NAMES).unwrap());
            let has_ids = share.is_once_per_key();
            let rules = Rules { keys: declared, limits: Some(limits), share, has_ids, ..Rules::default() };
            let mut gather = Gather::new(buckets(), rules, 1 << 20).unwrap();
            events.iter().for_each(|arrival| assert!(gather.push(&event(arrival)).unwrap().is_none()));
            let counts = gather.finish().unwrap().flat_map(|closed| {
                let cell = |(name, total): (&str, f64)| ((closed.step, name.to_owned()), (total as u64, total as u64));
                NAMES.into_iter().zip(closed.totals.iter().map(|total| total.to_f64())).map(cell).collect::<Vec<_>>()
            });
            let expected: Table = counts.filter(|(_, (count, _))| *count > 0).collect();
            let again = |state: &[u8]| Newcomers::resume_once_per_key(keys, &key, state).unwrap();
            prop_assert_eq!(decided(&events, batch, Newcomers::once_per_key(keys, &key).unwrap(), again), expected);
        }
    }

    #[test]
    fn copies_and_the_unnamed_do_not_count() {
        let key = NoiseKey::insecure_from_seed(1);
        let mut newcomers = Newcomers::new(Participation::at_most(9, 1).unwrap(), &key).unwrap();
        let mut decide = |person, id, step| newcomers.decide(person, Some("a"), id, step).outcome;
        assert_eq!(decide(Some(" "), None, 0), Outcome::Unnamed);
        assert_eq!(decide(None, None, 0), Outcome::Unnamed);
        assert!(decide(Some("p"), Some("1"), 0).is_counted());
        assert_eq!(decide(Some("p"), Some(" 1"), 1), Outcome::Duplicate);
        assert!(decide(Some("q"), Some("1"), 1).is_counted());
        assert!(decide(Some("p"), Some(""), 1).is_counted());
    }

    #[test]
    fn a_state_names_nobody_and_belongs_to_one_rule() {
        let key = NoiseKey::insecure_from_seed(1);
        let limits = Participation::at_most(2, 1).unwrap();
        let mut newcomers = Newcomers::new(limits, &key).unwrap();
        newcomers.decide(Some("ann-of-green-gables"), Some("/secret-page"), None, 3);
        let state = newcomers.save();
        let holds = |text: &[u8]| state.windows(text.len()).any(|part| part == text);
        assert!(!holds(b"ann-of") && !holds(b"secret"));
        assert!(Newcomers::resume(limits, &key, &state).is_ok());
        assert!(Newcomers::resume_once_per_key(2, &key, &state).is_err());
        assert!(Newcomers::resume(Participation::at_most(3, 1).unwrap(), &key, &state).is_err());
        assert!(Newcomers::resume(limits, &NoiseKey::insecure_from_seed(2), &state).is_err());
        assert!(Newcomers::resume(limits, &key, &state[1..]).is_err());
    }
}
