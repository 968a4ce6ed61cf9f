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
            let mut held = Held::make(&path, head)?;
            if held.entries > 0 || held.head != head {
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
    /// There is no record, and so no lock: whoever makes one looks at it again.
    Absent(PathBuf),
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

    pub(crate) fn lock(&self) -> Result<Locked<'_>> {
        match self {
            Self::File(path) => open(path),
            Self::Memory(remembered) => {
                let remembered = remembered.lock().unwrap_or_else(PoisonError::into_inner);
                match &remembered.moved_to {
                    Some(path) => open(path),
                    None => Ok(Locked::Memory(remembered)),
                }
            }
        }
    }
}

fn open<'a>(path: &Path) -> Result<Locked<'a>> {
    Ok(Held::open(path)?.map_or_else(|| Locked::Absent(path.to_owned()), Locked::File))
}

impl Locked<'_> {
    /// What the record is about, where it has entries.
    pub(crate) fn head(&self) -> Option<Head> {
        match self {
            Self::Absent(_) => None,
            Self::File(held) => Some(held.head).filter(|_| held.entries > 0),
            Self::Memory(remembered) => remembered.head,
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        match self {
            Self::Absent(_) => 0,
            Self::File(held) => held.entries,
            Self::Memory(remembered) => remembered.digests.len() as u64,
        }
    }

    /// Some entries from this one on, as many as there are.
    pub(crate) fn read(&mut self, from: u64, most: u64) -> Result<Vec<Digest>> {
        match self {
            Self::Absent(_) => Ok(Vec::new()),
            Self::File(held) => held.read(from, most),
            Self::Memory(remembered) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let digests = remembered.digests.get(from..).unwrap_or_default();
                Ok(digests.iter().take(usize::try_from(most).unwrap_or(usize::MAX)).copied().collect())
            }
        }
    }

    /// Makes the record where there is none. Somebody else may have been quicker, and have filled it.
    pub(crate) fn make(self, head: Head) -> Result<Self> {
        match self {
            Self::Absent(path) => Held::make(&path, head).map(Self::File),
            there => Ok(there),
        }
    }

    /// Adds entries. When this returns, they are kept.
    pub(crate) fn append(&mut self, head: Head, digests: &[Digest]) -> Result<()> {
        match self {
            Self::Absent(path) => {
                let reason = "it was removed while it was in use";
                Err(Error::Damaged { path: path.clone(), reason })
            }
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
}
