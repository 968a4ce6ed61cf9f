//! The error of every step: the recursion beside rows added up, and strides beside every step.

use super::super::diagonals::profile::{MAX_KEPT, Profile, TOLERANCE, difference};
use super::*;
use crate::objective::Objective;
use crate::privacy::CompensatedSum;

fn parts(horizon: u64, objective: Objective) -> Parts<Weights> {
    let shape = Shape::for_horizon(horizon, objective);
    let pair = pair(horizon, &shape, terms(horizon)).expect("decays");
    super::parts(horizon, &shape, pair).expect("positive grades")
}

/// ‖Σ_{first ≤ s ≤ last} …‖² entry by entry.
fn walked(parts: &Parts<Weights>, first: u64, last: u64) -> f64 {
    let mut sum = CompensatedSum::default();
    parts.walk_row(first, last, |_, entry| sum.add(entry * entry));
    sum.value()
}

#[test]
fn the_exact_recursion_agrees_with_rows_added_up() {
    for n in [1, 2, 64, 65, 1000, 5000] {
        let parts = parts(n, Objective::Mean);
        let profile = Profile::exact(n, &parts.pair, &*parts.weights);
        for step in [0, 1, 7, 63, 64, 500, n / 2, n.saturating_sub(2), n - 1] {
            if step < n {
                let (row, expected) = (profile.row(step), walked(&parts, 0, step));
                let tolerance = if n <= MAX_KEPT { 1e-11 } else { 1.5 * TOLERANCE };
                assert!((row / expected - 1.0).abs() < tolerance, "n = {n}, {step}: {row} {expected}");
            }
        }
    }
}

#[test]
fn strides_and_interpolation_stay_within_half_the_tolerance() {
    for objective in [Objective::Mean, Objective::Worst] {
        for n in [3000, 1 << 14, 100_000, 1 << 18] {
            let parts = parts(n, objective);
            let (pair, weights) = (&parts.pair, &*parts.weights);
            let exact = Profile::exact(n, pair, weights);
            let strided = Profile::strided(n, pair, weights);
            let off = |a: f64, b: f64| (a / b - 1.0).abs() / TOLERANCE;
            assert!(off(exact.mean, strided.mean) < 0.5, "n = {n}: mean {}", off(exact.mean, strided.mean));
            assert!(off(exact.max, strided.max) < 0.5, "n = {n}: max {}", off(exact.max, strided.max));
            let rows = exact.rows.iter().zip(&strided.rows).map(|(a, b)| off(*a, *b)).fold(0.0, f64::max);
            assert!(rows < 0.5, "n = {n}: a row {rows}");
            // In the middle of strides, where interpolation is worst.
            for pair in strided.steps.windows(2).step_by(61) {
                let step = (pair[0] + pair[1]) / 2;
                let ratio = strided.row(step) / walked(&parts, 0, step);
                assert!(
                    (0.0..2.0).contains(&((ratio - 1.0) / TOLERANCE)) || pair[1] - pair[0] <= 1,
                    "n = {n}, {step}: {ratio}"
                );
            }
        }
    }
}

#[test]
fn differences_in_strides_agree_with_rows_added_up() {
    for n in [3000, 1 << 17] {
        let parts = parts(n, Objective::Mean);
        for earlier in [0, 1, 100, 1777, n / 2, n - 200] {
            for later in [earlier + 1, earlier + 2, earlier + 150, (earlier + n) / 2, n - 2, n - 1] {
                let got = difference(&parts.pair, &*parts.weights, earlier, later);
                let ratio = got / walked(&parts, earlier + 1, later);
                assert!((ratio - 1.0).abs() < 2.0 * TOLERANCE, "n = {n}, {earlier} to {later}: {ratio}");
            }
        }
    }
}
