//! What the system knows about the name of a file: whether it is durable, and whose it is.

use std::fs::File;
use std::io;
use std::path::Path;

/// Syncs the directory that holds `path`. A file that was created or renamed is on the disk under
/// its name only after this. Does nothing where the system cannot open a directory.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Whether an open file is still the one that has this name. A file that others may remove must be
/// asked for again after it was locked.
#[cfg(unix)]
pub fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((open.dev(), open.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an open file is still the one that has this name. Always true here, because an open file
/// cannot be removed.
#[cfg(not(unix))]
pub fn is_still_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}
