//! The table that a state's runs write, one after another.
//!
//! **Definition.** A file whose first bytes are those that the last run completed belongs to the state,
//! under any name. The next run copies these bytes, appends its rows, and the whole takes the place of
//! the file. Any other file is as without `--state`: it is kept, unless `--force` replaces it by a table
//! with the rows of this run.
//!
//! **Guarantee.** [`settle`](Written::settle) gives a completed table its name. It may be called any
//! number of times, after a crash as well. It replaces a file only if that file is a beginning of the
//! table, or if `--force` said so. A file that goes further than the table, because the state is older,
//! stays.

use super::form::Saved;
use super::not_lost;
use crate::error::{CliError, Result, name_of};
use crate::interrupt;
use crate::manners::warn;
use crate::output::{Destination, Existing, OutputFormat, PARQUET_ENDS, check_outputs};
use evertally_keys::sync_directory_of;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A completed table.
pub(super) struct Written {
    pub(super) path: String,
    /// The name under which it waits for the state.
    pub(super) temporary: String,
    pub(super) format: OutputFormat,
    pub(super) length: u64,
    pub(super) digest: [u8; 32],
    /// Whether it may take the place of a file that is not its beginning.
    pub(super) replaces: bool,
}

/// Where the table of a run goes.
pub(super) struct Place {
    path: Option<PathBuf>,
    existing: Existing,
    /// How many bytes of the file are there already.
    appends_to: Option<u64>,
}

impl Place {
    /// Looks at the output before anything is read. Refuses a file that does not belong to the state.
    pub(super) fn of(
        path: Option<&Path>,
        format: OutputFormat,
        saved: Option<&Saved>,
        existing: Existing,
    ) -> Result<Self> {
        let path = path.filter(|path| path.as_os_str() != "-");
        let new = |path: Option<&Path>| Self { path: path.map(Path::to_owned), existing, appends_to: None };
        let Some(path) = path else { return Ok(new(None)) };
        let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
        if let Some(last) = saved.and_then(|saved| saved.output.as_ref()).filter(|_| is_file) {
            let is_its_own = starts_with(path, last).map_err(|error| CliError::reading(path, &error))?;
            if is_its_own && format == OutputFormat::Parquet {
                return Err(CliError::bad(format!("{}: {PARQUET_ENDS}", name_of(path))));
            }
            if is_its_own && format == last.format {
                return Ok(Self { appends_to: Some(last.length), ..new(Some(path)) });
            }
            if !is_its_own && existing == Existing::Kept && is_at(path, last) {
                return Err(CliError::bad(format!(
                    "{} is not as the last run of the state left it, so nothing is appended: choose another name, or move it away",
                    name_of(path)
                )));
            }
        }
        check_outputs(&[], &[Some(path)], existing)?;
        Ok(new(Some(path)))
    }

    pub(super) fn appends(&self) -> bool {
        self.appends_to.is_some()
    }

    /// Opens the table. The rows of earlier runs are in it already.
    pub(super) fn open(&self) -> Result<Destination> {
        let existing = if self.appends() { Existing::Replaced } else { self.existing };
        let mut destination = Destination::open(self.path.as_deref(), existing)?;
        if let (Some(path), Some(length)) = (&self.path, self.appends_to) {
            let mut old = File::open(path).map_err(|error| CliError::reading(path, &error))?.take(length);
            io::copy(&mut old, &mut destination)
                .map_err(|error| CliError::writing(&destination.name(), &error))?;
        }
        Ok(destination)
    }

    /// Completes the table. A file keeps its temporary name. `None` if it is no file.
    pub(super) fn complete(&self, mut table: Destination, format: OutputFormat) -> Result<Option<Written>> {
        table.complete().map_err(not_lost)?;
        let (Some(path), true) = (&self.path, table.is_file()) else { return Ok(None) };
        let temporary = table.leave()?;
        let described = || {
            let (length, digest) = digest_of(&mut File::open(&temporary)?)?;
            let path = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path))?;
            let temporary = std::path::absolute(&temporary)?;
            let text = |path: PathBuf| {
                let refused = |_| io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8");
                path.into_os_string().into_string().map_err(refused)
            };
            let replaces = !self.appends() && self.existing == Existing::Replaced;
            let (path, temporary) = (text(path)?, text(temporary)?);
            Ok(Some(Written { path, temporary, format, length, digest, replaces }))
        };
        described().map_err(|error| {
            let _ = std::fs::remove_file(&temporary);
            not_lost(CliError::writing(&name_of(path), &error))
        })
    }
}

impl Written {
    /// Gives the table its name, if it still waits for it. Says whether it did.
    pub(super) fn settle(&self) -> Result<bool> {
        let (path, temporary) = (Path::new(&self.path), Path::new(&self.temporary));
        let failed = |error: &io::Error| CliError::writing(&name_of(path), error);
        let mut waiting = match File::open(temporary) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(CliError::reading(temporary, &error)),
        };
        let found = digest_of(&mut waiting).map_err(|error| CliError::reading(temporary, &error))?;
        if found != (self.length, self.digest) {
            // Another file has the name by now.
            return Ok(false);
        }
        let mut named = false;
        match path.metadata() {
            Err(_) => named = give_name(temporary, path).map_err(|error| failed(&error))?,
            Ok(_) if self.replaces || is_beginning(path, temporary).map_err(|error| failed(&error))? => {
                std::fs::rename(temporary, path).map_err(|error| failed(&error))?;
                named = true;
            }
            Ok(_) if starts_with(path, self).map_err(|error| failed(&error))? => {
                std::fs::remove_file(temporary).map_err(|error| failed(&error))?;
                named = true;
            }
            Ok(_) => {}
        }
        if !named {
            warn(format_args!(
                "{} changed while a run was to write it, and is not overwritten: its releases are in {}",
                name_of(path),
                name_of(temporary)
            ));
        }
        sync_directory_of(path).map_err(|error| failed(&error))?;
        Ok(named)
    }

    /// Removes a table that no state knows.
    pub(super) fn discard(&self) {
        let _ = std::fs::remove_file(&self.temporary);
        interrupt::keep(Path::new(&self.temporary));
    }
}

/// Gives a file a name that no other file has. Says whether it did.
fn give_name(temporary: &Path, path: &Path) -> io::Result<bool> {
    match std::fs::hard_link(temporary, path) {
        Ok(()) => std::fs::remove_file(temporary).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // Some file systems have no second names.
        Err(_) => std::fs::rename(temporary, path).map(|()| true),
    }
}

/// Whether a file starts with what was written.
fn starts_with(path: &Path, written: &Written) -> io::Result<bool> {
    let mut start = File::open(path)?.take(written.length);
    Ok(digest_of(&mut start)? == (written.length, written.digest))
}

/// Whether a file is a beginning of another, or all of it.
fn is_beginning(path: &Path, of: &Path) -> io::Result<bool> {
    let (length, digest) = digest_of(&mut File::open(path)?)?;
    Ok(digest_of(&mut File::open(of)?.take(length))? == (length, digest))
}

/// Whether a file has the name under which something was written.
fn is_at(path: &Path, written: &Written) -> bool {
    std::fs::canonicalize(path).is_ok_and(|path| path == Path::new(&written.path))
}

/// The length and the hash of what a reader holds.
fn digest_of(reader: &mut dyn Read) -> io::Result<(u64, [u8; 32])> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((length, *hasher.finalize().as_bytes())),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
