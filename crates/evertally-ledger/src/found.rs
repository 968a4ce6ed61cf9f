//! Keys that a counter finds: what the ledger keeps of them besides the library's counter.
//!
//! **What is kept.** The name of every key of an event that counted, with a number; which persons have
//! counted in which keys; how many persons are new in the steps that are not frozen; and which keys have
//! appeared, at which step. The last is public. The rest is private: the names of hidden keys are needed
//! to show them later, and to make their noise in a new epoch.
//!
//! **Who is new in a key** is decided by [`PersonRows`] as the store of an admission in which keys stand in
//! the place of steps: a person is new in a key once, at the first event there that counts. Nothing but
//! their own events decides it.
//!
//! **Cost.** [`Discovery::bytes_of_key`] for each key, and twice its name and [`BYTES_OF_NAME`] here. A key
//! of a person takes what a step does in [`PersonRows`].

use crate::error::{Error, Result};
use crate::persons::PersonRows;
use crate::record::{decode, encode, seal, unseal};
use crate::spec::CounterPlan;
use evertally::{Discovery, FoundKey, Participation};
use evertally_stream::PersonStore;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use zeroize::Zeroize;

/// Bytes of a name here, besides twice its length: two places in tables.
const BYTES_OF_NAME: u64 = 128;

/// How many integers stand for a key in the input of a step: its number, its amount, and its new
/// persons.
const WORDS: usize = 3;

/// A key that has appeared. Its name is public from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownKey {
    pub(crate) name: Arc<str>,
    /// The step at which it appeared.
    pub(crate) since: u64,
}

/// The keys of a counter that finds them. No `Debug`: most of it is private.
pub(crate) struct FoundKeys {
    names: Names,
    /// In which keys each person has counted.
    pub(crate) holders: PersonRows,
    /// The new persons of steps that are not frozen, by key.
    new: BTreeMap<u64, BTreeMap<u32, u64>>,
    /// In the order in which they appeared, and by name within a step.
    shown: Vec<ShownKey>,
    /// The keys that a record says to have appeared with the next release.
    pub(crate) expected: Vec<u32>,
    discovery: Discovery,
    memory_bytes: u64,
}

/// All names, each with a number.
#[derive(Default)]
struct Names {
    all: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    held_bytes: u64,
}

impl Drop for Names {
    fn drop(&mut self) {
        self.numbers.clear();
        for name in &mut self.all {
            if let Some(name) = Arc::get_mut(name) {
                name.zeroize();
            }
        }
    }
}

/// What is on the disk besides the counter's row, as of the same frame.
#[derive(Serialize, Deserialize)]
pub(crate) struct FoundRow {
    sequence: u64,
    /// Names, and the steps at which they appeared.
    shown: Vec<(String, u64)>,
    /// None once the counter will never release again.
    hidden: Option<HiddenKeys>,
}

#[derive(Default, Serialize, Deserialize)]
struct HiddenKeys {
    names: Vec<String>,
    new: Vec<(u64, Vec<(u32, u64)>)>,
    /// The sum of the hashes of the rows of holders.
    holders: u128,
}

fn place(counter: u32) -> String {
    format!("the keys of counter {counter}")
}

