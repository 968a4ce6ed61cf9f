//! What is published: a value with its error.

use std::f64::consts::{PI, SQRT_2};

/// One private answer, with the error that the noise gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Release {
    /// The step, counted from zero.
    pub step: u64,
    /// The private value.
    pub value: f64,
    /// The standard deviation of the noise in it.
    pub standard_error: f64,
    /// The shape of the noise.
    pub tail: Tail,
}

/// The distribution of the noise in one answer, once divided by its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// Normal.
    Gaussian,
    /// A sum of independent Laplace variables of one scale, some of them with weight two.
    LaplaceSum {
        /// How many have weight one.
        singles: u64,
        /// How many have weight two.
        doubles: u64,
    },
}

impl Release {
    /// Half the width of the interval that holds the true value with probability `level`.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn margin(&self, level: f64) -> f64 {
        assert!(level > 0.0 && level < 1.0, "a level lies strictly between 0 and 1");
        self.standard_error * self.tail.quantile(level)
    }

    /// The interval around the value that holds the true one with probability `level`.
    ///
    /// ```
    /// use evertally::{Release, Tail};
    /// let release = Release { step: 0, value: 100.0, standard_error: 10.0, tail: Tail::Gaussian };
    /// let (low, high) = release.interval(0.95);
    /// assert!((low - 80.4).abs() < 0.01 && (high - 119.6).abs() < 0.01);
    /// ```
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let margin = self.margin(level);
        (self.value - margin, self.value + margin)
    }
}

impl Tail {
    /// The number of standard deviations within which the noise lies with probability `level`.
    pub(crate) fn quantile(self, level: f64) -> f64 {
        let outside = 1.0 - level;
        match self {
            Self::Gaussian => smallest(|x| libm::erfc(x / SQRT_2) <= outside),
            Self::LaplaceSum { singles: 0, doubles: 0 } => 0.0,
            // One term of any weight: P(|X| > x) = e^{−x}, and the standard deviation is √2.
            Self::LaplaceSum { singles: 0, doubles: 1 } => -outside.ln() / SQRT_2,
            Self::LaplaceSum { singles, doubles: 0 } if singles <= LARGEST_FINITE_SUM => {
                let deviation = (2.0 * singles as f64).sqrt();
                smallest(|x| 2.0 * laplace_sum_above(singles, x * deviation) <= outside)
            }
            Self::LaplaceSum { singles, doubles } => {
                let deviation = (2.0 * (singles as f64 + 4.0 * doubles as f64)).sqrt();
                smallest(|x| laplace_mixture_outside(singles, doubles, x * deviation) <= outside)
            }
        }
    }
}

/// Terms up to which the distribution is added up as a finite sum.
const LARGEST_FINITE_SUM: u64 = 400;

/// The smallest x ≥ 0 for which a monotone condition holds, to rounding.
fn smallest(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while !holds(high) && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// P(S > x) for the sum S of m independent Laplace variables of scale one, x ≥ 0.
///
/// S is the difference of two Gamma(m) waiting times, the m-th arrivals of two Poisson processes of rate one.
/// S > x when by time x the first process has had k < m arrivals and then, from there on, the second reaches
/// m before the first reaches its missing m − k.
fn laplace_sum_above(m: u64, x: f64) -> f64 {
    let m = m as usize;
    // ahead[j] = P(the second has m arrivals before the first has j more) = Σ_{i<j} C(m+i−1, i) 2^{−(m+i)}.
    let mut ahead = vec![0.0; m + 1];
    let mut term = 0.5_f64.powi(m as i32);
    for j in 1..=m {
        ahead[j] = ahead[j - 1] + term;
        term *= 0.5 * (m + j - 1) as f64 / j as f64;
    }
    let mut arrivals = (-x).exp();
    let mut above = 0.0;
    for k in 0..m {
        above += arrivals * ahead[m - k];
        arrivals *= x / (k + 1) as f64;
    }
    above
}

/// P(|S| > x) for a sum S of Laplace variables of scale one, `doubles` of them with weight two; at least two terms.
///
/// Inversion of the characteristic function φ(u) = (1+u²)^{−a}(1+4u²)^{−b}: P(|S| ≤ x) = (2/π)∫₀^∞ φ(u) sin(ux)/u du. The
/// trapezoidal rule of step h errs by P(|S| > 2π/h − x) at most, which h makes negligible.
fn laplace_mixture_outside(singles: u64, doubles: u64, x: f64) -> f64 {
    let (a, b) = (singles as f64, doubles as f64);
    let deviation = (2.0 * (a + 4.0 * b)).sqrt();
    let step = 2.0 * PI / (2.0 * x + 12.0 * deviation + 80.0);
    let mut sum = 0.5 * x;
    for k in 1_u32.. {
        let u = step * f64::from(k);
        let phi = (-a * (u * u).ln_1p() - b * (4.0 * u * u).ln_1p()).exp();
        sum += phi * (u * x).sin() / u;
        if phi < 1e-10 {
            break;
        }
    }
    (1.0 - 2.0 / PI * step * sum).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaussian_quantiles() {
        for (level, expected) in
            [(0.95, 1.959963984540054), (0.5, 0.6744897501960817), (0.999_999, 4.891638475699399)]
        {
            assert!((Tail::Gaussian.quantile(level) / expected - 1.0).abs() < 1e-9, "{level}");
        }
    }

    #[test]
    fn laplace_quantiles() {
        // One term: P(|X| > x) = e^{−x}, standard deviation √2.
        let one = Tail::LaplaceSum { singles: 1, doubles: 0 };
        assert!((one.quantile(0.95) - 20.0_f64.ln() / SQRT_2).abs() < 1e-9);
        // Two terms: P(S > x) = e^{−x}(2 + x)/4.
        let x = 1.7_f64;
        assert!((laplace_sum_above(2, x) - (-x).exp() * (2.0 + x) / 4.0).abs() < 1e-14);
        // Many terms: normal in the limit, from above at this level.
        let many = Tail::LaplaceSum { singles: 300, doubles: 0 };
        assert!((many.quantile(0.95) / 1.95996 - 1.0).abs() < 2e-3);
        // The finite sum and the inverted characteristic function agree.
        for (m, x) in [(2, 1.3), (3, 4.0), (10, 9.0), (100, 30.0)] {
            let (finite, inverted) = (2.0 * laplace_sum_above(m, x), laplace_mixture_outside(m, 0, x));
            assert!((finite - inverted).abs() < 1e-8, "{m} {x}: {finite} {inverted}");
        }
        // X + 2Y by partial fractions: P(|X + 2Y| > x) = (4e^{−x/2} − e^{−x})/3.
        let exact = (4.0 * (-x / 2.0).exp() - (-x).exp()) / 3.0;
        assert!((laplace_mixture_outside(1, 1, x) - exact).abs() < 1e-8);
        assert_eq!(Tail::LaplaceSum { singles: 0, doubles: 0 }.quantile(0.95), 0.0);
    }
}
