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
//! together move by at most M·f·Δ₁, or M·√f·Δ₁ if RᵀR falls. Changes have both signs, whatever the range
//! says, so a replacement moves the input twice as far.
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

mod contribution;
mod participation;

use std::fmt;
use std::str::FromStr;

pub use contribution::Contribution;
pub use participation::Participation;

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