impl FoundKeys {
    /// Before the first event; none if the counter finds no keys.
    pub(crate) fn of(counter_plan: &CounterPlan) -> Result<Option<Self>> {
        let (Some(discovery), Some(discover)) = (counter_plan.discovery(), counter_plan.spec().discover)
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            names: Names::default(),
            // In no key twice, and in as many as there are steps for.
            holders: PersonRows::new(Participation::at_most(u64::MAX, 1)?),
            new: BTreeMap::new(),
            shown: Vec::new(),
            expected: Vec::new(),
            discovery: discovery.clone(),
            memory_bytes: discover.memory_bytes(),
        }))
    }

    /// Whether keys have taken all the memory that they may take. It does not depend on the event that
    /// is about to come.
    pub(crate) fn is_full(&self) -> bool {
        self.names.held_bytes >= self.memory_bytes
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The number that a name has, or would have.
    pub(crate) fn number(&self, name: &str) -> u32 {
        self.names.numbers.get(name).copied().unwrap_or(self.names.all.len() as u32)
    }

    /// Gives a name its number, unless it has one. Whether it is new.
    pub(crate) fn learn(&mut self, name: &Arc<str>) -> bool {
        if self.names.numbers.contains_key(name) {
            return false;
        }
        let number = self.names.all.len() as u32;
        self.names.held_bytes +=
            self.discovery.bytes_of_key(name.len()) + 2 * name.len() as u64 + BYTES_OF_NAME;
        self.names.all.push(Arc::clone(name));
        self.names.numbers.insert(Arc::clone(name), number);
        true
    }

    /// Whether an event names a key.
    pub(crate) fn has(&self, number: u32) -> bool {
        (number as usize) < self.names.all.len()
    }

    /// All names, in the order of their numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.all.iter().map(|name| &**name)
    }

    /// An event of a person counts in a key.
    pub(crate) fn count(&mut self, person: u128, step: u64, key: u32) {
        if self.holders.admit(person, key.into()) {
            *self.new.entry(step).or_default().entry(key).or_default() += 1;
        }
    }

    /// The input of a step as integers: for each key with an event its number, its amount, and its new
    /// persons.
    pub(crate) fn freeze(&mut self, step: u64, amounts: impl Iterator<Item = (u32, i128)>) -> Vec<i128> {
        let new = self.new.remove(&step).unwrap_or_default();
        let words = |(key, amount): (u32, i128)| {
            [key.into(), amount, new.get(&key).copied().unwrap_or_default().into()]
        };
        amounts.flat_map(words).collect()
    }

    /// The input of a step, key by key.
    pub(crate) fn input<'a>(
        &'a self,
        words: &'a [i128],
    ) -> impl Iterator<Item = Result<(&'a str, i128, u64)>> {
        words.chunks(WORDS).map(|words| {
            let input = || {
                let [number, amount, new] = <[i128; WORDS]>::try_from(words).ok()?;
                let name = self.names.all.get(usize::try_from(number).ok()?)?;
                Some((&**name, amount, u64::try_from(new).ok()?))
            };
            input().ok_or_else(|| Error::damaged("the input of a step has a key that is not known"))
        })
    }

    /// Notes which keys have appeared with a release, and returns their numbers.
    pub(crate) fn show<'a>(&mut self, step: u64, found: impl Iterator<Item = &'a FoundKey<'a>>) -> Vec<u32> {
        let mut numbers = Vec::new();
        for key in found.filter(|key| key.since == step) {
            numbers.push(self.number(key.key));
            self.shown.push(ShownKey { name: self.held(key.key), since: step });
        }
        numbers
    }

    /// A name as it is held here, so that it is in memory once.
    fn held(&self, name: &str) -> Arc<str> {
        self.names.numbers.get_key_value(name).map_or_else(|| name.into(), |(name, _)| Arc::clone(name))
    }

    /// The keys that have appeared.
    pub(crate) fn shown(&self) -> &[ShownKey] {
        &self.shown
    }

    /// Drops everything that is private.
    pub(crate) fn forget(&mut self) {
        self.names = Names::default();
        self.holders.clear();
        self.new.clear();
    }

    /// The row as of a frame.
    pub(crate) fn row(&self, counter: u32, sequence: u64, has_ended: bool) -> Result<Vec<u8>> {
        let hidden = || HiddenKeys {
            names: self.names().map(str::to_owned).collect(),
            new: self
                .new
                .iter()
                .map(|(step, new)| (*step, new.iter().map(|(key, persons)| (*key, *persons)).collect()))
                .collect(),
            holders: self.holders.sum(),
        };
        let shown = self.shown.iter().map(|key| (key.name.to_string(), key.since)).collect();
        let row = FoundRow { sequence, shown, hidden: (!has_ended).then(hidden) };
        Ok(seal(&place(counter), encode(&row)?))
    }

    /// Takes a row as of a frame. The sum that the rows of holders must have is returned.
    pub(crate) fn load(&mut self, counter: u32, sequence: u64, row: Option<Vec<u8>>) -> Result<u128> {
        let place = place(counter);
        let row = row.ok_or_else(|| Error::damaged(format!("{place} are missing")))?;
        let row: FoundRow = decode(&place, unseal(&place, &row)?)?;
        if row.sequence != sequence {
            return Err(Error::damaged(format!("{place} are of another frame than its row")));
        }
        let hidden = row.hidden.unwrap_or_default();
        for name in hidden.names {
            if !self.learn(&name.into()) {
                return Err(Error::damaged(format!("{place} have a name twice")));
            }
        }
        let shown = row.shown.into_iter().map(|(name, since)| ShownKey { name: self.held(&name), since });
        self.shown = shown.collect();
        let step = |(step, new): (u64, Vec<(u32, u64)>)| (step, new.into_iter().collect());
        self.new = hidden.new.into_iter().map(step).collect();
        Ok(hidden.holders)
    }
}

/// How many numbers the releases of a counter have.
#[derive(Clone, Copy)]
pub(crate) enum Widths<'a> {
    /// As many at every step.
    Same(usize),
    /// One for each key that has appeared.
    Growing(&'a [ShownKey]),
}

impl<'a> Widths<'a> {
    pub(crate) fn of(counter_plan: &CounterPlan, shown: &'a [ShownKey]) -> Self {
        counter_plan.width().map_or(Self::Growing(shown), Self::Same)
    }

    /// The numbers of one step.
    pub(crate) fn at(self, step: u64) -> usize {
        match self {
            Self::Same(width) => width,
            Self::Growing(shown) => shown.partition_point(|key| key.since <= step),
        }
    }

    /// The numbers of the steps from one up to another.
    pub(crate) fn between(self, first: u64, end: u64) -> usize {
        match self {
            Self::Same(width) => end.saturating_sub(first) as usize * width,
            Self::Growing(shown) => {
                let of_key = |key: &ShownKey| end.saturating_sub(key.since.max(first)) as usize;
                shown.iter().map(of_key).sum()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up() {
        let shown: Vec<ShownKey> =
            [2, 2, 5, 9].into_iter().map(|since| ShownKey { name: "k".into(), since }).collect();
        for widths in [Widths::Growing(&shown), Widths::Growing(&[]), Widths::Same(3)] {
            for (first, end) in (0..12).flat_map(|first| (first..12).map(move |end| (first, end))) {
                let sum: usize = (first..end).map(|step| widths.at(step)).sum();
                assert_eq!(widths.between(first, end), sum, "{first} to {end}");
            }
        }
        assert_eq!([1, 2, 5, 8, 9].map(|step| Widths::Growing(&shown).at(step)), [0, 2, 3, 3, 4]);
    }
}
