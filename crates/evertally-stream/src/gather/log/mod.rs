//! The events of a finished input that compete, by claimant: compact, and on disk if there are many.
//!
//! **Definition.** A claimant is a person, or an id where persons are not bounded. What counts of a
//! claimant's events depends on these events alone ([`admission`](crate::admission)), so they can be
//! decided claimant by claimant, at the end of the input. Until then each event is a [`Claim`], stored
//! under the [`Tag`] of its claimant: 88 bits of a keyed hash of the name. The first bits of a tag
//! select one of 4,096 shelves. New claims are appended to their shelf. When sorting would make all claims
//! shorter by a twelfth, they are sorted in by tag, and claims that can never count are dropped
//! ([`reduce`]). A few shelves are sorted more often, to know when. When all shelves exceed the limit on
//! memory, they are written to [`Spill`] and emptied.
//!
//! **Guarantee.** The same events count as if all were sorted and decided one by one, however they are
//! handed over, ordered, reduced and spilled (`tests.rs`, `tests/it/order.rs`), unless two claimants have
//! the same tag. They would be decided as one: nobody would count more than allowed, but one could
//! displace the other. For N claimants, the probability that one of them shares their tag is at most
//! N/2⁸⁸: below 2⁻⁵⁸ for a billion, to be added to δ.
//!
//! **Cost.** A claimant takes ten bytes. A claim takes the bytes that its numbers need side by side
//! ([`claim`]): four where times are in seconds and seven where they are in microseconds, for hourly
//! steps of two months and some hundred keys; two to four more for a value; and the text of its id
//! where persons are bounded too. To this come a twelfth, and 300 bytes for each shelf. Each distinct
//! key that is not declared is held once. Of the claims of a person, those after the k-th step that
//! could count are dropped. Without ids, a step needs one claim for each event that may count, or one
//! for each key if all events of a step are added up. An event is sorted and encoded once, and copied
//! some ten times if claimants have many. What was spilled is decided shelf by shelf: the claims of one
//! shelf are in memory together. The blobs on disk name persons by tags only, but hold the texts of
//! ids.
//!
//! [`Claim`]: claim::Claim
//! [`Tag`]: tag::Tag
//! [`reduce`]: reduce::reduce

mod batch;
mod blocks;
mod claim;
mod reduce;
mod shelf;
mod spill;
mod symbols;
mod tag;
mod texts;

use crate::amount::Amount;
use crate::decide::Counted;
use crate::error::{Error, Result};
use crate::names::given_name;
use crate::rules::Rules;
pub use batch::{ClaimBatch, KeyNumber, Moment};
use blocks::{Chain, Pool};
use claim::{Claim, Form};
use reduce::Decider;
use shelf::{Desk, MAX_RECENT, damaged};
pub use spill::Spill;
use spill::{Open, Spilled};
use symbols::Symbols;
pub use tag::Tag;
use tag::{SHELVES, Tagger};
pub(super) use texts::Texts;

/// Room for claims in any case. With less, few claims would be spilled at a time, each to a block of its own.
const LEAST_ROOM: u64 = if cfg!(test) { 2048 } else { 8 << 20 };

/// Of what is needed if all claims are sorted, this part may be held in addition.
const MAX_WASTE_PART: usize = 12;

/// So many bytes may be held in addition in any case.
const LEAST_RECENT: usize = 4 << 20;

/// After claims have become more by this part, what is needed is looked at again.
const LOOK_PART: usize = 40;

/// One shelf of so many tells how much is needed.
const SHELVES_PER_SAMPLE: usize = 64;

/// The claims of the claimants whose tags begin with the same bits.
#[derive(Clone, Copy, Default)]
struct Shelf {
    sorted: Chain,
    recent: Chain,
}

/// All shelves, a few at a time: an input of few claimants needs few of them.
struct Shelves(Vec<Option<Box<[Shelf]>>>);

const SHELVES_PER_CASE: usize = 64;

impl Default for Shelves {
    fn default() -> Self {
        Self(vec![None; SHELVES / SHELVES_PER_CASE])
    }
}

