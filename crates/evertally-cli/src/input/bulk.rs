//! Rows that are counted without becoming rows.
//!
//! **Definition.** A count without persons, ids and filters needs of each row a time, a key and a value.
//! A reader may add such rows to the totals straight from its columns or lines.
//! **Guarantee.** [`RowReader::read`](super::RowReader::read) is the oracle. A reader takes only what it
//! is sure of. It leaves any other row, with its errors and warnings, to the reading by rows, so both
//! ways give the same totals and the same messages.

use evertally_stream::time::TimeReader;
use evertally_stream::{Amount, Gather};

/// How many events wait before they are added.
const MAX_PENDING: usize = 1 << 12;

/// Which requested column has which role.
#[derive(Clone, Copy)]
pub(crate) struct Roles {
    pub(crate) time: usize,
    pub(crate) value: Option<usize>,
    pub(crate) key: Option<usize>,
}

/// The totals, and how rows are added to them.
pub(crate) struct Bulk<'a> {
    pub(crate) roles: Roles,
    pub(crate) times: &'a TimeReader,
    pub(crate) gather: &'a mut Gather,
    /// Whether events outside the declared range are left out. Otherwise they are errors.
    pub(crate) drops_outside: bool,
    /// Whether any was left out.
    pub(crate) has_dropped: bool,
    pending: Pending,
}

/// Events whose cells are found and which are not added yet.
///
/// A table is larger than the caches of a core, and an addition waits for its cell. Additions one after
/// another wait together, and reading a row between two of them would keep them apart.
#[derive(Default)]
pub(crate) struct Pending {
    cells: Vec<usize>,
    amounts: Vec<Amount>,
}

impl Pending {
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.amounts.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, cell: usize, amount: Amount) {
        self.cells.push(cell);
        self.amounts.push(amount);
    }

    pub(crate) fn add_to(&mut self, gather: &mut Gather) {
        for (&cell, &amount) in self.cells.iter().zip(&self.amounts) {
            gather.add_to_cell(cell, amount);
        }
        self.clear();
    }
}

/// Where an event counts.
pub(crate) enum Taken {
    /// In this cell of the table, for this amount.
    Counts(usize, Amount),
    /// Nowhere: it is outside the declared range.
    Outside,
}

impl<'a> Bulk<'a> {
    pub(crate) fn new(
        roles: Roles,
        times: &'a TimeReader,
        gather: &'a mut Gather,
        drops_outside: bool,
    ) -> Self {
        Self { roles, times, gather, drops_outside, has_dropped: false, pending: Pending::default() }
    }

    /// The same for a table of another thread.
    pub(crate) fn with<'b>(&'b self, gather: &'b mut Gather) -> Bulk<'b> {
        Bulk::new(self.roles, self.times, gather, self.drops_outside)
    }

    /// Takes one event. `false` if it needs the reading by rows; then nothing has changed. What is taken
    /// counts after [`finish`](Self::finish).
    pub(crate) fn take(&mut self, time: i64, place: usize, value: Option<f64>) -> bool {
        match taken(self.gather, self.drops_outside, time, place, value) {
            Some(Taken::Counts(cell, amount)) => {
                self.pending.push(cell, amount);
                if self.pending.cells.len() == MAX_PENDING {
                    self.finish();
                }
            }
            Some(Taken::Outside) => self.has_dropped = true,
            None => return false,
        }
        true
    }

    /// Adds the events that were taken.
    pub(crate) fn finish(&mut self) {
        self.pending.add_to(self.gather);
    }
}

/// Where an event counts; `None` if it needs the reading by rows.
#[inline]
pub(crate) fn taken(
    gather: &Gather,
    drops_outside: bool,
    time: i64,
    place: usize,
    value: Option<f64>,
) -> Option<Taken> {
    let Ok(cell) = gather.cell_of(time, place) else {
        return drops_outside.then_some(Taken::Outside);
    };
    Some(Taken::Counts(cell, gather.amount_of(value).ok()?))
}
