//! All that a key was used for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use evertally::{NoiseKey, NoiseName};

use crate::digest::InputChain;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::store::{Remembered, Store};
use zeroize::ZeroizeOnDrop;

/// The record of a key: on disk beside its file, or in the memory of this process.
#[derive(Clone)]
pub struct Uses {
    key_tag: [u8; 8],
    secrets: Secrets,
    place: Place,
}

/// What names and inputs are hashed with. Names are hashed as well, because that of a training run
/// hangs on its rows.
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
    /// A directory with a file for each name.
    Directory { path: PathBuf, key_file: String },
    /// What this process remembers.
    Memory(SharedNames),
}

/// What is remembered of each name, by its digest.
#[derive(Default)]
struct Names {
    remembered: HashMap<[u8; 32], Arc<Mutex<Remembered>>>,
    /// Where the record stands since the key was written to a file.
    moved_to: Option<PathBuf>,
}

/// Every object of a key in this process shares what is remembered.
type SharedNames = Arc<Mutex<Names>>;

impl Uses {
    /// The record beside a key file: the directory `FILE.uses`. Symbolic links to the file lead to
    /// one record.
    ///
    /// # Errors
    /// [`Error::File`] if the key file cannot be found, and [`Error::KeyFile`] if it has another
    /// name by a hard link, beside which there would be another record.
    pub fn beside(key_file: &Path, key: &NoiseKey) -> Result<Self> {
        let place =
            Place::Directory { path: directory_beside(key_file)?, key_file: key_file.display().to_string() };
        Ok(Self { key_tag: key.tag(), secrets: Secrets::of(key), place })
    }

    /// The directory of the record, where it stands in one.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        match &self.place {
            Place::Directory { path, .. } => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// What this process remembers of a key that came from no file. It is forgotten when the process ends.
    #[must_use]
    pub fn in_this_process(key: &NoiseKey) -> Self {
        static KEYS: LazyLock<Mutex<HashMap<[u8; 8], SharedNames>>> = LazyLock::new(Mutex::default);
        let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
        let names = Arc::clone(keys.entry(key.tag()).or_default());
        Self { key_tag: key.tag(), secrets: Secrets::of(key), place: Place::Memory(names) }
    }

    /// Moves what this process remembers to the directory beside a file that the key was written
    /// to. What is counted from now on is recorded there, by guards that were made before as well.
    /// A record that has a directory stays in it.
    ///
    /// # Errors
    /// Errors of files, after which what was not moved is still remembered.
    pub fn move_beside(&self, key_file: &Path) -> Result<()> {
        let Place::Memory(names) = &self.place else { return Ok(()) };
        let directory = directory_beside(key_file)?;
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.moved_to.is_some() {
            return Ok(());
        }
        for (name, remembered) in &names.remembered {
            let mut remembered = remembered.lock().unwrap_or_else(PoisonError::into_inner);
            remembered.move_to(directory.join(file_name(name)))?;
        }
        names.moved_to = Some(directory);
        Ok(())
    }

    /// The guard of one name, for a run from its first step.
    ///
    /// # Errors
    /// [`Error::BeginsLater`] if only later steps are recorded, and errors of files.
    pub fn guard(&self, name: &NoiseName) -> Result<Guard> {
        Guard::new(self, name, None)
    }

    /// The guard of one name, for a run that goes on from a saved state after so many steps.
    ///
    /// # Errors
    /// [`Error::BeginsLater`] or [`Error::EndsEarlier`] if the record does not reach the state, and
    /// errors of files.
    pub fn guard_resumed(&self, name: &NoiseName, steps: u64, state: &[u8]) -> Result<Guard> {
        Guard::new(self, name, Some((steps, state)))
    }

    /// Whether the key has served a name other than this one.
    #[must_use]
    pub fn has_others(&self, name: &NoiseName) -> bool {
        match &self.place {
            Place::Directory { path, .. } => has_others(path, &self.name_digest(name)),
            Place::Memory(names) => {
                let names = names.lock().unwrap_or_else(PoisonError::into_inner);
                match &names.moved_to {
                    Some(path) => has_others(path, &self.name_digest(name)),
                    None => names.remembered.keys().any(|other| *other != self.name_digest(name)),
                }
            }
        }
    }

    /// Eight public bytes by which the key is known.
    #[must_use]
    pub fn key_tag(&self) -> [u8; 8] {
        self.key_tag
    }

    /// What a name is known by in records: a keyed hash, which tells nothing of the name without the key.
    #[must_use]
    pub fn name_digest(&self, name: &NoiseName) -> [u8; 32] {
        *blake3::keyed_hash(&self.secrets.names, name.as_bytes()).as_bytes()
    }

    /// Before the first step of a name.
    pub(crate) fn chain(&self, name: &[u8; 32]) -> InputChain {
        InputChain::with_secret(blake3::keyed_hash(&self.secrets.inputs, name).as_bytes())
    }

    /// What messages call the key.
    pub(crate) fn key_name(&self) -> String {
        match &self.place {
            Place::Directory { key_file, .. } => key_file.clone(),
            Place::Memory(_) => "this key".to_owned(),
        }
    }

    /// Where a name is recorded.
    pub(crate) fn store(&self, name: &[u8; 32]) -> Store {
        match &self.place {
            Place::Directory { path, .. } => Store::File(path.join(file_name(name))),
            Place::Memory(names) => {
                let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
                match &names.moved_to {
                    Some(path) => Store::File(path.join(file_name(name))),
                    None => Store::Memory(Arc::clone(names.remembered.entry(*name).or_default())),
                }
            }
        }
    }
}

/// The directory beside a key file, whatever link leads to it.
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

/// The file of a name. Half of its digest is enough to tell names apart; the file holds all of it.
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
    let reason =
        "it has another name (a hard link), beside which nothing is recorded of its uses; remove one";
    Err(Error::KeyFile { path: key_file.to_owned(), reason })
}

#[cfg(not(unix))]
fn refuse_hard_links(_key_file: &Path) -> Result<()> {
    Ok(())
}
