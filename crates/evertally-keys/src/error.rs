//! Why a key is not used.

use std::io;
use std::path::PathBuf;

/// Why a key cannot be read or may not be used. No message holds anything of a key or an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key file that holds no key, or that others may read.
    #[error("{}: {reason}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The key has served this name with another input.
    #[error(
        "{key} was used before with the same options and other data{}: the same noise on both would give \
         their difference away. Use a new key for the new data, or count the earlier data again",
        at.map(|step| format!(" (they differ at step {step})")).unwrap_or_default()
    )]
    OtherInput {
        /// What the key is called.
        key: String,
        /// The first step that differs, where steps are known one by one.
        at: Option<u64>,
    },
    /// The record begins after the step that was asked for.
    #[error(
        "{key} was used before with the same options from step {first} on, and the steps before are not recorded: \
         resume a saved state, or use a new key"
    )]
    BeginsLater {
        /// What the key is called.
        key: String,
        /// The first step in the record.
        first: u64,
    },
    /// The record ends before the step that was asked for.
    #[error(
        "the record of {key} ends at step {recorded} and the state at step {step}: bring the record along with the \
         state, or the data of the steps between could be counted twice under the same noise"
    )]
    EndsEarlier {
        /// What the key is called.
        key: String,
        /// The number of steps in the record.
        recorded: u64,
        /// The number of steps of the state.
        step: u64,
    },
    /// A record that cannot be relied on.
    #[error("{} is no record of a key's uses: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file that cannot be read or written.
    #[error("{} cannot be {}: {error}", path.display(), if *writing { "written" } else { "read" })]
    File {
        /// The file.
        path: PathBuf,
        /// Whether it was to be written.
        writing: bool,
        /// What the system said.
        error: io::Error,
    },
}

/// The result of what may fail for these reasons.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether it is the caller who can mend it, rather than the machine.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::File { writing, error, .. } => {
                !writing
                    && matches!(
                        error.kind(),
                        io::ErrorKind::NotFound
                            | io::ErrorKind::PermissionDenied
                            | io::ErrorKind::IsADirectory
                            | io::ErrorKind::InvalidData
                    )
            }
            _ => true,
        }
    }

    pub(crate) fn reading(path: &std::path::Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), writing: false, error }
    }

    pub(crate) fn writing(path: &std::path::Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), writing: true, error }
    }
}
