//! Where one person may change the input, and how often. What it costs is proved in the parent module.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The number of steps in which one person may contribute, and their distance.
///
/// ```
/// use evertally::privacy::Participation;
/// let weekly = Participation::at_most(4, 7)?;
/// assert_eq!(weekly.to_string(), "at most 4 steps, at least 7 apart");
/// assert_eq!(weekly.bounded(15), 3); // steps 0, 7 and 14
/// assert_eq!(Participation::single().to_string(), "one step");
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Participation {
    max_steps: u64,
    min_gap: u64,
    kind: Kind,
}

/// What the number of a participation bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Steps, with any value in each.
    Steps,
    /// Changes, up and down in turn.
    InTurn,
    /// The squares of what goes up and of what goes down in each key, added up.
    Squares,
}

impl Participation {
    /// One step only: event-level privacy, or persons who contribute once.
    #[must_use]
    pub fn single() -> Self {
        Self { max_steps: 1, min_gap: 1, kind: Kind::Steps }
    }

    /// At most `max_steps` steps, any two of them at least `min_gap` apart (1: consecutive steps
    /// are allowed).
    ///
    /// # Errors
    /// `BadParameter` if either is zero.
    pub fn at_most(max_steps: u64, min_gap: u64) -> Result<Self> {
        if max_steps == 0 {
            return Err(Error::bad("max_steps", "at least 1", max_steps));
        }
        if min_gap == 0 {
            return Err(Error::bad("min_gap", "at least 1 (steps may be consecutive)", min_gap));
        }
        Ok(Self { max_steps, min_gap, kind: Kind::Steps })
    }

    /// At most this many changes, up and down in turn: in each key, a value and its negative alternate.
    /// Changes of different keys may be in one step, and all keys together have no more of them.
    ///
    /// ```
    /// use evertally::privacy::Participation;
    /// let comes_and_goes = Participation::in_turn(4)?;
    /// assert_eq!(comes_and_goes.to_string(), "at most 4 changes, up and down in turn");
    /// assert!(comes_and_goes.is_in_turn() && comes_and_goes.max_steps() == 4);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// `BadParameter` for no change.
    pub fn in_turn(max_changes: u64) -> Result<Self> {
        if max_changes == 0 {
            return Err(Error::bad("max_changes", "at least 1", max_changes));
        }
        Ok(Self { max_steps: max_changes, min_gap: 1, kind: Kind::InTurn })
    }

    /// Changes by integers, up and down in any steps. What goes up in a key and what goes down in it are
    /// each added up and squared, and all these squares together are at most this.
    ///
    /// Such a plan takes the exact path, and its contribution is a value in [−1, 1], the unit of the changes.
    ///
    /// ```
    /// use evertally::privacy::Participation;
    /// let edge = Participation::changes(8)?;
    /// assert_eq!(edge.to_string(), "changes whose squares add up to at most 8");
    /// assert_eq!(edge.squares(), Some(8));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// `BadParameter` for no change.
    pub fn changes(max_squares: u64) -> Result<Self> {
        if max_squares == 0 {
            return Err(Error::bad("max_squares", "at least 1", max_squares));
        }
        Ok(Self { max_steps: max_squares, min_gap: 1, kind: Kind::Squares })
    }

    /// The most that the squares of changes add up to, if that is what is bounded.
    #[must_use]
    pub fn squares(&self) -> Option<u64> {
        (self.kind == Kind::Squares).then_some(self.max_steps)
    }

    /// Whether a person changes the input up and down in turn. Without it, any values are allowed in the
    /// steps of a person.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.kind == Kind::InTurn
    }

    /// The number of steps in which one person may contribute, or of changes in turn. Changes of bounded
    /// squares are no more than these, because they are integers.
    #[must_use]
    pub fn max_steps(&self) -> u64 {
        self.max_steps
    }

    /// The minimum distance between two of these steps.
    #[must_use]
    pub fn min_gap(&self) -> u64 {
        self.min_gap
    }

    /// The number of steps that fit in a horizon: min(k, ⌈horizon/b⌉). Changes in turn all fit, because
    /// they may be in one step of different keys, and so do changes of bounded squares.
    #[must_use]
    pub fn bounded(&self, horizon: u64) -> u64 {
        if self.kind != Kind::Steps {
            return self.max_steps;
        }
        self.max_steps.min(horizon.div_ceil(self.min_gap))
    }
}

