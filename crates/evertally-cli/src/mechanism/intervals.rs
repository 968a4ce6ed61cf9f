//! The interval of every estimate.
//!
//! **Guarantee.** An interval holds the true total with probability 95 % or more: the library's
//! margin covers the noise and the rounding to the grid. If simultaneous, all intervals of all steps
//! and keys hold at once with that probability.
//!
//! Intervals of means, counts and sums hold in the same sense ([`evertally::post::BoundedMean`]).
//!
//! Everything here uses the release and public choices only, so it costs no budget:
//! - A total of values that are not negative is not negative, so an interval can be cut at zero. This
//!   is done where negative estimates are raised to zero.
//! - Simultaneous intervals share the probability of a miss evenly between all estimates. Each step has
//!   a share for its total and for each kind of period that may end with it. Without a
//!   known end, step t = 1, 2, … gets the share 6/(π²t²), which adds up to one.

use evertally::{Plan, Release, Spread};
use std::f64::consts::PI;

/// The level of every interval, as in the other faces.
const LEVEL: f64 = 0.95;

/// A mean, a count and a sum have an interval each, and follow from two totals.
const INTERVALS_PER_TOTAL_OF_A_MEAN: f64 = 1.5;

/// What is known about the true totals, and what the intervals promise.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Intervals {
    /// True totals are not negative, and estimates neither.
    pub(crate) non_negative: bool,
    /// All intervals hold at once.
    pub(crate) simultaneous: bool,
    /// The kinds of periods that have intervals beside the totals.
    pub(crate) divisions: usize,
}

impl Intervals {
    /// Half the width of the intervals of a step: of its totals, or of the sums over periods that end
    /// with it.
    pub(super) fn margin(self, plan: &Plan, spread: &Spread) -> f64 {
        spread.margin_at(self.quantile(plan, spread, 1.0))
    }

    /// The quantile of the intervals of a mean, its count and its sum, which follow from two totals.
    pub(super) fn quantile_of_means(self, plan: &Plan, spread: &Spread) -> f64 {
        self.quantile(plan, spread, INTERVALS_PER_TOTAL_OF_A_MEAN)
    }

    /// The quantile of intervals of which a step has this many for each of its totals.
    pub(super) fn quantile(self, plan: &Plan, spread: &Spread, intervals_per_total: f64) -> f64 {
        if !self.simultaneous {
            return spread.tail.quantile(LEVEL);
        }
        let intervals = intervals_per_total * (1.0 + self.divisions as f64);
        spread.tail.quantile_outside((1.0 - LEVEL) * share(plan, spread.step) / intervals)
    }

    /// The ends of the interval of a release. If only integers are to be seen, the ends are rounded
    /// too: the margin is public, so their low bits would reveal what rounding removed.
    pub(super) fn ends(self, release: &Release, margin: f64, rounds: bool) -> (f64, f64) {
        let (lower, upper) = (release.value - margin, release.value + margin);
        let (lower, upper) = if rounds { (lower.floor(), upper.ceil()) } else { (lower, upper) };
        if self.non_negative { (lower.max(0.0), upper.max(0.0)) } else { (lower, upper) }
    }

    /// What the header says.
    pub(crate) fn in_words(self) -> &'static str {
        if self.simultaneous { "95 %, for all estimates at once" } else { "95 %" }
    }
}

/// The share of one total of a step in the probability of a miss.
fn share(plan: &Plan, step: u64) -> f64 {
    let steps = if plan.is_unbounded() {
        let step = step as f64 + 1.0;
        step * step * PI * PI / 6.0
    } else {
        plan.horizon() as f64
    };
    1.0 / (steps * plan.shape().width() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::{Budget, Rounding, Tail, Workload};

    fn release(value: f64) -> Release {
        Release { step: 0, value, standard_error: 1.0, tail: Tail::Gaussian, rounding: Rounding::NONE }
    }

    #[test]
    fn ends_are_rounded_outwards() {
        let intervals = Intervals::default();
        assert_eq!(intervals.ends(&release(5.0), 1.75, false), (3.25, 6.75));
        assert_eq!(intervals.ends(&release(5.0), 1.75, true), (3.0, 7.0));
    }

    #[test]
    fn an_interval_is_cut_at_zero() {
        let cut = Intervals { non_negative: true, ..Intervals::default() };
        assert_eq!(cut.ends(&release(1.0), 3.0, false), (0.0, 4.0));
        assert_eq!(cut.ends(&release(-5.0), 3.0, false), (0.0, 0.0));
    }

    /// The chances of a miss add up to five percent, over all estimates of a plan.
    #[test]
    fn simultaneous_intervals_share_one_probability() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let keys = ["a", "b", "c"];
        let declared = Plan::prefix_sum(7).budget(budget).keys(keys).build().unwrap();
        let sum: f64 = (0..7).map(|step| 3.0 * share(&declared, step)).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        let unbounded = Plan::unbounded(Workload::PrefixSum).budget(budget).keys(keys).build().unwrap();
        let sum: f64 = (0..100_000).map(|step| 3.0 * share(&unbounded, step)).sum();
        assert!(sum < 1.0 && sum > 0.9999);
    }

    #[test]
    fn a_simultaneous_margin_leaves_its_share_outside() {
        let plan = Plan::prefix_sum(100).budget(Budget::new(1.0, 1e-6).unwrap()).build().unwrap();
        let spread = plan.spread(3).unwrap();
        let alone = Intervals::default().margin(&plan, &spread);
        let all = Intervals { simultaneous: true, ..Intervals::default() }.margin(&plan, &spread);
        assert_eq!(alone, spread.margin(0.95));
        assert!((all / spread.margin(1.0 - 0.05 / 100.0) - 1.0).abs() < 1e-9);
        // Two totals give three intervals.
        let keys = ["above", "below"];
        let pair = Plan::prefix_sum(100).budget(Budget::new(1.0, 1e-6).unwrap()).keys(keys).build().unwrap();
        let all = Intervals { simultaneous: true, ..Intervals::default() };
        let quantile = all.quantile_of_means(&pair, &pair.spread(3).unwrap());
        assert!((quantile / Tail::Gaussian.quantile_outside(0.05 / 300.0) - 1.0).abs() < 1e-9);
    }
}
