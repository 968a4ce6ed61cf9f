//! Rows that are counted without becoming rows.
//!
//! **Definition.** A count without filters needs of each row a time, a key, a value, and the name of a
//! person or an id. A reader may add such rows to the totals, or to the events that compete, straight
//! from its columns or lines.
//! **Guarantee.** [`RowReader::read`](super::RowReader::read) is the oracle. A reader takes only what it
//! is sure of. It leaves any other row, with its errors and warnings, to the reading by rows, so both
//! ways give the same totals and the same messages.

use evertally_stream::time::TimeReader;
use evertally_stream::{Amount, ClaimBatch, Error, Gather, KeyNumber, Tag};

/// How many events wait before they are added.
const MAX_PENDING: usize = 1 << 12;

/// Which requested column has which role.
#[derive(Clone, Copy, Default)]
pub(crate) struct Roles {
    pub(crate) time: usize,
    pub(crate) value: Option<usize>,
    pub(crate) key: Option<usize>,
    /// The column of persons, if they are bounded.
    pub(crate) person: Option<usize>,
    pub(crate) id: Option<usize>,
}

impl Roles {
    /// The column whose names compete: that of persons, or of ids without them.
    pub(crate) fn claimant(&self) -> Option<usize> {
        self.person.or(self.id)
    }
}

/// What happens to rows that do not count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Drops {
    /// Whether events outside the declared range are left out. Otherwise they are errors.
    pub(crate) outside: bool,
    /// Whether events without a person are.
    pub(crate) unnamed: bool,
}

/// The totals, and how rows are added to them.
pub(crate) struct Bulk<'a> {
    pub(crate) roles: Roles,
    pub(crate) times: &'a TimeReader,
    pub(crate) gather: &'a mut Gather,
    pub(crate) drops: Drops,
    /// What was left out.
    pub(crate) left_out: LeftOut,
    pending: Pending,
}

/// Rows that were left out.
#[derive(Clone, Copy, Default)]
pub(crate) struct LeftOut {
    /// Whether an event was outside the declared range.
    pub(crate) outside: bool,
    /// How many events named no person.
    pub(crate) unnamed: u64,
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.outside |= other.outside;
        self.unnamed += other.unnamed;
    }
}

/// Events whose cells are found and which are not added yet, and events that compete.
///
/// A table is larger than the caches of a core, and an addition waits for its cell. Additions one after
/// another wait together, and reading a row between two of them would keep them apart.
pub(crate) struct Pending {
    cells: Vec<usize>,
    amounts: Vec<Amount>,
    /// Events that compete, if any may.
    pub(crate) batch: Option<ClaimBatch>,
    bounds_persons: bool,
    pub(crate) left_out: LeftOut,
}

/// A key that was looked up.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    /// Its place among the totals, where no events compete.
    Place(u32),
    /// Its number in the batch.
    Number(KeyNumber),
}

/// What a row says.
pub(crate) struct Found<'n> {
    pub(crate) time: i64,
    pub(crate) key: Key,
    pub(crate) value: Option<f64>,
    /// The tag of the person, or of the id where persons are not bounded.
    pub(crate) claimant: Option<Tag>,
    /// The id, where persons are bounded.
    pub(crate) id: Option<&'n str>,
}

impl Pending {
    pub(crate) fn new(gather: &Gather, roles: Roles) -> Self {
        Self {
            cells: Vec::new(),
            amounts: Vec::new(),
            batch: gather.claim_batch(),
            bounds_persons: roles.person.is_some(),
            left_out: LeftOut::default(),
        }
    }

    /// Drops everything.
    #[cfg(feature = "columnar")]
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.amounts.clear();
        if let Some(batch) = &mut self.batch {
            batch.clear();
        }
        self.left_out = LeftOut::default();
    }

    fn is_full(&self) -> bool {
        self.cells.len() + self.batch.as_ref().map_or(0, ClaimBatch::len) >= MAX_PENDING
    }

    /// Looks a key up. `None` if it needs the reading by rows.
    #[inline]
    pub(crate) fn key(&mut self, gather: &Gather, key: Option<&str>) -> Option<Key> {
        match &mut self.batch {
            Some(batch) => gather.takes_key(key).then(|| Key::Number(batch.number_of(key))),
            None => u32::try_from(gather.place_of(key)).ok().map(Key::Place),
        }
    }

    /// Takes one event. `None` if it needs the reading by rows; then nothing has changed.
    #[inline]
    pub(crate) fn take(&mut self, gather: &Gather, drops: Drops, found: &Found<'_>) -> Option<()> {
        let &Found { time, key, value, claimant, id } = found;
        if claimant.is_none() && self.bounds_persons {
            self.left_out.unnamed += 1;
            return drops.unnamed.then_some(());
        }
        if let (Some(batch), Some(tag), Key::Number(key)) = (&mut self.batch, claimant, key) {
            match gather.moment_of(time) {
                Ok(moment) => batch.push(tag, moment, key, id, gather.amount_of(value).ok()?),
                Err(_) if drops.outside => self.left_out.outside = true,
                Err(_) => return None,
            }
            return Some(());
        }
        // An event without an id competes with none.
        let place = match (key, &self.batch) {
            (Key::Number(number), Some(batch)) => batch.place_of(number),
            (Key::Place(place), _) => place as usize,
            (Key::Number(_), None) => return None,
        };
        match gather.cell_of(time, place) {
            Ok(cell) => {
                self.amounts.push(gather.amount_of(value).ok()?);
                self.cells.push(cell);
            }
            Err(_) if drops.outside => self.left_out.outside = true,
            Err(_) => return None,
        }
        Some(())
    }

    /// Adds the events that do not compete.
    pub(crate) fn add_to(&mut self, gather: &mut Gather) {
        for (&cell, &amount) in self.cells.iter().zip(&self.amounts) {
            gather.add_to_cell(cell, amount);
        }
        self.cells.clear();
        self.amounts.clear();
    }

    /// Hands over the events that compete.
    pub(crate) fn hand_over(&mut self, gather: &mut Gather) -> Result<(), Error> {
        match &mut self.batch {
            Some(batch) => gather.take(batch),
            None => Ok(()),
        }
    }
}

impl<'a> Bulk<'a> {
    pub(crate) fn new(roles: Roles, times: &'a TimeReader, gather: &'a mut Gather, drops: Drops) -> Self {
        let pending = Pending::new(gather, roles);
        Self { roles, times, gather, drops, left_out: LeftOut::default(), pending }
    }

    /// Looks up a key of the next event.
    pub(crate) fn key(&mut self, key: Option<&str>) -> Option<Key> {
        self.pending.key(self.gather, key)
    }

    /// The tag of a person or id, where they compete.
    pub(crate) fn tag_of(&self, name: &str) -> Option<Tag> {
        self.pending.batch.as_ref()?.tag_of(name)
    }

    /// Takes one event. `false` if it needs the reading by rows. What is taken counts after
    /// [`finish`](Self::finish).
    pub(crate) fn take(&mut self, found: &Found<'_>) -> Result<bool, Error> {
        let before = self.pending.left_out;
        if self.pending.take(self.gather, self.drops, found).is_none() {
            self.pending.left_out = before;
            return Ok(false);
        }
        if self.pending.is_full() {
            self.finish()?;
        }
        Ok(true)
    }

    /// Adds the events that were taken.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.left_out += std::mem::take(&mut self.pending.left_out);
        self.pending.add_to(self.gather);
        self.pending.hand_over(self.gather)?;
        if let Some(batch) = &mut self.pending.batch {
            batch.forget_keys();
        }
        Ok(())
    }
}
