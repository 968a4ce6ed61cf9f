//! Checkpoints on disk: whole or not at all, for their owner alone, and in one pair of hands at a time.
//!
//! A checkpoint is written under the name of its file with `.new` added, brought to the disk and
//! renamed, so that after a crash there is the old one or the new one. The name is always the same:
//! a crash leaves at most one such file, which the next run writes over. Whoever trains holds an
//! exclusive lock on an empty file beside it, `FILE.lock`.

use super::checkpoint::Checkpoint;
use crate::error::{CliError, Result, name_of};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The file of a run that nobody else trains until this is dropped.
pub(super) struct Store {
    path: PathBuf,
    /// Closing the file gives the lock back.
    _lock: File,
}

impl Store {
    /// For a run that begins: what is there already belongs to another one.
    pub(super) fn begin(path: &Path) -> Result<Self> {
        refuse_existing(path)?;
        let _lock = lock(path)?;
        // It may have come while another run was finishing.
        refuse_existing(path)?;
        Ok(Self { path: path.to_owned(), _lock })
    }

    /// For a run that goes on, with what was saved of it.
    pub(super) fn go_on(path: &Path) -> Result<(Self, Checkpoint)> {
        // Nothing is left beside a file that is not there.
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
        sync_directory(&self.path)
    }

    /// Takes back what was saved of a run that may not begin.
    pub(super) fn remove(&self) {
        // Where it cannot be removed, the next run says that it is there.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn read(path: &Path) -> Result<Checkpoint> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CliError::bad(format!(
            "{} is not there: without --resume a run begins and writes it",
            name_of(path)
        )),
        _ => CliError::reading(path, &error),
    })?;
    if !metadata.is_file() {
        return Err(CliError::bad(format!("{} is no file: a state must be one", name_of(path))));
    }
    let bytes = std::fs::read(path).map_err(|error| CliError::reading(path, &error))?;
    Checkpoint::from_bytes(&Zeroizing::new(bytes)).map_err(|reason| refused(path, reason))
}

/// The error for a file that no run can go on from.
pub(super) fn refused(path: &Path, reason: impl std::fmt::Display) -> CliError {
    CliError::bad(format!("{} is no state to go on from: {reason}", name_of(path)))
}

pub(super) fn refuse_existing(path: &Path) -> Result<()> {
    if path.as_os_str() == "-" {
        return Err(CliError::bad("--state is a file: expected its name, got -"));
    }
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(CliError::bad(format!(
        "{} is there already, and its run may have spent its budget: go on with --resume, or move it away",
        name_of(path)
    )))
}

/// Takes the lock that belongs to a state, or says who has it.
fn lock(path: &Path) -> Result<File> {
    let name = beside(path, ".lock");
    let cannot = |error: &io::Error| CliError::writing(&name.display().to_string(), error);
    let file = File::options().create(true).append(true).open(&name).map_err(|error| cannot(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(CliError::bad(format!("{} is in use: another run is training with it", name_of(path))))
        }
        Err(TryLockError::Error(error)) => Err(cannot(&error)),
    }
}

/// The name of a file that belongs to another.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A rename is on the disk only when the directory is.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}
