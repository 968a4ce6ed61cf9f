//! Compares the bounds with every pattern of steps and every choice of signs, on dense matrices.

use super::*;

/// A dense matrix by columns.
type Columns = Vec<Vec<f64>>;

/// max ‖Σ ±r_i‖ over all patterns of at most k columns, at least b apart, and all signs.
fn brute_force(columns: &Columns, k: u64, b: u64) -> f64 {
    let n = columns.len();
    let mut best = 0.0_f64;
    for pattern in 0_u32..1 << n {
        let steps: Vec<usize> = (0..n).filter(|i| pattern >> i & 1 == 1).collect();
        let admissible = steps.len() as u64 <= k && steps.windows(2).all(|w| (w[1] - w[0]) as u64 >= b);
        if !admissible {
            continue;
        }
        // The first sign can be fixed, because a common sign does not change the norm.
        for signs in 0_u32..1 << steps.len().saturating_sub(1) {
            let mut sum = vec![0.0; n];
            for (l, &i) in steps.iter().enumerate() {
                let sign = if signs >> l & 1 == 1 { -1.0 } else { 1.0 };
                for (s, r) in sum.iter_mut().zip(&columns[i]) {
                    *s += sign * r;
                }
            }
            best = best.max(sum.iter().map(|s| s * s).sum::<f64>().sqrt());
        }
    }
    best
}

fn toeplitz(c: &[f64]) -> Columns {
    let n = c.len();
    (0..n).map(|i| (0..n).map(|t| if t >= i { c[t - i] } else { 0.0 }).collect()).collect()
}

fn norms(columns: &Columns) -> impl Iterator<Item = f64> {
    columns.iter().map(|column| column.iter().map(|x| x * x).sum::<f64>().sqrt())
}

fn square_root(n: usize) -> Vec<f64> {
    let mut f = vec![1.0; n];
    for k in 1..n {
        f[k] = (1.0 - 0.5 / k as f64) * f[k - 1];
    }
    f
}

/// Numbers in (−1, 1) from a multiplicative generator, so that the matrices are the same in every
/// run.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

fn participation(k: u64, b: u64) -> Participation {
    Participation::at_most(k, b).unwrap()
}

#[track_caller]
fn assert_equal_from_above(bound: f64, truth: f64) {
    assert!(bound >= truth, "{bound} is below {truth}");
    assert!(bound <= truth * (1.0 + 2.0 * MARGIN), "{bound} is too far above {truth}");
}

#[test]
fn toeplitz_formula_is_exact_for_monotone_coefficients() {
    for n in 1..=9 {
        let constant = vec![1.0; n];
        let steep: Vec<f64> = (0..n).map(|t| 0.3_f64.powi(t as i32)).collect();
        let banded: Vec<f64> =
            square_root(n).into_iter().enumerate().map(|(t, f)| if t < 3 { f } else { 0.0 }).collect();
        for c in [square_root(n), constant, steep, banded] {
            for k in 1..=n as u64 + 1 {
                for b in 1..=n as u64 + 1 {
                    let truth = brute_force(&toeplitz(&c), k, b);
                    assert_equal_from_above(toeplitz_sensitivity(&c, participation(k, b)), truth);
                }
            }
        }
    }
}

#[test]
fn toeplitz_formula_is_exact_at_twelve_steps() {
    let c = square_root(12);
    for (k, b) in [(12, 1), (5, 1), (3, 2), (2, 5), (4, 3), (12, 12)] {
        let truth = brute_force(&toeplitz(&c), k, b);
        assert_equal_from_above(toeplitz_sensitivity(&c, participation(k, b)), truth);
    }
}

#[test]
fn toeplitz_bound_holds_for_any_coefficients() {
    for seed in 0..40 {
        let mut next = numbers(seed);
        let n = 1 + seed as usize % 8;
        let c: Vec<f64> = (0..n).map(|_| next()).collect();
        for k in 1..=n as u64 {
            for b in 1..=n as u64 {
                let truth = brute_force(&toeplitz(&c), k, b);
                let bound = toeplitz_sensitivity(&c, participation(k, b));
                let triangle =
                    participation(k, b).bounded(n as u64) as f64 * norms(&toeplitz(&c)).next().unwrap();
                assert!(bound >= truth, "{c:?}, k = {k}, b = {b}: {bound} is below {truth}");
                assert!(
                    bound <= triangle * (1.0 + 2.0 * MARGIN),
                    "{c:?}: worse than the triangle inequality"
                );
                if k == 1 {
                    assert_equal_from_above(bound, truth);
                }
            }
        }
    }
}

#[test]
fn the_formula_itself_fails_for_increasing_coefficients() {
    // This is why the coefficients are checked: here steps 0 and 2 are worse than steps 0 and 1.
    let c = [0.0, 0.0, 1.0, 0.0, 1.0];
    let truth = brute_force(&toeplitz(&c), 2, 1);
    let naive = norm_of_stacked_shifts(&c, participation(2, 1));
    assert!(naive < 0.9 * truth);
    assert!(toeplitz_sensitivity(&c, participation(2, 1)) >= truth);
}

