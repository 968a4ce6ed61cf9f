//! In which steps each person counted, for as long as the counter lives: the ledger's store of
//! persons for admission. Where different persons are counted, a person has a slot for each key
//! instead of each step ([`evertally_stream::Share::once_per_key`]).
//!
//! Each person has a row in a table on disk, and all of them stand in memory. The counter keeps the
//! sum of a hash of every row, so that a lost, added or changed row is noticed. The sum follows
//! each change in constant time, and is compared when the rows are read.

use crate::error::Result;
use crate::record::{decode, encode};
use evertally::Participation;
use evertally_stream::{PersonStore, admit_step};
use std::collections::{HashMap, HashSet};

pub(crate) struct PersonRows {
    limits: Participation,
    steps: HashMap<u128, Vec<u64>>,
    /// Persons whose rows on disk are behind.
    changed: HashSet<u128>,
    sum: u128,
}

impl PersonRows {
    /// Before the first event.
    pub(crate) fn new(limits: Participation) -> Self {
        Self { limits, steps: HashMap::new(), changed: HashSet::new(), sum: 0 }
    }

    /// Whether a person has counted in a step, or has taken the slot of a key.
    pub(crate) fn has(&self, person: u128, step: u64) -> bool {
        self.steps.get(&person).is_some_and(|steps| steps.binary_search(&step).is_ok())
    }

    /// The sum over all rows.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// The rows that are behind on disk. They count as written from here on.
    pub(crate) fn take_changed(&mut self) -> Result<Vec<(u128, Vec<u8>)>> {
        let changed = std::mem::take(&mut self.changed);
        let row =
            |person: u128| Ok((person, encode(&self.steps.get(&person).map_or(&[][..], Vec::as_slice))?));
        changed.into_iter().map(row).collect()
    }

    /// Takes a row from disk.
    pub(crate) fn load(&mut self, person: u128, row: &[u8]) -> Result<()> {
        let steps: Vec<u64> = decode("the steps of a person", row)?;
        self.sum = self.sum.wrapping_add(row_hash(person, &steps));
        self.steps.insert(person, steps);
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.limits);
    }
}

impl PersonStore for PersonRows {
    type Person<'a> = u128;

    fn admit(&mut self, person: u128, step: u64) -> bool {
        let steps = self.steps.entry(person).or_default();
        let before = row_hash(person, steps);
        if !admit_step(self.limits, steps, step) {
            return false;
        }
        self.sum = self.sum.wrapping_sub(before).wrapping_add(row_hash(person, steps));
        self.changed.insert(person);
        true
    }
}

/// Zero for a person who never counted.
fn row_hash(person: u128, steps: &[u64]) -> u128 {
    if steps.is_empty() {
        return 0;
    }
    let mut hasher = blake3::Hasher::new_derive_key("evertally ledger 1 steps of a person");
    hasher.update(&person.to_le_bytes());
    steps.iter().for_each(|step| {
        hasher.update(&step.to_le_bytes());
    });
    hasher.finalize().as_bytes().first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}
