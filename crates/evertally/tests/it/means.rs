//! Means hold the truth as often as they say, for any number of events and at any ε.
//!
//! Coverage is computed here, not drawn: the two totals are released on a lattice, and the probability of
//! every point of it follows from the law of the noise. The interval of each point either holds the true
//! mean or does not.

use evertally::post::BoundedMean;
use evertally::{Budget, Contribution, KeyedCounter, NoiseKey, Plan, Release, Spread, Tail};
use std::f64::consts::SQRT_2;

const LEVEL: f64 = 0.95;

/// A plan whose values lie in a range of this width.
fn plan(budget: Budget, steps: u64, width: f64, grid: f64) -> Plan {
    let split = Contribution::range(0.0, width).unwrap().split_between(2).unwrap();
    let plan = Plan::prefix_sum(steps).budget(budget).contribution(split).grid(grid);
    plan.keys(["above", "below"]).build().unwrap()
}

fn normal_below(x: f64, deviation: f64) -> f64 {
    0.5 * libm::erfc(-x / (deviation * SQRT_2))
}

/// The points of the grid that a total is released as, with their probabilities.
fn lattice(total: f64, grid: f64, deviation: f64) -> Vec<(f64, f64)> {
    let reach = (6.0 * deviation / grid).ceil() as i64 + 1;
    let middle = (total / grid).round();
    let point = |k: i64| {
        let at = (middle + k as f64) * grid;
        let mass = |end: f64| normal_below(at + end * grid - total, deviation);
        (at, mass(0.5) - mass(-0.5))
    };
    (-reach..=reach).map(point).collect()
}

/// How often the intervals of the mean, the count and the sum hold the truth, if the noise of each total
/// has this deviation.
fn coverage(
    mean: BoundedMean,
    values: &[f64],
    range: (f64, f64),
    spread: &Spread,
    deviation: f64,
) -> [f64; 3] {
    let grid = 1.0;
    let (lo, hi) = range;
    let above: f64 = values.iter().map(|x| x - lo).sum();
    let below: f64 = values.iter().map(|x| hi - x).sum();
    let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
    let quantile = spread.tail.quantile(LEVEL);
    let mut held = [0.0; 3];
    for (one, one_mass) in lattice(above, grid, deviation) {
        for (other, other_mass) in lattice(below, grid, deviation) {
            let totals = [&spread.around(one), &spread.around(other)];
            let ends = mean.mean(totals, quantile);
            let near = |combined: evertally::post::Combined, truth: f64| {
                (combined.value - truth).abs() <= combined.margin
            };
            let holds = [
                ends.lower <= sum / count && sum / count <= ends.upper,
                near(mean.count(totals, quantile), count),
                near(mean.sum(totals, quantile), sum),
            ];
            for (held, holds) in held.iter_mut().zip(holds) {
                *held += if holds { one_mass * other_mass } else { 0.0 };
            }
        }
    }
    held
}

/// Few events with values at the ends of the range, in its middle, and apart; and many.
fn values((lo, hi): (f64, f64)) -> Vec<Vec<f64>> {
    let middle = f64::midpoint(lo, hi).floor();
    vec![
        vec![lo],
        vec![hi],
        vec![middle],
        vec![lo, hi],
        vec![lo, lo, hi],
        vec![hi; 3],
        vec![lo + 1.0; 7],
        [vec![hi; 30], vec![lo; 10]].concat(),
        vec![hi; 400],
    ]
}

/// Each plan has noise from a fifth of the grid to ten times the grid.
fn each_case(mut check: impl FnMut(f64, [f64; 3], [f64; 3])) {
    for epsilon in [0.7, 2.0, 6.0, 17.0, 40.0] {
        for range in [(0.0, 1.0), (-2.0, 3.0)] {
            let plan = plan(Budget::new(epsilon, 1e-6).unwrap(), 3, range.1 - range.0, 1.0);
            let spread = plan.spread(2).unwrap();
            let row = plan.dense().unwrap().decoder.row_norm_squared(2).sqrt();
            let deviation = plan.noise_scale() * row;
            if deviation > 12.0 {
                continue;
            }
            let mean = BoundedMean::new(range.0, range.1).unwrap();
            for values in values(range) {
                let held = coverage(mean, &values, range, &spread, deviation);
                let short = coverage(mean, &values, range, &spread, deviation / 0.85);
                check(deviation, held, short);
            }
        }
    }
}

