//! Where output goes. A file appears under its name only once it is complete.
//!
//! **Guarantee.** A file that exists is replaced only with `--force`. [`check_outputs`] refuses it
//! before anything is read or spent. A file that another program makes during the run is not
//! replaced either: the output then keeps its temporary name, which the error states, because its
//! budget is spent. The same holds whenever a complete output cannot get its name.

use crate::error::{CliError, Result};
use crate::interrupt;
use clap::Args;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An output that is being written.
pub(crate) enum Destination {
    /// Standard output, where everything written is visible at once.
    Stdout(io::Stdout),
    /// An existing device or pipe. It is written to and never replaced by a file.
    Device { file: File, path: PathBuf },
    /// A file that is written under another name in the same directory and renamed when it is
    /// complete. If it is dropped before, it disappears.
    Whole { file: NamedTempFile, path: PathBuf, existing: Existing },
    /// A file that can be read while it grows. Its name ends in `.partial` until it is complete.
    Growing { file: File, partial: PathBuf, path: PathBuf, existing: Existing },
}

/// What happens to a file that has the name of an output already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays, and the run is refused.
    Kept,
    /// The output takes its place.
    Replaced,
}

/// Whether files may be replaced. Every command that writes files has this option.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ForceArgs {
    /// Replace output files that exist already
    ///
    /// Without it, a run whose output exists already is refused before anything is read or spent.
    #[arg(long)]
    force: bool,
}

impl ForceArgs {
    pub(crate) fn existing(&self) -> Existing {
        if self.force { Existing::Replaced } else { Existing::Kept }
    }
}

impl Destination {
    /// Standard output, or a file that appears when it is complete.
    pub(crate) fn open(path: Option<&Path>, existing: Existing) -> Result<Self> {
        Self::open_with(path, |path| {
            // A link stays a link: its target is written.
            let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let file = temporary_beside(&path).map_err(|error| cannot_write(&path, &error))?;
            Ok(Self::Whole { file, path, existing })
        })
    }

    /// The same for a file that on Unix only its owner may read.
    pub(crate) fn open_private(path: &Path, existing: Existing) -> Result<Self> {
        Self::open_with(Some(path), |path| {
            let file = private_beside(path).map_err(|error| cannot_write(path, &error))?;
            Ok(Self::Whole { file, path: path.to_owned(), existing })
        })
    }

