//! What one person may add to one step.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// What one person may contribute to one step: a number in a range, or a vector of bounded ℓ2 norm.
///
/// ```
/// use evertally::privacy::Contribution;
/// assert_eq!(Contribution::unit().to_string(), "a value in [0, 1]");
/// assert_eq!(Contribution::range(-2.0, 5.0)?.magnitude(), 5.0);
/// assert!(!Contribution::norm(1.0)?.is_single_signed());
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    lo: f64,
    hi: f64,
    is_vector: bool,
    keys: usize,
}

impl Contribution {
    /// A number in [0, 1]: counting.
    #[must_use]
    pub fn unit() -> Self {
        Self { lo: 0.0, hi: 1.0, is_vector: false, keys: 1 }
    }

    /// A number in [`lo`, `hi`].
    ///
    /// # Errors
    /// `BadParameter` unless both are finite, lo ≤ hi and at least one is not zero.
    pub fn range(lo: f64, hi: f64) -> Result<Self> {
        if !lo.is_finite() || !hi.is_finite() {
            return Err(Error::bad("range", "finite", format!("[{lo}, {hi}]")));
        }
        if lo > hi {
            return Err(Error::bad("range", "ordered, low end first", format!("[{lo}, {hi}]")));
        }
        if lo == 0.0 && hi == 0.0 {
            return Err(Error::bad("range", "wider than zero alone", format!("[{lo}, {hi}]")));
        }
        Ok(Self { lo, hi, is_vector: false, keys: 1 })
    }

    /// The same range for a number that may be split between this many keys. Its parts must all be at
    /// least zero, or all at most zero, and their sum must be in the range. This needs no more noise.
    ///
    /// ```
    /// use evertally::privacy::Contribution;
    /// let split = Contribution::range(0.0, 100.0)?.split_between(2)?;
    /// assert_eq!(split.to_string(), "a value in [0, 100], split between at most 2 keys");
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// `BadParameter` for no key, and for a vector.
    pub fn split_between(self, keys: usize) -> Result<Self> {
        if keys == 0 {
            return Err(Error::bad("keys of a contribution", "at least 1", keys));
        }
        if self.is_vector {
            return Err(Error::bad("contribution", "a range of numbers to be split between keys", self));
        }
        Ok(Self { keys, ..self })
    }

    /// A vector of ℓ2 norm at most `bound`.
    ///
    /// # Errors
    /// `BadParameter` unless the bound is positive and finite.
    pub fn norm(bound: f64) -> Result<Self> {
        if bound > 0.0 && bound.is_finite() {
            Ok(Self { lo: -bound, hi: bound, is_vector: true, keys: 1 })
        } else {
            Err(Error::bad("norm", "positive and finite", bound))
        }
    }

    /// The low end of the range, or −c for a vector of norm at most c, whose coordinates it bounds.
    #[must_use]
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// The high end of the range, or c for a vector of norm at most c.
    #[must_use]
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// The most keys between which a number may be split.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Whether a contribution is a vector.
    #[must_use]
    pub fn is_vector(&self) -> bool {
        self.is_vector
    }

    /// The largest norm of a contribution to one step, max(|lo|, |hi|).
    #[must_use]
    pub fn magnitude(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// Whether no two contributions have opposite signs. It is false for vectors, which may point
    /// anywhere.
    #[must_use]
    pub fn is_single_signed(&self) -> bool {
        !self.is_vector && (self.lo >= 0.0 || self.hi <= 0.0)
    }
}

impl Default for Contribution {
    fn default() -> Self {
        Self::unit()
    }
}

impl fmt::Display for Contribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_vector {
            write!(f, "a vector of norm at most {}", self.hi)
        } else {
            write!(f, "a value in [{}, {}]", self.lo, self.hi)?;
            if self.keys > 1 { write!(f, ", split between at most {} keys", self.keys) } else { Ok(()) }
        }
    }
}

impl FromStr for Contribution {
    type Err = Error;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self> {
        if let Some(Ok(bound)) = text.strip_prefix("a vector of norm at most ").map(str::parse) {
            return Self::norm(bound);
        }
        let (range, keys) = match text.split_once(", split between at most ") {
            Some((range, keys)) => (range, keys.strip_suffix(" keys").and_then(|keys| keys.parse().ok())),
            None => (text, Some(1)),
        };
        let ends = || {
            let (lo, hi) = range.strip_prefix("a value in [")?.strip_suffix(']')?.split_once(", ")?;
            Some((lo.parse().ok()?, hi.parse().ok()?, keys?))
        };
        let (lo, hi, keys) = ends().ok_or_else(|| {
            let expected = "a value in [LO, HI], or a vector of norm at most C";
            Error::bad("contribution", expected, format!("{text:?}"))
        })?;
        Self::range(lo, hi)?.split_between(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributions_are_checked() {
        assert!(Contribution::range(1.0, 0.0).is_err());
        assert!(Contribution::range(0.0, -0.0).is_err());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Contribution::range(bad, 1.0).is_err());
            assert!(Contribution::range(0.0, bad).is_err());
            assert!(Contribution::norm(bad).is_err());
        }
        assert!(Contribution::norm(0.0).is_err());
        assert!(Contribution::norm(-1.0).is_err());
        assert_eq!(Contribution::range(-3.0, -1.0).unwrap().magnitude(), 3.0);
        assert_eq!(Contribution::norm(2.5).unwrap().to_string(), "a vector of norm at most 2.5");
        assert!(Contribution::unit().split_between(0).is_err());
        assert!(Contribution::norm(1.0).unwrap().split_between(2).is_err());
        for text in ["a value in [0, 2]", "a value in [-1, 2.5], split between at most 3 keys"] {
            assert_eq!(text.parse::<Contribution>().unwrap().to_string(), text);
        }
        for text in
            ["a value in [0, 2], split between at most 0 keys", "a value in [0, 2], split between at most"]
        {
            assert!(text.parse::<Contribution>().is_err());
        }
    }
}
