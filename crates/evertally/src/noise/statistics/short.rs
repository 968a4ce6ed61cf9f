//! The short suite: 10⁶ draws of each kind, in the order in which they are used.

use super::reference::{GAUSSIAN, LAPLACE, Reference};
use super::{SHORT, Z, of_chi_squared, of_count, of_distance};
use crate::noise::{KeyedNoise, LaneTag, NoiseKey, StreamKey, WhiteNoise};

const DRAWS: usize = 1_000_000;

/// A check returns its statistic as a fraction of the threshold. Above one, the draws are refused.
type Check = fn(&[f64], &Reference) -> f64;

const CHECKS: [(&str, Check); 7] = [
    ("second moment", |x, law| moment(x, law, 2)),
    ("fourth moment", |x, law| moment(x, law, 4)),
    ("beyond two", |x, law| beyond(x, law, 2.0)),
    ("beyond three", |x, law| beyond(x, law, 3.0)),
    ("beyond four", |x, law| beyond(x, law, 4.0)),
    ("Kolmogorov–Smirnov", kolmogorov_smirnov),
    ("chi-squared", chi_squared),
];
/// These detect asymmetry, not scale.
const SYMMETRY_CHECKS: [(&str, Check); 2] =
    [("first moment", |x, law| moment(x, law, 1)), ("third moment", |x, law| moment(x, law, 3))];

/// The mean of 10⁶ powers is normal, with an error far below the threshold.
fn moment(x: &[f64], law: &Reference, power: usize) -> f64 {
    let want = law.moments[power - 1];
    let spread = ((law.moments[2 * power - 1] - want * want) / x.len() as f64).sqrt();
    let got = x.iter().map(|v| v.powi(power as i32)).sum::<f64>() / x.len() as f64;
    (got - want).abs() / (Z * spread)
}

fn beyond(x: &[f64], law: &Reference, threshold: f64) -> f64 {
    let count = x.iter().filter(|v| v.abs() > threshold).count();
    of_count(count as f64, x.len() as f64, 2.0 * (law.cdf)(-threshold))
}

fn kolmogorov_smirnov(x: &[f64], law: &Reference) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = x.len() as f64;
    let distance = sorted.iter().enumerate().fold(0.0_f64, |worst, (i, &v)| {
        let cdf = (law.cdf)(v);
        worst.max(cdf - i as f64 / n).max((i + 1) as f64 / n - cdf)
    });
    of_distance(distance, n)
}

