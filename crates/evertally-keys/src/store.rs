//! Where the record of one name is kept: in a file, or in memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::record::{Head, Held};

#[derive(Clone)]
pub(crate) enum Store {
    File(PathBuf),
    Memory(Arc<Mutex<Remembered>>),
}

/// What the process remembers of one name.
#[derive(Default)]
pub(crate) struct Remembered {
    head: Option<Head>,
    digests: Vec<Digest>,
    /// The file that the record is kept in since its key was written to one.
    moved_to: Option<PathBuf>,
}

impl Remembered {
    /// Moves what is remembered to a file, where it goes on.
    pub(crate) fn move_to(&mut self, path: PathBuf) -> Result<()> {
        if let Some(head) = self.head {
            let (mut held, is_new) = Held::open_or_make(&path, head)?;
            if !is_new {
                return Err(Error::Damaged { path, reason: "it was there before its key" });
            }
            held.append(&self.digests)?;
        }
        self.digests = Vec::new();
        self.moved_to = Some(path);
        Ok(())
    }
}

/// A record that nobody else reads or extends until this is dropped.
pub(crate) enum Locked<'a> {
    File(Held),
    Memory(MutexGuard<'a, Remembered>),
}

impl Store {
    pub(crate) fn damaged(&self, reason: &'static str) -> Error {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Memory(_) => PathBuf::new(),
        };
        Error::Damaged { path, reason }
    }

    /// The record as it stands; none where there is none.
    pub(crate) fn lock(&self) -> Result<Option<Locked<'_>>> {
        let open = |path: &Path| Ok(Held::open(path)?.map(Locked::File));
        match self.place() {
            Placed::At(path) => open(&path),
            Placed::Here(remembered) => Ok(Some(Locked::Memory(remembered))),
        }
    }

    /// The record, made if there is none; and whether it was made.
    pub(crate) fn lock_or_make(&self, head: Head) -> Result<(Locked<'_>, bool)> {
        match self.place() {
            Placed::At(path) => {
                let (held, is_new) = Held::open_or_make(&path, head)?;
                Ok((Locked::File(held), is_new))
            }
            Placed::Here(remembered) => {
                let is_new = remembered.head.is_none();
                Ok((Locked::Memory(remembered), is_new))
            }
        }
    }

    fn place(&self) -> Placed<'_> {
        match self {
            Self::File(path) => Placed::At(path.clone()),
            Self::Memory(remembered) => {
                let remembered = remembered.lock().unwrap_or_else(PoisonError::into_inner);
                match &remembered.moved_to {
                    Some(path) => Placed::At(path.clone()),
                    None => Placed::Here(remembered),
                }
            }
        }
    }
}

/// Where a record stands now.
enum Placed<'a> {
    At(PathBuf),
    Here(MutexGuard<'a, Remembered>),
}

impl Locked<'_> {
    /// What the record is about, where it has entries.
    pub(crate) fn head(&self) -> Option<Head> {
        match self {
            Self::File(held) => Some(held.head).filter(|_| held.entries > 0),
            Self::Memory(remembered) => remembered.head,
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        match self {
            Self::File(held) => held.entries,
            Self::Memory(remembered) => remembered.digests.len() as u64,
        }
    }

    /// Some entries from this one on, as many as there are.
    pub(crate) fn read(&mut self, from: u64, most: u64) -> Result<Vec<Digest>> {
        match self {
            Self::File(held) => held.read(from, most),
            Self::Memory(remembered) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let digests = remembered.digests.get(from..).unwrap_or_default();
                Ok(digests.iter().take(usize::try_from(most).unwrap_or(usize::MAX)).copied().collect())
            }
        }
    }

    /// Adds entries. When this returns, they are kept.
    pub(crate) fn append(&mut self, head: Head, digests: &[Digest]) -> Result<()> {
        match self {
            // A record without entries may have been made for another beginning.
            Self::File(held) if held.entries == 0 && held.head != head => held.begin_again(head, digests),
            Self::File(held) => held.append(digests),
            Self::Memory(remembered) => {
                remembered.head.get_or_insert(head);
                remembered.digests.extend(digests);
                Ok(())
            }
        }
    }

    /// Takes back a record that was made for a run that may not begin.
    pub(crate) fn remove(self) {
        if let Self::File(held) = self {
            held.remove();
        }
    }
}
