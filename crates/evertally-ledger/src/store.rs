//! The tables on disk: a thin layer over redb.
//!
//! **Why redb.** Its storage is behind a trait of six calls, so that the tests of this crate run
//! the whole stack, redb included, on disks that fail at any write or lose what was not synced; it
//! is fuzzed the same way by its authors; a commit is one sync; and it is safe Rust without a C
//! library. SQLite has been tested for longer, but a failing disk could only be put under it in C.
//!
//! | table | key | row |
//! |---|---|---|
//! | `meta` | name | the format; the global state, sealed |
//! | `journal` | sequence | the head after the frame (32 bytes), and the frame |
//! | `arrivals` | sequence | the events that counted with that frame, sealed |
//! | `counters` | counter | a counter's state after some frame, sealed |
//! | `people` | counter, person | the steps in which a person counted |
//! | `chunks` | counter, first step | released values, sealed |
//! | `found` | counter | the names of keys that a counter finds, sealed |
//! | `holders` | counter, person | the keys in which a person counted, where keys are found |
//!
//! **After a failure** redb answers nothing any more, not even reads. The store then opens the file
//! once more through an [`Overlay`], which keeps what redb would write in memory, so that what was
//! recorded can still be read and nothing is changed.

use crate::error::{Error, Result};
use redb::{Database, ReadableDatabase, StorageBackend, TableDefinition, WriteTransaction};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
pub(crate) const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
pub(crate) const ARRIVALS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("arrivals");
pub(crate) const COUNTERS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("counters");
pub(crate) const PEOPLE: TableDefinition<'_, (u32, u128), &[u8]> = TableDefinition::new("people");
pub(crate) const FOUND: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("found");
pub(crate) const HOLDERS: TableDefinition<'_, (u32, u128), &[u8]> = TableDefinition::new("holders");
pub(crate) const CHUNKS: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("chunks");

/// Memory that redb may take for pages it has read or is about to write.
const CACHE_BYTES: usize = 128 << 20;

/// What every call of redb may fail with, as one of ours.
fn failed(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::Corrupted(reason) => Error::damaged(reason),
        redb::Error::DatabaseAlreadyOpen => Error::conflict("another process has this ledger open"),
        other => Error::system("storage failed", &other),
    }
}

/// The tables.
pub(crate) struct Store {
    /// None only while it is being opened once more.
    database: RwLock<Option<Database>>,
    backend: Shared,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the tables, or makes them.
    pub(crate) fn open(backend: Box<dyn StorageBackend>) -> Result<Self> {
        let backend = Shared(Arc::from(backend));
        let database = open_checked(backend.clone())?;
        let store = Self { database: RwLock::new(Some(database)), backend };
        store.write(|transaction| {
            transaction.open_table(META)?;
            transaction.open_table(JOURNAL)?;
            transaction.open_table(ARRIVALS)?;
            transaction.open_table(COUNTERS)?;
            transaction.open_table(PEOPLE)?;
            transaction.open_table(CHUNKS)?;
            transaction.open_table(FOUND)?;
            transaction.open_table(HOLDERS)?;
            Ok(())
        })?;
        Ok(store)
    }

    /// One transaction. When this returns, it is on the disk, all of it; where it fails, all of it
    /// or nothing is.
    pub(crate) fn write(
        &self,
        work: impl FnOnce(&WriteTransaction) -> std::result::Result<(), redb::Error>,
    ) -> Result<()> {
        self.with(|database| {
            let transaction = database.begin_write().map_err(failed)?;
            work(&transaction).map_err(failed)?;
            transaction.commit().map_err(failed)
        })
    }

    /// One row.
    pub(crate) fn get<'k, K: redb::Key + 'static>(
        &self,
        table: TableDefinition<'_, K, &'static [u8]>,
        key: K::SelfType<'k>,
    ) -> Result<Option<Vec<u8>>> {
        self.with(|database| {
            let table = database.begin_read().map_err(failed)?.open_table(table).map_err(failed)?;
            let row = table.get(key).map_err(failed)?;
            Ok(row.map(|row| row.value().to_vec()))
        })
    }

    /// The rows of a range, in order, each handed to `take`.
    pub(crate) fn scan<K>(
        &self,
        table: TableDefinition<'_, K, &'static [u8]>,
        range: RangeInclusive<K>,
        mut take: impl FnMut(K, &[u8]) -> Result<()>,
    ) -> Result<()>
    where
        K: redb::Key + for<'k> redb::Value<SelfType<'k> = K> + for<'k> std::borrow::Borrow<K> + 'static,
    {
        self.with(|database| {
            let table = database.begin_read().map_err(failed)?.open_table(table).map_err(failed)?;
            for row in table.range::<K>(range).map_err(failed)? {
                let (key, value) = row.map_err(failed)?;
                take(key.value(), value.value())?;
            }
            Ok(())
        })
    }

