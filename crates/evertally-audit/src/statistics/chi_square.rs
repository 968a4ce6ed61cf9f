//! The chi-square distribution by the incomplete gamma function: its series where that converges
//! fast, and Lentz's continued fraction elsewhere.
//!
//! **Source.** Abramowitz and Stegun, 6.5.29 and 6.5.31.

use super::crossing;

/// P(χ² ≤ x) with `freedom` degrees of freedom, which need not be an integer.
pub(crate) fn at_most(x: f64, freedom: f64) -> f64 {
    let (a, x) = (0.5 * freedom, 0.5 * x);
    match x {
        x if x <= 0.0 => 0.0,
        x if x < a + 1.0 => series(a, x),
        x => 1.0 - fraction(a, x),
    }
}

/// P(χ² > x).
pub(crate) fn above(x: f64, freedom: f64) -> f64 {
    let (a, x) = (0.5 * freedom, 0.5 * x);
    match x {
        x if x <= 0.0 => 1.0,
        x if x < a + 1.0 => 1.0 - series(a, x),
        x => fraction(a, x),
    }
}

/// The two-sided p-value of x.
pub(crate) fn two_sided(x: f64, freedom: f64) -> f64 {
    (2.0 * at_most(x, freedom).min(above(x, freedom))).min(1.0)
}

/// The x with P(χ² ≤ x) = p, for small p.
pub(crate) fn quantile_below(p: f64, freedom: f64) -> f64 {
    crossing(|x| -at_most(x, freedom), -p, 0.0, freedom)
}

/// The x with P(χ² > x) = p, for small p.
pub(crate) fn quantile_above(p: f64, freedom: f64) -> f64 {
    // The mean plus 40 standard deviations plus 1600: the tail there is below 1e-300.
    crossing(|x| above(x, freedom), p, freedom, freedom + 40.0 * (2.0 * freedom).sqrt() + 1600.0)
}

fn ln_front(a: f64, x: f64) -> f64 {
    a * x.ln() - x - libm::lgamma(a)
}

fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut index) = (1.0 / a, 1.0 / a, a);
    while term > sum * 1e-17 {
        index += 1.0;
        term *= x / index;
        sum += term;
    }
    sum * ln_front(a, x).exp()
}

fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut product = d;
    for index in 1..100_000 {
        let index = f64::from(index);
        let numerator = index * (a - index);
        b += 2.0;
        let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
        d = 1.0 / nonzero(numerator * d + b);
        c = nonzero(b + numerator / c);
        product *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product * ln_front(a, x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_agree_with_thirty_digits() {
        for (found, expected) in [
            (at_most(9_400.0, 10_000.0), 7.597_064_861_941_27e-6),
            (at_most(4.0, 1.0), 0.954_499_736_103_641_6),
            (above(20.0, 6.0), 2.769_395_715_511_576e-3),
            (above(102_000.0, 100_000.0), 4.411_939_255_120_306e-6),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-8, "{found} {expected}");
        }
        assert!((at_most(7.0, 7.5) + above(7.0, 7.5) - 1.0).abs() < 1e-15);
        assert_eq!((at_most(0.0, 3.0), above(0.0, 3.0)), (0.0, 1.0));
    }

    #[test]
    fn quantiles_are_where_the_tails_say() {
        assert!((quantile_below(1e-5, 1200.0) - 1_002.410_519_523_569).abs() < 1e-6);
        let far = quantile_above(1e-5, 1200.0);
        assert!((above(far, 1200.0) / 1e-5 - 1.0).abs() < 1e-9);
        assert!((two_sided(far, 1200.0) / 2e-5 - 1.0).abs() < 1e-9);
    }
}
