//! The fence: what was released last, kept outside the ledger.
//!
//! A ledger cannot tell from its own bytes that it is yesterday's, or a copy. So after every
//! release, and before it is shown, a *mark* is written to a place that is not copied or restored
//! with the ledger: the ledger's own number, its epoch, and the frame and head of the release; and
//! what was entered in the accounts of populations, which a restored ledger would not know. When a
//! ledger is opened, the mark must not be ahead of it.
//!
//! **What it recognises.** An older state put in place of a newer one; a copy of the directory (its
//! fence is missing, or the ledger's file is another one than the ledger remembers). **What it
//! cannot recognise:** a whole machine, fence included, set back to an earlier moment. Where that
//! may happen, keep the fence on other storage.
//!
//! On disk the file has two slots, written in turn and brought to the disk; of the slots that hash
//! to what they say, the one with the higher number counts. A crash can spoil the slot that is
//! being written, never the other.

use crate::error::{Error, Result};
use crate::record::{Cost, EntryRecord, EpochName, Grant, Head, decode, encode, seal, unseal};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Where a mark is kept. Small, so that a test can put a faulty one in its place.
pub trait Fence: Send {
    /// The newest content; none before the first write.
    ///
    /// # Errors
    /// The system's.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces the content. When this returns, the new one is on the disk; where it fails, the old
    /// or the new one is.
    ///
    /// # Errors
    /// The system's.
    fn write(&mut self, content: &[u8]) -> io::Result<()>;
}

/// What was released last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) ledger: [u8; 16],
    pub(crate) epoch: EpochName,
    /// The last frame with releases, and the head after it.
    pub(crate) released: u64,
    pub(crate) head: Head,
    pub(crate) spent: Spent,
}

/// Everything that was ever entry_record, in few bytes: it is written with every release.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    epochs: Vec<EpochName>,
    costs: Vec<Cost>,
    populations: Vec<(Grant, Vec<Places>)>,
    /// Where costs stand in the list, by their bits.
    #[serde(skip)]
    by_bits: HashMap<[u64; 3], u32>,
}

/// The counter of an entry, and the places of its epoch and its cost in the lists.
type Places = (u32, u32, u32);

impl Spent {
    pub(crate) fn add_population(&mut self, grant: Grant) {
        self.populations.push((grant, Vec::new()));
    }

    /// Adds to the population that was added last.
    pub(crate) fn add(&mut self, counter: u32, epoch: EpochName, cost: Cost) {
        let bits = [cost.mu_squared, cost.pure_epsilon, cost.variation].map(f64::to_bits);
        let cost = *self.by_bits.entry(bits).or_insert_with(|| {
            self.costs.push(cost);
            self.costs.len() as u32 - 1
        });
        let entry = (counter, place(&mut self.epochs, epoch), cost);
        if let Some((_, entries)) = self.populations.last_mut() {
            entries.push(entry);
        }
    }

    /// What was granted, and the entries of each population.
    pub(crate) fn populations(&self) -> impl Iterator<Item = (&Grant, Vec<EntryRecord>)> {
        self.populations.iter().map(|(grant, entries)| {
            let entry_record = |(counter, epoch, cost): &Places| {
                let (epoch, cost) = (self.epochs.get(*epoch as usize)?, self.costs.get(*cost as usize)?);
                Some(EntryRecord {
                    population: grant.population.clone(),
                    counter: *counter,
                    epoch: *epoch,
                    cost: *cost,
                })
            };
            (grant, entries.iter().filter_map(entry_record).collect())
        })
    }
}

/// Where something stands in a list, at whose end it is put where it does not. What was met last is
/// met next.
fn place<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    let place = list.iter().rposition(|known| *known == item);
    place.unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    }) as u32
}

impl Mark {
    pub(crate) fn read(fence: &mut dyn Fence) -> Result<Option<Self>> {
        let content = fence.read().map_err(|error| Error::system("the fence cannot be read", &error))?;
        let Some(content) = content else { return Ok(None) };
        decode("the fence", unseal("the fence", &content)?).map(Some)
    }

    pub(crate) fn write(&self, fence: &mut dyn Fence) -> Result<()> {
        let content = seal("the fence", encode(self)?);
        fence.write(&content).map_err(|error| Error::system("the fence cannot be written", &error))
    }
}

