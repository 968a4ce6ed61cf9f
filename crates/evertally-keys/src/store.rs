//! The storage of one name's record: a file, or memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::record::{Head, RecordFile};

#[derive(Clone)]
pub(crate) enum Store {
    File(PathBuf),
    Memory(Arc<Mutex<MemoryRecord>>),
}

/// The record of one name in memory.
#[derive(Default)]
pub(crate) struct MemoryRecord {
    head: Option<Head>,
    digests: Vec<Digest>,
    /// The file that holds the record, once its key was written to a file.
    moved_to: Option<PathBuf>,
}

impl MemoryRecord {
    /// Moves the record to a file. Later entries go there.
    pub(crate) fn move_to(&mut self, path: PathBuf) -> Result<()> {
        if let Some(head) = self.head {
            let (mut file, is_new) = RecordFile::open_or_create(&path, head)?;
            if !is_new {
                return Err(Error::Damaged { path, reason: "it existed before its key" });
            }
            file.append(&self.digests)?;
        }
        self.digests = Vec::new();
        self.moved_to = Some(path);
        Ok(())
    }
}

/// A record that is locked until this value is dropped.
pub(crate) enum Locked<'a> {
    File(RecordFile),
    Memory(MutexGuard<'a, MemoryRecord>),
}

impl Store {
    pub(crate) fn damaged(&self, reason: &'static str) -> Error {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Memory(_) => PathBuf::new(),
        };
        Error::Damaged { path, reason }
    }

    /// The current record, locked. `None` if there is none.
    pub(crate) fn lock(&self) -> Result<Option<Locked<'_>>> {
        let open = |path: &Path| Ok(RecordFile::open(path)?.map(Locked::File));
        match self.place() {
            Location::At(path) => open(&path),
            Location::Here(record) => Ok(Some(Locked::Memory(record))),
        }
    }

    /// The record, locked, and created if there is none. Also returns whether it was created.
    pub(crate) fn lock_or_create(&self, head: Head) -> Result<(Locked<'_>, bool)> {
        match self.place() {
            Location::At(path) => {
                let (file, is_new) = RecordFile::open_or_create(&path, head)?;
                Ok((Locked::File(file), is_new))
            }
            Location::Here(record) => {
                let is_new = record.head.is_none();
                Ok((Locked::Memory(record), is_new))
            }
        }
    }

    fn place(&self) -> Location<'_> {
        match self {
            Self::File(path) => Location::At(path.clone()),
            Self::Memory(record) => {
                let record = record.lock().unwrap_or_else(PoisonError::into_inner);
                match &record.moved_to {
                    Some(path) => Location::At(path.clone()),
                    None => Location::Here(record),
                }
            }
        }
    }
}

/// The current location of a record.
enum Location<'a> {
    At(PathBuf),
    Here(MutexGuard<'a, MemoryRecord>),
}

impl Locked<'_> {
    /// The record's head, if it has entries.
    pub(crate) fn head(&self) -> Option<Head> {
        match self {
            Self::File(file) => Some(file.head).filter(|_| file.entries > 0),
            Self::Memory(record) => record.head,
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        match self {
            Self::File(file) => file.entries,
            Self::Memory(record) => record.digests.len() as u64,
        }
    }

    /// At most `max` entries, starting at `from`.
    pub(crate) fn read(&mut self, from: u64, max: u64) -> Result<Vec<Digest>> {
        match self {
            Self::File(file) => file.read(from, max),
            Self::Memory(record) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let digests = record.digests.get(from..).unwrap_or_default();
                Ok(digests.iter().take(usize::try_from(max).unwrap_or(usize::MAX)).copied().collect())
            }
        }
    }

    /// Appends entries. They are stored when this returns.
    pub(crate) fn append(&mut self, head: Head, digests: &[Digest]) -> Result<()> {
        match self {
            // A record without entries may have been created for another first step.
            Self::File(file) if file.entries == 0 && file.head != head => file.restart(head, digests),
            Self::File(file) => file.append(digests),
            Self::Memory(record) => {
                record.head.get_or_insert(head);
                record.digests.extend(digests);
                Ok(())
            }
        }
    }

    /// Removes a record that was created for a refused run.
    pub(crate) fn remove(self) {
        if let Self::File(file) = self {
            file.remove();
        }
    }
}
