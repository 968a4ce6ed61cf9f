//! How accurate a plan is, and how close that is to what is possible at all.

use std::f64::consts::PI;
use std::fmt;

use super::Objective;
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
    /// A proven lower bound on the mean error of every factorization, where one is known.
    pub lower_bound: Option<f64>,
}

impl Accuracy {
    /// The error that an objective keeps small, in the units of the data: the factor for replacement differs between
    /// mechanisms.
    #[must_use]
    pub fn aimed_at(&self, objective: Objective) -> f64 {
        match objective {
            Objective::Mean => self.rmse,
            Objective::Worst => self.worst_rmse,
        }
    }

    /// By how much the mean squared error exceeds the proven bound, at most.
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

/// A lower bound on the mean error factor of every factorization of the prefix sum: (‖A‖_*/n)², the paper's lemma.
///
/// The singular values are ½csc((2i−1)π/(4n+2)). They decrease, so that the tail of a long sum is at least its integral.
pub(crate) fn nuclear_lower_bound(workload: Workload, horizon: u64) -> Option<f64> {
    if workload != Workload::PrefixSum {
        return None;
    }
    const ADDED_UP: u64 = 1 << 16;
    let n = horizon as f64;
    let angle = |i: f64| (2.0 * i - 1.0) * PI / (4.0 * n + 2.0);
    let first = horizon.min(ADDED_UP);
    let mut nuclear: f64 = (1..=first).map(|i| 0.5 / angle(i as f64).sin()).sum();
    if horizon > ADDED_UP {
        // ∫ csc = ln tan(x/2), and di = dx·(4n+2)/2π.
        let from = (angle(ADDED_UP as f64 + 1.0) / 2.0).tan().ln();
        let to = (angle(n + 1.0) / 2.0).tan().ln();
        nuclear += 0.5 * (to - from) * (4.0 * n + 2.0) / (2.0 * PI);
    }
    // Rounding in a sum of positive terms is far below this.
    Some((nuclear / n).powi(2) * (1.0 - 1e-11))
}

#[cfg(test)]
mod tests {
    use super::*;

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
