//! What is published: a value with its error.

use std::f64::consts::SQRT_2;

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

/// How far the answers of one step may be from the truth: what they have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Spread {
    /// The step, counted from zero.
    pub step: u64,
    /// The standard deviation of the noise in each answer.
    pub standard_error: f64,
    /// The shape of the noise.
    pub tail: Tail,
}

impl Spread {
    /// The release of one of the answers.
    #[must_use]
    pub fn around(&self, value: f64) -> Release {
        Release { step: self.step, value, standard_error: self.standard_error, tail: self.tail }
    }

    /// Half the width of the interval around an answer that holds the true value with probability `level`.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn margin(&self, level: f64) -> f64 {
        assert!(level > 0.0 && level < 1.0, "a level lies strictly between 0 and 1");
        self.standard_error * self.tail.quantile(level)
    }
}

/// The distribution of the noise in one answer, once divided by its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// Normal.
    Gaussian,
    /// A sum of independent Laplace variables of equal scale.
    LaplaceSum {
        /// How many.
        terms: u64,
    },
}

impl Release {
    /// Half the width of the interval that holds the true value with probability `level`.
    ///
    /// # Panics
    /// If `level` is not strictly between 0 and 1.
    #[must_use]
    pub fn margin(&self, level: f64) -> f64 {
        self.spread().margin(level)
    }

    /// The release without its value.
    #[must_use]
    pub fn spread(&self) -> Spread {
        Spread { step: self.step, standard_error: self.standard_error, tail: self.tail }
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
            Self::LaplaceSum { terms } => {
                let deviation = (2.0 * terms as f64).sqrt();
                smallest(|x| 2.0 * laplace_sum_above(terms, x * deviation) <= outside)
            }
        }
    }
}

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
        let one = Tail::LaplaceSum { terms: 1 };
        assert!((one.quantile(0.95) - 20.0_f64.ln() / SQRT_2).abs() < 1e-9);
        // Two terms: P(S > x) = e^{−x}(2 + x)/4.
        let x = 1.7_f64;
        assert!((laplace_sum_above(2, x) - (-x).exp() * (2.0 + x) / 4.0).abs() < 1e-14);
        // Many terms: normal in the limit, from above at this level.
        let many = Tail::LaplaceSum { terms: 300 };
        assert!((many.quantile(0.95) / 1.95996 - 1.0).abs() < 2e-3);
    }
}
