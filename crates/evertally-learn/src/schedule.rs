//! Learning rates that are fixed before the first step.
//!
//! A rate may depend only on the step. A rate that depends on gradients would spend privacy.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use evertally::{Error, Result};

use crate::positive;

/// The learning rate η_t of every step.
///
/// ```
/// use evertally_learn::Schedule;
/// let schedule: Schedule = "cosine:0.5".parse()?;
/// assert_eq!(schedule.rate(0, 100), 0.5);
/// assert!(schedule.rate(99, 100) < 1e-3);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// The same rate at every step.
    Constant(f64),
    /// Decreases linearly from this rate to zero.
    Linear(f64),
    /// Decreases from this rate to zero along half a cosine.
    Cosine(f64),
    /// This rate divided by the root of the step, counted from one.
    InverseRoot(f64),
}

impl Schedule {
    /// The rate of a step, counted from zero, in a run of `steps` steps.
    #[must_use]
    pub fn rate(&self, step: u64, steps: u64) -> f64 {
        let done = step as f64 / steps as f64;
        match *self {
            Self::Constant(rate) => rate,
            Self::Linear(rate) => rate * (1.0 - done),
            Self::Cosine(rate) => 0.5 * rate * (1.0 + (PI * done).cos()),
            Self::InverseRoot(rate) => rate / (step as f64 + 1.0).sqrt(),
        }
    }

    /// The rate of the first step.
    #[must_use]
    pub fn first(&self) -> f64 {
        let (Self::Constant(rate) | Self::Linear(rate) | Self::Cosine(rate) | Self::InverseRoot(rate)) = self;
        *rate
    }

    pub(crate) fn check(self) -> Result<Self> {
        positive("learning rate", self.first())?;
        Ok(self)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Constant(_) => "constant",
            Self::Linear(_) => "linear",
            Self::Cosine(_) => "cosine",
            Self::InverseRoot(_) => "inverse-root",
        };
        f.pad(&format!("{name}:{}", self.first()))
    }
}

impl FromStr for Schedule {
    type Err = Error;

    /// A name and the first rate, as in `cosine:0.5`. A rate alone is constant.
    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            let expected = "a rate, or constant, linear, cosine or inverse-root with one, as in cosine:0.5";
            Error::bad("learning rate", expected, format!("{text:?}"))
        };
        let (name, rate) = text.split_once(':').unwrap_or(("constant", text));
        let rate: f64 = rate.trim().parse().map_err(|_| refuse())?;
        match name {
            "constant" => Self::Constant(rate),
            "linear" => Self::Linear(rate),
            "cosine" => Self::Cosine(rate),
            "inverse-root" => Self::InverseRoot(rate),
            _ => return Err(refuse()),
        }
        .check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_what_they_say() {
        let rate = |text: &str, step| text.parse::<Schedule>().unwrap().rate(step, 8);
        assert_eq!((rate("0.3", 0), rate("constant:0.3", 7)), (0.3, 0.3));
        assert_eq!((rate("linear:1", 0), rate("linear:1", 6)), (1.0, 0.25));
        assert_eq!(rate("cosine:2", 4), 1.0);
        assert_eq!(rate("inverse-root:2", 3), 1.0);
    }

    #[test]
    fn names_come_back_and_others_are_refused() {
        for text in ["constant:0.1", "linear:2", "cosine:0.5", "inverse-root:1"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        for text in ["", "fast", "cosine", "cosine:", "step:1", "0", "-1", "nan", "linear:inf"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