#[test]
fn column_bound_holds_for_any_matrix() {
    for seed in 0..40 {
        let mut next = numbers(1000 + seed);
        let n = 1 + seed as usize % 8;
        let columns: Columns = (0..n).map(|_| (0..n).map(|_| next()).collect()).collect();
        for k in 1..=n as u64 {
            for b in 1..=n as u64 {
                let truth = brute_force(&columns, k, b);
                let bound = columns_sensitivity(norms(&columns), participation(k, b), n);
                assert!(bound >= truth, "k = {k}, b = {b}: {bound} is below {truth}");
                let list: Vec<f64> = norms(&columns).collect();
                let steps = participation(k, b).bounded(n as u64);
                assert!(bound <= round_up(largest_blocks(&list, steps, b as usize), 2.0 * MARGIN));
                if k == 1 {
                    assert_equal_from_above(bound, truth);
                }
            }
        }
    }
}

#[test]
fn best_pattern_is_found() {
    for seed in 0..20 {
        let mut next = numbers(2000 + seed);
        let n = 1 + seed as usize % 10;
        let list: Vec<f64> = (0..n).map(|_| next().abs()).collect();
        // Equal directions: the norm of a sum of parallel columns is the sum of their norms.
        let columns: Columns =
            list.iter().map(|&x| (0..n).map(|t| if t == 0 { x } else { 0.0 }).collect()).collect();
        for k in 1..=n as u64 {
            for b in 1..=n as u64 {
                let bound = columns_sensitivity(list.iter().copied(), participation(k, b), n);
                assert_equal_from_above(bound, brute_force(&columns, k, b));
            }
        }
    }
}

#[test]
fn long_streams_fall_back_to_blocks() {
    let n = 1 << 16;
    let wave = |t: usize| 1.0 + (t as f64).sin();
    let bound = columns_sensitivity((0..n).map(wave), participation(1 << 12, 4), n);
    let best = best_pattern(&(0..n).map(wave).collect::<Vec<_>>(), 1 << 12, 4);
    assert!(bound >= best && bound <= 1.2 * best, "{bound} against {best}");
}

#[test]
fn windows_agree_with_the_definition_on_a_longer_stream() {
    let c = square_root(3000);
    for (k, b) in [(1, 1), (7, 100), (30, 100), (1000, 1), (3000, 1), (2, 2999), (5, 4000)] {
        let mut sum = vec![0.0; c.len()];
        for j in 0..participation(k, b).bounded(3000) {
            let shift = (j * b) as usize;
            for (s, f) in sum[shift..].iter_mut().zip(&c) {
                *s += f;
            }
        }
        let truth = sum.iter().map(|s| s * s).sum::<f64>().sqrt();
        let bound = toeplitz_sensitivity(&c, participation(k, b));
        assert!(
            (bound / truth - 1.0 - MARGIN).abs() < MARGIN / 4.0,
            "k = {k}, b = {b}: {bound} against {truth}"
        );
    }
}

#[test]
fn extreme_coefficients_stay_sound() {
    let single = Participation::single();
    assert_eq!(toeplitz_sensitivity(&[], single), 0.0);
    assert_eq!(toeplitz_sensitivity(&[0.0, 0.0], single), 0.0);
    assert!(toeplitz_sensitivity(&[1e-200, 1e-200], single) >= 1e-200 * 2.0_f64.sqrt());
    let large = toeplitz_sensitivity(&[1e200, 1e200], single);
    assert!(large.is_finite() && large >= 1e200 * 2.0_f64.sqrt());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(toeplitz_sensitivity(&[1.0, bad], single), f64::INFINITY);
        assert_eq!(columns_sensitivity([1.0, bad].into_iter(), single, 2), f64::INFINITY);
    }
    assert_eq!(columns_sensitivity(std::iter::empty(), single, 0), 0.0);
    let huge = participation(u64::MAX, u64::MAX);
    assert_equal_from_above(toeplitz_sensitivity(&[1.0, 1.0], huge), 2.0_f64.sqrt());
    assert_equal_from_above(columns_sensitivity([1.0, 1.0].into_iter(), huge, 2), 1.0);
}

#[test]
fn compensated_sum_keeps_small_terms() {
    let mut sum = CompensatedSum::default();
    sum.add(1.0);
    for _ in 0..1_000_000 {
        sum.add(1e-17);
    }
    assert!((sum.value() - (1.0 + 1e-11)).abs() < 1e-15);
    sum.add(f64::INFINITY);
    assert_eq!(sum.value(), f64::INFINITY);
}

#[test]
fn small_terms_survive_large_ones() {
    let mut sum = CompensatedSum::default();
    [1e100, 1.0, -1e100, 2.0_f64.powi(-60)].into_iter().for_each(|term| sum.add(term));
    assert_eq!(sum.value(), 1.0 + 2.0_f64.powi(-60));
    let mut tenths = CompensatedSum::default();
    (0..1_000_000).for_each(|_| tenths.add(0.1));
    assert_eq!(tenths.value(), 100_000.0);
}
