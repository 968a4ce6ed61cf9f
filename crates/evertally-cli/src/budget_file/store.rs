//! A budget file on disk: always complete, and changed by one run at a time.
//!
//! A writer holds an exclusive lock on the empty file `FILE.lock` from before it reads the budget
//! file until it has replaced it. Two runs can therefore not both spend the rest of a budget. The
//! budget file itself cannot be locked, because it is replaced by a new file: written under another
//! name, synced, and renamed, with a sync of the directory. A crash leaves the old budget file or
//! the new one. Readers need no lock.

use super::BudgetFile;
use crate::error::{CliError, Result, name_of};
use crate::output::{beside, temporary_beside};
use evertally_keys::sync_directory_of;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Reads a budget file.
pub(crate) fn read(path: &Path) -> Result<BudgetFile> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let name = name_of(path);
            CliError::bad(format!("{name} is not there: evertally budget new {name} makes a budget file"))
        }
        _ => CliError::reading(path, &error),
    })?;
    refuse_unusual(path, &metadata)?;
    let text = std::fs::read_to_string(path).map_err(|error| CliError::reading(path, &error))?;
    BudgetFile::from_text(&text)
        .map_err(|reason| CliError::bad(format!("{} is no budget file to rely on: {reason}", name_of(path))))
}

/// A budget file that no other process can change until this is dropped.
pub(crate) struct LockedBudgetFile {
    path: PathBuf,
    pub(crate) file: BudgetFile,
    /// Closing this file releases the lock.
    _lock: File,
}

impl LockedBudgetFile {
    /// Waits for the lock and reads the budget file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Links stay links, and all names of a budget file share one lock.
        let place = std::fs::canonicalize(path);
        let path = place.as_deref().unwrap_or(path);
        // A missing file is refused before a lock file is made beside it.
        read(path)?;
        let _lock = lock(path)?;
        Ok(Self { file: read(path)?, path: path.to_owned(), _lock })
    }

    /// Waits for the lock and reads the budget file, or starts a new one.
    pub(crate) fn open_or_new(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Err(CliError::bad("a budget file is a file on disk: expected its name, got -"));
        }
        if path.exists() {
            return Self::open(path);
        }
        let _lock = lock(path)?;
        // Another process may have made it meanwhile.
        let file = if path.exists() { read(path)? } else { BudgetFile::default() };
        Ok(Self { file, path: path.to_owned(), _lock })
    }

    /// Writes the file. When this returns, it is on the disk.
    pub(crate) fn write(&self) -> Result<()> {
        let text = self.file.to_text()?;
        self.replace(text.as_bytes())
            .map_err(|error| CliError::writing(&self.path.display().to_string(), &error))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = temporary_beside(&self.path)?;
        if let Ok(metadata) = std::fs::metadata(&self.path) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        sync_directory_of(&self.path)
    }
}

/// Waits for the lock that belongs to a budget file.
fn lock(path: &Path) -> Result<File> {
    let name = beside(path, ".lock");
    let locked = File::options().create(true).append(true).open(&name).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|error| CliError::writing(&name.display().to_string(), &error))
}

/// Refuses anything but a regular file, and a file with hard links: the other name would keep the
/// old contents.
fn refuse_unusual(path: &Path, metadata: &Metadata) -> Result<()> {
    if !metadata.is_file() {
        return Err(CliError::bad(format!("{} is no file: a budget file must be one", name_of(path))));
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
