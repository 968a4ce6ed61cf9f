//! Where output goes. A file appears under its name only once it is whole.

use crate::error::{CliError, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An output that is being written.
pub(crate) enum Destination {
    /// Standard output: what is written is seen.
    Stdout(io::Stdout),
    /// A file that is written under another name in the same directory and renamed when it is whole. Dropped before
    /// that, it disappears.
    Whole { file: NamedTempFile, path: PathBuf },
    /// A file that can be read while it grows, under its name with `.partial` added until it is whole.
    Growing { file: File, partial: PathBuf, path: PathBuf },
}

impl Destination {
    /// Standard output, or a file that appears when it is whole.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout(io::stdout()));
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".evertally-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As for any new file, the user's mask decides; the default of this crate would keep others out.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(directory_of(path)).map_err(|error| cannot_write(path, &error))?;
        Ok(Self::Whole { file, path: path.to_owned() })
    }

    /// Standard output, or a file that can be read while it grows.
    pub(crate) fn open_growing(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout(io::stdout()));
        };
        let mut name = path.as_os_str().to_owned();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let file = File::create(&partial).map_err(|error| cannot_write(&partial, &error))?;
        Ok(Self::Growing { file, partial, path: path.to_owned() })
    }

    /// What messages call this output.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout(_) => "standard output".to_owned(),
            Self::Whole { path, .. } => path.display().to_string(),
            Self::Growing { partial, .. } => partial.display().to_string(),
        }
    }

    /// The output is whole: a file gets its name.
    pub(crate) fn commit(mut self) -> Result<()> {
        let name = self.name();
        self.flush().map_err(|error| CliError::writing(&name, &error))?;
        match self {
            Self::Stdout(_) => Ok(()),
            Self::Whole { file, path } => {
                file.as_file().sync_all().map_err(|error| cannot_write(&path, &error))?;
                file.persist(&path).map(drop).map_err(|error| cannot_write(&path, &error.error))
            }
            Self::Growing { file, partial, path } => {
                file.sync_all().map_err(|error| cannot_write(&partial, &error))?;
                std::fs::rename(&partial, &path).map_err(|error| cannot_write(&path, &error))
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Whole { file, .. } => file.write(bytes),
            Self::Growing { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Whole { file, .. } => file.flush(),
            Self::Growing { file, .. } => file.flush(),
        }
    }
}

/// Writes a file that is already whole in memory.
pub(crate) fn write_whole_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut destination = Destination::open(Some(path))?;
    destination.write_all(bytes).map_err(|error| cannot_write(path, &error))?;
    destination.commit()
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot_write(path: &Path, error: &io::Error) -> CliError {
    CliError::writing(&path.display().to_string(), error)
}
