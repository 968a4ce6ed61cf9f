//! Reports: the sums that are read from one stream of running totals, and how much each kind counts.
//!
//! **Definition.** A report has kinds of periods, and possibly the running totals. A kind divides the
//! steps into periods: all of the same length, or between given boundaries. Only periods that end
//! within the horizon count. The error of a report is
//!
//! > Σ over kinds of weight · (mean squared error of the sums of its periods),
//!
//! where the running totals of all steps are one more kind. Weights therefore do not depend on how
//! many periods a kind has.
//!
//! **Guarantee.** The sum over a period is the difference of two running totals, so all sums come
//! from one stream of noise and cost nothing. With W the matrix of all sums, rows scaled by the roots
//! of weight/number, the error of a factorization A = L R is ‖W R⁻¹‖_F²Δ² at σ = 1. Its least value
//! is γ_F(W)² ([`crate::research::gamma`]).
//!
//! **Text.** Kinds are separated by semicolons: `1=4;7=1;0-31-59=1;total=0.5` is every step with
//! weight 4, every seven steps, the steps 0 to 30 and 31 to 58, and the running totals.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use crate::matrix::Matrix;
use crate::{Error, Result};

/// How steps are divided into periods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Division {
    /// Periods of this many steps, from the first step on.
    Every(u64),
    /// Periods between consecutive boundaries, which increase. A boundary is the first step of a
    /// period.
    Between(Arc<[u64]>),
}

impl Division {
    /// Periods of `steps` steps.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for zero steps.
    pub fn every(steps: u64) -> Result<Self> {
        if steps == 0 {
            return Err(Error::bad("report", "periods of at least one step", 0));
        }
        Ok(Self::Every(steps))
    }

    /// Periods between these boundaries.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless there are at least two boundaries and they increase.
    pub fn between(boundaries: impl Into<Arc<[u64]>>) -> Result<Self> {
        let boundaries = boundaries.into();
        if boundaries.len() < 2 || boundaries.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::bad(
                "report",
                "two or more increasing boundaries",
                format!("{} others", boundaries.len()),
            ));
        }
        Ok(Self::Between(boundaries))
    }

    /// The number of periods that end within this many steps.
    #[must_use]
    pub fn count(&self, horizon: u64) -> u64 {
        match self {
            Self::Every(steps) => horizon / steps,
            Self::Between(boundaries) => {
                (boundaries.partition_point(|end| *end <= horizon) as u64).saturating_sub(1)
            }
        }
    }

    /// The steps of period `index`, counted from zero. `None` if there is no such period.
    #[must_use]
    pub fn period(&self, index: u64) -> Option<Range<u64>> {
        match self {
            Self::Every(steps) => {
                let first = index.checked_mul(*steps)?;
                Some(first..first.checked_add(*steps)?)
            }
            Self::Between(boundaries) => {
                let index = usize::try_from(index).ok()?;
                Some(*boundaries.get(index)?..*boundaries.get(index.checked_add(1)?)?)
            }
        }
    }

    /// The first step of the period that ends with `step`, if one does.
    #[must_use]
    pub fn ending_with(&self, step: u64) -> Option<u64> {
        let end = step.checked_add(1)?;
        match self {
            Self::Every(steps) => end.is_multiple_of(*steps).then(|| end - steps),
            Self::Between(boundaries) => {
                let place = boundaries.binary_search(&end).ok()?;
                boundaries.get(place.checked_sub(1)?).copied()
            }
        }
    }

    /// Whether a period starts or ends where `step` starts.
    #[must_use]
    pub fn is_boundary(&self, step: u64) -> bool {
        match self {
            Self::Every(steps) => step.is_multiple_of(*steps),
            Self::Between(boundaries) => boundaries.binary_search(&step).is_ok(),
        }
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(steps) => write!(f, "{steps}"),
            Self::Between(boundaries) => {
                let words: Vec<String> = boundaries.iter().map(u64::to_string).collect();
                f.write_str(&words.join("-"))
            }
        }
    }
}

impl FromStr for Division {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |word: &str| {
            word.parse().map_err(|_| Error::bad("report", "numbers of steps", format!("{word:?}")))
        };
        match text.contains('-') {
            false => Self::every(number(text)?),
            true => Self::between(text.split('-').map(number).collect::<Result<Vec<u64>>>()?),
        }
    }
}

/// The least weight of steps and totals for which noise is shaped, as a share of all weights.
const LEAST_SHARE: f64 = 1e-4;

/// Which sums are read from a stream, and their weights; see the module.
///
/// ```
/// use evertally::Report;
/// let report: Report = "1=4;7=1;0-31-59=1;total=0.5".parse()?;
/// assert_eq!(report.periods()[1].0.count(365), 52);
/// assert_eq!(report.total(), 0.5);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    periods: Vec<(Division, f64)>,
    total: f64,
}

impl Report {
    /// Kinds of periods with their weights, and the weight of the running totals.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a weight that is negative or not finite, or if all are zero.
    pub fn new(periods: Vec<(Division, f64)>, total: f64) -> Result<Self> {
        let weights = || periods.iter().map(|(_, weight)| *weight).chain([total]);
        if let Some(weight) = weights().find(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(Error::bad("weights", "numbers from zero", weight));
        }
        if weights().all(|weight| weight == 0.0) {
            return Err(Error::bad("weights", "at least one above zero", "only zeros"));
        }
        Ok(Self { periods, total })
    }

    /// The kinds of periods, each with its weight.
    #[must_use]
    pub fn periods(&self) -> &[(Division, f64)] {
        &self.periods
    }

