//! Compares bounds with the reference table, with direct sums, and with each other.

use std::f64::consts::PI;

use evertally::privacy::gaussian_sigma;
use evertally::research::bounds::*;
use evertally::{Budget, Error, Mechanism, Plan};
use serde_json::Value;

fn close(interval: Interval, expected: f64, tolerance: f64) {
    assert!(interval.lower <= interval.upper);
    assert!((interval.lower / expected - 1.0).abs() < tolerance, "{interval:?} {expected}");
    assert!((interval.upper / expected - 1.0).abs() < tolerance, "{interval:?} {expected}");
}

#[test]
fn figures_match_the_reference_table() {
    let table: Vec<Value> = serde_json::from_str(include_str!("../data/error-factors.json")).unwrap();
    for row in table {
        let n = row["n"].as_u64().unwrap();
        let figure = |name: &str| row[name].as_f64().unwrap();
        close(paper_upper_mean(n).unwrap(), figure("paper_upper_mean"), 1e-9);
        close(paper_lower_mean(n).unwrap(), figure("paper_lower_mean"), 1e-9);
        close(nuclear_mean_error(n).unwrap(), figure("nuclear_lower_bound_mean"), 1e-9);
        close(square_root_mean_error(n).unwrap(), row["square_root"]["mean"].as_f64().unwrap(), 1e-9);
        close(square_root_max_error(n).unwrap(), row["square_root"]["max"].as_f64().unwrap(), 1e-9);
        close(binary_tree_mean_error(n).unwrap(), row["binary"]["mean"].as_f64().unwrap(), 1e-9);
    }
}

#[test]
fn expansions_hold_the_direct_sums() {
    // Compensated, so that four million terms cost no digits.
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    let (mut total, mut total_lost) = (0.0_f64, 0.0_f64);
    let mut coefficient = 1.0_f64;
    let add = |sum: &mut f64, lost: &mut f64, term: f64| {
        let next = *sum + term;
        *lost += if *sum >= term { (*sum - next) + term } else { (term - next) + *sum };
        *sum = next;
    };
    for n in 1..=1_u64 << 22 {
        add(&mut sum, &mut lost, coefficient * coefficient);
        coefficient *= 1.0 - 0.5 / n as f64;
        add(&mut total, &mut total_lost, sum + lost);
        if n < 300 || n.is_power_of_two() || n % 99_991 == 0 {
            let tolerance = if n < 300 { 1e-13 } else { 1e-12 };
            close(square_root_row_norm_squared(n).unwrap(), sum + lost, tolerance);
            close(square_root_decoder_mean(n).unwrap(), (total + total_lost) / n as f64, tolerance);
        }
    }
    for n in (1..=200_u64).chain([1000, 4097, 1 << 16, (1 << 22) - 3]) {
        let (mut sum, mut lost) = (0.0, 0.0);
        for i in (1..=n).rev() {
            let angle = (2 * i - 1) as f64 * PI / (4 * n + 2) as f64;
            add(&mut sum, &mut lost, 0.5 / angle.sin());
        }
        close(nuclear_norm(n).unwrap(), sum + lost, 2e-13);
    }
}

#[test]
fn claims_hold_from_where_the_report_says() {
    // From the definitions alone: running sums of f² and of one-bits, and the closed forms written
    // out.
    let (mut row, mut rows, mut coefficient, mut ones) = (0.0_f64, 0.0_f64, 1.0_f64, 0_u64);
    for n in 1..=1_u64 << 20 {
        let x = n as f64;
        row += coefficient * coefficient;
        coefficient *= 1.0 - 0.5 / x;
        rows += row;
        ones += u64::from(n.count_ones());
        let closed = 1.0 + (0.8 * x).ln() / PI;
        let factor = row * rows / x;
        let levels = f64::from(n.next_power_of_two().trailing_zeros() + 1);
        let ratio = ones as f64 / x * levels / factor;
        let rounding = 1.0 + 1e-9;
        assert_eq!(factor <= closed * closed, n >= 7, "Theorem 2, n = {n}");
        assert_eq!(rows / x <= closed, n >= 2, "the norm of L, n = {n}");
        assert!(row > closed, "the norm of R, n = {n}");
        assert!(row > 1.0 + ((4.0 * x - 3.0) / 5.0).ln() / PI, "the norm of a row, t = {n}");
        assert!(row <= (1.0 + (4.0 * x - 3.0).ln() / PI) * rounding, "its correction, t = {n}");
        assert!(factor <= (1.0 + x.ln() / PI).powi(2) * rounding, "Corollary 39, n = {n}");
        assert!(ratio >= x.log2() * (1.0 + x.log2()) / 2.0 / closed.powi(2), "Theorem 5, n = {n}");
    }
    // The additive gap passes ten between 2^35 and 2^36, and only there.
    for m in 1..=60 {
        assert_eq!(paper_additive_gap(1 << m).unwrap().lower > 10.0, m >= 36);
    }
}

