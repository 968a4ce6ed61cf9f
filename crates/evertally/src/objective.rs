//! Which error a plan keeps small.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// What the choice of a mechanism, and the shape of one that can be shaped, aims at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Objective {
    /// The mean squared error over all steps.
    #[default]
    Mean,
    /// The squared error of the worst step.
    Worst,
    /// The weighted error of a [`Report`](crate::Report), which the plan must have.
    Report,
    /// The mean squared error over the steps so far, whenever the stream stops. Only for a stream
    /// without a known end.
    Anytime,
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mean => "mean",
            Self::Worst => "worst",
            Self::Report => "report",
            Self::Anytime => "anytime",
        })
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "mean" => Ok(Self::Mean),
            "worst" => Ok(Self::Worst),
            "report" => Ok(Self::Report),
            "anytime" => Ok(Self::Anytime),
            _ => Err(Error::bad("objective", "mean, worst, report or anytime", format!("{text:?}"))),
        }
    }
}
