//! Errors as values with a class, as in the library.

use evertally::ErrorClass;

/// What went wrong. Messages never carry a total, a key, a person, the id of an event or a token.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses.
    #[error(transparent)]
    Library(#[from] evertally::Error),
    /// What turns events into steps refuses.
    #[error(transparent)]
    Stream(#[from] evertally_stream::Error),
    /// There is nothing of this name.
    #[error("there is no {what} {name:?}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The request makes sense, but not in the present state.
    #[error("{reason}")]
    Conflict {
        /// Why not, and what would help.
        reason: String,
    },
    /// The ledger is a copy, or older than what was released: nothing is released until an operator
    /// starts a new epoch.
    #[error("nothing is taken or released until a new epoch is started: {reason}")]
    Fenced {
        /// How it was recognised.
        reason: String,
    },
    /// Storage failed; what was recorded before is still shown.
    #[error("the ledger is read-only until the service is started again: {reason}")]
    ReadOnly {
        /// What failed.
        reason: String,
    },
    /// The files do not say what they must.
    #[error("the ledger is damaged: {reason}")]
    Damaged {
        /// What does not fit.
        reason: String,
    },
    /// The machine failed.
    #[error("{reason}")]
    System {
        /// The system's own words.
        reason: String,
    },
}

/// The class of an [`Error`]: those of the library, and those that only a service has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// One of the library's.
    Library(ErrorClass),
    /// There is nothing of this name.
    NotFound,
    /// Not in the present state.
    Conflict,
    /// Not before a new epoch.
    Fenced,
    /// Not before the service is started again.
    ReadOnly,
}

impl Class {
    /// The name by which programs know the class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Library(class) => class.name(),
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Fenced => "fenced",
            Self::ReadOnly => "read-only",
        }
    }
}

impl Error {
    /// The class of this error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Library(error) => Class::Library(error.class()),
            Self::Stream(error) => Class::Library(error.class()),
            Self::NotFound { .. } => Class::NotFound,
            Self::Conflict { .. } => Class::Conflict,
            Self::Fenced { .. } => Class::Fenced,
            Self::ReadOnly { .. } => Class::ReadOnly,
            Self::Damaged { .. } => Class::Library(ErrorClass::BadState),
            Self::System { .. } => Class::Library(ErrorClass::System),
        }
    }

    /// The parameter that an [`evertally::Error::BadParameter`] names, whichever crate refused it.
    #[must_use]
    pub fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Library(error) | Self::Stream(evertally_stream::Error::Library(error)) => error.parameter(),
            _ => None,
        }
    }

    /// [`evertally::Error::BadParameter`] from what was expected and what was given.
    pub fn bad(name: &'static str, expected: impl Into<String>, got: impl std::fmt::Display) -> Self {
        evertally::Error::bad(name, expected, got).into()
    }

    pub(crate) fn conflict(reason: impl Into<String>) -> Self {
        Self::Conflict { reason: reason.into() }
    }

    pub(crate) fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged { reason: reason.into() }
    }

    pub(crate) fn system(what: &str, error: &dyn std::fmt::Display) -> Self {
        Self::System { reason: format!("{what}: {error}") }
    }

    pub(crate) fn no_counter(name: &str) -> Self {
        Self::NotFound { what: "counter", name: name.to_owned() }
    }
}

/// The result of every fallible call in this crate.
pub type Result<T> = std::result::Result<T, Error>;
