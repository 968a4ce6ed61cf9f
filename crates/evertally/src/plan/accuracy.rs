//! How accurate a plan is, and how close that is to what is possible at all.

use std::fmt;

use super::Objective;
use crate::factorization::Factorization;
use crate::privacy::CompensatedSum;
use crate::release::Rounding;
use crate::report::{Division, Report};
use crate::research::bounds::nuclear_mean_error;
use crate::workload::Workload;

/// The error of a plan, in factors at σ = 1 and in the units of the data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Accuracy {
    /// ‖L‖_F²Δ²/n: the mean squared error at σ = 1, for contributions of magnitude one.
    pub mean_error: f64,
    /// max_t ‖L\[t;\]‖²Δ²: the largest squared error of a step at σ = 1.
    pub max_error: f64,
    /// The root of the mean squared error, in the units of the data.
    pub rmse: f64,
    /// The largest standard error of a step, in the units of the data.
    pub worst_rmse: f64,
    /// A proven lower bound on the mean error of every factorization, if one is known.
    pub lower_bound: Option<f64>,
    /// The errors of the plan's report, if it has one.
    pub report: Option<ReportAccuracy>,
}

/// The error of a [`Report`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReportAccuracy {
    /// ‖W R⁻¹‖_F²Δ²: the weighted error at σ = 1, for contributions of magnitude one.
    pub error: f64,
    /// The root of the weighted sum of all mean squared errors, in the units of the data.
    pub rmse: f64,
    /// The root of the mean squared error of each kind of periods, in the units of the data and in
    /// the order of the report.
    pub periods: Vec<f64>,
}

impl ReportAccuracy {
    /// The errors of what is run. `total` is ‖L‖_F²/n.
    pub(super) fn new(
        report: &Report,
        factorization: &dyn Factorization,
        (scale, sensitivity, rounding): (f64, f64, Rounding),
        total: f64,
    ) -> Self {
        let norms: Vec<f64> =
            report.periods().iter().map(|(division, _)| mean_norm(division, factorization)).collect();
        let weighted = |errors: &[f64], total: f64| {
            let periods = report.periods().iter().zip(errors).map(|((_, weight), error)| weight * error);
            periods.sum::<f64>() + report.total() * total
        };
        // The sum over a period is the difference of two rounded totals.
        let twice = rounding.and(rounding);
        let periods: Vec<f64> = norms.iter().map(|norm| deviation(scale, *norm, twice)).collect();
        let squares: Vec<f64> = periods.iter().map(|error| error * error).collect();
        let rmse = weighted(&squares, deviation(scale, total, rounding).powi(2)).sqrt();
        Self { error: sensitivity * sensitivity * weighted(&norms, total), rmse, periods }
    }
}

/// The most periods of a kind whose errors are averaged. Of longer reports, evenly spread ones are.
const MAX_AVERAGED: u64 = 512;

/// The mean of ‖L\[t;\] − L\[s;\]‖² over the periods after step s up to step t.
fn mean_norm(division: &Division, factorization: &dyn Factorization) -> f64 {
    let count = division.count(factorization.horizon());
    let averaged = count.min(MAX_AVERAGED);
    let mut sum = CompensatedSum::default();
    for sample in 0..averaged {
        // The middles of equal shares: all periods if they are few.
        let index = ((2 * sample + 1) as f64 * count as f64 / (2 * averaged) as f64) as u64;
        let Some(period) = division.period(index.min(count - 1)) else { continue };
        let last = period.end - 1;
        sum.add(match period.start.checked_sub(1) {
            Some(before) => factorization.difference_norm_squared(before, last),
            None => factorization.row_norm_squared(last),
        });
    }
    sum.value() / averaged as f64
}

impl Accuracy {
    /// The error that an objective keeps small, in the units of the data. The units matter, because
    /// the factor for replacement differs between mechanisms.
    #[must_use]
    pub fn aimed_at(&self, objective: Objective) -> f64 {
        match objective {
            Objective::Mean => self.rmse,
            Objective::Worst => self.worst_rmse,
            Objective::Report => self.report.as_ref().map_or(self.rmse, |report| report.rmse),
        }
    }

    /// An upper bound on the ratio of the mean squared error to the least possible one.
    #[must_use]
    pub fn ratio_to_lower_bound(&self) -> Option<f64> {
        self.lower_bound.map(|bound| self.mean_error / bound)
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rmse {:.4}, worst step {:.4}", self.rmse, self.worst_rmse)?;
        if let Some(ratio) = self.ratio_to_lower_bound() {
            write!(f, "; mean squared error at most {ratio:.3} times the least possible")?;
        }
        Ok(())
    }
}

/// The standard deviation of noise with this scale and this squared norm of L, after it was rounded.
/// It takes no squares, because they would overflow or underflow at extreme scales.
pub(super) fn deviation(scale: f64, norm_squared: f64, rounding: Rounding) -> f64 {
    libm::hypot(scale * norm_squared.sqrt(), rounding.deviation())
}

/// A lower bound on the mean error factor of every factorization of the prefix sum: (‖A‖_*/n)², the
/// paper's lemma.
pub(crate) fn nuclear_lower_bound(workload: Workload, horizon: u64) -> Option<f64> {
    match workload {
        Workload::PrefixSum => Some(nuclear_mean_error(horizon).ok()?.lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn the_lower_bound_matches_known_values_and_its_tail_is_tight() {
        for (n, expected) in [(1, 1.0), (2, 1.25), (100, 4.742390864646337), (1024, 8.465681309376945)] {
            let bound = nuclear_lower_bound(Workload::PrefixSum, n).unwrap();
            assert!((bound / expected - 1.0).abs() < 1e-9, "{n}: {bound}");
        }
        let n = 1 << 20;
        let direct: f64 =
            (1..=n).map(|i| 0.5 / ((2 * i - 1) as f64 * PI / (4 * n + 2) as f64).sin()).sum::<f64>()
                / n as f64;
        let bound = nuclear_lower_bound(Workload::PrefixSum, n as u64).unwrap();
        assert!(bound <= direct * direct && bound > direct * direct * 0.99999, "{bound} {direct}");
        assert!(nuclear_lower_bound(Workload::PrefixSum, 1 << 60).unwrap() > 100.0);
    }
}