/// Two hundred bins of equal probability.
fn chi_squared(x: &[f64], law: &Reference) -> f64 {
    const BINS: usize = 200;
    let mut counts = [0_u32; BINS];
    for &v in x {
        counts[(((law.cdf)(v) * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let want = x.len() as f64 / BINS as f64;
    let statistic = counts.iter().map(|&count| (f64::from(count) - want).powi(2) / want).sum();
    of_chi_squared(statistic, (BINS - 1) as f64)
}

fn stream(seed: u64) -> StreamKey {
    NoiseKey::insecure_from_seed(seed).stream(b"statistics")
}

fn draws(white: &WhiteNoise) -> Vec<f64> {
    let mut x = vec![0.0; DRAWS];
    white.fill(0, &mut x);
    x
}

/// The draws of one key.
fn along(noise: &KeyedNoise, name: &[u8]) -> Vec<f64> {
    let mut x = vec![0.0; DRAWS];
    noise.fill(noise.tag(name), 0, &mut x);
    x
}

fn tags(noise: &KeyedNoise) -> Vec<LaneTag> {
    (0..DRAWS as u32).map(|name| noise.tag(&name.to_le_bytes())).collect()
}

/// The draw with one index, of many keys.
fn across(noise: &KeyedNoise, tags: &[LaneTag], index: u64) -> Vec<f64> {
    let mut x = vec![0.0; tags.len()];
    noise.draw_each(tags, index, &mut x);
    x
}

pub(super) fn examine(x: &[f64], law: &Reference) {
    for (name, check) in CHECKS.into_iter().chain(SYMMETRY_CHECKS) {
        let value = check(x, law);
        assert!(value <= 1.0, "{name} refuses true noise: {value} of the threshold");
    }
    let short: Vec<f64> = x.iter().map(|v| SHORT * v).collect();
    for (name, check) in CHECKS {
        let value = check(&short, law);
        assert!(value > 1.0, "{name} does not see a standard deviation 15 % short: {value}");
    }
    // The symmetry checks and the fits must detect a bias of two hundredths at the right scale.
    let biased: Vec<f64> = x.iter().map(|v| v + 0.02).collect();
    assert!(moment(&biased, law, 1) > 1.0 && kolmogorov_smirnov(&biased, law) > 1.0);
}

#[test]
fn gaussian_draws_are_gaussian() {
    examine(&draws(&WhiteNoise::gaussian(stream(3))), &GAUSSIAN);
}

#[test]
fn laplace_draws_are_laplace() {
    examine(&draws(&WhiteNoise::laplace(stream(4))), &LAPLACE);
}

#[test]
fn gaussian_draws_of_eight_rounds_are_gaussian() {
    examine(&draws(&WhiteNoise::gaussian_chacha8(stream(6))), &GAUSSIAN);
}

#[test]
fn draws_along_one_key_are_gaussian() {
    examine(&along(&KeyedNoise::gaussian(stream(7)), b"name"), &GAUSSIAN);
}

#[test]
fn draws_across_keys_are_gaussian() {
    // An index whose pair is neither the first nor the last of its block.
    let noise = KeyedNoise::gaussian(stream(8));
    examine(&across(&noise, &tags(&noise), 13), &GAUSSIAN);
}

#[test]
fn draws_across_keys_are_laplace() {
    let noise = KeyedNoise::laplace(stream(9));
    examine(&across(&noise, &tags(&noise), 2), &LAPLACE);
}

/// The mean of the products, in units of the threshold.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    sum / (a.len().min(b.len()) as f64).sqrt() / Z
}

/// Neighbours share a radius and an angle, so errors would show first in their products and in
/// those of their squares.
pub(super) fn examine_lags(x: &[f64]) {
    let squares: Vec<f64> = x.iter().map(|v| (v * v - 1.0) / 2.0_f64.sqrt()).collect();
    for lag in [1, 2, 3, 7, 8, 127, 128, 511, 512] {
        assert!(correlation(x, &x[lag..]).abs() <= 1.0, "lag {lag}");
        assert!(correlation(&squares, &squares[lag..]).abs() <= 1.0, "squares, lag {lag}");
    }
    assert!(correlation(x, x) > 1.0);
}

#[test]
fn draws_are_uncorrelated() {
    let key = NoiseKey::insecure_from_seed(5);
    let x = draws(&WhiteNoise::gaussian(key.stream(b"a")));
    examine_lags(&x);
    for other in [
        WhiteNoise::gaussian(key.stream(b"b")),
        WhiteNoise::laplace(key.stream(b"a")),
        WhiteNoise::gaussian_chacha8(key.stream(b"a")),
    ] {
        assert!(correlation(&x, &draws(&other)).abs() <= 1.0, "{other:?}");
    }
    examine_lags(&draws(&WhiteNoise::gaussian_chacha8(key.stream(b"c"))));
}

#[test]
fn keys_are_uncorrelated() {
    let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(10).stream(b"keys"));
    let x = along(&noise, b"a");
    examine_lags(&x);
    assert!(correlation(&x, &along(&noise, b"b")).abs() <= 1.0);
    let tags = tags(&noise);
    let x = across(&noise, &tags, 0);
    examine_lags(&x);
    for index in [1, 2, 8] {
        assert!(correlation(&x, &across(&noise, &tags, index)).abs() <= 1.0, "index {index}");
    }
}