impl Default for Participation {
    fn default() -> Self {
        Self::single()
    }
}

impl fmt::Display for Participation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.max_steps, self.min_gap) {
            (changes, _) if self.kind == Kind::InTurn => {
                f.pad(&format!("at most {changes} changes, up and down in turn"))
            }
            (squares, _) if self.kind == Kind::Squares => {
                f.pad(&format!("changes whose squares add up to at most {squares}"))
            }
            (1, 1) => f.pad("one step"),
            (steps, gap) => f.pad(&format!("at most {steps} steps, at least {gap} apart")),
        }
    }
}

impl FromStr for Participation {
    type Err = Error;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self> {
        if text == "one step" {
            return Ok(Self::single());
        }
        let changes =
            text.strip_prefix("at most ").and_then(|rest| rest.strip_suffix(" changes, up and down in turn"));
        if let Some(Ok(changes)) = changes.map(str::parse) {
            return Self::in_turn(changes);
        }
        let squares = text.strip_prefix("changes whose squares add up to at most ").map(str::parse);
        if let Some(Ok(squares)) = squares {
            return Self::changes(squares);
        }
        let numbers = || {
            let (steps, gap) = text.strip_prefix("at most ")?.split_once(" steps, at least ")?;
            Some((steps.parse().ok()?, gap.strip_suffix(" apart")?.parse().ok()?))
        };
        let (steps, gap) = numbers().ok_or_else(|| {
            let expected = "one step, or at most K steps, at least B apart, or at most F changes, up and \
                            down in turn, or changes whose squares add up to at most Q";
            Error::bad("participation", expected, format!("{text:?}"))
        })?;
        Self::at_most(steps, gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participation_is_bounded_by_the_horizon() {
        let of = |k, b, n| Participation::at_most(k, b).unwrap().bounded(n);
        assert_eq!(of(3, 1, 10), 3);
        assert_eq!(of(3, 5, 10), 2);
        assert_eq!(of(3, 5, 11), 3);
        assert_eq!(of(3, 5, 0), 0);
        assert_eq!(of(u64::MAX, u64::MAX, u64::MAX), 1);
        assert!(Participation::at_most(0, 1).is_err());
        assert!(Participation::at_most(1, 0).is_err());
    }

    #[test]
    fn changes_in_turn_are_another_participation() {
        let (in_turn, steps) = (Participation::in_turn(4).unwrap(), Participation::at_most(4, 1).unwrap());
        assert_ne!(in_turn, steps);
        for one in [in_turn, steps, Participation::in_turn(1).unwrap()] {
            assert_eq!(one.to_string().parse::<Participation>().unwrap(), one);
        }
        // Changes of different keys may be in one step.
        assert_eq!([in_turn.bounded(2), steps.bounded(2)], [4, 2]);
        for bad in ["at most 0 changes, up and down in turn", "at most x changes, up and down in turn"] {
            assert!(bad.parse::<Participation>().is_err());
        }
        assert!(Participation::in_turn(0).is_err());
    }

    #[test]
    fn changes_of_bounded_squares_are_another_participation() {
        let squares = Participation::changes(4).unwrap();
        assert!(!squares.is_in_turn() && squares.bounded(2) == 4);
        for other in [Participation::in_turn(4).unwrap(), Participation::at_most(4, 1).unwrap()] {
            assert_ne!(squares, other);
            assert_eq!(other.squares(), None);
        }
        assert_eq!(squares.to_string().parse::<Participation>().unwrap(), squares);
        for bad in ["0", "x", "-1", ""] {
            assert!(
                format!("changes whose squares add up to at most {bad}").parse::<Participation>().is_err()
            );
        }
        assert!(Participation::changes(0).is_err());
    }
}
