//! What a counter of open keys holds per key.
//!
//! **Definition.** A record is a row of 64-bit words:
//!
//! | words | content |
//! |---|---|
//! | 1 | steps of noise made |
//! | 2 | the true total, in units |
//! | 2 | the tag, and the next record of the same bucket |
//! | 1 | only if totals decay: the number of steps after which the total stands |
//! | rows | the words of the noise lane: one per real, or two per integer |
//!
//! Plans state the memory of a record, and counters store it.

use crate::workload::Workload;

/// Keys per bucket of the table that finds records.
pub(crate) const KEYS_PER_BUCKET: usize = 2;

/// Words of a record before those of the lane.
pub(crate) const FIXED: usize = 5;

/// The words of a record.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    workload: Workload,
    rows: usize,
    /// Words before the numbers of the lane.
    pub(crate) head: usize,
}

impl Layout {
    pub(crate) fn new(workload: Workload, rows: usize) -> Self {
        let decays = matches!(workload, Workload::Decay { .. });
        Self { workload, rows, head: FIXED + usize::from(decays) }
    }

    pub(crate) fn words(self) -> usize {
        self.head + self.rows
    }

    pub(crate) fn workload(self) -> Workload {
        self.workload
    }

    /// Whether totals decay, so that a record says after how many steps its total stands.
    pub(crate) fn decays(self) -> bool {
        self.head > FIXED
    }

    /// How many words a lane holds.
    pub(crate) fn rows(self) -> usize {
        self.rows
    }

    /// Bytes that a key holds between steps, pages and buckets included.
    pub(crate) fn bytes_per_key(self) -> u64 {
        // A page has a header of 32 bytes, twice if there is room for more pages, and what the
        // allocator adds.
        (8 * self.words() + 4 / KEYS_PER_BUCKET + 1) as u64
    }
}
