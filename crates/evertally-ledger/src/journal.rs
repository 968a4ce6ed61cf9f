//! The journal: what was changed and is not committed, frames as they are written, and what is
//! known of those that are there.

use crate::counter::CounterState;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::read_view::CounterView;
use crate::record::{Frame, Group, Head, Record, encode, seal, seal_in};
use crate::store::{ARRIVALS, JOURNAL};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Where the journal is.
#[derive(Default)]
pub(crate) struct Journal {
    /// The last frame, and the head after it.
    pub(crate) sequence: u64,
    pub(crate) head: Head,
    /// The first frame that is still there.
    pub(crate) first: u64,
    /// The frames that are still there: their bytes, and the heads after them.
    pub(crate) bytes: VecDeque<(u64, usize, Head)>,
    /// The sum of their bytes.
    pub(crate) total_bytes: usize,
    /// The head before the first of them.
    pub(crate) cut_at: Head,
    /// The events that are still there.
    pub(crate) arrivals: BTreeMap<u64, ArrivalsRow>,
    /// The next of them to check whether it is still needed.
    pub(crate) looked_at: u64,
    /// The sum of the hashes of those whose frames are not: a frame has the hash of its own.
    pub(crate) orphans: u128,
}

/// What is known of the events of a frame.
pub(crate) struct ArrivalsRow {
    /// Their counters, and the latest step of each.
    pub(crate) latest: Vec<(u32, u64)>,
    /// A part of its seal.
    pub(crate) hash: u128,
}

impl ArrivalsRow {
    pub(crate) fn new(groups: &[Group], row: &[u8]) -> Self {
        let latest = |group: &Group| group.items.iter().map(|item| item.step).max().unwrap_or_default();
        let hash = row.last_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        Self { latest: groups.iter().map(|group| (group.counter, latest(group))).collect(), hash }
    }
}

/// Which counters are ahead of their rows on disk.
#[derive(Default)]
pub(crate) struct ChangedCounters {
    /// The first frame that a row does not have, and the counter.
    pub(crate) since: BTreeSet<(u64, u32)>,
    /// Counters with enough releases in memory for a chunk.
    pub(crate) full: BTreeSet<u32>,
}

impl ChangedCounters {
    /// A frame that is about to be written changes a counter.
    pub(crate) fn note(&mut self, state: &mut CounterState, sequence: u64) {
        if state.changed_since.is_none() {
            state.changed_since = Some(sequence);
            self.since.insert((sequence, state.number()));
        }
    }
}

/// What was changed and not committed.
#[derive(Default)]
pub(crate) struct TentativeChanges {
    pub(crate) records: Vec<Record>,
    pub(crate) groups: Vec<Group>,
    /// Counters about which there is something new to show.
    pub(crate) touched: BTreeSet<u32>,
    pub(crate) new: Vec<Arc<CounterView>>,
    pub(crate) deleted: Vec<u32>,
    pub(crate) global: bool,
}

impl TentativeChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.groups.is_empty() && self.touched.is_empty()
    }
}

impl Ledger {
    /// Writes what is tentative as one frame.
    pub(crate) fn write_frame(&mut self, now: i64) -> Result<()> {
        let records = std::mem::take(&mut self.tentative.records);
        let groups = std::mem::take(&mut self.tentative.groups);
        if records.is_empty() && groups.is_empty() {
            return Ok(());
        }
        let sequence = self.journal.sequence + 1;
        let arrivals =
            if groups.is_empty() { None } else { Some(seal(&arrivals_place(sequence), encode(&groups)?)) };
        let hash = arrivals.as_deref().and_then(seal_in);
        let frame = encode(&Frame { sequence, time: now, arrivals: hash, records })?;
        let head = self.journal.head.after(&frame);
        let row = [&head.0[..], &frame].concat();
        self.view.store.write(|transaction| {
            transaction.open_table(JOURNAL)?.insert(sequence, &row[..])?;
            if let Some(arrivals) = &arrivals {
                transaction.open_table(ARRIVALS)?.insert(sequence, &arrivals[..])?;
            }
            Ok(())
        })?;
        self.journal.sequence = sequence;
        self.journal.head = head;
        self.journal.bytes.push_back((sequence, row.len(), head));
        self.journal.total_bytes += row.len();
        if let Some(row) = arrivals {
            self.journal.arrivals.insert(sequence, ArrivalsRow::new(&groups, &row));
        }
        Ok(())
    }
}

/// What sealed arrivals say of their place.
pub(crate) fn arrivals_place(sequence: u64) -> String {
    format!("the events of frame {sequence}")
}
