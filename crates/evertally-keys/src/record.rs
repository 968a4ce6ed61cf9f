//! The record file of one name: the digests of its inputs.
//!
//! | bytes | content |
//! |---|---|
//! | 4 + 1 + 3 | `EVKU`, format version 1, zeros |
//! | 8 | tag of the key |
//! | 32 | keyed digest of the noise's name |
//! | 8 | the first recorded step |
//! | 8 | the number of steps per entry: 1, or 2⁶⁴ − 1 for all steps of a run |
//! | 16 each | entries: the digest after the entry's steps |
//!
//! Numbers are little-endian. The head is written under a temporary name, synchronised to disk,
//! locked and renamed, so a record is either complete or absent. A head without entries refuses
//! nothing: it means that a run was about to start. Entries are appended and synchronised before
//! their steps are released. A partial entry at the end was left by a crash before its step was
//! released, and is truncated.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::disk::{is_still_at, sync_directory_of};
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"EVKU\x01\0\0\0";
const HEAD: u64 = 64;
const ENTRY: u64 = 16;

/// The `steps_per_entry` of an entry for all steps of a run. Their number is not recorded, because
/// it could depend on the last event.
pub(crate) const ALL_STEPS: u64 = u64::MAX;

/// The header of a record.
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

/// An open record file. It is locked until this value is dropped.
pub(crate) struct RecordFile {
    path: PathBuf,
    /// Closing the file releases the lock.
    file: File,
    pub(crate) head: Head,
    pub(crate) entries: u64,
}

impl RecordFile {
    /// Waits for the lock and reads the head. `None` if there is no record.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let failed = |error| Error::reading(path, error);
        let file = loop {
            let file = match File::options().read(true).write(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                other => other.map_err(failed)?,
            };
            file.lock().map_err(failed)?;
            // Its creator may have removed it while this call waited.
            if is_still_at(&file, path).map_err(failed)? {
                break file;
            }
        };
        Self::from_locked(path, file).map(Some)
    }

    fn from_locked(path: &Path, mut file: File) -> Result<Self> {
        let damaged = |reason| Error::Damaged { path: path.to_owned(), reason };
        let failed = |error| Error::reading(path, error);
        let mut bytes = [0; HEAD as usize];
        file.read_exact(&mut bytes).map_err(|_| damaged("it is cut short"))?;
        let head = Head::from_bytes(&bytes).ok_or_else(|| damaged("it has another format"))?;
        let length = file.metadata().map_err(failed)?.len();
        let entries = (length - HEAD) / ENTRY;
        if length != HEAD + entries * ENTRY {
            file.set_len(HEAD + entries * ENTRY).map_err(|error| Error::writing(path, error))?;
        }
        Ok(Self { path: path.to_owned(), file, head, entries })
    }

    /// Waits for the record, or creates one without entries. Also returns whether it was created.
    pub(crate) fn open_or_create(path: &Path, head: Head) -> Result<(Self, bool)> {
        loop {
            if let Some(held) = Self::open(path)? {
                return Ok((held, false));
            }
            if let Some(held) = Self::create(path, head)? {
                return Ok((held, true));
            }
        }
    }

    /// Creates a record without entries and locks it before it is visible. `None` if another
    /// process created it first.
    fn create(path: &Path, head: Head) -> Result<Option<Self>> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let failed = |error| Error::writing(path, error);
        create_directory(directory).map_err(failed)?;
        // By default only its owner can read a temporary file.
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

    /// Removes a record that was created for a refused run.
    pub(crate) fn remove(self) {
        // If this fails, a record without entries remains, which refuses nothing.
        let _ = fs::remove_file(&self.path);
        if let Some(directory) = self.path.parent() {
            // This removes the directory only if it is empty.
            let _ = fs::remove_dir(directory);
        }
    }

    /// At most `max` entries, starting at this number.
    pub(crate) fn read(&mut self, number: u64, max: u64) -> Result<Vec<Digest>> {
        let count = self.entries.saturating_sub(number).min(max);
        let mut bytes = vec![0; (count * ENTRY) as usize];
        let read = self.file.seek(SeekFrom::Start(HEAD + number * ENTRY));
        let read = read.and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| Error::reading(&self.path, error))?;
        let (entries, _) = bytes.as_chunks::<{ ENTRY as usize }>();
        Ok(entries.iter().map(|entry| Digest(*entry)).collect())
    }

    /// Replaces the head of a record without entries, and appends entries.
    pub(crate) fn restart(&mut self, head: Head, digests: &[Digest]) -> Result<()> {
        let written = self.file.seek(SeekFrom::Start(0));
        let written =
            written.and_then(|_| self.file.write_all(&head.to_bytes())).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::writing(&self.path, error))?;
        self.head = head;
        self.append(digests)
    }

    /// Appends entries. They are on disk when this returns.
    pub(crate) fn append(&mut self, digests: &[Digest]) -> Result<()> {
        let bytes: Vec<u8> = digests.iter().flat_map(|digest| digest.0).collect();
        let written = self.file.seek(SeekFrom::Start(HEAD + self.entries * ENTRY));
        let written = written.and_then(|_| self.file.write_all(&bytes)).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::writing(&self.path, error))?;
        self.entries += digests.len() as u64;
        Ok(())
    }
}

/// Creates a directory that only its owner can read. It is on disk when this returns.
fn create_directory(path: &Path) -> io::Result<()> {
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