    /// Standard output, or a file that can be read while it grows.
    pub(crate) fn open_growing(path: Option<&Path>, existing: Existing) -> Result<Self> {
        Self::open_with(path, |path| {
            let partial = beside(path, ".partial");
            // The releases of an unfinished run were paid for, so they are not overwritten.
            let file = File::create_new(&partial).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => CliError::bad(format!(
                    "{} was left by a run that did not finish: its releases have spent their budget; move it away",
                    partial.display()
                )),
                _ => cannot_write(&partial, &error),
            })?;
            Ok(Self::Growing { file, partial, path: path.to_owned(), existing })
        })
    }

    /// Standard output, an existing device or pipe, or what is opened for the name of a file.
    fn open_with(path: Option<&Path>, open: impl FnOnce(&Path) -> Result<Self>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout(io::stdout()));
        };
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                Err(CliError::Failure(format!("{} cannot be written: is a directory", path.display())))
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.map_err(|error| cannot_write(path, &error))?;
                Ok(Self::Device { file, path: path.to_owned() })
            }
            _ => open(path),
        }
    }

    /// Writes the complete content.
    pub(crate) fn write_whole(self, bytes: &[u8]) -> Result<()> {
        self.write_with(|out| out.write_all(bytes))
    }

    /// Writes the complete content piece by piece.
    pub(crate) fn write_with(self, write: impl FnOnce(&mut BufWriter<Self>) -> io::Result<()>) -> Result<()> {
        let name = self.name();
        let mut out = BufWriter::new(self);
        write(&mut out).map_err(|error| CliError::writing(&name, &error))?;
        out.into_inner().map_err(|error| CliError::writing(&name, error.error()))?.commit()
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(out) => out,
            Self::Whole { file, .. } => file,
            Self::Growing { file, .. } | Self::Device { file, .. } => file,
        }
    }

    /// Whether it will be a file: other programs may use standard output, devices and pipes.
    pub(crate) fn is_file(&self) -> bool {
        !matches!(self, Self::Stdout(_) | Self::Device { .. })
    }

    /// Whether nobody can see it before it has its name.
    pub(crate) fn can_vanish(&self) -> bool {
        matches!(self, Self::Whole { .. })
    }

    /// Removes an output to which nothing was written.
    pub(crate) fn discard(self) {
        if let Self::Growing { file, partial, .. } = self {
            drop(file);
            // It is empty. If it cannot be removed, the next run reports it.
            let _ = std::fs::remove_file(partial);
        }
    }

    /// The name of this output in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout(_) => "standard output".to_owned(),
            Self::Whole { path, .. } | Self::Device { path, .. } => path.display().to_string(),
            Self::Growing { partial, .. } => partial.display().to_string(),
        }
    }

    /// Completes the output and gives a file its name.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.complete()?;
        self.appear()
    }

    /// Hands everything to the disk. A file has its name only after [`Destination::appear`], which
    /// needs no more space.
    pub(crate) fn complete(&mut self) -> Result<()> {
        let name = self.name();
        let completed = self.flush().and_then(|()| match self {
            Self::Stdout(_) | Self::Device { .. } => Ok(()),
            Self::Whole { file, .. } => file.as_file().sync_all(),
            Self::Growing { file, .. } => file.sync_all(),
        });
        completed.map_err(|error| CliError::writing(&name, &error))
    }

    /// Leaves a complete output where it is, without its name, and returns the place.
    pub(crate) fn leave(self) -> Result<String> {
        match self {
            Self::Whole { file, path, .. } => {
                let (_, left) = file.keep().map_err(|error| cannot_write(&path, &error.error))?;
                interrupt::keep(&left);
                Ok(left.display().to_string())
            }
            other => Ok(other.name()),
        }
    }

    /// Gives a complete file its name. If that fails, the file stays where the error says: what is in it
    /// was paid for.
    fn appear(self) -> Result<()> {
        match self {
            Self::Stdout(_) | Self::Device { .. } => Ok(()),
            Self::Whole { file, path, existing } => {
                let named = match existing {
                    Existing::Kept => file.persist_noclobber(&path),
                    Existing::Replaced => file.persist(&path),
                };
                named.map(drop).map_err(|refused| match refused.file.keep() {
                    Ok((_, left)) => {
                        interrupt::keep(&left);
                        has_no_name(&path, &refused.error, &left)
                    }
                    Err(lost) => cannot_write(&path, &lost.error),
                })
            }
            Self::Growing { partial, path, existing, .. } => {
                match existing {
                    // A second name does not take the place of a file, and a new name does.
                    Existing::Kept => match std::fs::hard_link(&partial, &path) {
                        Ok(()) => std::fs::remove_file(&partial),
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
                        // Some file systems have no second names.
                        Err(_) => std::fs::rename(&partial, &path),
                    },
                    Existing::Replaced => std::fs::rename(&partial, &path),
                }
                .map_err(|error| has_no_name(&path, &error, &partial))
            }
        }
    }

    /// Refuses a name that another program has taken, before any output of the run has its own.
    fn check_name(&self) -> io::Result<()> {
        match self {
            Self::Whole { path, existing, .. } | Self::Growing { path, existing, .. }
                if path.is_dir() || (*existing == Existing::Kept && path.symlink_metadata().is_ok()) =>
            {
                Err(io::ErrorKind::AlreadyExists.into())
            }
            _ => Ok(()),
        }
    }

    /// Keeps a complete file under its temporary name, and says where it is.
    fn keep_unnamed(self, taken: &io::Error) -> CliError {
        let path = match &self {
            Self::Whole { path, .. } | Self::Growing { path, .. } => path.clone(),
            _ => PathBuf::from(self.name()),
        };
        self.leave().map_or_else(|lost| lost, |left| has_no_name(&path, taken, Path::new(&left)))
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// Completes all outputs of a run, and gives the files among them their names. If one of them cannot
/// be completed, none gets its name. If a name is refused, its file stays where the error says.
pub(crate) fn commit_together(mut outputs: Vec<Destination>) -> Result<()> {
    outputs.iter_mut().try_for_each(Destination::complete)?;
    // A signal that comes between two names would leave one of them.
    let _hold = interrupt::hold();
    let taken = outputs.iter().find_map(|output| output.check_name().err());
    let failed: Vec<String> = outputs
        .into_iter()
        .filter_map(|output| match (&taken, output.is_file()) {
            (Some(_), true) => {
                let error = output.check_name().err();
                Some(output.keep_unnamed(&error.unwrap_or_else(|| io::Error::other(WITHHELD))))
            }
            _ => output.appear().err(),
        })
        .map(|error| error.to_string())
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(CliError::Failure(failed.join("; "))) }
}

