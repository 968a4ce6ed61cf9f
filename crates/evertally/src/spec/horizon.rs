//! The number of steps of a stream.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The declared number of steps.
///
/// ```
/// use evertally::Horizon;
/// assert_eq!("1344".parse::<Horizon>()?, Horizon::Steps(1344));
/// assert_eq!("unbounded".parse::<Horizon>()?, Horizon::Unbounded);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Horizon {
    /// At most this many steps.
    Steps(u64),
    /// The stream has no known end. The plan declares a cap that no stream reaches; see
    /// [`Plan::is_unbounded`](crate::Plan::is_unbounded).
    Unbounded,
}

impl Horizon {
    /// The declared number of steps, if there is one.
    #[must_use]
    pub fn steps(self) -> Option<u64> {
        match self {
            Self::Steps(steps) => Some(steps),
            Self::Unbounded => None,
        }
    }
}

impl From<u64> for Horizon {
    fn from(steps: u64) -> Self {
        Self::Steps(steps)
    }
}

/// A missing number of steps means a stream without a known end.
impl From<Option<u64>> for Horizon {
    fn from(steps: Option<u64>) -> Self {
        steps.map_or(Self::Unbounded, Self::Steps)
    }
}

impl fmt::Display for Horizon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => steps.fmt(f),
            Self::Unbounded => f.pad("unbounded"),
        }
    }
}

impl FromStr for Horizon {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "unbounded" {
            return Ok(Self::Unbounded);
        }
        let refuse = |_| Error::bad("horizon", "a number of steps, or unbounded", format!("{text:?}"));
        text.parse().map(Self::Steps).map_err(refuse)
    }
}
