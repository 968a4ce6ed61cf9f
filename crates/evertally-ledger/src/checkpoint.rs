//! Rows beside the journal, so that it can be cut and recovery is short.
//!
//! A counter's row is its state *as of a frame*. The journal is needed from the first frame that
//! some row does not have. Rows are written a few at a time, those farthest behind first, so that
//! ten thousand counters do not make the service pause. Released values move to chunks of their
//! own, each naming the hash of the one before.
//!
//! Events stay longer than their frames: until their ids are forgotten.

use crate::accounts::AccountRow;
use crate::counter::{CounterState, Life};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::persons::PersonRows;
use crate::read_view::Chunk;
use crate::record::{EpochName, FORMAT, Head, TokenRow, encode, seal};
use crate::running_counter::RunningCounter;
use crate::spec::StoredSpec;
use crate::store::{ARRIVALS, CHUNKS, COUNTERS, FOUND, HOLDERS, JOURNAL, META, PEOPLE};
use evertally_stream::Amount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zeroize::Zeroize;

/// Released values that make a chunk.
pub(crate) const CHUNK_BYTES: usize = 1 << 16;

/// A journal that is longer than this is cut.
const JOURNAL_BYTES: usize = 16 << 20;
const JOURNAL_FRAMES: usize = 16_384;

/// Rows that are written with one commit if the journal is too long, and if it is much too long.
const ROWS_AT_ONCE: usize = 128;
const ROWS_AT_ONCE_WHEN_BEHIND: usize = 2_048;

/// One checkpoint looks at least at this many rows of events.
const ARRIVALS_AT_ONCE: usize = 4_096;

pub(crate) const GLOBAL: &str = "global";
pub(crate) const FORMAT_ROW: &str = "format";

/// A counter as of a frame.
#[derive(Serialize, Deserialize)]
pub(crate) struct CounterRow {
    pub(crate) sequence: u64,
    pub(crate) spec: String,
    pub(crate) created: i64,
    pub(crate) life: Life,
    pub(crate) epoch: EpochName,
    pub(crate) epochs: Vec<(u32, u64)>,
    pub(crate) open: u64,
    /// Totals of open steps, by lane; zeros are left out.
    pub(crate) pending: Vec<(u64, Vec<(u32, i128)>)>,
    pub(crate) frozen: Vec<(u64, Vec<i128>, [u8; 32])>,
    /// The state of the library's counter; `None` once it will never release again.
    pub(crate) running: Option<Vec<u8>>,
    pub(crate) people: u128,
    /// The first step of the chunk that is not full.
    pub(crate) tail_first: u64,
    pub(crate) chunk_before: [u8; 32],
}

impl Drop for CounterRow {
    fn drop(&mut self) {
        self.pending.iter_mut().flat_map(|(_, totals)| totals).for_each(|(_, total)| total.zeroize());
        self.frozen.iter_mut().for_each(|(_, totals, _)| totals.zeroize());
        self.running.zeroize();
    }
}

/// What belongs to no counter, as of a frame.
#[derive(Serialize, Deserialize)]
pub(crate) struct GlobalRow {
    pub(crate) sequence: u64,
    pub(crate) head: Head,
    pub(crate) ledger: [u8; 16],
    pub(crate) identity: u64,
    pub(crate) key_tag: [u8; 8],
    pub(crate) epoch: EpochName,
    pub(crate) accounts: Vec<AccountRow>,
    pub(crate) tokens: Vec<TokenRow>,
    pub(crate) next_number: u32,
    pub(crate) released: (u64, Head),
    /// The first frame that is still in the journal, and the head before it.
    pub(crate) first: (u64, Head),
    /// The sum of the hashes of events whose frames are not there any more.
    pub(crate) orphans: u128,
}

pub(crate) fn counter_place(number: u32) -> String {
    format!("counter {number}")
}

/// What one checkpoint writes of one counter.
struct Rows {
    number: u32,
    counter: Vec<u8>,
    people: Vec<(u128, Vec<u8>)>,
    /// The keys that it finds, and the keys of persons.
    found: Option<Vec<u8>>,
    holders: Vec<(u128, Vec<u8>)>,
    chunk: Option<(u64, Vec<u8>)>,
    life: Life,
    /// Whether its persons are to be removed.
    has_ended: bool,
}

impl Ledger {
    /// Writes rows and cuts the journal when it is time.
    pub(crate) fn tidy(&mut self) -> Result<()> {
        let total = self.journal.total_bytes;
        let frames = self.journal.bytes.len();
        let rows = match total {
            _ if total > 4 * JOURNAL_BYTES => ROWS_AT_ONCE_WHEN_BEHIND,
            _ if total > JOURNAL_BYTES || frames > JOURNAL_FRAMES => ROWS_AT_ONCE,
            _ => 0,
        };
        let mut numbers: Vec<u32> = self.changed.since.iter().take(rows).map(|(_, number)| *number).collect();
        numbers.extend(std::mem::take(&mut self.changed.full));
        if rows == 0 && numbers.is_empty() {
            return Ok(());
        }
        numbers.sort_unstable();
        numbers.dedup();
        self.checkpoint(&numbers, false)
    }