impl Shelves {
    /// A shelf, which is put up if it was not there.
    #[inline]
    fn get(&mut self, number: usize) -> &mut Shelf {
        let case = &mut self.0[number / SHELVES_PER_CASE];
        let case = case.get_or_insert_with(|| vec![Shelf::default(); SHELVES_PER_CASE].into());
        &mut case[number % SHELVES_PER_CASE]
    }

    /// The shelves that are there, with their numbers.
    fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Shelf)> {
        let cases = self.0.iter_mut().enumerate().filter_map(|(at, case)| Some((at, case.as_mut()?)));
        cases.flat_map(|(at, case)| (at * SHELVES_PER_CASE..).zip(case))
    }

    /// The numbers of the shelves that are there.
    fn numbers(&self) -> Vec<usize> {
        let cases = self.0.iter().enumerate().filter(|(_, case)| case.is_some());
        cases.flat_map(|(at, _)| (at * SHELVES_PER_CASE..).take(SHELVES_PER_CASE)).collect()
    }
}

/// Competing events of a finished input.
pub(super) struct Log {
    form: Form,
    decider: Decider,
    symbols: Symbols,
    tagger: Tagger,
    pool: Pool,
    shelves: Shelves,
    /// The bytes of the claims on all shelves.
    sorted_bytes: usize,
    recent_bytes: usize,
    /// How many bytes may be held in addition in any case.
    least_recent: usize,
    /// The number of bytes at which to look at what is needed.
    next_look: usize,
    desk: Desk,
    limit: u64,
    spilled: Option<Spilled>,
}

impl Log {
    /// An empty log that may hold this many bytes in memory, and a few in any case.
    pub(super) fn new(rules: &Rules, limit: u64) -> Self {
        Self {
            form: Form::new(rules.has_ids && rules.limits.is_some()),
            decider: Decider::new(rules),
            symbols: Symbols::new(rules.keys.clone()),
            tagger: Tagger::new(),
            pool: Pool::new(),
            shelves: Shelves::default(),
            sorted_bytes: 0,
            recent_bytes: 0,
            least_recent: LEAST_RECENT,
            next_look: LEAST_RECENT,
            desk: Desk::default(),
            limit,
            spilled: None,
        }
    }

    /// The same for keys of which none is declared. The place of what counts is the number of its key.
    pub(super) fn of_open_keys(rules: &Rules, limit: u64) -> Self {
        Self { symbols: Symbols::open(), ..Self::new(rules, limit) }
    }

    /// Where to put claims that exceed the limit on memory.
    pub(super) fn spill_to(&mut self, open: Open) {
        self.spilled = Some(Spilled::new(open));
    }

    /// An empty batch for events under these rules.
    pub(super) fn batch(&self) -> ClaimBatch {
        ClaimBatch::new(self.tagger, self.symbols.declared_only())
    }

    /// Takes an event of a claimant.
    ///
    /// # Errors
    /// [`Error::TooManyClaims`] beyond the limit on memory if there is nowhere to spill, and
    /// [`Error::Spill`].
    pub(super) fn add(
        &mut self,
        claimant: &str,
        moment: Moment,
        key: Option<&str>,
        id: Option<&str>,
        amount: Amount,
    ) -> Result<()> {
        let Moment { step, offset } = moment;
        let key = self.symbols.number_of(key);
        let id = given_name(id).filter(|_| self.form.has_ids());
        self.add_claim(self.tagger.tag_of(claimant.as_bytes()), &Claim { step, offset, id, key, amount })
    }

    /// Takes the events of a batch, which is empty then.
    ///
    /// # Errors
    /// As [`Log::add`].
    pub(super) fn take(&mut self, batch: &mut ClaimBatch) -> Result<()> {
        let ClaimBatch { rows, symbols, numbers, ids, .. } = &mut *batch;
        let taken = rows.iter().try_for_each(|row| {
            let key = match symbols.undeclared(row.key.0) {
                None => row.key.0,
                Some((at, text)) => {
                    numbers.resize(numbers.len().max(at + 1), None);
                    *numbers[at].get_or_insert_with(|| self.symbols.number_of(Some(text)))
                }
            };
            let claim = row.claim(key, ids);
            let id = claim.id.filter(|_| self.form.has_ids());
            self.add_claim(row.tag, &Claim { id, ..claim })
        });
        batch.clear();
        taken
    }