/// Why an output has no name although nothing is in the way of its own.
const WITHHELD: &str = "another output of the run could not get its name";

/// Writes a complete file.
pub(crate) fn write_whole_file(path: &Path, existing: Existing, bytes: &[u8]) -> Result<()> {
    Destination::open(Some(path), existing)?.write_whole(bytes)
}

/// Prints a text, without its colours where there are none.
pub(crate) fn print(text: &str) -> Result<()> {
    Destination::Stdout(io::stdout()).write_whole(crate::manners::for_stdout(text).as_bytes())
}

/// Checks that a file could be written there, before a budget is spent. Leaves nothing behind.
pub(crate) fn check_writable(path: &Path, existing: Existing) -> Result<()> {
    match std::fs::metadata(path) {
        // The reader of a pipe would take a trial for the end.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        _ => Destination::open(Some(path), existing).map(drop),
    }
}

/// The same for a file that can be read while it grows.
pub(crate) fn check_growing(path: Option<&Path>, existing: Existing) -> Result<()> {
    match path.map(std::fs::metadata) {
        Some(Ok(metadata)) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        _ => {
            Destination::open_growing(path, existing)?.discard();
            Ok(())
        }
    }
}

/// Refuses outputs that would take the place of an input, of another output, or of a file that is to
/// be kept. Call it before anything is read or spent: the error says so.
pub(crate) fn check_outputs(
    read: &[Option<&Path>],
    written: &[Option<&Path>],
    existing: Existing,
) -> Result<()> {
    refuse_overwriting(read, written)?;
    written.iter().flatten().try_for_each(|path| refuse_existing(path, existing))
}

/// Refuses an output whose file exists and is to be kept. Devices and pipes are written to.
fn refuse_existing(path: &Path, existing: Existing) -> Result<()> {
    // A link that leads nowhere is in the way as well.
    let is_there = match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(_) => std::fs::symlink_metadata(path).is_ok(),
    };
    if existing == Existing::Replaced || !is_there || path.as_os_str() == "-" {
        return Ok(());
    }
    Err(CliError::bad(format!(
        "{} exists already and is not overwritten: nothing was read, and no budget was spent; choose another name, move the file away, or replace it with --force",
        path.display()
    )))
}

/// The error for a complete output that cannot get its name.
fn has_no_name(path: &Path, error: &io::Error, left: &Path) -> CliError {
    let (name, left) = (path.display(), left.display());
    if error.kind() == io::ErrorKind::AlreadyExists {
        return CliError::Failure(format!(
            "{name} appeared during the run and is not overwritten: what was to be written there is in {left}"
        ));
    }
    let refused = cannot_write(path, error);
    CliError::Failure(format!("{refused}: what was to be written there is in {left}"))
}

/// Refuses an output that would overwrite an input or another output.
fn refuse_overwriting(read: &[Option<&Path>], written: &[Option<&Path>]) -> Result<()> {
    // Inputs exist. A name without a file may be a declared key.
    let there = read.iter().flatten().filter(|path| path.exists());
    let mut taken: Vec<PathBuf> = there.filter_map(|path| file_at(path)).collect();
    for path in written.iter().flatten() {
        let Some(place) = file_at(path) else { continue };
        if taken.contains(&place) {
            let name = path.display();
            return Err(CliError::bad(format!("{name} cannot be an output: it is used for something else")));
        }
        taken.push(place);
    }
    Ok(())
}

