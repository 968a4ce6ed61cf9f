//! Events of keys that nobody declared, gathered per step and key.
//!
//! **Definition.** Persons are bounded, and each event counts for the key that it names. What counts is
//! decided as by [`Gather`](super::Gather). A person is *new* in a key at the first step at which an event
//! of theirs counts there. For each step and key there is one [`InKey`]: what was added, and how many persons
//! were new.
//!
//! **Guarantee.** Which events of a person count, and where they are new, depends on their own events alone.
//! A person is new in at most as many keys as the bound on steps and the share of a step allow
//! ([`Share::keys`](crate::Share::keys)). The order of the input does not matter.
//!
//! **The floor.** Keys with fewer persons over all steps than a floor are left out. With no floor everything
//! is kept, which is the oracle: with one, the same entries are left as if they were dropped at the end.
//!
//! **Cost.** The memory of [`Gather`] for events that compete, and the text of each name once, with at most
//! 20 bytes ([`Texts`]). Events are decided twice if there is a floor: once to count the persons of each key,
//! in four bytes, and once to add up what is kept, in 32 bytes for each step and key that is kept. If events
//! were spilled, they are decided once, and take 32 bytes for each person, step and key that count, until
//! they are added up.

use std::collections::HashSet;

use super::log::{Log, Texts};
use super::{Gather, Spill, moment_of};
use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::error::{Error, Result};
use crate::names::given_name;
use crate::rules::{Event, Rules};

/// The longest name of a key, in bytes: that of the counter.
const MAX_KEY_BYTES: usize = evertally::DiscoveringCounter::MAX_KEY_BYTES;

/// Up to this many keys of a person are compared one by one.
const FEW_KEYS: usize = 16;

/// Entries that are not yet added up, at least.
const LEAST_ENTRIES: usize = if cfg!(test) { 16 } else { 1 << 16 };

/// What was added to one key in one step. There is no `Debug`: it is private.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InKey<'a> {
    /// The name of the key.
    pub key: &'a str,
    /// The sum of what counted.
    pub amount: Amount,
    /// The persons who had not counted in this key before.
    pub new_persons: u64,
}

/// The same, by the number of the key.
#[derive(Clone, Copy)]
struct Entry {
    step: u64,
    key: u32,
    new_persons: u32,
    amount: Amount,
}

/// Gathers the events of a finished input, whose keys are not declared.
pub struct OpenGather {
    gather: Gather,
    floor: u64,
    limit: u64,
}

impl OpenGather {
    /// Before the first event.
    ///
    /// # Errors
    /// [`evertally::Error::BadParameter`] if the rules do not bound persons, or declare keys.
    pub fn new(buckets: Buckets, rules: Rules, memory_limit: u64) -> Result<Self> {
        if rules.limits.is_none() {
            return Err(Error::bad("the steps of a person", "bounded, where keys are found", "not bounded"));
        }
        if rules.keys.is_some() || rules.is_mean {
            return Err(Error::bad("the keys", "not declared, for totals", "declared, or for means"));
        }
        let log = Some(Log::of_open_keys(&rules, memory_limit));
        let (steps, totals) = (0..buckets.steps(), Vec::new());
        let gather = Gather { buckets, rules, steps, totals, cells: 0, log, run: None, is_open: true };
        Ok(Self { gather, floor: 1, limit: memory_limit })
    }

    /// Leaves out keys that have fewer persons over all steps.
    #[must_use]
    pub fn at_or_above(self, floor: u64) -> Self {
        Self { floor, ..self }
    }

    /// Opens the place for events that do not fit in memory, as [`Gather::spilling_to`].
    #[must_use]
    pub fn spilling_to(
        self,
        open: impl FnOnce() -> std::io::Result<Box<dyn Spill>> + Send + Sync + 'static,
    ) -> Self {
        Self { gather: self.gather.spilling_to(open), ..self }
    }

    /// What takes the events, one by one or by columns.
    pub fn events(&mut self) -> &mut Gather {
        &mut self.gather
    }

    /// Takes one event. `None` if it is decided at the end.
    ///
    /// # Errors
    /// [`Error::OutsideRange`], [`Error::NoKey`], [`Error::KeyTooLong`] and the errors of values, which
    /// change nothing. [`Error::TooManyClaims`] and [`Error::Spill`], after which the input cannot be
    /// gathered.
    pub fn push(&mut self, event: &Event<'_>) -> Result<Option<Outcome>> {
        self.gather.push(event)
    }

    /// Decides on the events, and adds up what counts.
    ///
    /// # Errors
    /// [`Error::Spill`], and [`Error::TooManyClaims`] if what counts does not fit in memory.
    pub fn finish(self) -> Result<OpenSteps> {
        let Self { gather: Gather { buckets, log, .. }, floor, limit } = self;
        let steps = buckets.steps();
        let Some(mut log) = log else {
            return Ok(OpenSteps { steps, names: Texts::default(), entries: Vec::new() });
        };
        let persons = if floor > 1 { persons_of_keys(&mut log)? } else { None };
        let is_kept = |key: u32| {
            let known = persons.as_ref().and_then(|persons| persons.get(key as usize));
            known.is_none_or(|persons| u64::from(*persons) >= floor)
        };
        let mut entries = Entries { all: Vec::new(), next: LEAST_ENTRIES };
        let mut own = OwnKeys::default();
        let mut is_full = false;
        let symbols = log.decide_in_turn(|counted| match counted {
            Some((step, (place, amount))) => {
                let key = place as u32;
                if is_kept(key) {
                    let new_persons = u32::from(own.is_new(key));
                    entries.push(Entry { step, key, new_persons, amount });
                    is_full |= entries.bytes() > limit;
                }
            }
            None => own.clear(),
        })?;
        if is_full {
            return Err(Error::TooManyClaims { limit });
        }
        entries.add_up();
        let mut steps = OpenSteps { steps, names: symbols.into_undeclared(), entries: entries.all };
        if persons.is_none() {
            steps.leave_out_below(floor);
        }
        Ok(steps)
    }
}

