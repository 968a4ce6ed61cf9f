//! The power of the separation test: the shortage that it finds, and the number of runs that it
//! needs.
//!
//! **Definition.** Noise is short by p if its standard deviation is 1 − p times the declared one.
//! The test finds it if the pooled variance v̂ of the statistic, with f degrees of freedom, is
//! below c = (r/(1 + 10⁻⁹))²·q/f. Here r is the declared separation over the allowed one, and q is
//! the chi-square quantile for the test's share of false alarms. The true variance of the statistic
//! is v = (1 − p)²(1 − g) + g, where g is the part that comes from rounding to the grid, which is
//! not short.
//!
//! **Guarantee.** The stated power is a lower bound, computed without simulation. Gaussian noise: f
//! v̂/v has the chi-square distribution, so short noise is found with probability P(χ² ≤ f c/v)
//! exactly, and with a larger one if the means reveal it. Laplace noise: the variance of v̂ is at
//! most 5v²/f, because the excess kurtosis of a weighted sum is at most 3, and Cantelli's
//! inequality bounds P(v̂ > c). That is a proof, but far from sharp: covariance finds smaller
//! shortages than stated.
//!
//! **Cost.** Two quantiles per number of runs, and about thirty such numbers for a search.

use evertally::privacy::NoiseKind;
use evertally::{Error, Result};

use crate::attacks::Target;
use crate::attacks::game::{PART_OF_INTERVAL, ROUNDING};
use crate::statistics::chi_square;

/// The probability of finding a stated shortage of noise.
const PROBABILITY: f64 = 0.99;

/// The shortage of noise that an audit finds with high probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Noise whose standard deviation is short by this share of the declared one, or by more, is
    /// found.
    pub short: f64,
    /// A lower bound on the probability of finding it.
    pub probability: f64,
}

impl Power {
    /// The shortage in percent, rounded up to tenths.
    ///
    /// ```
    /// let power = evertally_audit::Power { short: 0.07441, probability: 0.99 };
    /// assert_eq!(power.percent_short(), 7.5);
    /// ```
    #[must_use]
    pub fn percent_short(&self) -> f64 {
        (1000.0 * self.short).ceil() / 10.0
    }
}

/// Everything that the decision of the separation test depends on, except the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    /// The declared separation over the largest one that passes.
    pub(crate) ratio: f64,
    /// The part of the statistic's declared variance that comes from rounding to the grid.
    pub(crate) rounding: f64,
    pub(crate) noise: NoiseKind,
    /// The degrees of freedom, relative to those of normal noise.
    pub(crate) freedom: f64,
    /// The test's share of false alarms.
    pub(crate) share: f64,
}

impl Rule {
    pub(crate) fn new(separation: f64, rounding: f64, target: &Target, share: f64) -> Self {
        let limit = target.separation_limit(separation);
        Self { ratio: separation / limit, rounding, noise: target.noise, freedom: target.freedom(), share }
    }

    /// The shortage that `runs` runs on either stream find. `None` if they find no shortage.
    pub(crate) fn power(&self, runs: usize) -> Option<Power> {
        let freedom = 2.0 * runs as f64 - 2.0;
        let effective = self.freedom * freedom;
        let quantile = chi_square::quantile_below(PART_OF_INTERVAL * self.share, effective);
        let least_passing = (self.ratio / (1.0 + ROUNDING)).powi(2) * quantile / effective;
        let above_mean = match self.noise {
            NoiseKind::Gaussian => chi_square::quantile_above(1.0 - PROBABILITY, freedom) / freedom,
            // P(v̂ ≥ v + t) ≤ V/(V + t²) with V = 5v²/f.
            NoiseKind::Laplace => 1.0 + (5.0 / freedom * PROBABILITY / (1.0 - PROBABILITY)).sqrt(),
        };
        let found = least_passing / above_mean;
        let noise = (found - self.rounding) / (1.0 - self.rounding);
        (noise > 0.0).then(|| Power { short: 1.0 - noise.sqrt(), probability: PROBABILITY })
    }

    /// The minimum number of runs that finds noise short by this share. More runs find more, so
    /// bisection works.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a share outside 0 to 1, and if more than `max` runs would be
    /// needed.
    pub(crate) fn runs(&self, short: f64, min: usize, max: usize) -> Result<usize> {
        let got = format!("{} %", 100.0 * short);
        if !(short > 0.0 && short < 1.0) {
            return Err(Error::bad("power", "a shortage above 0 % and below 100 %", got));
        }
        let finds = |runs: usize| self.power(runs).is_some_and(|power| power.short <= short);
        if !finds(max) {
            let expected = match self.power(max) {
                Some(power) => {
                    let percent = power.percent_short();
                    format!("at least {percent} %, which {max} runs find: no more fit into memory")
                }
                None => format!("left out: {max} runs find no shortage, and no more fit into memory"),
            };
            return Err(Error::bad("power", expected, got));
        }
        let (mut low, mut high) = (min, max);
        while low < high {
            let middle = low + (high - low) / 2;
            if finds(middle) { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }
}

#[cfg(test)]
mod tests;
