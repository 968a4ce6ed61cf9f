//! Whether the noise has the distribution it claims.
//!
//! Each check raises a false alarm on true noise with probability at most [`FALSE_ALARM`], by an exact bound or by the normal
//! limit of a mean of 10⁶ terms; the seed is fixed, so a pass is a pass for ever. Each check is also run on the same draws
//! with a standard deviation 15 % short, which it must refuse: a check that cannot see that proves nothing.

use super::{NoiseKey, WhiteNoise};

/// Chance that one check refuses true noise.
const FALSE_ALARM: f64 = 1e-6;
/// The two-sided normal quantile at [`FALSE_ALARM`].
const Z: f64 = 4.8917;
const DRAWS: usize = 1_000_000;
/// What the checks must be able to see.
const SHORT: f64 = 0.85;

/// The laws the draws are held against: distribution function, moments 1 to 8 (the last four give the spread of the first).
struct Law {
    cdf: fn(f64) -> f64,
    moments: [f64; 8],
}

const GAUSSIAN: Law = Law { cdf: normal_cdf, moments: [0.0, 1.0, 0.0, 3.0, 0.0, 15.0, 0.0, 105.0] };
/// Laplace of scale b = 1/√2 has even moments k! b^k.
const LAPLACE: Law = Law { cdf: laplace_cdf, moments: [0.0, 1.0, 0.0, 6.0, 0.0, 90.0, 0.0, 2520.0] };

/// A check returns its statistic over the threshold: above one, the draws are refused.
type Check = fn(&[f64], &Law) -> f64;

const CHECKS: [(&str, Check); 7] = [
    ("second moment", |x, law| moment(x, law, 2)),
    ("fourth moment", |x, law| moment(x, law, 4)),
    ("beyond two", |x, law| beyond(x, law, 2.0)),
    ("beyond three", |x, law| beyond(x, law, 3.0)),
    ("beyond four", |x, law| beyond(x, law, 4.0)),
    ("Kolmogorov–Smirnov", kolmogorov_smirnov),
    ("chi-squared", chi_squared),
];
/// These see asymmetry, not scale.
const SYMMETRY_CHECKS: [(&str, Check); 2] =
    [("first moment", |x, law| moment(x, law, 1)), ("third moment", |x, law| moment(x, law, 3))];

/// The mean of 10⁶ powers is normal to within far less than the threshold.
fn moment(x: &[f64], law: &Law, power: usize) -> f64 {
    let want = law.moments[power - 1];
    let spread = ((law.moments[2 * power - 1] - want * want) / x.len() as f64).sqrt();
    let got = x.iter().map(|v| v.powi(power as i32)).sum::<f64>() / x.len() as f64;
    (got - want).abs() / (Z * spread)
}

/// The number of |draws| above a threshold is binomial; by Chernoff, n·KL(share ‖ p) exceeds ln(2/α) with chance at most α.
fn beyond(x: &[f64], law: &Law, threshold: f64) -> f64 {
    let p = 2.0 * (law.cdf)(-threshold);
    let share = x.iter().filter(|v| v.abs() > threshold).count() as f64 / x.len() as f64;
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    x.len() as f64 * (term(share, p) + term(1.0 - share, 1.0 - p)) / (2.0 / FALSE_ALARM).ln()
}

/// Massart's form of the Dvoretzky–Kiefer–Wolfowitz bound: P(√n D > s) ≤ 2 exp(−2s²) at every n.
fn kolmogorov_smirnov(x: &[f64], law: &Law) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = x.len() as f64;
    let distance = sorted.iter().enumerate().fold(0.0_f64, |worst, (i, &v)| {
        let cdf = (law.cdf)(v);
        worst.max(cdf - i as f64 / n).max((i + 1) as f64 / n - cdf)
    });
    n.sqrt() * distance / ((2.0 / FALSE_ALARM).ln() / 2.0).sqrt()
}