    /// Writes all rows, so that the next start has nothing to replay.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) where storage fails.
    pub fn checkpoint_all(&mut self) -> Result<()> {
        self.check_writable()?;
        if !self.tentative.is_empty() {
            return Err(Error::conflict("something is not committed yet"));
        }
        self.checkpoint_changed().map_err(|error| self.fail(&error))
    }

    /// Writes all rows. Nothing may be tentative.
    pub(crate) fn checkpoint_changed(&mut self) -> Result<()> {
        let numbers: Vec<u32> = self.changed.since.iter().map(|(_, number)| *number).collect();
        numbers.chunks(ROWS_AT_ONCE_WHEN_BEHIND).try_for_each(|some| self.checkpoint(some, true))
    }

    /// Writes the rows of these counters as of the last frame, and cuts what no row needs any more.
    /// Nothing may be tentative.
    fn checkpoint(&mut self, numbers: &[u32], looks_at_all: bool) -> Result<()> {
        let sequence = self.journal.sequence;
        let mut rows = Vec::with_capacity(numbers.len());
        for number in numbers {
            if let Some(state) = self.counters.get_mut(number) {
                rows.push(rows_of(state, sequence)?);
                if let Some(since) = state.changed_since.take() {
                    self.changed.since.remove(&(since, *number));
                }
            }
        }
        let needed = self.changed.since.first().map_or(sequence + 1, |(since, _)| *since);
        let frames = self.journal.bytes.len();
        let (first, before) = self.cut(needed);
        // More than came, so that all that is there has its turn, and everything where a counter
        // was retired.
        let cut = frames - self.journal.bytes.len();
        let most = if looks_at_all { usize::MAX } else { ARRIVALS_AT_ONCE.max(2 * cut) };
        let gone = self.forgotten_arrivals(needed, most);
        let global = self.global_row((first, before))?;
        self.view.store.write(|transaction| {
            let mut counters = transaction.open_table(COUNTERS)?;
            let mut people = transaction.open_table(PEOPLE)?;
            let mut chunks = transaction.open_table(CHUNKS)?;
            let mut found = transaction.open_table(FOUND)?;
            let mut holders = transaction.open_table(HOLDERS)?;
            for row in &rows {
                let number = row.number;
                counters.insert(number, &row.counter[..])?;
                if row.has_ended {
                    people.retain_in((number, 0)..=(number, u128::MAX), |_, _| false)?;
                    holders.retain_in((number, 0)..=(number, u128::MAX), |_, _| false)?;
                }
                for (person, steps) in &row.people {
                    people.insert((number, *person), &steps[..])?;
                }
                for (person, keys) in &row.holders {
                    holders.insert((number, *person), &keys[..])?;
                }
                if let Some(row) = &row.found {
                    found.insert(number, &row[..])?;
                }
                if row.life == Life::Deleted {
                    found.remove(number)?;
                    chunks.retain_in((number, 0)..=(number, u64::MAX), |_, _| false)?;
                } else if let Some((step, chunk)) = &row.chunk {
                    chunks.insert((number, *step), &chunk[..])?;
                }
            }
            transaction.open_table(META)?.insert(GLOBAL, &global[..])?;
            let mut journal = transaction.open_table(JOURNAL)?;
            journal.retain_in(..first, |_, _| false)?;
            let mut arrivals = transaction.open_table(ARRIVALS)?;
            for sequence in &gone {
                arrivals.remove(sequence)?;
            }
            Ok(())
        })?;
        // Only now that chunks are on the disk do they leave memory.
        for number in numbers {
            if let Some(state) = self.counters.get_mut(number) {
                state.row = sequence;
                drop_full_tail(state)?;
            }
        }
        Ok(())
    }

    /// Takes the frames before `needed` out of the list of those that are there: the first that
    /// stays, and the head before it.
    fn cut(&mut self, needed: u64) -> (u64, Head) {
        while let Some(&(sequence, bytes, head)) = self.journal.bytes.front() {
            if sequence >= needed {
                break;
            }
            self.journal.bytes.pop_front();
            self.journal.total_bytes -= bytes;
            self.journal.cut_at = head;
        }
        let hashes = self.journal.arrivals.range(self.journal.first..needed).map(|(_, row)| row.hash);
        self.journal.orphans = hashes.fold(self.journal.orphans, u128::wrapping_add);
        self.journal.first = needed;
        (needed, self.journal.cut_at)
    }

