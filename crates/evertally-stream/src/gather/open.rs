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
//! **The floor.** Keys with fewer persons over all steps than a floor are left out. With no floor everything is
//! kept, which is the oracle: with one, the same entries are left as if they were dropped at the end.
//!
//! **Cost.** The memory of [`Gather`] for events that compete, and the text of each name once, with at most
//! 20 bytes ([`Texts`]). Events are decided twice if there is a floor: once to count the persons of each key, in
//! four bytes, and once to add up what is kept, in 32 bytes for each step and key that is kept. If events were
//! spilled, they are decided once, and take 32 bytes for each person, step and key that count, until they are
//! added up.

use std::collections::HashSet;

use super::log::{Log, Texts};
use super::{Gather, Spill, moment_of};
use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::error::{Error, Result};
use crate::names::given_name;
use crate::rules::{Event, Rules};

/// The longest name of a key, in bytes.
const MAX_KEY_BYTES: usize = 4096;

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
mod tests {
    use super::*;
    use crate::contest::Contest;
    use crate::{KeySet, Share};
    use evertally::Participation;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    const SECOND: i64 = 1_000_000;

    fn buckets() -> Buckets {
        Buckets::new(0, "1s".parse().unwrap(), 6).unwrap()
    }

    fn rules(steps: u64, events: u64, keys: u64, has_ids: bool) -> Rules {
        Rules {
            limits: Some(Participation::at_most(steps, 1).unwrap()),
            share: Share::new(Some(events), keys, None).unwrap(),
            has_ids,
            ..Rules::default()
        }
    }

    type Table = BTreeMap<(u64, String), (i128, u64)>;