/// Two hundred bins of equal probability, against the Wilson–Hilferty quantile of χ² with 199 degrees of freedom. Only large values
/// are refused, so the two-sided quantile errs to the quiet side.
fn chi_squared(x: &[f64], law: &Law) -> f64 {
    const BINS: usize = 200;
    let mut counts = [0_u32; BINS];
    for &v in x {
        counts[(((law.cdf)(v) * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let want = x.len() as f64 / BINS as f64;
    let statistic: f64 = counts.iter().map(|&count| (f64::from(count) - want).powi(2) / want).sum();
    let freedom = (BINS - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    statistic / (freedom * (1.0 - spread + Z * spread.sqrt()).powi(3))
}

/// Φ by its series near zero and its continued fraction in the tails, to 10⁻¹⁴; checked below.
fn normal_cdf(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    if x.abs() < 3.0 {
        let mut term = x;
        let mut sum = x;
        let mut k = 1.0;
        while term.abs() > 1e-17 * sum.abs() {
            k += 2.0;
            term *= x * x / k;
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let tail = density / (1..=60).rev().fold(x.abs(), |f, k| x.abs() + f64::from(k) / f);
    if x > 0.0 { 1.0 - tail } else { tail }
}

fn laplace_cdf(x: f64) -> f64 {
    let tail = 0.5 * (-x.abs() * std::f64::consts::SQRT_2).exp();
    if x > 0.0 { 1.0 - tail } else { tail }
}

fn draws(white: &WhiteNoise) -> Vec<f64> {
    let mut x = vec![0.0; DRAWS];
    white.fill(0, &mut x);
    x
}

fn examine(white: &WhiteNoise, law: &Law) {
    let x = draws(white);
    for (name, check) in CHECKS.into_iter().chain(SYMMETRY_CHECKS) {
        let value = check(&x, law);
        assert!(value <= 1.0, "{name} refuses true noise: {value} of the threshold");
    }
    let short: Vec<f64> = x.iter().map(|v| SHORT * v).collect();
    for (name, check) in CHECKS {
        let value = check(&short, law);
        assert!(value > 1.0, "{name} does not see a standard deviation 15 % short: {value}");
    }
    // A bias of two hundredths, where the scale is right, is for the symmetry checks and the fits.
    let biased: Vec<f64> = x.iter().map(|v| v + 0.02).collect();
    assert!(moment(&biased, law, 1) > 1.0 && kolmogorov_smirnov(&biased, law) > 1.0);
}

#[test]
fn gaussian_draws_are_gaussian() {
    examine(&WhiteNoise::gaussian(NoiseKey::insecure_from_seed(3).stream(b"statistics")), &GAUSSIAN);
}

#[test]
fn laplace_draws_are_laplace() {
    examine(&WhiteNoise::laplace(NoiseKey::insecure_from_seed(4).stream(b"statistics")), &LAPLACE);
}

/// Neighbours share a radius and an angle, so their products, and those of their squares, are what could go wrong first.
#[test]
fn draws_are_uncorrelated() {
    let key = NoiseKey::insecure_from_seed(5);
    let x = draws(&WhiteNoise::gaussian(key.stream(b"a")));
    let other = draws(&WhiteNoise::gaussian(key.stream(b"b")));
    let correlation = |a: &[f64], b: &[f64]| {
        let sum: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        sum / (a.len().min(b.len()) as f64).sqrt() / Z
    };
    let squares: Vec<f64> = x.iter().map(|v| (v * v - 1.0) / 2.0_f64.sqrt()).collect();
    for lag in [1, 2, 3, 511, 512] {
        assert!(correlation(&x, &x[lag..]).abs() <= 1.0, "lag {lag}");
        assert!(correlation(&squares, &squares[lag..]).abs() <= 1.0, "squares, lag {lag}");
    }
    assert!(correlation(&x, &other).abs() <= 1.0);
    assert!(correlation(&x, &x) > 1.0);
}

#[test]
fn the_reference_distribution_is_right() {
    for (x, want) in [
        (0.0, 0.5),
        (-1.0, 0.158_655_253_931_457_05),
        (2.0, 0.977_249_868_051_820_8),
        (-3.0, 1.349_898_031_630_094_5e-3),
        (-4.0, 3.167_124_183_311_992e-5),
        (-8.0, 6.220_960_574_271_785e-16),
    ] {
        assert!((normal_cdf(x) / want - 1.0).abs() < 1e-12, "{x}: {}", normal_cdf(x));
    }
}
