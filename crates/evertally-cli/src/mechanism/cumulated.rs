//! Quantiles and cumulative counts over bins, from the releases of a step.
//!
//! **Guarantee.** The bins become lanes before noise is added, by exact integers
//! ([`evertally::ranges::Ranges::lanes_from`]). Everything after the releases is post-processing and costs no
//! budget. The last total of a step is of what is in no bin. It has a lane of its own.

use crate::output::{Estimate, Measured, Measures, QuantileEstimate};
use evertally::ranges::{Distribution, Quantile};
use evertally::{Contribution, Participation, Plan, Release};
use evertally_stream::Amount;
use std::sync::Arc;

/// What is released of a distribution over bins. Clones share it.
#[derive(Clone)]
pub(crate) struct Cumulated {
    distribution: Arc<Distribution>,
    /// Whether cumulative counts are released.
    counts: bool,
    /// Whether noise is Laplace.
    is_pure: bool,
}

impl Cumulated {
    pub(crate) fn new(distribution: Distribution, counts: bool, is_pure: bool) -> Self {
        Self { distribution: Arc::new(distribution), counts, is_pure }
    }

    pub(crate) fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// How far the mean squared error of the cumulative counts is from the least possible one, computed
    /// from public numbers. The least error of a product is the product of the least errors, so the ratios
    /// over bins and over steps multiply. `None` under Laplace noise, which the bound is not about.
    pub(super) fn optimality(&self, plan: &Plan) -> Option<String> {
        if self.is_pure {
            return None;
        }
        let ranges = self.distribution.ranges();
        let over_bins = ranges.squared_error(false) / ranges.least_squared_error().ok()?;
        let over_steps = plan.accuracy().ratio_to_lower_bound();
        // A mean over a cap that is never reached would say nothing.
        let is_known = plan.participation() == Participation::single() && !plan.is_unbounded();
        let over_steps = over_steps.filter(|_| is_known);
        let all = over_steps.map_or(String::new(), |steps| {
            format!(", {} over steps, and so {} in all", rounded_up(steps), rounded_up(over_bins * steps))
        });
        let over_bins = rounded_up(over_bins);
        Some(format!(
            "mean squared error of cumulative counts at most {over_bins} times the least possible over bins{all}"
        ))
    }

    /// Whether the counts below the edges are released.
    pub(crate) fn has_counts(&self) -> bool {
        self.counts
    }

    /// Which columns the rows have.
    pub(crate) fn measures(&self) -> Measures {
        if self.distribution.parts().is_empty() { Measures::Totals } else { Measures::Quantiles }
    }

    /// The names of the rows of a step: the quantiles, then the counts. `bins` has the name of what is in no
    /// bin at its end.
    pub(crate) fn names(&self, edges: &[f64], bins: &[String]) -> Vec<String> {
        let quantiles = self.distribution.parts().iter().map(|part| format!("quantile {part}"));
        let counts = edges.iter().map(|edge| format!("below {edge}")).chain(["all".to_owned()]);
        let counts = counts.chain(bins.last().cloned()).filter(|_| self.counts);
        quantiles.chain(counts).collect()
    }

    /// The names of the lanes. Plain bins keep theirs, so that their noise does not depend on what is read
    /// from them.
    pub(crate) fn lanes(&self, bins: &[String]) -> Vec<String> {
        let ranges = self.distribution.ranges();
        if ranges.is_plain() {
            return bins.to_vec();
        }
        ranges.names().into_iter().chain(bins.last().cloned()).collect()
    }

    /// What a contribution to one bin is to all lanes.
    pub(crate) fn contribution(&self, of_bin: Contribution) -> evertally::Result<Contribution> {
        self.distribution.ranges().contribution(of_bin, self.is_pure)
    }

    /// The amounts of the lanes, from the totals of the bins and of what is in none.
    pub(super) fn amounts(&self, totals: &[Amount]) -> Vec<i128> {
        let ranges = self.distribution.ranges();
        let (bins, others) = totals.split_at(ranges.bins().min(totals.len()));
        let bins: Vec<i128> = bins.iter().map(|total| total.grid_steps()).collect();
        let weight = i128::from(ranges.weight_of_others());
        let others = others.iter().map(|total| total.grid_steps().saturating_mul(weight));
        ranges.lanes_from(&bins).into_iter().chain(others).collect()
    }

    /// How many intervals a step has for each lane.
    pub(super) fn intervals_per_lane(&self) -> f64 {
        let lanes = self.distribution.ranges().lanes() + 1;
        let counts = if self.counts { self.distribution.ranges().bins() + 1 } else { 0 };
        (self.distribution.parts().len() + counts) as f64 / lanes as f64
    }

    /// The rows of a step.
    pub(super) fn read(&self, releases: &[Release], quantile: f64) -> Vec<Measured> {
        let ranges = self.distribution.ranges();
        let Some((others, of_bins)) = releases.split_last() else { return Vec::new() };
        let values: Vec<f64> = of_bins.iter().map(|release| release.value).collect();
        let (cumulative, spread) = (self.distribution.cumulative(&values), others.spread());
        let mut rows: Vec<Measured> = self
            .distribution
            .quantiles(&cumulative, &spread, quantile)
            .into_iter()
            .map(|quantile| Measured::Quantile(bounded(quantile)))
            .collect();
        if !self.counts {
            return rows;
        }
        let weight = ranges.weight_of_others() as f64;
        let others =
            (others.value / weight, others.standard_error / weight, spread.margin_at(quantile) / weight);
        let counts = self.distribution.counts(&cumulative, &spread, quantile).into_iter();
        let counts = counts.map(|count| (count.value, count.standard_error, count.margin)).chain([others]);
        let measures = self.measures();
        rows.extend(counts.map(|(value, standard_error, margin)| {
            let value = value + 0.0;
            let count = Estimate { value, standard_error, lower: value - margin, upper: value + margin };
            match measures {
                Measures::Quantiles => Measured::Quantile(QuantileEstimate {
                    value: Some(count.value),
                    standard_error: Some(count.standard_error),
                    lower: Some(count.lower),
                    upper: Some(count.upper),
                }),
                _ => Measured::Total(count),
            }
        }));
        rows
    }

    /// What the rows would be without noise, from the true totals of the bins and of what is in none.
    pub(crate) fn of_totals(&self, totals: &[f64]) -> Vec<Option<f64>> {
        let Some((others, bins)) = totals.split_last() else { return Vec::new() };
        let mut rows = self.distribution.of_totals(bins);
        if self.counts {
            let mut sum = 0.0;
            rows.extend(bins.iter().map(|bin| {
                sum += bin;
                Some(sum)
            }));
            rows.push(Some(*others));
        }
        rows
    }
}

/// A ratio with three digits after the point.
fn rounded_up(ratio: f64) -> f64 {
    (1e3 * ratio).ceil() / 1e3
}

/// A quantile with empty ends where its interval has none.
fn bounded(quantile: Quantile) -> QuantileEstimate {
    let end = |end: f64| end.is_finite().then_some(end);
    let Quantile { value, lower, upper } = quantile;
    QuantileEstimate { value, standard_error: None, lower: end(lower), upper: end(upper) }
}