    fn add_claim(&mut self, tag: Tag, claim: &Claim<'_>) -> Result<()> {
        let shelf = tag.shelf();
        // This may change the form.
        if self.shelves.get(shelf).recent.len() >= MAX_RECENT {
            self.sort(shelf)?;
        }
        let mut line = std::mem::take(&mut self.desk.line);
        line.clear();
        if shelf::write_recent(tag, claim, &self.form, &mut line).is_none() {
            self.change_form(self.form.widened(claim))?;
            line.clear();
            shelf::write_recent(tag, claim, &self.form, &mut line).ok_or_else(damaged)?;
        }
        self.shelves.get(shelf).recent.append(&line, &mut self.pool);
        self.recent_bytes += line.len();
        self.desk.line = line;
        if self.held_bytes() >= self.next_look {
            self.look()?;
        }
        if self.bytes() > self.limit.max(LEAST_ROOM) { self.make_room() } else { Ok(()) }
    }

    /// Decides on all claims, and passes on what counts: the step, and the place and amount.
    ///
    /// # Errors
    /// [`Error::Spill`].
    pub(super) fn decide(self, mut count: impl FnMut(u64, Counted)) -> Result<()> {
        let decided = self.decide_in_turn(|counted| {
            if let Some((step, counted)) = counted {
                count(step, counted);
            }
        });
        decided.map(drop)
    }

    /// The same, with `None` after what counts of each claimant. Returns the keys by their numbers.
    ///
    /// # Errors
    /// [`Error::Spill`].
    pub(super) fn decide_in_turn(mut self, mut count: impl FnMut(Option<(u64, Counted)>)) -> Result<Symbols> {
        let mut part = Vec::new();
        for shelf in self.shelves.numbers() {
            self.sort(shelf)?;
            while let Some(spilled) = &mut self.spilled {
                let Some(form) = spilled.read(shelf, &mut part)? else { break };
                self.take_back(shelf, &part, &form)?;
            }
            self.decide_shelf(shelf, &mut count)?;
            self.shelves.get(shelf).sorted.clear(&mut self.pool);
        }
        Ok(self.symbols)
    }

    /// The same before the end, if all claims are in memory: they stay. Nothing is passed on otherwise, and the
    /// answer says so.
    ///
    /// # Errors
    /// [`Error::Spill`] if the memory was changed.
    pub(super) fn foresee(&mut self, mut count: impl FnMut(Option<(u64, Counted)>)) -> Result<bool> {
        if self.spilled.as_ref().is_some_and(|spilled| !spilled.is_empty()) {
            return Ok(false);
        }
        for shelf in self.shelves.numbers() {
            self.sort(shelf)?;
            self.decide_shelf(shelf, &mut count)?;
        }
        Ok(true)
    }

    /// Passes on what counts of the claimants of a shelf, whose claims are sorted in.
    fn decide_shelf(&mut self, shelf: usize, count: &mut impl FnMut(Option<(u64, Counted)>)) -> Result<()> {
        let Self { form, decider, symbols, pool, desk, shelves, .. } = self;
        desk.old.clear();
        shelves.get(shelf).sorted.read(pool, &mut desk.old);
        shelf::each_group(&desk.old, form, |_, claims| {
            decider.decide(claims, symbols, |step, counted| count(Some((step, counted))));
            count(None);
            Ok(())
        })
    }

