//! A ledger on disk: whole or not at all, and in one pair of hands at a time.
//!
//! Whoever writes holds an exclusive lock on an empty file beside the ledger, `FILE.lock`, from
//! before reading it until it is replaced; so two runs cannot both take the last of a budget. The
//! ledger itself cannot be locked, because it is replaced by another file. It is written under
//! another name, brought to the disk, renamed, and the directory is brought to the disk: after a
//! crash there is the old ledger or the new one. Readers need no lock.

use super::BudgetFile;
use crate::error::{CliError, Result, name_of};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Reads a ledger as it stands.
pub(crate) fn read(path: &Path) -> Result<BudgetFile> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let name = name_of(path);
            CliError::bad(format!("{name} is not there: evertally budget new {name} makes a ledger"))
        }
        _ => CliError::reading(path, &error),
    })?;
    refuse_unusual(path, &metadata)?;
    let text = std::fs::read_to_string(path).map_err(|error| CliError::reading(path, &error))?;
    BudgetFile::from_text(&text)
        .map_err(|reason| CliError::bad(format!("{} is no ledger to rely on: {reason}", name_of(path))))
}

/// A ledger that nobody else may change until this is dropped.
pub(crate) struct LockedBudgetFile {
    path: PathBuf,
    pub(crate) file: BudgetFile,
    /// Closing the file gives the lock back.
    _lock: File,
}

impl LockedBudgetFile {
    /// Waits for the ledger and reads it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // A link stays a link, and all names of a ledger lead to the same lock.
        let place = std::fs::canonicalize(path);
        let path = place.as_deref().unwrap_or(path);
        // Nothing is left beside a file that is not there.
        read(path)?;
        let _lock = lock(path)?;
        Ok(Self { file: read(path)?, path: path.to_owned(), _lock })
    }

    /// Waits for the ledger and reads it, or starts one where there is none.
    pub(crate) fn open_or_new(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Err(CliError::bad("a ledger is a file: expected its name, got -"));
        }
        if path.exists() {
            return Self::open(path);
        }
        let _lock = lock(path)?;
        // It may have been made while this waited.
        let file = if path.exists() { read(path)? } else { BudgetFile::default() };
        Ok(Self { file, path: path.to_owned(), _lock })
    }

    /// Replaces the file by what the ledger is now. When this returns, it is on the disk.
    pub(crate) fn write(&self) -> Result<()> {
        let text = self.file.to_text()?;
        self.replace(text.as_bytes())
            .map_err(|error| CliError::writing(&self.path.display().to_string(), &error))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".evertally-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As for any new file, the user's mask decides.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(directory)?;
        if let Ok(metadata) = std::fs::metadata(&self.path) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        sync_directory(directory)
    }
}

/// A rename is on the disk only when the directory is.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Takes the lock that belongs to a ledger, waiting for it if need be.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let locked = File::options().create(true).append(true).open(&name).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|error| CliError::writing(&name.display().to_string(), &error))
}

/// Refuses what cannot be replaced under its name, and a file with other names, which would keep
/// the old ledger.
fn refuse_unusual(path: &Path, metadata: &Metadata) -> Result<()> {
    if !metadata.is_file() {
        return Err(CliError::bad(format!("{} is no file: a ledger must be one", name_of(path))));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.nlink() > 1 {
            return Err(CliError::bad(format!(
                "{} has another name (a hard link), under which it could be spent again: remove one",
                name_of(path)
            )));
        }
    }
    Ok(())
}