    /// The last row from `first` up to and including `last`.
    pub(crate) fn last_at_or_before<K>(
        &self,
        table: TableDefinition<'_, K, &'static [u8]>,
        first: K,
        last: K,
    ) -> Result<Option<(K, Vec<u8>)>>
    where
        K: redb::Key + for<'k> redb::Value<SelfType<'k> = K> + for<'k> std::borrow::Borrow<K> + 'static,
    {
        self.with(|database| {
            let table = database.begin_read().map_err(failed)?.open_table(table).map_err(failed)?;
            let row = table.range::<K>(first..=last).map_err(failed)?.next_back();
            let row = row.transpose().map_err(failed)?;
            Ok(row.map(|(key, value)| (key.value(), value.value().to_vec())))
        })
    }

    /// Opens the file again for reading alone, after a failure. What is read from now on is what
    /// the disk has.
    pub(crate) fn fall_back_to_reading(&self) -> Result<()> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *database = None;
        *database = Some(open_database(Overlay::over(self.backend.clone()))?);
        Ok(())
    }

    fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        match &*database {
            Some(database) => work(database),
            None => Err(Error::system("storage failed", &"it cannot be read any more")),
        }
    }
}

/// Opens a database and follows every page of it from the root. redb believes what a clean shutdown
/// left behind, and panics where that was changed since; a ledger believes nothing.
fn open_checked(backend: Shared) -> Result<Database> {
    let open = || {
        let mut database = open_database(backend)?;
        match database.check_integrity().map_err(failed)? {
            true => Ok(database),
            false => Err(Error::damaged("its pages do not hash to what they say")),
        }
    };
    catch_unwind(AssertUnwindSafe(open))
        .unwrap_or_else(|_| Err(Error::damaged("its pages contradict each other")))
}

fn open_database(backend: impl StorageBackend) -> Result<Database> {
    Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend).map_err(failed)
}

/// A backend that outlives the database on it. Locks are let go when the last handle goes.
#[derive(Clone, Debug)]
struct Shared(Arc<dyn StorageBackend>);

impl StorageBackend for Shared {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Reads what is below and keeps what is written in memory.
pub(crate) struct Overlay {
    below: Box<dyn StorageBackend>,
    written: Mutex<OverlayPages>,
}

struct OverlayPages {
    len: u64,
    /// Bytes below this length that were never cut away are still those of the backend.
    kept: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
}

const PAGE: usize = 4096;

impl Overlay {
    fn over(below: impl StorageBackend) -> Self {
        let len = below.len().unwrap_or(0);
        let written = Mutex::new(OverlayPages { len, kept: len, pages: BTreeMap::new() });
        Self { below: Box::new(below), written }
    }

    fn lock(&self) -> MutexGuard<'_, OverlayPages> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page as it reads now.
    fn page(&self, written: &OverlayPages, number: u64) -> io::Result<Box<[u8; PAGE]>> {
        if let Some(page) = written.pages.get(&number) {
            return Ok(page.clone());
        }
        let mut page = Box::new([0; PAGE]);
        let start = number * PAGE as u64;
        let here = written.kept.saturating_sub(start).min(PAGE as u64) as usize;
        if here > 0 {
            self.below.read(start, &mut page[..here])?;
        }
        Ok(page)
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay").finish_non_exhaustive()
    }
}

/// The pages that a stretch of bytes touches: their numbers, and which of their bytes.
fn stretches(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = offset + len as u64;
    (offset / PAGE as u64..end.div_ceil(PAGE as u64)).map(move |number| {
        let start = number * PAGE as u64;
        (number, offset.saturating_sub(start) as usize..(end - start).min(PAGE as u64) as usize)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.lock();
        if offset + out.len() as u64 > written.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = out;
        for (number, bytes) in stretches(offset, rest.len()) {
            let (here, later) = rest.split_at_mut(bytes.len());
            here.copy_from_slice(&self.page(&written, number)?[bytes]);
            rest = later;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.lock();
        if len < written.len {
            // What is cut away reads as zero if the storage grows again.
            written.kept = written.kept.min(len);
            written.pages.retain(|number, _| number * (PAGE as u64) < len);
            let (last, used) = (len / PAGE as u64, (len % PAGE as u64) as usize);
            if let Some(page) = written.pages.get_mut(&last) {
                page[used..].fill(0);
            }
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.lock();
        let mut rest = data;
        for (number, bytes) in stretches(offset, data.len()) {
            let (here, later) = rest.split_at(bytes.len());
            let mut page = self.page(&written, number)?;
            page[bytes].copy_from_slice(here);
            written.pages.insert(number, page);
            rest = later;
        }
        Ok(())
    }
}
