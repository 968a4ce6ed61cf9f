//! The sensitivity to changes that go up and down in turn.
//!
//! **Definition.** A person changes the input by v, −v, v, … in the steps i₁ < … < i_m of each key, with
//! |v| ≤ 1, and in at most f places over all keys ([`Participation::in_turn`]).
//!
//! **Guarantee.** Let Δ be the largest norm of a column of R. The result is at least the sensitivity: f·Δ,
//! or √f·Δ if RᵀR falls ([`Factorization::gram_falls`]). The proof is in the module
//! [`protection`](crate::privacy) and in `docs/distinct.md`. It falls if
//!
//! - R is lower triangular and Toeplitz with coefficients c₀ ≥ c₁ ≥ … ≥ 0, for
//!   ⟨r_i, r_j⟩ = Σ_{s < n−j} c_s c_{s+j−i}, whose terms and whose number get no larger as j grows;
//! - R has a row for each node of a binary tree, and ones at the leaves below it, for ⟨r_i, r_j⟩ is the
//!   number of nodes above both i and j, which gets no larger as j moves away from i.
//!
//! **Rounding.** Coefficients that are each off by a relative 2⁻⁴² move R u by at most f·2⁻⁴²·Δ, which is
//! within f times the margin of a sensitivity.

use super::{Factorization, squares};
use crate::privacy::{MARGIN, Participation, round_up};

/// Δ of a factorization for any participation. All plans take it from here.
pub(crate) fn sensitivity(factorization: &dyn Factorization, participation: Participation) -> f64 {
    if let Some(max_squares) = participation.squares() {
        return squares::sensitivity(factorization, max_squares);
    }
    if !participation.is_in_turn() {
        return factorization.sensitivity(participation);
    }
    let one = factorization.sensitivity(Participation::single());
    // A number beyond 2⁵³ is rounded up.
    let changes = (participation.max_steps() as f64).next_up();
    let bound = if factorization.gram_falls() { changes.sqrt() * one } else { changes * one };
    if participation.max_steps() == 1 { one } else { round_up(bound, MARGIN * changes) }
}

/// The encoder of changes for mechanisms that fit themselves to a participation: the bound is a multiple
/// of the norm of a column.
pub(crate) fn fitted_to(participation: Participation) -> Participation {
    let is_of_columns = participation.is_in_turn() || participation.squares().is_some();
    if is_of_columns { Participation::single() } else { participation }
}

