//! Errors as values with a class, as in the library.

use crate::length::CalendarUnit;
use evertally::ErrorClass;

/// What went wrong. Messages may repeat a parameter or a name that did not fit; they never carry a
/// total.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses, or a parameter of this crate cannot be used.
    #[error(transparent)]
    Library(#[from] evertally::Error),
    /// A time before the first or after the last declared bucket.
    #[error("the time lies {side} the declared range")]
    OutsideRange {
        /// On which side it fell.
        side: Side,
    },
    /// Steps of the calendar cannot begin at a time that is not the start of their unit.
    #[error("the time is not the start of a {unit}: use {earlier}")]
    NotAStart {
        /// The unit of the steps.
        unit: CalendarUnit,
        /// The last date before the time on which such a unit starts.
        earlier: String,
    },
    /// A value that is not a finite number.
    #[error("the value is not a finite number")]
    NotFinite,
    /// A value whose magnitude is beyond 2^53.
    #[error("the value is too large: magnitudes are up to 2^53")]
    ValueTooLarge,
    /// An event without a key, where every event counts for the key that it names.
    #[error("the event names no group")]
    NoKey,
    /// A key whose name is too long to be released.
    #[error("the name of the group is longer than {most} bytes")]
    KeyTooLong {
        /// The most bytes of a name.
        most: usize,
    },
    /// More rows than steps were declared.
    #[error("there are more rows than the {horizon} declared steps")]
    HorizonSpent {
        /// The number of steps that were declared.
        horizon: u64,
    },
    /// The table of totals would not fit the memory it may take.
    #[error("{steps} steps of {keys} totals need {needed} bytes, over the limit of {limit}")]
    TooCostly {
        /// Declared steps.
        steps: u64,
        /// Totals in each.
        keys: usize,
        /// Bytes that the table needs.
        needed: u128,
        /// Bytes that it may take.
        limit: u64,
    },
    /// The events of persons or ids need more memory than they may take.
    #[error("the events of persons or ids need more than the {limit} bytes of memory that are left for them")]
    TooManyClaims {
        /// Bytes that they may take.
        limit: u64,
    },
    /// The edges of a graph need more memory than they may take.
    #[error("the edges need more than the {limit} bytes of memory that are left for them")]
    TooManyEdges {
        /// Bytes that they may take.
        limit: u64,
    },
    /// Events that were put on disk cannot be written or read.
    #[error("the temporary file of events that do not fit in memory failed: {reason}")]
    Spill {
        /// What the system said.
        reason: String,
    },
}

/// On which side of the declared range a time fell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before the first bucket starts.
    Before,
    /// At or after the end of the last bucket.
    After,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::After => "after",
        })
    }
}

impl Error {
    /// The class of this error, the same as everywhere in the project.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Library(error) => error.class(),
            Self::HorizonSpent { .. } => ErrorClass::HorizonSpent,
            Self::TooCostly { .. } | Self::TooManyClaims { .. } | Self::TooManyEdges { .. } => {
                ErrorClass::Unsupported
            }
            Self::Spill { .. } => ErrorClass::System,
            _ => ErrorClass::BadParameter,
        }
    }

    pub(crate) fn bad(name: &'static str, expected: impl Into<String>, got: impl std::fmt::Display) -> Self {
        evertally::Error::bad(name, expected, got).into()
    }
}

/// The result of every fallible call in this crate.
pub type Result<T> = std::result::Result<T, Error>;
