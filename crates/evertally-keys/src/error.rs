//! The reasons why a key is not used.

use std::io;
use std::path::PathBuf;

/// The reason why a key cannot be read or may not be used. No message contains any part of a key or
/// an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key file holds no key, or others can read it.
    #[error("{}: {reason}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The key was used with this name and another input.
    #[error(
        "{key} was used before with the same options and other data{}: the same noise on both would reveal \
         their difference. Use a new key for the new data, or count the earlier data again",
        at.map(|step| format!(" (they differ at step {step})")).unwrap_or_default()
    )]
    OtherInput {
        /// The key's name in messages.
        key: String,
        /// The first step that differs, if steps are recorded one by one.
        at: Option<u64>,
    },
    /// The record starts after the requested step.
    #[error(
        "{key} was used before with the same options from step {first} on, and earlier steps are not recorded: \
         resume a saved state, or use a new key"
    )]
    StartsLater {
        /// The key's name in messages.
        key: String,
        /// The first step in the record.
        first: u64,
    },
    /// The record ends before the requested step.
    #[error(
        "the record of {key} ends at step {recorded} and the state at step {step}: copy the record together with the \
         state. Otherwise other data of the steps between could be counted under the same noise"
    )]
    EndsEarlier {
        /// The key's name in messages.
        key: String,
        /// The number of steps in the record.
        recorded: u64,
        /// The number of steps of the state.
        step: u64,
    },
    /// The record is damaged.
    #[error("{} is no record of a key's uses: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file cannot be read or written.
    #[error("{} cannot be {}: {error}", path.display(), if *writing { "written" } else { "read" })]
    File {
        /// The file.
        path: PathBuf,
        /// Whether the failed operation was a write.
        writing: bool,
        /// The operating system's error.
        error: io::Error,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the caller can correct the cause, rather than the machine's administrator.
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
