//! The record of everything that a key was used for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use evertally::{NoiseKey, NoiseName};

use crate::digest::InputChain;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::store::{MemoryRecord, Store};
use zeroize::ZeroizeOnDrop;

/// The record of a key: on disk beside its file, or in the memory of this process.
#[derive(Clone)]
pub struct Uses {
    key_tag: [u8; 8],
    secrets: Secrets,
    place: Place,
}

/// The secrets that hash names and inputs. Names are hashed because the name of a training run
/// depends on its rows.
#[derive(Clone, ZeroizeOnDrop)]
struct Secrets {
    names: [u8; 32],
    inputs: [u8; 32],
}

impl Secrets {
    fn of(key: &NoiseKey) -> Self {
        Self { names: *key.subkey(b"names 1"), inputs: *key.subkey(b"inputs 1") }
    }
}

#[derive(Clone)]
enum Place {
    /// A directory with one file per name.
    Directory { path: PathBuf, key_file: String },
    /// The memory of this process.
    Memory(SharedNames),
}

/// The record of each name, by the digest of the name.
#[derive(Default)]
struct Names {
    records: HashMap<[u8; 32], Arc<Mutex<MemoryRecord>>>,
    /// The directory of the records, once the key was written to a file.
    moved_to: Option<PathBuf>,
}

/// All users of a key in this process share its records.
type SharedNames = Arc<Mutex<Names>>;

impl Uses {
    /// The record beside a key file: the directory `FILE.uses`. Symbolic links to the file share
    /// one record.
    ///
    /// # Errors
    /// [`Error::File`] if the key file cannot be found; [`Error::KeyFile`] if it has hard links,
    /// because each of them would have a separate record.
    pub fn beside(key_file: &Path, key: &NoiseKey) -> Result<Self> {
        let place =
            Place::Directory { path: directory_beside(key_file)?, key_file: key_file.display().to_string() };
        Ok(Self { key_tag: key.tag(), secrets: Secrets::of(key), place })
    }

    /// The directory of the record, if it has one.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        match &self.place {
            Place::Directory { path, .. } => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// The record of a key that came from no file. It is kept in memory until the process ends.
    #[must_use]
    pub fn in_this_process(key: &NoiseKey) -> Self {
        static KEYS: LazyLock<Mutex<HashMap<[u8; 8], SharedNames>>> = LazyLock::new(Mutex::default);
        let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
        let names = Arc::clone(keys.entry(key.tag()).or_default());
        Self { key_tag: key.tag(), secrets: Secrets::of(key), place: Place::Memory(names) }
    }

    /// Moves the record from memory to the directory beside a file that the key was written to.
    /// Later inputs are recorded there, also by existing guards. A record that has a directory
    /// stays in it.
    ///
    /// # Errors
    /// [`Error::File`] and [`Error::Damaged`]. The names that were not moved stay in memory.
    pub fn move_beside(&self, key_file: &Path) -> Result<()> {
        let Place::Memory(names) = &self.place else { return Ok(()) };
        let directory = directory_beside(key_file)?;
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.moved_to.is_some() {
            return Ok(());
        }
        for (name, record) in &names.records {
            let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
            record.move_to(directory.join(file_name(name)))?;
        }
        names.moved_to = Some(directory);
        Ok(())
    }

    /// The guard of one name, for a run that starts at its first step.
    ///
    /// # Errors
    /// [`Error::StartsLater`] if only later steps are recorded; [`Error::File`] and
    /// [`Error::Damaged`].
    pub fn guard(&self, name: &NoiseName) -> Result<Guard> {
        Guard::new(self, name, None)
    }

    /// The guard of one name, for a run that resumes from a saved state after `steps` steps.
    ///
    /// # Errors
    /// [`Error::StartsLater`] or [`Error::EndsEarlier`] if the record does not cover the step of
    /// the state; [`Error::File`] and [`Error::Damaged`].
    pub fn guard_resumed(&self, name: &NoiseName, steps: u64, state: &[u8]) -> Result<Guard> {
        Guard::new(self, name, Some((steps, state)))
    }

    /// Whether the key was used with any other name.
    #[must_use]
    pub fn has_others(&self, name: &NoiseName) -> bool {
        match &self.place {
            Place::Directory { path, .. } => has_others(path, &self.name_digest(name)),
            Place::Memory(names) => {
                let names = names.lock().unwrap_or_else(PoisonError::into_inner);
                match &names.moved_to {
                    Some(path) => has_others(path, &self.name_digest(name)),
                    None => names.records.keys().any(|other| *other != self.name_digest(name)),
                }
            }
        }
    }

    /// Eight public bytes that identify the key.
    #[must_use]
    pub fn key_tag(&self) -> [u8; 8] {
        self.key_tag
    }

    /// The digest that identifies a name in records. It is a keyed hash and reveals nothing about
    /// the name without the key.
    #[must_use]
    pub fn name_digest(&self, name: &NoiseName) -> [u8; 32] {
        *blake3::keyed_hash(&self.secrets.names, name.as_bytes()).as_bytes()
    }

    /// The chain of a name, before its first step.
    pub(crate) fn chain(&self, name: &[u8; 32]) -> InputChain {
        InputChain::with_secret(blake3::keyed_hash(&self.secrets.inputs, name).as_bytes())
    }

    /// The key's name in messages.
    pub(crate) fn key_name(&self) -> String {
        match &self.place {
            Place::Directory { key_file, .. } => key_file.clone(),
            Place::Memory(_) => "this key".to_owned(),
        }
    }

    /// The storage of a name's record.
    pub(crate) fn store(&self, name: &[u8; 32]) -> Store {
        match &self.place {
            Place::Directory { path, .. } => Store::File(path.join(file_name(name))),
            Place::Memory(names) => {
                let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
                match &names.moved_to {
                    Some(path) => Store::File(path.join(file_name(name))),
                    None => Store::Memory(Arc::clone(names.records.entry(*name).or_default())),
                }
            }
        }
    }
}

/// The directory beside a key file, after symbolic links are resolved.
fn directory_beside(key_file: &Path) -> Result<PathBuf> {
    let place = std::fs::canonicalize(key_file).map_err(|error| Error::reading(key_file, error))?;
    refuse_hard_links(key_file)?;
    let mut name = place.into_os_string();
    name.push(".uses");
    Ok(name.into())
}

/// Whether a directory holds the record of another name.
fn has_others(directory: &Path, name: &[u8; 32]) -> bool {
    let own = file_name(name);
    let Ok(files) = std::fs::read_dir(directory) else { return false };
    let is_record = |file: &str| file.len() == own.len() && file.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_other = |file: &str| is_record(file) && *file != own;
    files.flatten().any(|file| file.file_name().to_str().is_some_and(is_other))
}

/// The file of a name. Half of the digest suffices to distinguish names. The file holds all of it.
fn file_name(name: &[u8; 32]) -> String {
    name[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn refuse_hard_links(key_file: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(key_file).map_err(|error| Error::reading(key_file, error))?;
    if metadata.nlink() == 1 {
        return Ok(());
    }
    let reason = "it has another hard link, and each link would have a separate record of its uses; remove one of them";
    Err(Error::KeyFile { path: key_file.to_owned(), reason })
}

#[cfg(not(unix))]
fn refuse_hard_links(_key_file: &Path) -> Result<()> {
    Ok(())
}