#[test]
fn shortfalls_match_their_definitions() {
    // Two steps by hand: G = (1, 5/4).
    assert!((fresh_noise_shortfall(2).unwrap() - ((1.0 + 0.8) / 1.25_f64).sqrt()).abs() < 1e-14);
    let second = 0.8_f64.sqrt() - 0.5;
    assert!((growing_scale_shortfall(2).unwrap() - (1.0 + second * second).sqrt()).abs() < 1e-13);
    assert!(fresh_noise_shortfall((1 << 22) + 1).is_err() && growing_scale_shortfall(0).is_err());
    assert!(regret(8, f64::NAN, 1, 1.0, 1.0).is_err() && regret(8, 1.0, 1, 0.0, 1.0).is_err());
    // The corrected regret is the least value of a/λ + λ‖θ‖²/2n.
    let (n, sigma) = (1000_u64, 3.0);
    let a = 1.0 + sigma * 7.0_f64.sqrt() * square_root_mean_error(n).unwrap().upper.sqrt();
    let least = (1..10_000)
        .map(|i| f64::from(i) * 0.1)
        .map(|lambda| a / lambda + lambda * 4.0 / (2.0 * n as f64))
        .fold(f64::INFINITY, f64::min);
    let corrected = regret(n, 1.0, 7, 2.0, sigma).unwrap().corrected;
    assert!((corrected / least - 1.0).abs() < 1e-5, "{corrected} {least}");
    // Regret scales with length: gradients twice as long, with noise in proportion, cost twice as
    // much.
    close_to(regret(n, 2.0, 7, 2.0, sigma).unwrap().corrected, 2.0 * corrected);
}

fn close_to(one: f64, other: f64) {
    assert!((one / other - 1.0).abs() < 1e-13, "{one} {other}");
}

/// Plays the paper's algorithm step by step, without noise, at the paper's λ, and compares with the
/// closed form of what it attains. That exceeds the printed figure as soon as there are enough
/// steps for the push.
#[test]
fn what_the_papers_algorithm_attains_is_played() {
    for (n, kappa, d, norm, sigma) in [
        (1000_u64, 1.0, 1, 1.0, 5.0),
        (1001, 2.0, 9, 0.5, 3.0),
        (4000, 0.5, 4, 3.0, 5.0),
        (3, 1.0, 1, 1.0, 5.0),
    ] {
        let bounds = regret(n, kappa, d, norm, sigma).unwrap();
        let closed = paper_upper_mean(n).unwrap().upper.sqrt();
        let a = closed * (kappa * kappa + kappa * sigma * f64::from(d).sqrt());
        let lambda = (2.0 * n as f64 * a).sqrt() / norm;
        let best = (0..=n)
            .filter(|pushes| (n - pushes) % 2 == 0)
            .map(|pushes| {
                let (mut sum, mut loss) = (0.0_f64, 0.0);
                for t in 0..n {
                    let gradient = if t < n - pushes && t % 2 == 1 { -kappa } else { kappa };
                    loss -= gradient * sum / lambda;
                    sum += gradient;
                }
                (loss + norm * sum) / n as f64
            })
            .fold(f64::NEG_INFINITY, f64::max);
        assert!((bounds.attained / best - 1.0).abs() < 1e-9, "{n}: {} {best}", bounds.attained);
        assert_eq!(bounds.attained > bounds.paper, n > 3, "{n}: {} {}", bounds.attained, bounds.paper);
        assert!(bounds.attained < bounds.corrected);
    }
}

#[test]
fn expansions_join_where_the_sums_stop() {
    // A step in either would show as a break in the differences, which are 1/πn to first order.
    for n in 60..70_u64 {
        let step = square_root_row_norm_squared(n + 1).unwrap().middle()
            - square_root_row_norm_squared(n).unwrap().middle();
        let f = evertally::internals::noise::square_root_coefficient(n);
        assert!((step - f * f).abs() < 1e-13, "{n}");
    }
}

