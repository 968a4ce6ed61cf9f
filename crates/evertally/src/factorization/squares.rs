//! The sensitivity to changes of bounded squares.
//!
//! **Definition.** A person changes the input by integers in any steps. In each key the changes upwards add
//! up to p, those downwards to q, and Σ (p² + q²) over all keys is at most Q ([`Participation::changes`]).
//!
//! **Guarantee.** Let Δ be the largest norm of a column of R. The result is at least the sensitivity: √Q·Δ
//! if RᵀR ≥ 0 entrywise ([`Factorization::gram_is_nonnegative`]), and otherwise √(2Q)·Δ. The proof is in
//! the module [`protection`](crate::privacy). The first bound is attained by Q keys that each change once,
//! in the step of the longest column.
//!
//! **Rounding.** Coefficients that are each off by a relative 2⁻⁴² move the change of a key by at most
//! (p + q)·2⁻⁴²·Δ ≤ 2⁻⁴¹·√(p² + q²)·Δ, which is within the margin of 2⁻⁴⁰.

use super::Factorization;
use crate::privacy::{MARGIN, Participation, round_up};

/// Δ of a factorization for changes whose squares add up to at most this.
pub(super) fn sensitivity(factorization: &dyn Factorization, max_squares: u64) -> f64 {
    let one = factorization.sensitivity(Participation::single());
    // A number beyond 2⁵³ is rounded up.
    let squares = if max_squares == 1 { 1.0 } else { (max_squares as f64).next_up() };
    let squares = if factorization.gram_is_nonnegative() { squares } else { 2.0 * squares };
    round_up(squares.sqrt() * one, 2.0 * MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorization::in_turn::tests::made;

    const MECHANISMS: [&str; 10] = [
        "input-perturbation",
        "output-perturbation",
        "binary",
        "honaker-full",
        "square-root",
        "graded-square-root",
        "normalized-square-root",
        "banded-square-root:3",
        "blt",
        "optimal",
    ];

    /// The largest ‖R d‖ over all integer changes d of one key, for each p² + q².
    fn by_force(factorization: &dyn Factorization, largest_change: i32) -> Vec<(u64, f64)> {
        let encoder = factorization.dense().unwrap().encoder;
        let n = encoder.columns();
        let values = (2 * largest_change + 1) as usize;
        let mut largest = std::collections::BTreeMap::new();
        for number in 1..values.pow(n as u32) {
            let change: Vec<i32> = (0..n)
                .map(|step| (number / values.pow(step as u32) % values) as i32 - largest_change)
                .collect();
            let side = |sign: i32| change.iter().map(|d| (sign * d).max(0) as u64).sum::<u64>();
            let squares = side(1).pow(2) + side(-1).pow(2);
            let norm = (0..encoder.rows())
                .map(|row| {
                    (0..n).map(|step| encoder[(row, step)] * f64::from(change[step])).sum::<f64>().powi(2)
                })
                .sum::<f64>();
            let entry = largest.entry(squares).or_insert(0.0_f64);
            *entry = entry.max(norm.sqrt());
        }
        largest.into_iter().collect()
    }

    #[test]
    fn no_change_of_a_key_exceeds_the_bound() {
        for mechanism in MECHANISMS {
            for horizon in [1, 2, 4, 5] {
                let factorization = made(mechanism, horizon);
                for (squares, largest) in by_force(&*factorization, 2) {
                    if squares > 0 {
                        let bound = sensitivity(&*factorization, squares);
                        assert!(largest <= bound, "{mechanism}, {horizon}, {squares}: {largest} > {bound}");
                    }
                }
            }
        }
    }

    /// Without a promise about RᵀR, up and down may add up. Here they do: the columns are (1) and (−1).
    #[test]
    fn most_mechanisms_have_the_smaller_bound() {
        let nonnegative = |mechanism: &&str| made(mechanism, 5).gram_is_nonnegative();
        let kept: Vec<_> = MECHANISMS.into_iter().filter(nonnegative).collect();
        assert!(kept.contains(&"graded-square-root") && kept.contains(&"square-root"), "{kept:?}");
        for mechanism in MECHANISMS {
            let factorization = made(mechanism, 5);
            let once = factorization.sensitivity(Participation::single());
            let factor = if factorization.gram_is_nonnegative() { 3.0 } else { 18.0_f64.sqrt() };
            let bound = sensitivity(&*factorization, 9);
            assert!(bound >= factor * once && bound < factor * once * (1.0 + 1e-10), "{mechanism}");
        }
    }

    /// An up in one step and a down in another, where the encoder keeps them apart, reach the bound.
    #[test]
    fn the_bound_is_attained() {
        let factorization = made("input-perturbation", 4);
        for (squares, largest) in by_force(&*factorization, 3) {
            let [up, down] = [0, 1].map(|side| {
                (0..=12_u64)
                    .flat_map(|p| (0..=12_u64).map(move |q| [p, q]))
                    .find(|[p, q]| p * p + q * q == squares)
                    .map(|pair| pair[side])
            });
            if up.is_some_and(|up| up <= 3) && down.is_some_and(|down| down <= 3) && squares > 0 {
                let bound = sensitivity(&*factorization, squares);
                assert!(largest > bound * (1.0 - 1e-9), "{squares}");
            }
        }
    }
}