/// The place of a file, which need not exist. `None` for standard streams, devices and pipes.
fn file_at(path: &Path) -> Option<PathBuf> {
    if path.as_os_str() == "-" {
        return None;
    }
    match std::fs::canonicalize(path) {
        Ok(place) => place.is_file().then_some(place),
        Err(_) => Some(std::fs::canonicalize(directory_of(path)).ok()?.join(path.file_name()?)),
    }
}

/// A temporary file in the directory of another. The user's mask decides who may read it, as for any
/// new file.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = temporary();
    #[cfg(unix)]
    {
        // By default, `tempfile` keeps others out.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    interrupt::temporary(|| builder.tempfile_in(directory_of(path)))
}

/// The same for a file that on Unix only its owner may read.
pub(crate) fn private_beside(path: &Path) -> io::Result<NamedTempFile> {
    // By default, only the owner may read a temporary file.
    interrupt::temporary(|| temporary().tempfile_in(directory_of(path)))
}

/// A temporary file whose name shows which program left it, in case the program is killed.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".evertally-").suffix(".tmp");
    builder
}

/// The name of a file with an ending after its own.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot_write(path: &Path, error: &io::Error) -> CliError {
    CliError::writing(&path.display().to_string(), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that another program makes during a run is kept, and so is what was to take its place:
    /// its budget is spent.
    #[test]
    fn a_file_that_appears_during_the_run_is_kept_beside_the_output() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        let opened = [
            Destination::open(Some(&path), Existing::Kept),
            Destination::open_private(&path, Existing::Kept),
            Destination::open_growing(Some(&path), Existing::Kept),
        ];
        std::fs::write(&path, "precious").unwrap();
        for out in opened {
            let error = out.unwrap().write_whole(b"releases").unwrap_err();
            let message = error.to_string();
            assert!(message.contains("out.csv appeared during the run and is not overwritten"), "{message}");
            assert_eq!(error.exit_code(), 1);
            let left = message.rsplit(" is in ").next().unwrap();
            assert_eq!(std::fs::read(left).unwrap(), b"releases");
            assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        }
    }

    /// A table whose name was refused otherwise than because a file had it was once removed, although its
    /// budget was spent. The outputs after it were removed as well.
    #[test]
    fn outputs_that_cannot_get_their_names_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let [table, plot] = ["out.csv", "out.svg"].map(|name| directory.path().join(name));
        for existing in [Existing::Kept, Existing::Replaced] {
            let outputs: Vec<Destination> = [&table, &plot]
                .into_iter()
                .map(|path| {
                    let mut out = Destination::open(Some(path), existing).unwrap();
                    out.write_all(b"releases").unwrap();
                    out
                })
                .collect();
            // A directory refuses to be replaced.
            std::fs::create_dir(&table).unwrap();
            let message = commit_together(outputs).unwrap_err().to_string();
            let places: Vec<&str> =
                message.split("; ").map(|part| part.rsplit(" is in ").next().unwrap()).collect();
            assert_eq!(places.len(), 2, "{message}");
            for place in places {
                assert_eq!(std::fs::read(place).unwrap(), b"releases", "{message}");
            }
            assert!(!plot.exists());
            std::fs::remove_dir(&table).unwrap();
        }
        // A refusal that no check foresees.
        let out = Destination::open(Some(&table), Existing::Replaced).unwrap();
        std::fs::create_dir(&table).unwrap();
        let message = out.write_whole(b"releases").unwrap_err().to_string();
        assert!(message.contains("out.csv cannot be written"), "{message}");
        assert_eq!(std::fs::read(message.rsplit(" is in ").next().unwrap()).unwrap(), b"releases");
    }

    #[test]
    fn a_file_is_replaced_if_asked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        for _ in 0..2 {
            Destination::open(Some(&path), Existing::Replaced).unwrap().write_whole(b"a").unwrap();
            Destination::open_growing(Some(&path), Existing::Replaced).unwrap().write_whole(b"b").unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"b");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_that_grew_has_its_name_in_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        Destination::open_growing(Some(&path), Existing::Kept).unwrap().write_whole(b"a").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
