//! The binomial distribution: its tails, and exact intervals for a share.
//!
//! **Source.** Clopper and Pearson, *The use of confidence or fiducial limits illustrated in the
//! case of the binomial* (1934).

use super::crossing;

/// P(B = k) for k = 0, …, r, with r tosses of a coin that shows heads with probability q.
pub(crate) fn masses(tosses: usize, q: f64) -> Vec<f64> {
    let r = tosses as f64;
    let whole = libm::lgamma(r + 1.0);
    let mass = |k: usize| {
        let k = k as f64;
        let ways = whole - libm::lgamma(k + 1.0) - libm::lgamma(r - k + 1.0);
        (ways + weighted_ln(k, q) + weighted_ln(r - k, 1.0 - q)).exp()
    };
    (0..=tosses).map(mass).collect()
}

/// n·ln p, with 0·ln 0 = 0.
fn weighted_ln(n: f64, p: f64) -> f64 {
    if n == 0.0 { 0.0 } else { n * p.ln() }
}

/// The largest share p for which at least `successes` successes have probability at most `error`.
/// With probability 1 − error, the true share is not below it.
pub(crate) fn share_at_least(successes: usize, trials: usize, error: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    let (k, n) = (successes as f64, trials as f64);
    // P(B ≥ k) = I_p(k, n − k + 1), rising in p.
    crossing(|p| -incomplete_beta(k, n - k + 1.0, p), -error, 0.0, k / n)
}

/// The smallest share p for which at most `successes` successes have probability at most `error`.
pub(crate) fn share_at_most(successes: usize, trials: usize, error: f64) -> f64 {
    1.0 - share_at_least(trials - successes, trials, error)
}

/// I_x(a, b), the regularised incomplete beta function, by its continued fraction (Abramowitz and
/// Stegun, 26.5.8).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for index in 1..100_000 {
        let m = f64::from(index);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        product *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        product *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_betas_agree_with_thirty_digits() {
        for (a, b, x, expected) in [
            (3.0, 5.0, 0.2, 0.148_032),
            (1200.0, 801.0, 0.55, 3.558_135_176_693_366e-6),
            (0.5, 0.5, 0.1, 0.204_832_764_699_133_46),
        ] {
            let found = incomplete_beta(a, b, x);
            assert!((found / expected - 1.0).abs() < 1e-10, "{found} {expected}");
        }
    }

    #[test]
    fn intervals_are_those_of_clopper_and_pearson() {
        assert!((share_at_least(40, 2000, 1e-5) - 0.009_302_532_929_975_474).abs() < 1e-12);
        assert!((share_at_most(40, 2000, 1e-5) - 0.036_790_376_373_886_42).abs() < 1e-12);
        // No success in n trials: (1 − p)^n = error.
        assert!((share_at_most(0, 100, 1e-3) - (1.0 - 1e-3_f64.powf(0.01))).abs() < 1e-12);
        assert_eq!((share_at_least(0, 5, 0.1), share_at_most(5, 5, 0.1)), (0.0, 1.0));
    }

    #[test]
    fn masses_add_up_and_agree_with_the_definition() {
        let masses = masses(4, 0.25);
        for (k, ways) in [1.0, 4.0, 6.0, 4.0, 1.0].into_iter().enumerate() {
            let expected = ways * 0.25_f64.powi(k as i32) * 0.75_f64.powi(4 - k as i32);
            assert!((masses[k] - expected).abs() < 1e-14);
        }
        assert!((super::masses(5000, 0.7).iter().sum::<f64>() - 1.0).abs() < 1e-10);
        assert_eq!(super::masses(3, 1.0), [0.0, 0.0, 0.0, 1.0]);
    }
}