/// Whether the Gram matrix of a lower-triangular Toeplitz matrix with these coefficients falls.
pub(crate) fn toeplitz_falls(coefficients: &[f64]) -> bool {
    coefficients.is_sorted_by(|c, next| c >= next) && coefficients.last().is_none_or(|last| *last >= 0.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::factorization::{Mechanism, Request};
    use crate::matrix::Matrix;
    use crate::objective::Objective;
    use crate::workload::Workload;
    use std::sync::Arc;

    const MECHANISMS: [&str; 11] = [
        "input-perturbation",
        "output-perturbation",
        "binary",
        "honaker-streaming",
        "honaker-full",
        "square-root",
        "normalized-square-root",
        "banded-square-root:3",
        "banded-inverse-square-root:3",
        "blt",
        "optimal",
    ];

    /// For prefix sums and a person who counts once.
    pub(in crate::factorization) fn made(mechanism: &str, horizon: u64) -> Arc<dyn Factorization> {
        let mechanism: Mechanism = mechanism.parse().unwrap();
        let request = Request {
            horizon,
            workload: Workload::PrefixSum,
            participation: Participation::single(),
            objective: Objective::Mean,
            report: None,
            progress: &(),
        };
        mechanism.factorize(request).unwrap()
    }

    fn gram(encoder: &Matrix, n: usize) -> Vec<Vec<f64>> {
        let dot = |i, j| (0..encoder.rows()).map(|row| encoder[(row, i)] * encoder[(row, j)]).sum();
        (0..n).map(|i| (0..n).map(|j| dot(i, j)).collect()).collect()
    }

    /// The largest squared norm over all sets of steps, with signs in turn, for each number of changes.
    fn by_force(gram: &[Vec<f64>]) -> Vec<f64> {
        let n = gram.len();
        let mut largest = vec![0.0_f64; n + 1];
        for set in 1_u32..1 << n {
            let steps: Vec<usize> = (0..n).filter(|step| set >> step & 1 == 1).collect();
            let sign = |place: usize| if place.is_multiple_of(2) { 1.0 } else { -1.0 };
            let mut norm = 0.0;
            for (l, i) in steps.iter().enumerate() {
                for (m, j) in steps.iter().enumerate() {
                    norm += sign(l) * sign(m) * gram[*i][*j];
                }
            }
            largest[steps.len()] = largest[steps.len()].max(norm);
        }
        for changes in 1..=n {
            largest[changes] = largest[changes].max(largest[changes - 1]);
        }
        largest
    }

    #[test]
    fn no_pattern_of_changes_exceeds_the_bound() {
        let mut falling = Vec::new();
        for mechanism in MECHANISMS {
            for horizon in [1, 2, 3, 5, 8, 11] {
                let factorization = made(mechanism, horizon);
                let n = horizon as usize;
                let largest = by_force(&gram(&factorization.dense().unwrap().encoder, n));
                for (changes, largest) in largest.iter().enumerate().skip(1) {
                    let bound = sensitivity(&*factorization, Participation::in_turn(changes as u64).unwrap());
                    let largest = largest.sqrt();
                    assert!(largest <= bound, "{mechanism}, {horizon}, {changes}: {largest} > {bound}");
                    if factorization.gram_falls() {
                        let once = factorization.sensitivity(Participation::single());
                        let root = (changes as f64).sqrt() * once;
                        assert!(bound < root * 1.000_000_1, "{mechanism}, {horizon}, {changes}");
                    }
                }
            }
            if made(mechanism, 8).gram_falls() {
                falling.push(mechanism);
            }
        }
        let expected = [
            "input-perturbation",
            "output-perturbation",
            "binary",
            "honaker-streaming",
            "honaker-full",
            "square-root",
            "banded-square-root:3",
            "banded-inverse-square-root:3",
            "blt",
        ];
        assert_eq!(falling, expected);
    }

    /// What is claimed to fall does, on the matrix that runs.
    #[test]
    fn gram_matrices_that_are_said_to_fall_do() {
        for mechanism in MECHANISMS {
            for horizon in [2, 7, 16, 33] {
                let factorization = made(mechanism, horizon);
                let n = horizon as usize;
                let gram = gram(&factorization.dense().unwrap().encoder, n);
                let falls = (0..n).all(|i| {
                    let later = &gram[i][(i + 1).min(n)..];
                    later.is_sorted_by(|one, next| *one >= next - 1e-12) && later.iter().all(|g| *g >= -1e-12)
                });
                assert!(falls || !factorization.gram_falls(), "{mechanism}, {horizon}");
            }
        }
    }

    /// With one key for each change, every change may be in the step of the longest column.
    #[test]
    fn changes_of_different_keys_reach_the_bound() {
        let factorization = made("square-root", 9);
        let once = factorization.sensitivity(Participation::single());
        for changes in [1, 2, 9, 100] {
            let bound = sensitivity(&*factorization, Participation::in_turn(changes).unwrap());
            let reached = (changes as f64).sqrt() * once;
            assert!(bound >= reached * (1.0 - 1e-15) && bound < reached * (1.0 + 1e-9), "{changes}");
        }
    }

    #[test]
    fn coefficients_that_rise_or_are_negative_do_not_fall() {
        assert!(toeplitz_falls(&[1.0, 0.5, 0.5, 0.0]) && toeplitz_falls(&[]));
        for rising in [[1.0, 0.5, 0.6], [1.0, 0.5, -0.1], [-1.0, -2.0, -3.0], [1.0, f64::NAN, 0.0]] {
            assert!(!toeplitz_falls(&rising), "{rising:?}");
        }
    }
}
