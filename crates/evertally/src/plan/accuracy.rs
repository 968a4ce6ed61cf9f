//! How accurate a plan is, and how close that is to what is possible at all.

use std::fmt;

use super::Objective;
use super::grid::Norms;
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
    /// The standard error that an error factor of one has at this budget, in the units of the data: the
    /// budget's σ times the largest contribution and the least factor for replacement. It leaves out
    /// what the exact path charges and rounds.
    pub unit_rmse: f64,
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
    /// Whether a kind has so many periods that its error is estimated from a part of them.
    pub is_sampled: bool,
}

impl ReportAccuracy {
    /// The errors of what is run, over this horizon.
    fn new(
        report: &Report,
        norms: &Norms,
        (scale, sensitivity, rounding): (f64, f64, Rounding),
        horizon: u64,
    ) -> Self {
        let (periods, rmse) = released(report, norms, scale, rounding);
        let error = sensitivity * sensitivity * weighted(report, &norms.periods, norms.mean);
        let is_sampled = report.periods().iter().any(|(division, _)| division.count(horizon) > MAX_AVERAGED);
        Self { error, rmse, periods, is_sampled }
    }
}

/// The weighted sum of the errors of all periods and of the total.
fn weighted(report: &Report, errors: &[f64], total: f64) -> f64 {
    let periods = report.periods().iter().zip(errors).map(|((_, weight), error)| weight * error);
    periods.sum::<f64>() + report.total() * total
}

/// The root mean squared error of each kind of periods, and of the weighted sum.
fn released(report: &Report, norms: &Norms, scale: f64, rounding: Rounding) -> (Vec<f64>, f64) {
    // The sum over a period is the difference of two rounded totals.
    let twice = rounding.and(rounding);
    let periods: Vec<f64> = norms.periods.iter().map(|norm| deviation(scale, *norm, twice)).collect();
    let squares: Vec<f64> = periods.iter().map(|error| error * error).collect();
    let rmse = weighted(report, &squares, deviation(scale, norms.mean, rounding).powi(2)).sqrt();
    (periods, rmse)
}

/// The most periods of a kind whose errors are all averaged. This is the longest horizon for which the
/// optimum is known, so every ratio to it is exact.
const MAX_AVERAGED: u64 = 2048;

/// Of more periods, as many are averaged: one of each equal share. Its place within the share is
/// pseudorandom, because the errors of trees repeat with the powers of two.
const SHARES: u64 = 512;

/// The mean of ‖L\[t;\] − L\[s;\]‖² over the periods after step s up to step t.
pub(super) fn mean_norm(division: &Division, factorization: &dyn Factorization) -> f64 {
    let count = division.count(factorization.horizon());
    let averaged = if count <= MAX_AVERAGED { count } else { SHARES };
    let mut sum = CompensatedSum::default();
    for share in 0..averaged {
        let first = |share: u64| (u128::from(share) * u128::from(count) / u128::from(averaged)) as u64;
        let start = first(share);
        // If all periods are averaged, a share is one of them.
        let index = start + scattered(share) % (first(share + 1) - start);
        let Some(period) = division.period(index) else { continue };
        let last = period.end - 1;
        sum.add(match period.start.checked_sub(1) {
            Some(before) => factorization.difference_norm_squared(before, last),
            None => factorization.row_norm_squared(last),
        });
    }
    sum.value() / averaged as f64
}

/// A number that looks random, and is the same on every machine: the finalizer of SplitMix64.
fn scattered(number: u64) -> u64 {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// What the errors of a plan follow from, besides the norms of L.
pub(super) struct AccuracyRequest<'a> {
    pub(super) report: Option<&'a Report>,
    pub(super) horizon: u64,
    /// Δ for contributions of magnitude one.
    pub(super) sensitivity: f64,
    /// The standard deviation of each white draw.
    pub(super) scale: f64,
    pub(super) unit_rmse: f64,
    pub(super) rounding: Rounding,
    pub(super) lower_bound: Option<f64>,
}