    /// The keys by their numbers.
    pub(super) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Merges what was spilled from a shelf with what is on it.
    fn take_back(&mut self, shelf: usize, groups: &[u8], form: &Form) -> Result<()> {
        let mut rest = groups;
        while !rest.is_empty() {
            let mut line = std::mem::take(&mut self.desk.line);
            line.clear();
            shelf::rewrite_some(&mut rest, form, &self.form, &mut line)?;
            self.shelves.get(shelf).recent.append(&line, &mut self.pool);
            self.recent_bytes += line.len();
            self.desk.line = line;
            // What can never count is dropped before there is more of it.
            self.sort(shelf)?;
        }
        Ok(())
    }

    /// Sorts in the recent claims of a shelf.
    fn sort(&mut self, shelf: usize) -> Result<()> {
        loop {
            let Self { desk, pool, shelves, .. } = self;
            let Shelf { sorted, recent } = shelves.get(shelf);
            if recent.is_empty() {
                return Ok(());
            }
            desk.old.clear();
            desk.recent.clear();
            sorted.read(pool, &mut desk.old);
            recent.read(pool, &mut desk.recent);
            if let Some(wider) = desk.merge(&self.form, &self.decider, &self.symbols)? {
                self.change_form(wider)?;
                continue;
            }
            self.recent_bytes -= desk.recent.len();
            self.sorted_bytes = self.sorted_bytes + desk.merged.len() - desk.old.len();
            recent.clear(pool);
            sorted.replace(&desk.merged, pool);
        }
    }

    /// The bytes of all claims.
    fn held_bytes(&self) -> usize {
        self.sorted_bytes + self.recent_bytes
    }

    /// Sorts in the recent claims of a few shelves, and those of all if that makes enough of a difference.
    ///
    /// Tags are uniform, so a few shelves hold the same part of all claimants, whatever their names.
    fn look(&mut self) -> Result<()> {
        let samples = (0..SHELVES).step_by(SHELVES_PER_SAMPLE);
        samples.clone().try_for_each(|shelf| self.sort(shelf))?;
        let sorted: usize = samples.map(|shelf| self.shelves.get(shelf).sorted.len()).sum();
        let needed = sorted * SHELVES_PER_SAMPLE;
        if self.held_bytes() > needed + (needed / MAX_WASTE_PART).max(self.least_recent) {
            self.sort_all()?;
        }
        let held = self.held_bytes();
        self.next_look = held.saturating_add((held / LOOK_PART).max(self.least_recent / 4));
        Ok(())
    }

    /// Sorts in all recent claims.
    fn sort_all(&mut self) -> Result<()> {
        self.shelves.numbers().into_iter().try_for_each(|shelf| self.sort(shelf))
    }

    /// Writes all claims in another form, which has room for them.
    fn change_form(&mut self, form: Form) -> Result<()> {
        let Self { desk, pool, shelves, sorted_bytes, recent_bytes, .. } = self;
        for (_, Shelf { sorted, recent }) in shelves.iter_mut() {
            for (chain, bytes) in [(sorted, &mut *sorted_bytes), (recent, &mut *recent_bytes)] {
                desk.old.clear();
                desk.merged.clear();
                chain.read(pool, &mut desk.old);
                shelf::rewrite(&desk.old, &self.form, &form, &mut desk.merged)?;
                *bytes = *bytes + desk.merged.len() - desk.old.len();
                chain.replace(&desk.merged, pool);
            }
        }
        self.form = form;
        Ok(())
    }

    /// Sorts in all recent claims, and spills all if that does not make room.
    fn make_room(&mut self) -> Result<()> {
        self.sort_all()?;
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
        spilled.begin(self.form);
        for (shelf, Shelf { sorted, .. }) in self.shelves.iter_mut() {
            self.desk.old.clear();
            sorted.read(&mut self.pool, &mut self.desk.old);
            sorted.clear(&mut self.pool);
            spilled.write(shelf, &self.desk.old)?;
        }
        self.sorted_bytes = 0;
        self.next_look = self.least_recent;
        spilled.flush()
    }

    /// The bytes that are held in memory.
    fn bytes(&self) -> u64 {
        (self.pool.bytes() + self.symbols.bytes()) as u64
    }
}

#[cfg(test)]
mod tests;
