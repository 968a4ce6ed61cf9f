//! Checkpoints on disk: complete or absent, readable by their owner alone, and used by one run at a
//! time.
//!
//! A checkpoint is written to `FILE.new`, synced, and renamed to `FILE`, so that a crash leaves the
//! old one or the new one. The temporary name is always the same: a crash leaves at most one such
//! file, and the next run overwrites it. A run holds an exclusive lock on the empty file
//! `FILE.lock` while it trains. The lock file stays beside a checkpoint, and is removed together
//! with one.

use super::checkpoint::Checkpoint;
use crate::error::{CliError, Result, name_of};
use crate::output::beside;
use evertally_keys::{is_still_at, sync_directory_of};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The file of a run, which no other run can use until this is dropped.
pub(super) struct Store {
    path: PathBuf,
    /// Closing the file gives the lock back.
    _lock: File,
}

impl Store {
    /// For a new run. A file that exists belongs to another run.
    pub(super) fn start(path: &Path) -> Result<Self> {
        refuse_existing(path)?;
        let _lock = lock(path)?;
        // Another run may have made it in the meantime.
        refuse_existing(path)?;
        Ok(Self { path: path.to_owned(), _lock })
    }

    /// For a run that resumes, with its checkpoint.
    pub(super) fn resume(path: &Path) -> Result<(Self, Checkpoint)> {
        // A missing file is refused before a lock file is made beside it.
        read(path)?;
        let store = Self { path: path.to_owned(), _lock: lock(path)? };
        let checkpoint = read(path)?;
        Ok((store, checkpoint))
    }

    /// Replaces the file. When this returns, it is on the disk.
    pub(super) fn save(&self, checkpoint: &Checkpoint) -> Result<()> {
        let cannot = |error: &io::Error| CliError::writing(&self.path.display().to_string(), error);
        let bytes = checkpoint
            .to_bytes()
            .ok_or_else(|| CliError::Failure(format!("{} cannot be written", self.path.display())))?;
        self.replace(&bytes).map_err(|error| cannot(&error))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let fresh = beside(&self.path, ".new");
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = File::options();
        // A file that is made new has the permissions that are asked for, and is no link to another.
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let mut file = options.open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)?;
        sync_directory_of(&self.path)
    }

    /// Removes all files of a run that was refused before its first step.
    pub(super) fn remove(self) {
        // If the checkpoint cannot be removed, the next run says that it exists.
        let _ = std::fs::remove_file(&self.path);
        // The lock is still held here, and `lock` notices when its file was removed meanwhile.
        let _ = std::fs::remove_file(beside(&self.path, ".lock"));
    }
}

fn read(path: &Path) -> Result<Checkpoint> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            CliError::bad(format!("{} is not there: a run without --resume creates it", name_of(path)))
        }
        _ => CliError::reading(path, &error),
    })?;
    if !metadata.is_file() {
        return Err(CliError::bad(format!("{} is no file: a state must be one", name_of(path))));
    }
    let bytes = std::fs::read(path).map_err(|error| CliError::reading(path, &error))?;
    Checkpoint::from_bytes(&Zeroizing::new(bytes)).map_err(|reason| refused(path, reason))
}

/// The error for a file that no run can resume from.
pub(super) fn refused(path: &Path, reason: impl std::fmt::Display) -> CliError {
    CliError::bad(format!("{} is no state to resume from: {reason}", name_of(path)))
}

pub(super) fn refuse_existing(path: &Path) -> Result<()> {
    if path.as_os_str() == "-" {
        return Err(CliError::bad("--state is a file: expected its name, got -"));
    }
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(CliError::bad(format!(
        "{} is there already, and its run may have spent its budget: continue with --resume, or move it away",
        name_of(path)
    )))
}

/// Takes the lock that belongs to a state, or refuses if another run holds it.
fn lock(path: &Path) -> Result<File> {
    let name = beside(path, ".lock");
    let cannot = |error: &io::Error| CliError::writing(&name.display().to_string(), error);
    loop {
        let file = File::options().create(true).append(true).open(&name).map_err(|error| cannot(&error))?;
        match file.try_lock() {
            // A run that was refused removes its lock file: this one must still have its name.
            Ok(()) if is_still_at(&file, &name).map_err(|error| cannot(&error))? => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let name = name_of(path);
                return Err(CliError::bad(format!("{name} is in use: another run is training with it")));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(&error)),
        }
    }
}