impl Accuracy {
    pub(super) fn new(norms: &Norms, request: &AccuracyRequest<'_>) -> Self {
        let &AccuracyRequest { report, horizon, sensitivity, scale, unit_rmse, rounding, lower_bound } =
            request;
        let squared = sensitivity * sensitivity;
        let report =
            report.map(|report| ReportAccuracy::new(report, norms, (scale, sensitivity, rounding), horizon));
        Self {
            mean_error: squared * norms.mean,
            max_error: squared * norms.max,
            rmse: deviation(scale, norms.mean, rounding),
            worst_rmse: deviation(scale, norms.max, rounding),
            unit_rmse,
            lower_bound,
            report,
        }
    }

    /// The errors of the same noise after another rounding.
    pub(super) fn rounded(
        &self,
        norms: &Norms,
        report: Option<&Report>,
        scale: f64,
        rounding: Rounding,
    ) -> Self {
        let mut accuracy = self.clone();
        accuracy.rmse = deviation(scale, norms.mean, rounding);
        accuracy.worst_rmse = deviation(scale, norms.max, rounding);
        if let (Some(declared), Some(errors)) = (report, &mut accuracy.report) {
            (errors.periods, errors.rmse) = released(declared, norms, scale, rounding);
        }
        accuracy
    }

    /// The squared error that is released, over one that follows from an error factor such as γ_F²/n at
    /// the same budget without rounding. It includes everything that the exact path adds: what it
    /// charges to the noise, and the rounding to the grid.
    #[must_use]
    pub fn ratio_to(&self, objective: Objective, factor: f64) -> f64 {
        let released = self.aimed_at(objective) / self.unit_rmse;
        released * released / factor
    }

    /// The error that an objective keeps small, in the units of the data. The units matter, because
    /// the factor for replacement differs between mechanisms.
    #[must_use]
    pub fn aimed_at(&self, objective: Objective) -> f64 {
        match objective {
            Objective::Mean | Objective::Anytime => self.rmse,
            Objective::Worst => self.worst_rmse,
            Objective::Report => self.report.as_ref().map_or(self.rmse, |report| report.rmse),
        }
    }

    /// An upper bound on the ratio of the mean squared error that is released to the least possible
    /// one ([`Accuracy::ratio_to`]).
    #[must_use]
    pub fn ratio_to_lower_bound(&self) -> Option<f64> {
        self.lower_bound.map(|bound| self.ratio_to(Objective::Mean, bound))
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

    /// The mean over the steps is that over all of them up to 2,048, where both add the same terms, each
    /// off by a few units in the last place. Beyond, it is that of a sample: its standard deviation is at
    /// most that of 512 independent draws, because shares are drawn from apart. Three of them are
    /// allowed. The draw is fixed, so there is no false alarm. A sample of powers of two alone would be
    /// off by far more.
    #[test]
    fn errors_of_many_periods_are_not_sampled_at_powers_of_two() {
        for n in [600, 2047, 2048, 4096, 5000] {
            let plan = crate::Plan::prefix_sum(n)
                .budget(crate::Budget::zcdp(0.5).unwrap())
                .mechanism(crate::Mechanism::Binary)
                .report("1=1;total=1".parse().unwrap())
                .build()
                .unwrap();
            let factorization = plan.factorization();
            let step = |t: u64| match t.checked_sub(1) {
                Some(before) => factorization.difference_norm_squared(before, t),
                None => factorization.row_norm_squared(t),
            };
            let mean = (0..n).map(step).sum::<f64>() / n as f64;
            let variance = (0..n).map(|t| (step(t) - mean).powi(2)).sum::<f64>() / n as f64;
            let deviation = |draws: u64| (variance / draws as f64).sqrt();
            let tolerance = if n <= MAX_AVERAGED { 1e-12 * mean } else { 3.0 * deviation(SHARES) };
            let got = mean_norm(&Division::Every(1), factorization);
            assert!((got - mean).abs() < tolerance, "{n}: {got} {mean} {tolerance}");
            let aliased = (0..SHARES).map(|share| step(share * (n / SHARES))).sum::<f64>() / SHARES as f64;
            assert!(n != 4096 || (aliased - mean).abs() > tolerance, "the tolerance is too wide: {aliased}");
            assert_eq!(plan.accuracy().report.as_ref().unwrap().is_sampled, n > 2048);
        }
    }

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