/// Slots are far apart, so that the entries of millions of counters fit; what is not written takes
/// no place on most disks.
const SLOT: u64 = 1 << 26;

/// Bytes of a slot around its content.
const FRAME: u64 = 48;

/// A fence in a file.
#[derive(Debug)]
pub struct FileFence {
    file: File,
    /// The number of the newest slot.
    turn: u64,
}

impl FileFence {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has it"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_directory(parent)?;
        }
        Ok(Self { file, turn: 0 })
    }

    /// The number and content of a slot that is whole.
    fn slot(&mut self, slot: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
        self.file.seek(SeekFrom::Start(slot * SLOT))?;
        let mut read = |length: u64| -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            (&mut self.file).take(length).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let head = read(16)?;
        let Some(head) = head.first_chunk::<16>() else { return Ok(None) };
        let (number, length) = (word(head, 0), word(head, 8));
        if length > SLOT - FRAME {
            return Ok(None);
        }
        let (content, hash) = (read(length)?, read(32)?);
        let is_whole = hash.first_chunk::<32>().is_some_and(|hash| hash_of(number, &content) == *hash);
        Ok(is_whole.then_some((number, content)))
    }
}

impl FileFence {
    /// Whether there is anything where a slot starts.
    fn was_written(&mut self, slot: u64) -> io::Result<bool> {
        self.file.seek(SeekFrom::Start(slot * SLOT))?;
        let mut bytes = Vec::new();
        (&mut self.file).take(16).read_to_end(&mut bytes)?;
        Ok(bytes.iter().any(|byte| *byte != 0))
    }
}

fn word(bytes: &[u8; 16], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn hash_of(number: u64, content: &[u8]) -> blake3::Hash {
    blake3::Hasher::new_derive_key("evertally ledger 1 fence")
        .update(&number.to_le_bytes())
        .update(content)
        .finalize()
}

impl Fence for FileFence {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let slots = [self.slot(0)?, self.slot(1)?];
        let newest = slots.into_iter().flatten().max_by_key(|(number, _)| *number);
        // The first write goes to the second slot. A crash that spoils it leaves the first one
        // empty: nothing was written yet.
        if newest.is_none() && self.was_written(0)? {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "neither of its two slots is whole"));
        }
        Ok(newest.map(|(number, content)| {
            self.turn = number;
            content
        }))
    }

    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        let number = self.turn + 1;
        let mut bytes = Vec::with_capacity(content.len() + FRAME as usize);
        bytes.extend(number.to_le_bytes());
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
        bytes.extend(hash_of(number, content).as_bytes());
        if bytes.len() as u64 > SLOT {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too much was entered for a fence"));
        }
        self.file.seek(SeekFrom::Start(number % 2 * SLOT))?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.turn = number;
        Ok(())
    }
}

/// A name is on the disk only when its directory is.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_slot_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fence");
        assert_eq!(FileFence::open(&path).unwrap().read().unwrap(), None);
        for content in [&b"first"[..], b"second", b"a third, which is longer"] {
            let mut fence = FileFence::open(&path).unwrap();
            fence.read().unwrap();
            fence.write(content).unwrap();
            assert!(FileFence::open(&path).is_err(), "one process at a time");
            assert_eq!(fence.read().unwrap().as_deref(), Some(content));
        }
        // A crash that spoils what was being written leaves what was there before.
        let mut file = File::options().write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(SLOT + 20)).unwrap();
        file.write_all(b"xxxx").unwrap();
        let mut fence = FileFence::open(&path).unwrap();
        assert_eq!(fence.read().unwrap().as_deref(), Some(&b"second"[..]));
        fence.write(b"fourth").unwrap();
        drop(fence);
        assert_eq!(FileFence::open(&path).unwrap().read().unwrap().as_deref(), Some(&b"fourth"[..]));
        // If both are damaged, it says so instead of starting anew.
        file.seek(SeekFrom::Start(20)).unwrap();
        file.write_all(b"xxxx").unwrap();
        file.seek(SeekFrom::Start(SLOT + 20)).unwrap();
        file.write_all(b"xxxx").unwrap();
        assert!(FileFence::open(&path).unwrap().read().is_err());
    }
}
