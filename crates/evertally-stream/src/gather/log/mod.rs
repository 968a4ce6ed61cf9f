//! The events of a finished input that compete, by claimant: compact, and on disk if there are many.
//!
//! **Definition.** A claimant is a person, or an id where persons are not bounded. What counts of a
//! claimant's events depends on these events alone ([`admission`](crate::admission)), so they can be
//! decided claimant by claimant, at the end of the input. Until then each event is a [`Claim`], stored
//! under the tag of its claimant: 88 bits of two secret hashes of the name. The first byte of a tag
//! selects one of 256 [`Shelf`]s. New claims are appended to their shelf. When these are a twelfth of
//! it, the shelf is sorted by tag again, and claims that can never count are dropped ([`reduce`]). When
//! all shelves exceed the limit on memory, they are written to [`Spill`] and emptied.
//!
//! **Guarantee.** The same events count as if all were sorted and decided one by one, however they are
//! ordered, reduced and spilled (`tests/order.rs`), unless two claimants have the same tag. They would be
//! decided as one: nobody would count more than allowed, but one could displace the other. For N
//! claimants, the probability that one of them shares their tag is at most N/2⁸⁸: below 2⁻⁵⁸ for a
//! billion, to be added to δ.
//!
//! **Cost.** A claimant takes 11 bytes. A claim takes 4 to 9 bytes for its time, one or two for its key,
//! one to five for its value, and the text of its id where persons are bounded too. Each distinct key
//! that is not declared is held once. Of the claims of a person, those after the k-th step that could
//! count are dropped. Without ids, a step needs one claim for each event that may count, or one for
//! each key if all events of a step are added up. An event is sorted and encoded once, and copied about
//! twelve times. What was spilled is decided in 256 parts: the claims of one part are in memory
//! together. The blobs on disk name persons by tags only, but hold the texts of ids.
//!
//! [`Claim`]: claim::Claim
//! [`reduce`]: reduce::reduce

mod claim;
mod reduce;
mod shelf;
mod spill;
mod symbols;

use std::hash::{BuildHasher, RandomState};

use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::decide::Counted;
use crate::error::{Error, Result};
use crate::names::given_name;
use crate::rules::{Event, Rules};
use claim::{Claim, Form};
use reduce::Decider;
use shelf::{SHELVES, Shelf, Tag};
pub use spill::Spill;
use spill::{Open, Spilled};
use symbols::Symbols;

/// Room for the parts of shelves that are not sorted yet. With less, every few events would be sorted
/// and spilled.
const LEAST_ROOM: u64 = if cfg!(test) { 400 } else { 1 << 20 };

/// Competing events of a finished input.
pub(super) struct Log {
    form: Form,
    decider: Decider,
    symbols: Symbols,
    hashers: (RandomState, RandomState),
    shelves: Vec<Shelf>,
    /// The bytes of all shelves.
    held: usize,
    limit: u64,
    spilled: Option<Spilled>,
}

impl Log {
    /// An empty log that may hold this many bytes in memory, and a few in any case.
    pub(super) fn new(rules: &Rules, buckets: &Buckets, limit: u64) -> Self {
        Self {
            form: Form {
                start: buckets.start_of(0),
                has_keys: rules.keys.is_some(),
                has_ids: rules.has_ids && rules.limits.is_some(),
            },
            decider: Decider::new(rules, buckets.clone()),
            symbols: Symbols::new(rules.keys.clone()),
            hashers: <(RandomState, RandomState)>::default(),
            shelves: (0..SHELVES).map(|_| Shelf::default()).collect(),
            held: 0,
            limit,
            spilled: None,
        }
    }

    /// Where to put claims that exceed the limit on memory.
    pub(super) fn spill_to(&mut self, open: Open) {
        self.spilled = Some(Spilled::new(open));
    }

    /// Takes an event of a claimant, whose time lies in the declared range.
    ///
    /// # Errors
    /// [`Error::TooManyClaims`] beyond the limit on memory if there is nowhere to spill, and
    /// [`Error::Spill`].
    pub(super) fn add(&mut self, claimant: &str, event: &Event<'_>, amount: Amount) -> Result<()> {
        let id = given_name(event.id).filter(|_| self.form.has_ids).map(Into::into);
        let claim = Claim { time: event.time, id, key: self.symbols.number_of(event.key), amount };
        let (shelf, tag) = self.tag_of(claimant);
        self.change(shelf, |shelf, form, decider, symbols| {
            if shelf.add(tag, &claim, form) { shelf.sort(form, decider, symbols) } else { Ok(()) }
        })?;
        if self.bytes() > self.limit.max(LEAST_ROOM) { self.make_room() } else { Ok(()) }
    }

    /// Decides on all claims, and passes on what counts: the step, and the place and amount.
    ///
    /// # Errors
    /// [`Error::Spill`].
    pub(super) fn decide(mut self, mut count: impl FnMut(u64, Counted)) -> Result<()> {
        for number in 0..SHELVES {
            let mut shelf = std::mem::take(&mut self.shelves[number]);
            shelf.sort(self.form, &self.decider, &self.symbols)?;
            if let Some(spilled) = &mut self.spilled {
                spilled.read(number, |groups| {
                    shelf.take_back(groups, self.form)?;
                    // What can never count is dropped before there is more of it.
                    shelf.sort(self.form, &self.decider, &self.symbols)
                })?;
            }
            shelf
                .each_claimant(self.form, |claims| self.decider.decide(claims, &self.symbols, &mut count))?;
        }
        Ok(())
    }

    /// Sorts all shelves, and spills them if that does not make room.
    fn make_room(&mut self) -> Result<()> {
        for number in 0..SHELVES {
            self.change(number, Shelf::sort)?;
        }
        let limit = self.limit.max(LEAST_ROOM);
        // At half of the limit, the next time is as many events away as this one was.
        if self.bytes() <= limit / 2 {
            return Ok(());
        }
        let too_many = Error::TooManyClaims { limit };
        let Some(spilled) = self.spilled.as_mut() else {
            // Too little room would be full again after a few events.
            return if self.bytes() > limit - limit / 16 { Err(too_many) } else { Ok(()) };
        };
        // Keys stay in memory, and must leave some to the events.
        if self.symbols.bytes() as u64 > limit / 2 {
            return Err(too_many);
        }
        for (number, shelf) in self.shelves.iter_mut().enumerate() {
            spilled.write(number, &shelf.take_sorted())?;
        }
        self.held = self.shelves.iter().map(Shelf::bytes).sum();
        Ok(())
    }

    /// The bytes that are held in memory.
    fn bytes(&self) -> u64 {
        (self.held + self.symbols.bytes()) as u64
    }

    /// Changes a shelf, and accounts for its memory.
    fn change(
        &mut self,
        number: usize,
        change: impl FnOnce(&mut Shelf, Form, &Decider, &Symbols) -> Result<()>,
    ) -> Result<()> {
        let shelf = &mut self.shelves[number];
        let before = shelf.bytes();
        let changed = change(shelf, self.form, &self.decider, &self.symbols);
        self.held = self.held + shelf.bytes() - before;
        changed
    }

    fn tag_of(&self, claimant: &str) -> (usize, Tag) {
        let [first, second] = [&self.hashers.0, &self.hashers.1].map(|hasher| hasher.hash_one(claimant));
        let (first, second) = (first.to_be_bytes(), second.to_be_bytes());
        let mut tag = Tag::default();
        tag[..8].copy_from_slice(&second);
        tag[8..].copy_from_slice(&first[1..3]);
        (usize::from(first[0]), tag)
    }
}

#[cfg(test)]
mod tests;