    /// Events whose ids are all forgotten, among some of those whose frames are cut. All of them
    /// have their turn.
    fn forgotten_arrivals(&mut self, needed: u64, most: usize) -> Vec<u64> {
        let journal = &mut self.journal;
        if journal.looked_at >= needed || most == usize::MAX {
            journal.looked_at = 0;
        }
        let mut gone = Vec::new();
        for (sequence, row) in journal.arrivals.range(journal.looked_at..needed).take(most) {
            let is_forgotten = |(number, step): &(u32, u64)| {
                self.counters
                    .get(number)
                    .is_none_or(|state| state.running.is_none() || state.forgets_ids_of(*step))
            };
            if row.latest.iter().all(is_forgotten) {
                gone.push((*sequence, row.hash));
            }
            journal.looked_at = sequence + 1;
        }
        for (sequence, hash) in &gone {
            journal.orphans = journal.orphans.wrapping_sub(*hash);
            journal.arrivals.remove(sequence);
        }
        if journal.arrivals.range(journal.looked_at..needed).next().is_none() {
            journal.looked_at = 0;
        }
        gone.into_iter().map(|(sequence, _)| sequence).collect()
    }

    fn global_row(&self, first: (u64, Head)) -> Result<Vec<u8>> {
        let global = &self.global;
        let row = GlobalRow {
            sequence: self.journal.sequence,
            head: self.journal.head,
            ledger: global.ledger,
            identity: global.identity,
            key_tag: global.key_tag,
            epoch: global.epoch,
            accounts: global.accounts.rows(),
            tokens: global.tokens.rows().to_vec(),
            next_number: global.next_number,
            released: global.released,
            first,
            orphans: self.journal.orphans,
        };
        Ok(seal(GLOBAL, encode(&row)?))
    }

    /// Says which format the files have.
    pub(crate) fn write_format(&self) -> Result<()> {
        self.view.store.write(|transaction| {
            transaction.open_table(META)?.insert(FORMAT_ROW, FORMAT.as_bytes())?;
            Ok(())
        })
    }
}

fn rows_of(state: &mut CounterState, sequence: u64) -> Result<Rows> {
    let number = state.number();
    if !state.unshown.is_empty() {
        return Err(Error::damaged("a release was recorded and not shown"));
    }
    let spec = StoredSpec::from(state.counter_plan.spec()).text()?;
    let progress = state.view.progress();
    let chunk = if progress.next_step == progress.tail_first {
        None
    } else {
        let chunk = Chunk { before: state.chunk_before, values: progress.tail.clone() };
        Some((progress.tail_first, chunk.row(number, progress.tail_first)?.0))
    };
    let totals = |amounts: &BTreeMap<u32, Amount>| {
        amounts.iter().map(|(lane, amount)| (*lane, amount.grid_steps())).collect()
    };
    let row = CounterRow {
        sequence,
        spec,
        created: state.view.created(),
        life: state.life,
        epoch: state.epoch,
        epochs: state.epochs.clone(),
        open: state.open,
        pending: state.pending.iter().map(|(step, amounts)| (*step, totals(amounts))).collect(),
        frozen: state.frozen.iter().map(|frozen| (frozen.step, frozen.totals.clone(), frozen.hash)).collect(),
        running: state.running.as_ref().map(RunningCounter::save),
        people: state.admission.persons.as_ref().map_or(0, PersonRows::sum),
        tail_first: progress.tail_first,
        chunk_before: state.chunk_before,
    };
    drop(progress);
    let has_ended = state.running.is_none();
    let holders = state.found.as_mut().map(|found| found.holders.take_changed());
    Ok(Rows {
        number,
        counter: seal(&counter_place(number), encode(&row)?),
        people: state.admission.persons.as_mut().map_or_else(|| Ok(Vec::new()), PersonRows::take_changed)?,
        found: state.found.as_ref().map(|found| found.row(number, sequence, has_ended)).transpose()?,
        holders: holders.transpose()?.unwrap_or_default(),
        chunk,
        life: state.life,
        has_ended,
    })
}

/// Starts a new chunk if the present one is full and on the disk. The row still names the old one,
/// which is found full when it is read.
fn drop_full_tail(state: &mut CounterState) -> Result<()> {
    let mut progress = state.view.progress_mut();
    if progress.tail.len() * size_of::<f64>() < CHUNK_BYTES {
        return Ok(());
    }
    let chunk = Chunk { before: state.chunk_before, values: std::mem::take(&mut progress.tail) };
    state.chunk_before = chunk.row(state.view.number, progress.tail_first)?.1;
    progress.tail_first = progress.next_step;
    Ok(())
}