#[test]
fn the_tree_is_counted_exactly() {
    let mut ones = 0_u128;
    for n in 1..5000_u64 {
        ones += u128::from(n.count_ones());
        assert_eq!(binary_tree_ones(n).unwrap(), ones);
    }
    for m in 0..=60 {
        let n = 1_u128 << m;
        assert_eq!(binary_tree_ones(1 << m).unwrap(), n * m / 2 + 1);
    }
    for m in 0..=60 {
        let exact = binary_tree_mean_error(1 << m).unwrap() / square_root_mean_error(1 << m).unwrap();
        close(tree_ratio_at_power(m).unwrap(), exact.middle(), 1e-12);
    }
    assert!(tree_ratio_at_power(1001).is_err());
}

#[test]
fn bounds_are_ordered_at_every_horizon() {
    for n in (1..3000_u64).chain((12..=60).flat_map(|m| [(1 << m) - 1, 1 << m, ((1 << m) + 1).min(1 << 60)]))
    {
        let (closed, nuclear) = (paper_lower_mean(n).unwrap(), nuclear_mean_error(n).unwrap());
        let (exact, upper) = (square_root_mean_error(n).unwrap(), paper_upper_mean(n).unwrap());
        assert!(closed.upper < nuclear.lower, "{n}");
        assert!(nuclear.lower <= exact.upper, "{n}");
        assert_eq!(upper.lower >= exact.upper, n >= 7, "{n}");
        let row = square_root_row_norm_squared(n).unwrap();
        assert!(paper_row_norm_squared(n).unwrap().upper < row.lower, "{n}");
        assert!(row_norm_squared_bound(n).unwrap().upper >= row.lower, "{n}");
        assert!(paper_corollary_mean(n).unwrap().upper >= exact.lower, "{n}");
    }
}

#[test]
fn certificates_lie_between_the_bounds() {
    for n in [1_u64, 2, 7, 64] {
        let budget = Budget::new(0.5, 1e-6).unwrap();
        let plan = Plan::prefix_sum(n).budget(budget).mechanism(Mechanism::Optimal);
        let optimal = plan.compare(&()).unwrap().optimal.unwrap();
        let certified = Interval { lower: optimal.lower, upper: optimal.upper };
        let table = bounds(n, 0.5, 1e-6, Some(certified)).unwrap();
        let of = |group: Group, name: &str| {
            table.iter().find(|b| b.group == group && b.name == name).unwrap().value.clone()
        };
        for group in [Group::AnyMechanism, Group::Oblivious, Group::MatrixMechanism] {
            let (nuclear, best) = (of(group, "nuclear-norm").unwrap(), of(group, "certified").unwrap());
            // At n = 1 they are equal, and differ by their margins.
            assert!(nuclear <= best * (1.0 + 1e-10), "{n} {group:?}");
            assert!(best <= of(Group::Attained, "certified").unwrap(), "{n} {group:?}");
        }
        assert!(
            of(Group::Attained, "certified").unwrap()
                <= of(Group::Attained, "square-root").unwrap() * (1.0 + 1e-9)
        );
    }
}

#[test]
fn the_constant_is_below_every_gaussian_and_above_the_papers() {
    for epsilon in [1e-6, 1e-4, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 20.0, 300.0, 1000.0] {
        let pure = oblivious_constant(epsilon, 0.0).unwrap();
        let mut last = pure;
        for delta in [1e-300, 1e-30, 1e-10, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999] {
            let constant = oblivious_constant(epsilon, delta).unwrap();
            assert!(constant <= last && constant >= 0.0);
            last = constant;
            let sigma = gaussian_sigma(epsilon, delta).unwrap();
            assert!(constant < sigma * sigma, "{epsilon} {delta}: {constant} {sigma}");
        }
        // The Laplace mechanism is private with δ = 0 and scale 1/ε.
        assert!(pure < 2.0 / (epsilon * epsilon));
        for reach in [Reach::Oblivious, Reach::Any] {
            let paper = paper_constant(epsilon, reach).unwrap();
            assert!(paper <= pure, "{epsilon}");
            let limit = largest_paper_delta(epsilon, reach).unwrap();
            assert!(oblivious_constant(epsilon, limit).unwrap() >= paper);
            assert!(limit <= (-epsilon).exp() / 4.0);
        }
    }
    // A large δ leaves few shifts to compare. They are used even if ε is tiny: at least k = 1.
    assert!(oblivious_constant(1e-6, 0.1).unwrap() > 0.25 * 0.9);
    // Small ε: Σ q_k(2k−1)/4 tends to ∫y/(1+e^y)dy/ε² = π²/12ε².
    let small = oblivious_constant(1e-5, 0.0).unwrap() * 1e-10;
    assert!((small / (PI * PI / 12.0) - 1.0).abs() < 2e-3, "{small}");
}

