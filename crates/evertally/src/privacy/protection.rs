//! Who is protected: the change of the input that a release hides.
//!
//! **Definition.** One person contributes one value in each of at most k steps that are at least b
//! apart. A value is a number in [lo, hi] (or a vector of bounded norm), added to one key; or several
//! numbers, added to as many keys, whose norm together is at most max(|lo|, |hi|). The release must not
//! reveal whether the person takes part, or with which contribution; [`Neighbours`] selects which of
//! the two. By default a "person" is a single event: one value in one step.
//!
//! **Guarantee.** Let R be the encoder, r_i its columns, M the largest magnitude of a value and Δ_k
//! the sensitivity of R to values of norm at most 1
//! ([`toeplitz_sensitivity`](super::toeplitz_sensitivity)). A contribution moves the encoded stream
//! by u = Σ_l v_l r_{i_l} with |v_l| ≤ M, so ‖u‖ ≤ M·Δ_k. Then, for neighbouring inputs x and x',
//!
//! - *add or remove*: R(x − x') = ±u, of norm at most M·Δ_k;
//! - *replace*: R(x − x') = u − v, where v is another admissible contribution (other values, other
//!   steps, another key), of norm at most 2·M·Δ_k by the triangle inequality. If all values have
//!   one sign and RᵀR ≥ 0 entrywise, then uᵀv = Σ v_l w_m ⟨r_{i_l}, r_{j_m}⟩ ≥ 0, where
//!   contributions to different keys are in orthogonal coordinates and add nothing. So ‖u − v‖² ≤
//!   ‖u‖² + ‖v‖² and the norm is at most √2·M·Δ_k.
//!
//! **Changes in turn** ([`Participation::in_turn`]). One person changes the input by v, −v, v, … in m steps
//! i₁ < … < i_m of each key, with |v| ≤ M, and in at most f places over all keys: they come and go. Each
//! key moves its encoded stream by at most M·m·Δ₁ by the triangle inequality. If RᵀR *falls*, that is if
//! ⟨r_i, r_j⟩ ≥ ⟨r_i, r_{j+1}⟩ ≥ 0 for all i < j, then by at most M·√m·Δ₁ only: for every l, the sum
//! −⟨r_{i_l}, r_{i_{l+1}}⟩ + ⟨r_{i_l}, r_{i_{l+2}}⟩ − … alternates, and its terms get no larger, so it is at
//! most zero; hence ‖Σ_l (−1)^l r_{i_l}‖² = Σ_l ‖r_{i_l}‖² + 2 Σ_l (…) ≤ m·Δ₁². Keys are orthogonal, so all
//! together move by at most M·f·Δ₁, or M·√f·Δ₁ if RᵀR falls.
//!
//! **Changes of bounded squares** ([`Participation::changes`]). One person changes the input in any steps,
//! by integers. In each key the changes upwards add up to at most p, those downwards to at most q, and Σ
//! (p² + q²) over all keys is at most Q. The change of a key is u − w with u, w ≥ 0, so that ‖Ru‖ ≤ p·Δ₁
//! and ‖Rw‖ ≤ q·Δ₁ by the triangle inequality. If RᵀR ≥ 0 entrywise, then ⟨Ru, Rw⟩ ≥ 0 and ‖R(u − w)‖² ≤
//! (p² + q²)·Δ₁². Otherwise ‖R(u − w)‖² ≤ (p + q)²·Δ₁² ≤ 2(p² + q²)·Δ₁². Keys are orthogonal, so all
//! together move by at most √Q·Δ₁, or √(2Q)·Δ₁. A replacement moves the input by two such changes, which
//! may point apart: twice as far.
//!
//! **A value that is split between keys** ([`Contribution::split_between`]) moves the input no further
//! than a whole one. Let its parts v_j have one sign and add up to v, a value of the range. Pick key j
//! with probability v_j/v and add all of v to it: this is a whole contribution, and its mean is the
//! split one. Do so for every step of a person, and of the contribution that is replaced. The change
//! x − x' is then the mean of changes of whole contributions, and a norm of a mean is at most the mean
//! of the norms: ‖R(x − x')‖ is within the same bound. The same holds in ℓ1, for Laplace noise. Only
//! the number of lanes that a contribution touches is larger, which the bounds on rounding count.
//!
//! The noise is calibrated to [`replace_factor`]·M·Δ_k. The caller, or a bounding stage before the
//! counter, must ensure that contributions stay within the bounds declared here.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The relation between neighbouring inputs. A release must look nearly the same on both.
///
/// ```
/// use evertally::privacy::Neighbours;
/// assert_eq!("replace".parse::<Neighbours>()?, Neighbours::Replace);
/// assert_eq!(Neighbours::default().to_string(), "add-remove");
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Neighbours {
    /// One contribution is present in one input and absent from the other.
    #[default]
    AddRemove,
    /// One contribution is replaced by any other admissible one: other values, other steps, another
    /// key.
    Replace,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AddRemove => "add-remove",
            Self::Replace => "replace",
        })
    }
}

impl FromStr for Neighbours {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "add-remove" => Ok(Self::AddRemove),
            "replace" => Ok(Self::Replace),
            other => Err(Error::bad("neighbours", "add-remove or replace", format!("{other:?}"))),
        }
    }
}

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