/// The persons of each key, by its number. `None` if events were spilled.
fn persons_of_keys(log: &mut Log) -> Result<Option<Vec<u32>>> {
    // The numbers of keys begin with one.
    let mut persons = vec![0_u32; log.symbols().undeclared_len() + 1];
    let mut own = OwnKeys::default();
    let is_whole = log.foresee(|counted| match counted {
        Some((_, (place, _))) => {
            if own.is_new(place as u32) {
                // There are fewer persons than 2^32 claims of a file.
                persons[place] = persons[place].saturating_add(1);
            }
        }
        None => own.clear(),
    })?;
    Ok(is_whole.then_some(persons))
}

impl Gather {
    /// Takes one event where no key is declared.
    pub(super) fn push_open(&mut self, event: &Event<'_>) -> Result<Option<Outcome>> {
        let person = match given_name(event.person) {
            Some(person) if !self.rules.is_unnamed(event) => person,
            _ => return Ok(Some(Outcome::Unnamed)),
        };
        let moment = moment_of(&self.buckets, event.time)?;
        let key = name_of(event.key)?;
        let amount = self.rules.amount(event)?;
        if let Some(log) = &mut self.log {
            log.add(person, moment, Some(key), event.id, amount)?;
        }
        Ok(None)
    }
}

/// The name of a key that is not declared.
#[inline]
pub(super) fn name_of(key: Option<&str>) -> Result<&str> {
    let key = given_name(key).ok_or(Error::NoKey)?;
    if key.len() > MAX_KEY_BYTES { Err(Error::KeyTooLong { most: MAX_KEY_BYTES }) } else { Ok(key) }
}

/// What counted, of which entries of the same step and key are added up now and then.
struct Entries {
    all: Vec<Entry>,
    /// How many there may be before the next time.
    next: usize,
}

impl Entries {
    fn push(&mut self, entry: Entry) {
        self.all.push(entry);
        if self.all.len() >= self.next {
            self.add_up();
            self.next = (2 * self.all.len()).max(LEAST_ENTRIES);
        }
    }

    fn bytes(&self) -> u64 {
        (self.all.capacity() * size_of::<Entry>()) as u64
    }

    /// Adds up, and leaves one entry for each step and key in ascending order.
    fn add_up(&mut self) {
        self.all.sort_unstable_by_key(|entry| (entry.step, entry.key));
        self.all.dedup_by(|next, kept| {
            let is_same = (next.step, next.key) == (kept.step, kept.key);
            if is_same {
                kept.amount += next.amount;
                // There are fewer persons than 2^32 claims of a file.
                kept.new_persons = kept.new_persons.saturating_add(next.new_persons);
            }
            is_same
        });
    }
}

/// The keys in which one person has counted.
#[derive(Default)]
struct OwnKeys {
    few: Vec<u32>,
    many: HashSet<u32>,
}

impl OwnKeys {
    /// Whether the person had not counted in this key. From now on they have.
    fn is_new(&mut self, key: u32) -> bool {
        if self.few.contains(&key) || self.many.contains(&key) {
            return false;
        }
        if self.few.len() < FEW_KEYS {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
        true
    }

    fn clear(&mut self) {
        self.few.clear();
        if !self.many.is_empty() {
            self.many = HashSet::new();
        }
    }
}

/// What counts in every step, key by key. There is no `Debug`: it is private.
pub struct OpenSteps {
    steps: u64,
    names: Texts,
    /// By step.
    entries: Vec<Entry>,
}

impl OpenSteps {
    /// The number of steps that were declared.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What was added in a step, in no particular order.
    pub fn of_step(&self, step: u64) -> impl Iterator<Item = InKey<'_>> {
        let first = self.entries.partition_point(|entry| entry.step < step);
        self.entries[first..].iter().take_while(move |entry| entry.step == step).map(|entry| InKey {
            // The numbers of keys begin with one.
            key: self.names.get(entry.key as usize - 1).unwrap_or_default(),
            amount: entry.amount,
            new_persons: entry.new_persons.into(),
        })
    }

    /// Every key that is kept, with the persons who count in it over all steps.
    pub fn persons(&self) -> impl Iterator<Item = (&str, u64)> {
        let persons = self.persons_by_number().into_iter().enumerate().skip(1);
        let kept = persons.filter_map(|(number, persons)| Some((number, persons?)));
        kept.map(|(number, persons)| (self.names.get(number - 1).unwrap_or_default(), persons))
    }

    /// The persons of each key by its number, if anything counts in it.
    fn persons_by_number(&self) -> Vec<Option<u64>> {
        let mut persons = vec![None; self.names.len() + 1];
        for entry in &self.entries {
            *persons[entry.key as usize].get_or_insert(0) += u64::from(entry.new_persons);
        }
        persons
    }

    /// Leaves out keys that have fewer persons.
    fn leave_out_below(&mut self, floor: u64) {
        if floor > 1 {
            let persons = self.persons_by_number();
            self.entries.retain(|entry| persons[entry.key as usize] >= Some(floor));
        }
    }
}

#[cfg(test)]
mod tests;