    fn gathered(rules: &Rules, events: &[Event<'_>]) -> Table {
        let mut gather = OpenGather::new(buckets(), rules.clone(), 1 << 20).unwrap();
        events.iter().for_each(|event| assert!(gather.push(event).unwrap().is_none()));
        table_of(&gather.finish().unwrap())
    }

    fn table_of(steps: &OpenSteps) -> Table {
        let row =
            |step, row: InKey<'_>| ((step, row.key.to_owned()), (row.amount.grid_steps(), row.new_persons));
        (0..6).flat_map(|step| steps.of_step(step).map(move |in_key| row(step, in_key))).collect()
    }

    /// With a floor, by columns, and with a limit on memory beyond which events are spilled; and whether they
    /// were.
    fn gathered_above(
        rules: &Rules,
        events: &[Event<'_>],
        floor: u64,
        limit: u64,
        batch_len: usize,
    ) -> (Table, bool) {
        let is_spilled = Arc::new(AtomicBool::new(false));
        let mut open = OpenGather::new(buckets(), rules.clone(), limit).unwrap().at_or_above(floor);
        let spills = Arc::clone(&is_spilled);
        open = open.spilling_to(move || {
            spills.store(true, Ordering::Relaxed);
            Ok(Box::new(std::io::Cursor::new(Vec::new())))
        });
        let gather = open.events();
        let mut batch = gather.claim_batch().unwrap();
        for (number, event) in events.iter().enumerate() {
            let tag = batch.tag_of(event.person.unwrap()).unwrap();
            assert!(gather.takes_key(event.key));
            let key = batch.number_of(event.key);
            batch.push(
                tag,
                gather.moment_of(event.time).unwrap(),
                key,
                event.id,
                gather.amount_of(None).unwrap(),
            );
            if number % batch_len == 0 {
                gather.take(&mut batch).unwrap();
                batch.forget_keys();
            }
        }
        gather.take(&mut batch).unwrap();
        let steps = open.finish().unwrap();
        let table = table_of(&steps);
        let mut persons = BTreeMap::new();
        for ((_, key), (_, new)) in &table {
            *persons.entry(key.as_str()).or_insert(0) += new;
        }
        assert!(steps.persons().collect::<BTreeMap<_, _>>() == persons);
        (table, is_spilled.load(Ordering::Relaxed))
    }

    /// The definition: what counts by the oracle of declared keys, one person alone after another, and a set
    /// of the persons of each key.
    fn obvious(rules: &Rules, events: &[Event<'_>]) -> Table {
        let names = ["a", "b", "c", "d", "e"];
        let declared = Rules { keys: Some(KeySet::new(names).unwrap()), ..rules.clone() };
        let persons: HashSet<&str> = events.iter().filter_map(|event| event.person).collect();
        let mut table = Table::new();
        for person in persons {
            let mut contest = Contest::new(declared.clone());
            for event in events.iter().filter(|event| event.person == Some(person)) {
                let step = buckets().step_of(event.time).unwrap();
                assert!(contest.push(event, Ok(step)).is_ok());
            }
            let mut known = HashSet::new();
            while let Some(step) = contest.first_open() {
                for (place, amount) in contest.close(step) {
                    let cell = table.entry((step, names[place].to_owned())).or_default();
                    cell.0 += amount.grid_steps();
                    cell.1 += u64::from(known.insert(place));
                }
            }
        }
        table
    }

    proptest! {
        #[test]
        fn what_counts_is_that_of_the_definition_in_any_order(
            events in prop::collection::vec((0_i64..6 * SECOND, 0_u8..5, 0_u8..5, 0_u8..6), 0..120),
            steps in 1_u64..4, most in 1_u64..4, keys in 1_u64..4, has_ids in any::<bool>(), seed in any::<u64>(),
        ) {
            let texts: Vec<_> = events
                .iter()
                .map(|(time, key, person, id)| {
                    let key = char::from(b'a' + key).to_string();
                    (*time, key, format!("p{person}"), format!("i{id}"))
                })
                .collect();
            let mut events: Vec<Event<'_>> = texts
                .iter()
                .map(|(time, key, person, id)| Event {
                    time: *time,
                    key: Some(key),
                    person: Some(person),
                    id: Some(id),
                    value: None,
                })
                .collect();
            let rules = rules(steps, most, keys, has_ids);
            let table = gathered(&rules, &events);
            prop_assert!(table == obvious(&rules, &events));
            let bound = steps * rules.share.keys();
            for person in 0..6 {
                let own: Vec<_> =
                    events.iter().filter(|event| event.person == Some(&format!("p{person}"))).copied().collect();
                let new: u64 = gathered(&rules, &own).values().map(|(_, new)| new).sum();
                prop_assert!(new <= bound, "a person is new in at most {bound} keys");
            }
            events.sort_by_key(|event| (event.time as u64).wrapping_mul(seed | 1));
            prop_assert!(gathered(&rules, &events) == table);
            for floor in 1..4 {
                let mut persons = BTreeMap::new();
                for ((_, key), (_, new)) in &table {
                    *persons.entry(key.clone()).or_insert(0) += new;
                }
                let above: Table =
                    table.clone().into_iter().filter(|((_, key), _)| persons[key] >= floor).collect();
                prop_assert!(gathered_above(&rules, &events, floor, 1 << 20, 7) == (above, false));
            }
        }
    }

    /// What was spilled is decided once, and keys below the floor are left out at the end.
    #[test]
    fn keys_below_the_floor_are_left_out_of_what_was_spilled() {
        let texts: Vec<_> = (0..3000)
            .map(|number| (format!("k{}", number * number % 900), format!("p{}", number % 700)))
            .collect();
        let events: Vec<Event<'_>> = (0_i64..)
            .zip(&texts)
            .map(|(at, (key, person))| Event {
                time: at * at % 6 * SECOND,
                key: Some(key),
                person: Some(person),
                ..Event::default()
            })
            .collect();
        let rules = rules(3, 2, 2, false);
        for floor in [1, 2, 5, 1000] {
            let (whole, is_spilled) = gathered_above(&rules, &events, floor, 1 << 20, 100);
            assert!(!is_spilled);
            assert!(gathered_above(&rules, &events, floor, 48_000, 100) == (whole.clone(), true));
            assert_eq!(whole.is_empty(), floor == 1000);
        }
    }

    #[test]
    fn a_person_is_new_in_a_key_once_among_many() {
        let names: Vec<String> = (0..100).map(|number| format!("k{number}")).collect();
        let rules = rules(6, 1000, 1000, false);
        let events: Vec<Event<'_>> = (0..1000)
            .map(|number| Event {
                time: number % 6 * SECOND,
                key: Some(&names[number as usize % 100]),
                person: Some("p"),
                ..Event::default()
            })
            .collect();
        let table = gathered(&rules, &events);
        assert_eq!(table.values().map(|(_, new)| new).sum::<u64>(), 100);
        let counted: i128 = table.values().map(|(amount, _)| amount).sum();
        assert_eq!(counted, 1000 * Amount::ONE.grid_steps());
    }

    #[test]
    fn events_without_a_name_are_no_part_of_it() {
        let mut gather = OpenGather::new(buckets(), rules(1, 1, 1, false), 1 << 20).unwrap();
        let event = |key, person| Event { key, person, ..Event::default() };
        assert_eq!(gather.push(&event(Some("k"), Some(" "))), Ok(Some(Outcome::Unnamed)));
        for key in [None, Some(""), Some(" \t")] {
            assert_eq!(gather.push(&event(key, Some("p"))), Err(Error::NoKey));
        }
        let long = "secret".repeat(2 << 20);
        let refusal = gather.push(&event(Some(&long), Some("p"))).unwrap_err().to_string();
        assert_eq!(refusal, "the name of the group is longer than 4096 bytes");
        assert_eq!(gather.finish().unwrap().persons().count(), 0);
    }

    #[test]
    fn rules_that_bound_nobody_are_refused() {
        assert!(OpenGather::new(buckets(), Rules::default(), 1 << 20).is_err());
        let declared = Rules { keys: Some(KeySet::new(["a"]).unwrap()), ..rules(1, 1, 1, false) };
        assert!(OpenGather::new(buckets(), declared, 1 << 20).is_err());
    }

    #[test]
    fn what_does_not_fit_in_memory_is_an_error() {
        let texts: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
        let mut gather = OpenGather::new(buckets(), rules(1, 1, 1, false), 1 << 12).unwrap();
        let pushed = texts.iter().try_for_each(|text| {
            gather.push(&Event { key: Some(text), person: Some(text), ..Event::default() }).map(drop)
        });
        assert!(matches!(pushed, Err(Error::TooManyClaims { .. })));
    }
}
