//! Where a ledger lives: a directory, or whatever a test puts in its place.
//!
//! | name | content |
//! |---|---|
//! | `DIRECTORY/ledger.redb` | the ledger |
//! | `DIRECTORY/key` | the key that all noise comes from: 64 hexadecimal digits |
//! | `DIRECTORY.fence` | the fence, beside the directory so that it is not copied or restored with it |
//!
//! On Unix, only the owner may read any of them. Whoever has the directory has the true totals.

use crate::error::{Error, Result};
use crate::fence::{Fence, FileFence, sync_directory};
use evertally::NoiseKey;
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const LEDGER: &str = "ledger.redb";
const KEY: &str = "key";

/// Where a ledger lives.
pub struct Place {
    pub(crate) backend: Box<dyn StorageBackend>,
    pub(crate) fence: Box<dyn Fence>,
    /// What a copy of the storage would not have: on Unix, the number of the file on its disk and
    /// when it was made.
    pub(crate) identity: u64,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Place {
    /// A directory, made where there is none. The fence stands beside it, unless another place is said.
    ///
    /// # Errors
    /// [`Error::System`] where the directory cannot be made, [`Error::Conflict`] where another
    /// process has it open, and [`evertally::Error::BadParameter`] where others may read it.
    pub fn directory(directory: &Path, fence: Option<&Path>) -> Result<Self> {
        make_directory(directory)?;
        let file = owned(File::options().read(true).write(true).create(true).truncate(false))
            .open(directory.join(LEDGER))
            .map_err(|error| Error::system("the ledger cannot be opened", &error))?;
        let identity =
            identity_of(&file).map_err(|error| Error::system("the ledger cannot be looked at", &error))?;
        sync_directory(directory).map_err(|error| Error::system("the directory cannot be synced", &error))?;
        // Locked before anything is read: the fence belongs to whoever has the ledger.
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(Error::conflict("another process has this ledger open"));
            }
            Err(std::fs::TryLockError::Error(error)) => {
                return Err(Error::system("the ledger cannot be locked", &error));
            }
        }
        let backend =
            FileBackend::new(file).map_err(|error| Error::system("the ledger cannot be opened", &error))?;
        let beside = beside(directory);
        let fence = FileFence::open(fence.unwrap_or(&beside))
            .map_err(|error| Error::system("the fence cannot be opened", &error))?;
        Ok(Self { backend: Box::new(backend), fence: Box::new(fence), identity })
    }

    /// Any storage with any fence. The identity is a number that a copy of the storage would not have.
    #[must_use]
    pub fn on(backend: impl StorageBackend, fence: impl Fence + 'static, identity: u64) -> Self {
        Self { backend: Box::new(backend), fence: Box::new(fence), identity }
    }
}

/// The fence's default place.
fn beside(directory: &Path) -> PathBuf {
    let directory = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut name = directory.into_os_string();
    name.push(".fence");
    PathBuf::from(name)
}

fn make_directory(directory: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(directory).map_err(|error| Error::system("the directory cannot be made", &error))?;
    refuse_readable_by_others(directory)
}

/// The key of a directory, drawn from the operating system where there is none.
///
/// # Errors
/// [`Error::Damaged`] for a file that is no key, [`evertally::Error::BadParameter`] for one that others may
/// read, and the system's errors.
pub fn read_or_make_key(directory: &Path) -> Result<NoiseKey> {
    make_directory(directory)?;
    let path = directory.join(KEY);
    if path.exists() {
        return read_key(&path);
    }
    // A ledger without its key is not helped by another one.
    if std::fs::metadata(directory.join(LEDGER)).is_ok_and(|ledger| ledger.len() > 0) {
        return Err(Error::damaged("its key is missing"));
    }
    make_key(directory)
}

/// Writes a new key under another name first, so that it is there whole or not at all.
fn make_key(directory: &Path) -> Result<NoiseKey> {
    let key = NoiseKey::from_os()?;
    let mut text = Zeroizing::new(String::with_capacity(65));
    for byte in key.expose_bytes() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
    let fresh = directory.join("key.new");
    let write = || {
        let mut file = owned(File::options().write(true).create(true).truncate(true)).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, directory.join(KEY))?;
        sync_directory(directory)
    };
    write().map_err(|error| Error::system("the key cannot be written", &error))?;
    Ok(key)
}

fn read_key(path: &Path) -> Result<NoiseKey> {
    refuse_readable_by_others(path)?;
    let mut text = Zeroizing::new(String::new());
    let read = File::open(path).and_then(|file| file.take(1_000).read_to_string(&mut text));
    read.map_err(|error| Error::system("the key cannot be read", &error))?;
    let digits = text.trim();
    let mut bytes = Zeroizing::new([0; 32]);
    let is_key = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_key {
        return Err(Error::damaged("its key is not 64 hexadecimal digits"));
    }
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or_default();
    }
    Ok(NoiseKey::from_bytes(*bytes))
}

/// Files that are made are for their owner alone.
fn owned(options: &mut std::fs::OpenOptions) -> &mut std::fs::OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

#[cfg(unix)]
fn identity_of(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    // Numbers of files are used again; where the system knows it, the moment at which a file was made is not.
    let made = metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let nanos = made.map_or(0, |made| made.as_nanos());
    let hash =
        blake3::hash(&[metadata.ino().to_le_bytes().as_slice(), nanos.to_le_bytes().as_slice()].concat());
    Ok(hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
}

#[cfg(not(unix))]
fn identity_of(_file: &File) -> io::Result<u64> {
    Ok(0)
}

#[cfg(unix)]
fn refuse_readable_by_others(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata =
        std::fs::metadata(path).map_err(|error| Error::system("it cannot be looked at", &error))?;
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    let name = path.display();
    Err(Error::bad("permissions", format!("the owner's alone on {name} (chmod go= {name})"), "others' too"))
}

#[cfg(not(unix))]
fn refuse_readable_by_others(_path: &Path) -> Result<()> {
    Ok(())
}
