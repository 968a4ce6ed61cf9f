//! The statistics of the audits: tails, intervals, and self-normalised sums.
//!
//! Every function here has a closed form or a short definition, and is tested against values
//! computed with 30 digits.

pub(crate) mod binomial;
pub(crate) mod chi_square;
pub(crate) mod normal;
pub(crate) mod ranks;

/// The argument at which a decreasing function crosses a level, between two ends, by bisection to
/// rounding.
pub(crate) fn crossing(falling: impl Fn(f64) -> f64, level: f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if falling(middle) > level { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Σx / √Σx² for independent x of mean zero. It is close to a standard normal for any distribution
/// of x, and its tails are not heavier than normal ones even if those of x are (de la Peña, Lai and
/// Shao, 2009). Zero if every x is zero.
pub(crate) fn self_normalised(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for value in values {
        sum += value;
        squares += value * value;
    }
    if squares > 0.0 { sum / f64::sqrt(squares) } else { 0.0 }
}

/// The sample mean and the unbiased variance.
pub(crate) fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_measured_by_their_own_spread() {
        assert!((self_normalised([1.0, 1.0, 1.0, 1.0].into_iter()) - 2.0).abs() < 1e-15);
        assert_eq!(self_normalised([0.0, 0.0].into_iter()), 0.0);
        assert_eq!(self_normalised([3.0, -3.0].into_iter()), 0.0);
    }

    #[test]
    fn moments_and_crossings() {
        assert_eq!(mean_and_variance(&[1.0, 2.0, 6.0]), (3.0, 7.0));
        assert!((crossing(|x| -x * x, -2.0, 0.0, 3.0) - 2.0_f64.sqrt()).abs() < 1e-15);
    }
}
