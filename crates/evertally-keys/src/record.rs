//! The record of one name: which digests it has had.
//!
//! | bytes | content |
//! |---|---|
//! | 4 + 1 + 3 | `EVKU`, format version 1, zeros |
//! | 8 | tag of the key |
//! | 32 | keyed digest of the noise's name |
//! | 8 | the first step that is recorded |
//! | 8 | how many steps an entry stands for: 1, or 2⁶⁴ − 1 for all of a run |
//! | 16 each | entries: the digest after those steps |
//!
//! Numbers are little-endian. The head is written under another name, brought to the disk, locked
//! and renamed, so that a record is there whole or not at all. A head without entries refuses
//! nothing: it says that a run was about to begin. Entries are appended and brought to the disk
//! before what they stand for is released. A piece of an entry at the end is what a crash left of
//! one that was never relied on, and is cut off.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::disk::{is_still_at, sync_directory_of};
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"EVKU\x01\0\0\0";
const HEAD: u64 = 64;
const ENTRY: u64 = 16;

/// An entry that stands for all steps of a run. Their number is not told: it could depend on the last event.
pub(crate) const ALL_STEPS: u64 = u64::MAX;

/// What a record is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) key_tag: [u8; 8],
    pub(crate) name: [u8; 32],
    pub(crate) first_step: u64,
    pub(crate) steps_per_entry: u64,
}

impl Head {
    fn to_bytes(self) -> [u8; HEAD as usize] {
        let mut bytes = [0; HEAD as usize];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.key_tag);
        bytes[16..48].copy_from_slice(&self.name);
        bytes[48..56].copy_from_slice(&self.first_step.to_le_bytes());
        bytes[56..].copy_from_slice(&self.steps_per_entry.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; HEAD as usize]) -> Option<Self> {
        let word = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let head = Self {
            key_tag: bytes[8..16].try_into().ok()?,
            name: bytes[16..48].try_into().ok()?,
            first_step: word(48)?,
            steps_per_entry: word(56)?,
        };
        (&bytes[..8] == MAGIC && head.steps_per_entry > 0).then_some(head)
    }
}

/// A record that nobody else reads or extends until this is dropped.
pub(crate) struct Held {
    path: PathBuf,
    /// Closing the file gives the lock back.
    file: File,
    pub(crate) head: Head,
    pub(crate) entries: u64,
}

impl Held {
    /// Waits for the record and looks at it; none where there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let failed = |error| Error::reading(path, error);
        let file = loop {
            let file = match File::options().read(true).write(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                other => other.map_err(failed)?,
            };
            file.lock().map_err(failed)?;
            // Whoever made it may have taken it back while this waited.
            if is_still_at(&file, path).map_err(failed)? {
                break file;
            }
        };
        Self::look(path, file).map(Some)
    }

    fn look(path: &Path, mut file: File) -> Result<Self> {
        let damaged = |reason| Error::Damaged { path: path.to_owned(), reason };
        let failed = |error| Error::reading(path, error);
        let mut bytes = [0; HEAD as usize];
        file.read_exact(&mut bytes).map_err(|_| damaged("it is cut short"))?;
        let head = Head::from_bytes(&bytes).ok_or_else(|| damaged("it has another form"))?;
        let length = file.metadata().map_err(failed)?.len();
        let entries = (length - HEAD) / ENTRY;
        if length != HEAD + entries * ENTRY {
            file.set_len(HEAD + entries * ENTRY).map_err(|error| Error::writing(path, error))?;
        }
        Ok(Self { path: path.to_owned(), file, head, entries })
    }

    /// Waits for the record, or makes one without entries; and whether it was made.
    pub(crate) fn open_or_make(path: &Path, head: Head) -> Result<(Self, bool)> {
        loop {
            if let Some(held) = Self::open(path)? {
                return Ok((held, false));
            }
            if let Some(held) = Self::make(path, head)? {
                return Ok((held, true));
            }
        }
    }

    /// Makes a record without entries, and holds it before anybody else can; none if somebody else
    /// was quicker.
    fn make(path: &Path, head: Head) -> Result<Option<Self>> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let failed = |error| Error::writing(path, error);
        make_directory(directory).map_err(failed)?;
        // A temporary file has no other readers unless it is given some.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory).map_err(failed)?;
        file.write_all(&head.to_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.as_file().lock().map_err(failed)?;
        let file = match file.persist_noclobber(path) {
            Ok(file) => file,
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(failed(error.error)),
        };
        sync_directory_of(path).map_err(failed)?;
        Ok(Some(Self { path: path.to_owned(), file, head, entries: 0 }))
    }

    /// Takes back a record that was made for a run that may not begin.
    pub(crate) fn remove(self) {
        // Where it cannot be removed, it is a record without entries, which refuses nothing.
        let _ = fs::remove_file(&self.path);
        if let Some(directory) = self.path.parent() {
            // Only an empty directory goes.
            let _ = fs::remove_dir(directory);
        }
    }

    /// Some entries from this number on, as many as there are.
    pub(crate) fn read(&mut self, number: u64, most: u64) -> Result<Vec<Digest>> {
        let count = self.entries.saturating_sub(number).min(most);
        let mut bytes = vec![0; (count * ENTRY) as usize];
        let read = self.file.seek(SeekFrom::Start(HEAD + number * ENTRY));
        let read = read.and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| Error::reading(&self.path, error))?;
        let (entries, _) = bytes.as_chunks::<{ ENTRY as usize }>();
        Ok(entries.iter().map(|entry| Digest(*entry)).collect())
    }

    /// Gives a record without entries another head, and adds entries.
    pub(crate) fn begin_again(&mut self, head: Head, digests: &[Digest]) -> Result<()> {
        let written = self.file.seek(SeekFrom::Start(0));
        let written =
            written.and_then(|_| self.file.write_all(&head.to_bytes())).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::writing(&self.path, error))?;
        self.head = head;
        self.append(digests)
    }

    /// Adds entries. When this returns, they are on the disk.
    pub(crate) fn append(&mut self, digests: &[Digest]) -> Result<()> {
        let bytes: Vec<u8> = digests.iter().flat_map(|digest| digest.0).collect();
        let written = self.file.seek(SeekFrom::Start(HEAD + self.entries * ENTRY));
        let written = written.and_then(|_| self.file.write_all(&bytes)).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::writing(&self.path, error))?;
        self.entries += digests.len() as u64;
        Ok(())
    }
}

/// A directory for its owner alone, on the disk when this returns.
fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    sync_directory_of(path)
}