/// The factor on the ℓ2 sensitivity M·Δ_k for the neighbouring relation. It is 1 if a contribution
/// is added or removed. If it is replaced, the factor is √2 (rounded up) if values have one sign
/// and RᵀR ≥ 0 entrywise, and 2 otherwise.
///
/// `gram_is_nonnegative` is the caller's promise that no two columns of R have a negative inner
/// product. It holds for every R without negative entries. If it is not known, pass `false`, which
/// is always sound.
///
/// ```
/// use evertally::privacy::{Contribution, Neighbours, replace_factor};
/// assert_eq!(replace_factor(Neighbours::AddRemove, Contribution::unit(), false), 1.0);
/// assert_eq!(replace_factor(Neighbours::Replace, Contribution::norm(1.0)?, true), 2.0);
/// let moved = replace_factor(Neighbours::Replace, Contribution::unit(), true);
/// assert!(moved * moved >= 2.0 && moved < 1.4143);
/// # Ok::<(), evertally::Error>(())
/// ```
#[must_use]
pub fn replace_factor(neighbours: Neighbours, contribution: Contribution, gram_is_nonnegative: bool) -> f64 {
    match neighbours {
        Neighbours::AddRemove => 1.0,
        // The constant is the float nearest to √2, and is above it.
        Neighbours::Replace if contribution.is_single_signed() && gram_is_nonnegative => {
            std::f64::consts::SQRT_2
        }
        Neighbours::Replace => 2.0,
    }
}

/// The factor on an ℓ1 sensitivity, for Laplace noise: 1 or 2. The argument for √2 is about
/// Euclidean norms. In ℓ1, two contributions to different steps add up in full.
///
/// ```
/// use evertally::privacy::{Neighbours, replace_factor_l1};
/// assert_eq!(replace_factor_l1(Neighbours::Replace), 2.0);
/// ```
#[must_use]
pub fn replace_factor_l1(neighbours: Neighbours) -> f64 {
    match neighbours {
        Neighbours::AddRemove => 1.0,
        Neighbours::Replace => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqrt_two_is_rounded_up() {
        // Squared exactly, in integers: the mantissa m of the constant has m² > 2·2¹⁰⁴.
        let m = u128::from(std::f64::consts::SQRT_2.to_bits() & ((1 << 52) - 1) | 1 << 52);
        assert!(m * m > 2 << 104);
    }

    #[test]
    fn replacing_reaches_the_factor() {
        // An event moves from one key to another: (1, −1) has norm √2. A value −1 becomes 1: norm
        // 2.
        let factor =
            |lo, hi, gram| replace_factor(Neighbours::Replace, Contribution::range(lo, hi).unwrap(), gram);
        assert_eq!(factor(0.0, 1.0, true), std::f64::consts::SQRT_2);
        assert_eq!(factor(-1.0, 0.0, true), std::f64::consts::SQRT_2);
        assert_eq!(factor(-1.0, 1.0, true), 2.0);
        // Columns (1, 0) and (−1, 0): moving a 1 from one step to the other moves the encoding by
        // 2.
        assert_eq!(factor(0.0, 1.0, false), 2.0);
    }

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

    /// The argument for split values, by brute force: with any factor R, any two split contributions
    /// in any steps are no further apart than some two whole ones.
    #[test]
    fn splitting_moves_no_further() {
        const STEPS: usize = 4;
        const KEYS: usize = 3;
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        // The change in each step: the value of the first, which is taken away, and of the second.
        let norms = |r: &[[f64; STEPS]; STEPS], change: &[[f64; KEYS]; STEPS]| {
            let (mut square, mut sum) = (0.0, 0.0);
            for row in r {
                for key in 0..KEYS {
                    let moved: f64 = row.iter().zip(change).map(|(r, step)| r * step[key]).sum();
                    square += moved * moved;
                    sum += moved.abs();
                }
            }
            (square.sqrt(), sum)
        };
        for _ in 0..300 {
            let r: [[f64; STEPS]; STEPS] = std::array::from_fn(|_| std::array::from_fn(|_| random() - 0.3));
            let value: [f64; STEPS] = std::array::from_fn(|_| 5.0 * random());
            let split: [[f64; KEYS]; STEPS] = std::array::from_fn(|step| {
                let parts: [f64; KEYS] = std::array::from_fn(|_| random());
                let all: f64 = parts.iter().sum();
                // The second half of the steps is of the contribution that is replaced.
                let sign = if step % 2 == 0 { 1.0 } else { -1.0 };
                parts.map(|part| sign * value[step] * part / all)
            });
            let mut largest = (0.0_f64, 0.0_f64);
            for choice in 0..KEYS.pow(STEPS as u32) {
                let whole = std::array::from_fn(|step| {
                    let key = choice / KEYS.pow(step as u32) % KEYS;
                    let sign = if step % 2 == 0 { 1.0 } else { -1.0 };
                    std::array::from_fn(|at| if at == key { sign * value[step] } else { 0.0 })
                });
                let (square, sum) = norms(&r, &whole);
                largest = (largest.0.max(square), largest.1.max(sum));
            }
            let (square, sum) = norms(&r, &split);
            assert!(square <= largest.0 * (1.0 + 1e-12) && sum <= largest.1 * (1.0 + 1e-12));
        }
    }

    #[test]
    fn names_are_read_back() {
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            assert_eq!(neighbours.to_string().parse::<Neighbours>().unwrap(), neighbours);
        }
        assert!("swap".parse::<Neighbours>().is_err());
    }
}