    /// The weight of the running totals.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Refuses a kind without a period that ends within the horizon.
    pub(crate) fn check(&self, horizon: u64) -> Result<()> {
        match self.periods.iter().find(|(division, _)| division.count(horizon) == 0) {
            Some((division, _)) => Err(Error::bad(
                "report",
                format!("periods that end within the horizon of {horizon} steps"),
                format!("no such period of {division}"),
            )),
            None => Ok(()),
        }
    }

    /// The report that noise is shaped for: this one, unless steps and totals have next to no weight.
    ///
    /// Then W does not determine every step, its optimal R is singular, and no L reaches it. Steps get
    /// a small weight. That costs the sums of weeks alone about a hundredth of their squared error.
    pub(crate) fn shaping(&self) -> Self {
        let least = LEAST_SHARE * self.total
            + self.periods.iter().map(|(_, weight)| LEAST_SHARE * weight).sum::<f64>();
        let is_steps = |division: &Division| *division == Division::Every(1);
        let own = self.periods.iter().filter(|(division, _)| is_steps(division)).map(|(_, weight)| weight);
        let mut shaping = self.clone();
        if own.sum::<f64>() + self.total < least {
            shaping.periods.push((Division::Every(1), least));
        }
        shaping
    }

    /// W: one row per sum with a weight above zero.
    pub(crate) fn matrix(&self, n: usize) -> Matrix {
        let mut rows: Vec<(Range<u64>, f64)> = Vec::new();
        for (division, weight) in self.periods.iter().filter(|(_, weight)| *weight > 0.0) {
            let count = division.count(n as u64);
            let scale = (weight / count as f64).sqrt();
            rows.extend((0..count).filter_map(|index| Some((division.period(index)?, scale))));
        }
        if self.total > 0.0 {
            let scale = (self.total / n as f64).sqrt();
            rows.extend((0..n as u64).map(|step| (0..step + 1, scale)));
        }
        Matrix::from_fn(rows.len(), n, |i, j| if rows[i].0.contains(&(j as u64)) { rows[i].1 } else { 0.0 })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (division, weight) in &self.periods {
            write!(f, "{division}={weight};")?;
        }
        write!(f, "total={}", self.total)
    }
}

impl FromStr for Report {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (mut periods, mut total) = (Vec::new(), 0.0);
        for word in text.split(';') {
            let refuse =
                || Error::bad("report", "kinds with weights such as 7=1 or total=1", format!("{word:?}"));
            let (kind, weight) = word.split_once('=').ok_or_else(refuse)?;
            let weight = weight.parse().map_err(|_| refuse())?;
            match kind {
                "total" => total = weight,
                _ => periods.push((kind.parse()?, weight)),
            }
        }
        Self::new(periods, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_what_it_writes() {
        for text in ["1=1;total=0", "1=4;7=1;0-31-59=0.1;total=0.5", "total=1", "3-9=2;total=0"] {
            let report: Report = text.parse().unwrap();
            assert_eq!(report.to_string(), text);
        }
        for text in ["", "7", "0=1", "7=-1", "7=x", "5-5=1", "total=0", "1=inf", "-1=1", "7-3=1"] {
            assert!(text.parse::<Report>().is_err(), "{text:?} was taken");
        }
    }

    /// Every question about a division, answered by looking at all of its periods.
    #[test]
    fn divisions_agree_with_their_periods() {
        for text in ["1", "2", "7", "40", "0-3-4-9-40", "5-6", "3-40", "0-41"] {
            let division: Division = text.parse().unwrap();
            for horizon in 1..=40 {
                let periods: Vec<Range<u64>> =
                    (0..50).map_while(|i| division.period(i)).filter(|p| p.end <= horizon).collect();
                assert_eq!(division.count(horizon), periods.len() as u64, "{text} {horizon}");
                let ends = periods.iter().find(|period| period.end == horizon);
                assert_eq!(division.ending_with(horizon - 1), ends.map(|period| period.start), "{text}");
            }
        }
    }

    /// Every report is shaped for steps of some weight, and what determines them already is unchanged.
    #[test]
    fn noise_is_shaped_for_steps_too() {
        for text in ["1=1;7=1;total=0", "7=1;total=1", "total=1", "1=0.001;7=1;total=0"] {
            let report: Report = text.parse().unwrap();
            assert_eq!(report.shaping(), report);
        }
        for text in ["7=1;total=0", "1=0;7=1;total=0", "7=1;30=1;total=0.00001"] {
            let report: Report = text.parse().unwrap();
            let shaping = report.shaping();
            let (added, kept) = shaping.periods.split_last().unwrap();
            assert_eq!((kept, shaping.total), (report.periods(), report.total()));
            assert!(added.0 == Division::Every(1) && added.1 > 0.99e-4 && added.1 < 2.1e-4, "{added:?}");
        }
    }

    #[test]
    fn the_matrix_has_the_weighted_sums_for_rows() {
        let report: Report = "1=4;0-2-3=8;total=3".parse().unwrap();
        let matrix = report.matrix(3);
        let rows: Vec<&[f64]> = (0..matrix.rows()).map(|i| matrix.row(i)).collect();
        let step = (4.0_f64 / 3.0).sqrt();
        assert_eq!(rows[1], [0.0, step, 0.0]);
        assert_eq!(rows[3], [2.0, 2.0, 0.0]);
        assert_eq!(rows[4], [0.0, 0.0, 2.0]);
        assert_eq!(rows[6], [1.0, 1.0, 0.0]);
        assert_eq!(rows.len(), 8);
    }
}
