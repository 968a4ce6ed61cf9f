//! The grid of exact releases when none is named.
//!
//! **Definition.** The largest power of two that is at most one, at most the largest contribution,
//! and so fine beside the noise that rounding adds at most a ten-thousandth to its variance: to that
//! of every step, and to that of the sums over periods in a report.
//!
//! **Guarantee.** Rounding to multiples of g adds g²/12 to the variance of a release. The mean squared
//! error, and the weighted error of a report, are at most 0.01 % larger than without rounding. So is
//! the variance of a step: of each up to [`MAX_COMPARED`] steps, and beyond of the first, the last
//! and those that end a node of a binary tree, where noise is least.
//!
//! A power of two divides every unit of the exact path, so that multiples of the grid are exact in
//! floating point and are written with few digits. Whole numbers are the grid of one.

use crate::factorization::Factorization;
use crate::plan::Plan;
use crate::plan::accuracy::mean_norm;
use crate::release::Rounding;
use crate::report::Report;

/// What rounding may add to the variance of the noise, relative to it.
const MAX_COST: f64 = 1e-4;

/// The least exponent of a grid.
const MIN_EXPONENT: i32 = -1000;

/// The most steps whose noise is compared one by one.
const MAX_COMPARED: u64 = 1024;

/// The squared norms of the rows of L that errors are made of.
pub(super) struct Norms {
    /// ‖L‖_F²/n.
    pub(super) mean: f64,
    /// max_t ‖L\[t;\]‖².
    pub(super) max: f64,
    /// Of the sums over each kind of periods in the report, on average.
    pub(super) periods: Vec<f64>,
}

impl Norms {
    pub(super) fn new(factorization: &dyn Factorization, report: Option<&Report>) -> Self {
        let periods = report.map_or(&[][..], Report::periods).iter();
        Self {
            mean: factorization.mean_row_norm_squared(),
            max: factorization.max_row_norm_squared(),
            periods: periods.map(|(division, _)| mean_norm(division, factorization)).collect(),
        }
    }

    /// The least squared norm for each rounding. The sum over a period is rounded twice.
    pub(super) fn least(&self, factorization: &dyn Factorization) -> f64 {
        let last = factorization.horizon() - 1;
        let powers = (0..u64::BITS).map(|bit| (1_u64 << bit) - 1).take_while(|step| *step <= last);
        let steps = powers.chain(0..=last.min(MAX_COMPARED - 1)).chain([last]);
        let rows = steps.map(|step| factorization.row_norm_squared(step));
        let periods = self.periods.iter().map(|norm| 0.5 * norm);
        rows.chain(periods).fold(self.mean, f64::min)
    }
}

/// The grid for contributions of this magnitude and noise of at least this standard deviation.
pub(super) fn by_default(magnitude: f64, deviation: f64) -> f64 {
    let coarsest = (12.0 * MAX_COST).sqrt() * deviation;
    let exponent = libm::ilogb(coarsest.min(magnitude).min(1.0));
    // The units of the exact path are finer still, and ordinary doubles.
    libm::exp2(f64::from(exponent.max(MIN_EXPONENT)))
}

/// The grid that version 0.1 took: one, or the power of ten below the largest contribution if that is
/// less than one. States and ledgers of that version do not say it.
fn first_default(magnitude: f64) -> f64 {
    if magnitude >= 1.0 {
        return 1.0;
    }
    // Parsed from its digits: a product of tenths would be rounded.
    let power = format!("1e{}", libm::floor(libm::log10(magnitude)));
    power.parse().unwrap_or(magnitude)
}

impl Plan {
    /// The same plan on the grid that version 0.1 took if none was named. A plan in floating point has
    /// none. Use it only for ledgers that do not say which grid their counters have.
    #[must_use]
    pub fn with_first_default_grid(&self) -> Self {
        let inner = &*self.inner;
        let Some(exact) = inner.exact else { return self.clone() };
        let grid = first_default(inner.contribution.magnitude());
        let norms = Norms::new(&*inner.factorization, inner.report.as_ref());
        let accuracy =
            inner.accuracy.rounded(&norms, inner.report.as_ref(), inner.scale, Rounding::to_grid(grid));
        self.with(|inner| {
            inner.exact = Some(exact.on_grid(grid));
            inner.accuracy = accuracy;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_powers_of_two_within_their_bounds() {
        for (magnitude, deviation, expected) in [
            (1.0, 30.0, 1.0),
            (1.0, 28.0, 0.5),
            (1e6, 1e9, 1.0),
            (1e6, 1.0, 1.0 / 32.0),
            (0.75, 1e9, 0.5),
            (0.01, 1e9, 1.0 / 128.0),
            (1e-300, 1e-290, libm::exp2(-997.0)),
        ] {
            let grid = by_default(magnitude, deviation);
            assert_eq!(grid, expected, "{magnitude} {deviation}");
            assert!(grid <= magnitude.min(1.0) && grid / deviation <= (12.0 * MAX_COST).sqrt());
        }
        assert_eq!((first_default(3.0), first_default(0.05), first_default(1e-5)), (1.0, 0.01, 1e-5));
    }
}