#[test]
fn intervals_of_means_hold_the_truth() {
    let (mut checked, mut failed_if_short) = (0, 0);
    each_case(|deviation, held, short| {
        // What lies beyond six deviations is not added up.
        assert!(held.iter().all(|held| *held >= LEVEL - 1e-8), "deviation {deviation}: {held:?}");
        checked += 1;
        failed_if_short += u32::from(short.iter().any(|held| *held < LEVEL - 1e-8));
    });
    // If the noise that is stated were 15 % less than the noise that is added, this test would fail.
    assert!(checked >= 50 && failed_if_short >= 10, "{failed_if_short} of {checked}");
}

/// A value that is split between two keys moves no further than a whole one, and touches more lanes: the
/// noise is larger by what more roundings cost, and by no more.
#[test]
fn splitting_costs_roundings_alone() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let whole = Contribution::range(0.0, 10.0).unwrap();
    let scale = |contribution| {
        let plan = Plan::prefix_sum(1000).budget(budget).contribution(contribution).keys(["a", "b"]);
        plan.build().unwrap().noise_scale()
    };
    let ratio = scale(whole.split_between(2).unwrap()) / scale(whole);
    assert!(ratio > 1.0 + 1e-12 && ratio < 1.0 + 1e-6, "{ratio:e}");
    let alone = Plan::prefix_sum(9).budget(budget).contribution(whole.split_between(2).unwrap());
    assert!(alone.build().is_err(), "there are no keys to split a value between");
}

/// With enough events, the interval is no wider than it must be.
#[test]
fn intervals_of_means_are_tight() {
    let plan = plan(Budget::new(1.0, 1e-6).unwrap(), 3, 10.0, 1.0);
    let spread = plan.spread(2).unwrap();
    let deviation = plan.noise_scale() * plan.dense().unwrap().decoder.row_norm_squared(2).sqrt();
    // The mean of A and B on a lattice of their differences: D at the true p is what decides.
    let (above, below) = (70_000.0, 30_000.0);
    let mean = BoundedMean::new(0.0, 10.0).unwrap();
    let quantile = spread.tail.quantile(LEVEL);
    let points = 600;
    let noise = |k: i32| deviation * 6.0 * f64::from(k) / f64::from(points);
    let mass = |k: i32| normal_below(noise(k + 1), deviation) - normal_below(noise(k - 1), deviation);
    let (mut held, mut all) = (0.0, 0.0);
    for one in (-points..=points).step_by(2) {
        for other in (-points..=points).step_by(2) {
            let totals = [&spread.around(above + noise(one)), &spread.around(below + noise(other))];
            let ends = mean.mean(totals, quantile);
            let mass = mass(one) * mass(other);
            all += mass;
            held += if ends.lower <= 7.0 && 7.0 <= ends.upper { mass } else { 0.0 };
        }
    }
    let share = held / all;
    assert!((LEVEL - 0.003..LEVEL + 0.01).contains(&share), "{share}");
}

/// Real releases under pure ε, whose noise is a sum of Laplace variables, and under (ε, δ). With 4,000
/// groups of three events, the share of intervals that miss is at most 5 % plus five standard deviations of
/// a binomial, which a sound run exceeds with probability 3e-7 for each of the two.
#[test]
fn drawn_means_hold_the_truth() {
    const GROUPS: usize = 4000;
    for (budget, is_pure) in [(Budget::new(8.0, 1e-6).unwrap(), false), (Budget::pure(8.0).unwrap(), true)] {
        let names = (0..2 * GROUPS).map(|lane| lane.to_string());
        let split = Contribution::range(0.0, 1.0).unwrap().split_between(2).unwrap();
        let plan = Plan::prefix_sum(3).budget(budget).contribution(split).keys(names).build().unwrap();
        let mut counter = KeyedCounter::new(&plan, NoiseKey::insecure_from_seed(7)).unwrap();
        let mean = BoundedMean::new(0.0, 1.0).unwrap();
        for _ in 0..3 {
            // In each step and group, one event of value 1 and two of value 0.
            let releases: Vec<Release> = counter.step(&[1.0, 2.0].repeat(GROUPS)).unwrap();
            let quantile = releases[0].tail.quantile(LEVEL);
            assert_eq!(releases[0].tail != Tail::Gaussian, is_pure);
            let missed = releases.as_chunks::<2>().0.iter().filter(|[above, below]| {
                let ends = mean.mean([above, below], quantile);
                !(ends.lower <= 1.0 / 3.0 && 1.0 / 3.0 <= ends.upper)
            });
            let (missed, groups) = (missed.count() as f64, GROUPS as f64);
            let most = groups * 0.05 + 5.0 * (groups * 0.05 * 0.95).sqrt();
            assert!(missed <= most, "{missed} of {groups}");
        }
    }
}
