//! How many steps there will be: a number, or nobody knows.

use evertally::{Plan, PlanBuilder, Workload};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The declared number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Horizon {
    /// So many, and no more.
    Steps(u64),
    /// The stream has no end that anybody knows: the library declares a cap that it does not reach.
    Unbounded,
}

impl Horizon {
    pub(super) fn builder(self, workload: Workload) -> PlanBuilder {
        match self {
            Self::Steps(steps) => Plan::for_workload(steps, workload),
            Self::Unbounded => Plan::unbounded(workload),
        }
    }
}

impl FromStr for Horizon {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unbounded" {
            return Ok(Self::Unbounded);
        }
        text.parse().map(Self::Steps).map_err(|_| "expected a whole number of steps, or unbounded".to_owned())
    }
}

impl fmt::Display for Horizon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => steps.fmt(f),
            Self::Unbounded => f.write_str("unbounded"),
        }
    }
}

/// A number stays a number.
impl Serialize for Horizon {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Steps(steps) => serializer.serialize_u64(*steps),
            Self::Unbounded => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_unbounded() {
        assert_eq!("1344".parse(), Ok(Horizon::Steps(1344)));
        assert_eq!("unbounded".parse(), Ok(Horizon::Unbounded));
        assert_eq!(Horizon::Unbounded.to_string(), "unbounded");
        for text in ["", "1e3", "-1", "infinite", "Unbounded", "99999999999999999999"] {
            assert!(text.parse::<Horizon>().is_err(), "{text:?} was taken");
        }
    }
}
