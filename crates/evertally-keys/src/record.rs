//! The record of one name: which digests it has had.
//!
//! | bytes | content |
//! |---|---|
//! | 4 + 1 + 3 | `EVKU`, format version 1, zeros |
//! | 8 | tag of the key |
//! | 32 | digest of the noise name |
//! | 8 | the first step that is recorded |
//! | 8 | how many steps an entry stands for |
//! | 16 each | entries: the digest after those steps |
//!
//! Numbers are little-endian. The head is written under another name, brought to the disk and renamed, so that a record is
//! there whole or not at all. Entries are appended and brought to the disk before what they stand for is released. A
//! piece of an entry at the end is what a crash left of one that was never relied on, and is cut off.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"EVKU\x01\0\0\0";
const HEAD: u64 = 64;
const ENTRY: u64 = 16;

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
        let opened = File::options().read(true).write(true).open(path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| Error::reading(path, error))?,
        };
        let damaged = |reason| Error::Damaged { path: path.to_owned(), reason };
        let failed = |error| Error::reading(path, error);
        file.lock().map_err(failed)?;
        let mut bytes = [0; HEAD as usize];
        file.read_exact(&mut bytes).map_err(|_| damaged("it is cut short"))?;
        let head = Head::from_bytes(&bytes).ok_or_else(|| damaged("it has another form"))?;
        let length = file.metadata().map_err(failed)?.len();
        let entries = (length - HEAD) / ENTRY;
        if length != HEAD + entries * ENTRY {
            file.set_len(HEAD + entries * ENTRY).map_err(|error| Error::writing(path, error))?;
        }
        Ok(Some(Self { path: path.to_owned(), file, head, entries }))
    }

    /// Makes a record without entries, or opens the one that somebody else has just made.
    pub(crate) fn make(path: &Path, head: Head) -> Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let failed = |error| Error::writing(path, error);
        make_directory(directory).map_err(failed)?;
        // A temporary file has no other readers unless it is given some.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory).map_err(failed)?;
        file.write_all(&head.to_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        match file.persist_noclobber(path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error.error)),
        }
        sync_directory(directory).map_err(failed)?;
        let reason = "it was removed while it was in use";
        Self::open(path)?.ok_or_else(|| Error::Damaged { path: path.to_owned(), reason })
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
    sync_directory(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// A name is on the disk only when its directory is.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
