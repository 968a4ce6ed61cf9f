//! What the separation test promises to find, and how many runs a promise takes.
//!
//! **Definition.** Noise is short by p where its standard deviation is 1 − p times the declared
//! one. The test finds it where the pooled variance v̂ of the statistic, with f degrees of freedom,
//! lies below c = (r/(1 + 10⁻⁹))²·q/f. Here r is the declared separation over the allowed one, and
//! q the quantile of the chi-square law that the test's share of false alarms leaves. The true
//! variance of the statistic is v = (1 − p)²(1 − g) + g, where g is the part of it that comes from
//! rounding to the grid and is not short.
//!
//! **Guarantee.** The power is stated from below; no simulation enters. Gaussian noise: f v̂/v has
//! the chi-square law, so that noise is found with probability P(χ² ≤ f c/v) exactly, and more
//! where the means give it away. Laplace noise: the variance of v̂ is at most 5v²/f, because the
//! excess kurtosis of a weighted sum is at most 3, and Cantelli's inequality bounds P(v̂ > c). That
//! is a proof, and far from sharp: covariance finds less than what is stated there.
//!
//! **Cost.** Two quantiles for a number of runs, and some thirty of these for a search.

use evertally::privacy::NoiseKind;
use evertally::{Error, Result};

use crate::attacks::Target;
use crate::attacks::game::{PART_OF_INTERVAL, ROUNDING};
use crate::statistics::chi_square;

/// The probability with which noise that is short is found, wherever a shortage is stated.
const PROBABILITY: f64 = 0.99;

/// What an audit finds for certain, or nearly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Noise whose standard deviation is short by this share of the declared one, or by more, is
    /// found.
    pub short: f64,
    /// The probability with which it is found, at least.
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

/// All that the decision of the separation test depends on but the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    /// The declared separation over the largest one that passes.
    pub(crate) ratio: f64,
    /// The part of the declared variance of the statistic that rounding to the grid adds.
    pub(crate) rounding: f64,
    pub(crate) noise: NoiseKind,
    /// The share of degrees of freedom that the test takes.
    pub(crate) freedom: f64,
    /// The share of false alarms that the test has.
    pub(crate) share: f64,
}

impl Rule {
    pub(crate) fn new(separation: f64, rounding: f64, target: &Target, share: f64) -> Self {
        let limit = target.separation_limit(separation);
        Self { ratio: separation / limit, rounding, noise: target.noise, freedom: target.freedom(), share }
    }

    /// What so many runs on either stream find. `None` where no noise would be short enough.
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

    /// The fewest runs that find noise short by this share. More runs find more, so that a search
    /// by halves does.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a share outside 0 to 1, and where more than `most` runs would be
    /// needed.
    pub(crate) fn runs(&self, short: f64, fewest: usize, most: usize) -> Result<usize> {
        let bad = |expected: String| {
            let got = format!("{} %", 100.0 * short);
            Err(Error::BadParameter { name: "power", expected, got })
        };
        if !(short > 0.0 && short < 1.0) {
            return bad("a shortage above 0 % and below 100 %".to_owned());
        }
        let finds = |runs: usize| self.power(runs).is_some_and(|power| power.short <= short);
        if !finds(most) {
            let expected = match self.power(most) {
                Some(power) => {
                    let percent = power.percent_short();
                    format!("at least {percent} %, which {most} runs find: no more fit into memory")
                }
                None => format!("left out: {most} runs find no shortage, and no more fit into memory"),
            };
            return bad(expected);
        }
        let (mut low, mut high) = (fewest, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if finds(middle) { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }
}

#[cfg(test)]
mod tests;
