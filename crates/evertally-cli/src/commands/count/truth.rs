//! The true curve, for a plot that is not private.

use super::task::Task;
use crate::mechanism::Cumulated;
use evertally::Workload;
use evertally::post::BoundedMean;
use evertally_stream::Amount;
use std::collections::VecDeque;

/// What the mechanism would release without noise. It is computed only if a flag asks for it by name,
/// and only the plot receives it.
pub(super) struct TruthNotPrivate {
    sums: Sums,
    mean: Option<BoundedMean>,
    cumulated: Option<Cumulated>,
    /// What the sum of each group is multiplied by, if rates are drawn.
    factors: Option<Vec<f64>>,
}

/// The true answer of a workload for each total.
struct Sums {
    workload: Workload,
    sums: Vec<f64>,
    recent: VecDeque<Vec<Amount>>,
}

impl TruthNotPrivate {
    pub(super) fn new(task: &Task<'_>) -> Self {
        let factors = task.rates.as_ref().map(|rates| {
            rates.denominators.iter().map(|denominator| rates.unit / denominator.unwrap_or(1.0)).collect()
        });
        let (mean, cumulated) = (task.mean, task.cumulated.clone());
        Self { sums: Sums::new(task.spec.workload), mean, cumulated, factors }
    }

    /// The true value of each group after this step. A mean without events has none.
    pub(super) fn step(&mut self, totals: &[Amount]) -> Vec<Option<f64>> {
        let sums = self.sums.step(totals);
        if let Some(cumulated) = &self.cumulated {
            return cumulated.of_totals(sums);
        }
        match (&self.mean, &self.factors) {
            (Some(mean), _) => {
                let pairs = sums.as_chunks::<2>().0;
                pairs.iter().map(|[above, below]| mean.of_totals(*above, *below)).collect()
            }
            (None, Some(factors)) => {
                sums.iter().zip(factors).map(|(sum, factor)| Some(sum * factor)).collect()
            }
            (None, None) => sums.iter().copied().map(Some).collect(),
        }
    }
}

impl Sums {
    fn new(workload: Workload) -> Self {
        Self { workload, sums: Vec::new(), recent: VecDeque::new() }
    }

    fn step(&mut self, totals: &[Amount]) -> &[f64] {
        self.sums.resize(totals.len(), 0.0);
        let kept = if let Workload::Decay { factor } = self.workload { factor } else { 1.0 };
        for (sum, total) in self.sums.iter_mut().zip(totals) {
            *sum = kept * *sum + total.to_f64();
        }
        if let Workload::SlidingWindow { width: window } = self.workload {
            self.recent.push_back(totals.to_vec());
            if self.recent.len() as u64 > window
                && let Some(gone) = self.recent.pop_front()
            {
                self.sums.iter_mut().zip(gone).for_each(|(sum, total)| *sum -= total.to_f64());
            }
        }
        &self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(workload: Workload) -> Vec<f64> {
        let mut truth = Sums::new(workload);
        [1.0, 2.0, 4.0, 8.0].map(|total| truth.step(&[Amount::nearest(total).unwrap()])[0]).to_vec()
    }

    #[test]
    fn each_workload_has_its_own_truth() {
        assert_eq!(after(Workload::PrefixSum), [1.0, 3.0, 7.0, 15.0]);
        assert_eq!(after(Workload::SlidingWindow { width: 2 }), [1.0, 3.0, 6.0, 12.0]);
        assert_eq!(after(Workload::Decay { factor: 0.5 }), [1.0, 2.5, 5.25, 10.625]);
    }
}
