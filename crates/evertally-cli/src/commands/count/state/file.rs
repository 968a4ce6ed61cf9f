//! A state on the disk: complete, readable by its owner alone, and used by one run at a time.
//!
//! A run holds a lock on the file of the state itself from before it reads it. A new state is written
//! under another name, synced, locked and renamed, so that a crash leaves the old one or the new one, and
//! no other run can take the new one before this run has ended. A first run has no file to lock: of two
//! that make the same state, the second finds the file of the first and saves nothing.

use super::super::release::Past;
use super::form::Saved;
use super::not_lost;
use crate::error::{CliError, Result, name_of};
use crate::manners::note;
use crate::output::private_beside;
use evertally::Mechanism;
use evertally_keys::{is_still_at, sync_directory_of};
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The state of a run, which no other run can use until this is dropped.
pub(in crate::commands::count) struct StateFile {
    /// As the user wrote it.
    name: String,
    path: PathBuf,
    saved: Option<Saved>,
    /// Whether the output of an interrupted run was completed.
    has_completed: bool,
    /// Closing the file gives the lock back.
    lock: Option<File>,
}

impl StateFile {
    /// Takes the state, if there is one, and gives the output of an interrupted run its name.
    pub(in crate::commands::count) fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Err(CliError::bad("--state is a file: expected its name, got -"));
        }
        // A link stays a link.
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut state =
            Self { name: name_of(path), path: place, saved: None, has_completed: false, lock: None };
        let Some(mut file) = state.take_lock()? else { return Ok(state) };
        let mut bytes = Zeroizing::new(Vec::new());
        file.read_to_end(&mut bytes).map_err(|error| CliError::reading(path, &error))?;
        state.saved = Some(Saved::from_bytes(&bytes).map_err(|error| state.refused(error))?);
        state.lock = Some(file);
        state.has_completed = state.settle()?;
        if state.has_completed {
            note(format_args!("{}: the output of an interrupted run is complete now", state.name));
        }
        Ok(state)
    }

    /// The grid of the runs before, if there were any and their numbers are exact.
    pub(in crate::commands::count) fn grid(&self) -> Option<f64> {
        let (_, text) = self.saved.as_ref()?.facts.iter().find(|(name, _)| name == "grid")?;
        text.parse().ok()
    }

    /// The mechanism of the runs before, if there were any and these choices are theirs. With other
    /// choices the state is refused, and the mechanism might not even serve them.
    pub(in crate::commands::count) fn mechanism(&self, choices: &[(&str, String)]) -> Option<Mechanism> {
        let facts = &self.saved.as_ref()?.facts;
        let fact = |name: &str| facts.iter().find(|(other, _)| other == name).map(|(_, text)| text);
        let are_theirs = choices.iter().all(|(name, text)| fact(name) == Some(text));
        fact("mechanism").filter(|_| are_theirs)?.parse().ok()
    }

    /// The locked file; `None` if there is none.
    fn take_lock(&self) -> Result<Option<File>> {
        let unreadable = |error: &io::Error| CliError::reading(&self.path, error);
        loop {
            let metadata = match std::fs::metadata(&self.path) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(unreadable(&error)),
            };
            self.refuse_unusual(&metadata)?;
            let file = File::open(&self.path).map_err(|error| unreadable(&error))?;
            match file.try_lock() {
                // A run that ended meanwhile has replaced the file.
                Ok(()) if is_still_at(&file, &self.path).map_err(|error| unreadable(&error))? => {
                    return Ok(Some(file));
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let name = &self.name;
                    return Err(CliError::bad(format!("{name} is in use: another run goes on from it")));
                }
                Err(TryLockError::Error(error)) => return Err(unreadable(&error)),
            }
        }
    }

    fn refuse_unusual(&self, metadata: &Metadata) -> Result<()> {
        if !metadata.is_file() {
            return Err(CliError::bad(format!("{} is no file: a state must be one", self.name)));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if metadata.permissions().mode() & 0o077 != 0 {
                return Err(CliError::bad(format!(
                    "{}: users other than its owner can read it, and it holds true totals; run chmod 600 on it",
                    self.name
                )));
            }
        }
        Ok(())
    }

    pub(in crate::commands::count) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn saved(&self) -> Option<&Saved> {
        self.saved.as_ref()
    }

    /// Whether the output of an interrupted run was completed just now.
    pub(super) fn has_completed(&self) -> bool {
        self.has_completed
    }

    /// The error for a state that this run cannot go on from.
    pub(super) fn refused(&self, reason: impl std::fmt::Display) -> CliError {
        let reason = reason.to_string();
        let reason = reason.strip_prefix("saved state refused: ").unwrap_or(&reason);
        CliError::bad(format!("{} is no state to go on from: {reason}", self.name))
    }

    /// An error of a run, if it is the count in the state that is refused.
    pub(super) fn refused_by_count(&self, error: CliError) -> CliError {
        match error {
            CliError::Failure(message) if message.starts_with("saved state refused: ") => {
                self.refused(message)
            }
            error => error,
        }
    }

    /// What this run goes on from, taken from the state.
    pub(super) fn take_past(&mut self, appends: bool) -> Option<Past> {
        let saved = self.saved.as_mut()?;
        let running = std::mem::take(&mut saved.running);
        Some(Past { steps: saved.steps, digest: saved.digest, running, appends })
    }

    /// Saves where this run ends. When this returns, it is on the disk.
    pub(super) fn replace(&mut self, saved: Saved) -> Result<()> {
        match self.write(&saved.to_bytes()) {
            Ok(file) => {
                self.lock = Some(file);
                self.saved = Some(saved);
                Ok(())
            }
            Err(error) => {
                saved.output.iter().for_each(super::output::Written::discard);
                Err(not_lost(CliError::writing(&self.name, &error)))
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<File> {
        let mut file = private_beside(&self.path)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.as_file().lock()?;
        let kept =
            if self.lock.is_some() { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
        let file = kept.map_err(|error| error.error)?;
        sync_directory_of(&self.path)?;
        Ok(file)
    }

    /// Gives the last output its name, if it still waits for it. Says whether it did.
    pub(super) fn settle(&self) -> Result<bool> {
        let output = self.saved.as_ref().and_then(|saved| saved.output.as_ref());
        output.map_or(Ok(false), super::output::Written::settle)
    }
}
