//! The stated power is compared with the decisions of the test.

use super::*;
use crate::attacks::game;
use crate::keys::Coins;
use crate::report::{Game, Verdict};
use crate::statistics::binomial;
use std::f64::consts::TAU;

const SHARE: f64 = 1e-5;

fn target(noise: NoiseKind) -> Target {
    Target { epsilon: 1.0, delta: 1e-6, mu: 0.25, noise }
}

/// The number of games that the separation test fails, with noise short by `short` and a statistic
/// whose variance has a part `rounding` from rounding.
fn found(rule: &Rule, games: usize, runs: usize, short: f64, seed: u64) -> usize {
    let target = target(rule.noise);
    let separation = rule.ratio * target.mu;
    let deviation = ((1.0 - short).powi(2) * (1.0 - rule.rounding) + rule.rounding).sqrt();
    let mut coins = Coins::seeded(seed);
    let mut uniform = || ((coins.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
    let mut draw = || match rule.noise {
        // Box and Muller.
        NoiseKind::Gaussian => (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos(),
        // The difference of two exponentials, of variance one.
        NoiseKind::Laplace => (uniform() / uniform()).ln() / std::f64::consts::SQRT_2,
    };
    let mut values = |mean: f64| (0..runs).map(|_| mean + deviation * draw()).collect::<Vec<f64>>();
    let fails = |_: &usize| {
        let game = Game { without: values(0.0), with: values(separation), separation };
        game::separation(&game, &target, rule.share).verdict == Verdict::Failed
    };
    (0..games).filter(fails).count()
}

/// The probabilities of at most and of at least `misses` misses, if each game is missed with
/// probability q.
fn tails(games: usize, misses: usize, q: f64) -> (f64, f64) {
    let masses = binomial::masses(games, q);
    (masses[..=misses].iter().sum(), masses[misses..].iter().sum())
}

/// A correct power is refused here once in 10⁶ times per case. Seeds are fixed, so a passing test
/// keeps passing. The share of misses is compared from both sides: the power is neither overstated
/// nor understated. Slightly less short noise is found less often, and the same comparison detects
/// that.
#[test]
fn gaussian_noise_is_found_as_often_as_stated() {
    for (case, (ratio, rounding, runs)) in
        [(1.0, 0.0, 150), (1.0, 0.02, 400), (0.96, 0.0, 300)].into_iter().enumerate()
    {
        let rule = Rule { ratio, rounding, noise: NoiseKind::Gaussian, freedom: 1.0, share: SHARE };
        let power = rule.power(runs).unwrap();
        let games = 3000;
        let misses = games - found(&rule, games, runs, power.short, case as u64);
        let (few, many) = tails(games, misses, 1.0 - power.probability);
        assert!(few > 5e-7 && many > 5e-7, "case {case}: {misses} misses of {games} at {power:?}");
        let less = games - found(&rule, games, runs, 0.9 * power.short, case as u64);
        let (_, many) = tails(games, less, 1.0 - power.probability);
        assert!(many < 1e-9, "case {case}: {less} misses of {games} at less than {power:?}");
    }
}

/// Noise that is not short fails at the rate of the share, so hardly ever in these games: the power
/// does not come from false alarms. The probability of one failure among 3,000 is 3 %, of three
/// below 10⁻⁵.
#[test]
fn noise_that_is_not_short_is_not_found() {
    let rule = Rule { ratio: 1.0, rounding: 0.0, noise: NoiseKind::Gaussian, freedom: 1.0, share: SHARE };
    assert!(found(&rule, 3000, 150, 0.0, 9) < 3);
}

/// For Laplace noise the stated power is a proven lower bound. A correct bound is refused once in
/// 10⁶ times.
#[test]
fn laplace_noise_is_found_at_least_as_often_as_stated() {
    let rule = Rule { ratio: 1.0, rounding: 0.0, noise: NoiseKind::Laplace, freedom: 0.4, share: SHARE };
    let power = rule.power(1000).unwrap();
    let misses = 500 - found(&rule, 500, 1000, power.short, 3);
    assert!(tails(500, misses, 1.0 - power.probability).1 > 1e-6, "{misses} misses at {power:?}");
}

#[test]
fn the_runs_are_the_fewest_that_find_it() {
    let rule = Rule { ratio: 1.0, rounding: 0.001, noise: NoiseKind::Gaussian, freedom: 1.0, share: SHARE };
    for short in [0.3, 0.15, 0.05, 0.01] {
        let runs = rule.runs(short, 100, 1 << 22).unwrap();
        assert!(rule.power(runs).unwrap().short <= short, "{short}");
        assert!(runs == 100 || rule.power(runs - 1).unwrap().short > short, "{short}: {runs}");
    }
    assert_eq!(rule.runs(0.9, 100, 1 << 22).unwrap(), 100);
}

#[test]
fn what_no_number_of_runs_finds_is_refused() {
    let rule = Rule { ratio: 1.0, rounding: 0.0, noise: NoiseKind::Gaussian, freedom: 1.0, share: SHARE };
    for bad in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
        let error = rule.runs(bad, 100, 10_000).unwrap_err().to_string();
        assert!(error.starts_with("power must be a shortage above 0 % and below 100 %, got"), "{error}");
    }
    let error = rule.runs(0.01, 100, 10_000).unwrap_err().to_string();
    assert!(error.contains("at least 3.4 %, which 10000 runs find"), "{error}");
    // The noise is a tenth larger than required. A smaller shortage keeps the promise, so no number
    // of runs finds it.
    let generous = Rule { ratio: 0.9, ..rule };
    assert!(generous.power(1 << 22).unwrap().short > 0.1);
    // The statistic consists of rounding only.
    let coarse = Rule { rounding: 0.99, ..rule };
    assert_eq!(coarse.power(200), None);
    assert!(coarse.runs(0.5, 100, 200).unwrap_err().to_string().contains("find no shortage"));
}