#[test]
fn a_gaussian_passes_the_papers_bound_where_its_condition_is_too_wide() {
    // ε = 0.01 and δ = 0.1 satisfy δ ≤ 1/4e^ε, but noise that is private there has a far smaller
    // error.
    let (epsilon, delta, n) = (0.01, 0.1, 1024);
    assert!(delta <= f64::exp(-epsilon) / 4.0);
    let sigma = gaussian_sigma(epsilon, delta).unwrap();
    let error = sigma * sigma * square_root_mean_error(n).unwrap().upper;
    for reach in [Reach::Oblivious, Reach::Any] {
        assert!(error < paper_constant(epsilon, reach).unwrap() * paper_lower_mean(n).unwrap().lower);
        assert!(delta > largest_paper_delta(epsilon, reach).unwrap());
    }
}

#[test]
fn conditions_are_enforced() {
    for n in [0, (1 << 60) + 1, u64::MAX] {
        assert!(matches!(bounds(n, 1.0, 1e-6, None), Err(Error::BadParameter { name: "horizon", .. })));
        assert!(nuclear_norm(n).is_err() && binary_tree_ones(n).is_err() && paper_upper_mean(n).is_err());
    }
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 2000.0] {
        assert!(matches!(bounds(8, epsilon, 1e-6, None), Err(Error::BadParameter { name: "epsilon", .. })));
    }
    for delta in [-1e-9, 1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(bounds(8, 0.5, delta, None), Err(Error::BadParameter { name: "delta", .. })));
    }
    let table = bounds(4, 1.0, 0.24, None).unwrap();
    let applies = |group: Group, name: &str| {
        table.iter().find(|b| b.group == group && b.name == name).unwrap().value.is_ok()
    };
    // ε = 1 is outside the paper's calibration, δ above 1/4e, n below 7.
    assert!(!applies(Group::MatrixMechanism, "paper-closed-form"));
    assert!(!applies(Group::AnyMechanism, "paper-closed-form"));
    assert!(!applies(Group::Attained, "paper-closed-form"));
    assert!(applies(Group::Oblivious, "nuclear-norm") && applies(Group::Attained, "square-root"));
    assert!(bounds(4, 1.0, 1e-6, Some(Interval { lower: 0.1, upper: 0.2 })).is_err());
    assert!(parity_gamma(0, 0).is_err() && parity_gamma(4, 5).is_err() && parity_gamma(1001, 1).is_err());
}

#[test]
fn parities_reach_their_bound() {
    for d in 1..=8_u32 {
        for w in 0..=d {
            let queries: Vec<u32> = (0..1_u32 << d).filter(|set| set.count_ones() == w).collect();
            let gamma = parity_gamma(d, w).unwrap();
            assert!(gamma.lower <= queries.len() as f64 && queries.len() as f64 <= gamma.upper);
            // S Sᵀ = 2^d I: the rows are orthogonal, so the nuclear norm is 2^{d/2} times their
            // number.
            for p in &queries {
                for q in &queries {
                    let inner: i64 =
                        (0..1_u32 << d).map(|x| 1 - 2 * i64::from(((x & (p ^ q)).count_ones()) % 2)).sum();
                    assert_eq!(inner, if p == q { 1 << d } else { 0 });
                }
            }
        }
    }
    close(parity_gamma(30, 15).unwrap(), 155_117_520.0, 1e-12);
    close(parity_gamma(1000, 500).unwrap(), 2.702_882_409_454_366e299, 1e-11);
    let parity = parity_bounds(10, 3, 0.5, 1e-6).unwrap();
    assert!(parity.paper.unwrap() < parity.any_mechanism.clone().unwrap());
    assert!(parity.any_mechanism.unwrap() < parity.matrix_mechanism.unwrap());
    assert!(parity_bounds(10, 3, 0.01, 0.2).unwrap().paper.is_err());
}

#[test]
fn no_bound_is_negative() {
    // At this ε the constant is below every float.
    for bound in bounds(10, 1000.0, 0.3, None).unwrap() {
        assert!(bound.value.is_err() || bound.value.clone().unwrap() >= 0.0, "{bound:?}");
    }
    assert!(parity_bounds(10, 2, 1000.0, 0.3).unwrap().any_mechanism.unwrap() >= 0.0);
}
