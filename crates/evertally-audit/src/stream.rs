//! Input streams of an audit, and the changes between two of them.

use evertally::Workload;

/// The inputs of a run: one row per step, one number per lane.
///
/// ```
/// use evertally_audit::{Change, Stream};
/// let quiet = Stream::zeros(3, 1);
/// let busy = quiet.with(&Change::of([(1, 0, 2.0)]));
/// assert_eq!(busy.row(1), [2.0]);
/// assert_eq!(busy.answers(evertally::Workload::PrefixSum), [0.0, 2.0, 2.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    lanes: usize,
    values: Vec<f64>,
}

impl Stream {
    /// A stream of zeros.
    #[must_use]
    pub fn zeros(steps: usize, lanes: usize) -> Self {
        Self { lanes, values: vec![0.0; steps * lanes] }
    }

    /// A public stream of small integers, so that the audit covers nonzero inputs.
    #[must_use]
    pub fn busy(steps: usize, lanes: usize) -> Self {
        Self { lanes, values: (0..steps * lanes).map(|index| (index * 7 % 10) as f64).collect() }
    }

    /// The number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.values.len() / self.lanes.max(1)
    }

    /// The number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The inputs of a step.
    #[must_use]
    pub fn row(&self, step: usize) -> &[f64] {
        &self.values[step * self.lanes..(step + 1) * self.lanes]
    }

    /// The inputs of a lane, step by step.
    #[must_use]
    pub fn lane(&self, lane: usize) -> Vec<f64> {
        self.values.iter().skip(lane).step_by(self.lanes.max(1)).copied().collect()
    }

    /// The stream after a change. Entries beyond its last step or lane are ignored.
    #[must_use]
    pub fn with(&self, change: &Change) -> Self {
        let mut changed = self.clone();
        let steps = self.steps();
        for &(step, lane, amount) in change.entries() {
            if step < steps && lane < self.lanes {
                changed.values[step * self.lanes + lane] += amount;
            }
        }
        changed
    }

    /// A x, in the order of the inputs: the releases without noise.
    #[must_use]
    pub fn answers(&self, workload: Workload) -> Vec<f64> {
        let coefficients = workload.coefficients(self.steps());
        let mut answers = vec![0.0; self.values.len()];
        for (index, &x) in self.values.iter().enumerate().filter(|&(_, &x)| x != 0.0) {
            for (answer, coefficient) in answers[index..].iter_mut().step_by(self.lanes).zip(&coefficients) {
                *answer += coefficient * x;
            }
        }
        answers
    }
}

/// The difference of two streams: amounts with their steps and lanes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    entries: Vec<(usize, usize, f64)>,
}

impl Change {
    /// The change with these entries (step, lane, amount).
    #[must_use]
    pub fn of(entries: impl IntoIterator<Item = (usize, usize, f64)>) -> Self {
        Self { entries: entries.into_iter().collect() }
    }

    /// The entries (step, lane, amount).
    #[must_use]
    pub fn entries(&self) -> &[(usize, usize, f64)] {
        &self.entries
    }

    /// This change minus another one.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let opposite = other.entries.iter().map(|&(step, lane, amount)| (step, lane, -amount));
        Self { entries: self.entries.iter().copied().chain(opposite).collect() }
    }

    /// The same change in another lane.
    #[must_use]
    pub fn in_lane(&self, lane: usize) -> Self {
        Self { entries: self.entries.iter().map(|&(step, _, amount)| (step, lane, amount)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_the_workload_matrix() {
        let stream = Stream::busy(7, 2).with(&Change::of([(3, 1, -2.5), (9, 0, 1.0)]));
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: 3 }, Workload::Decay { factor: 0.75 }]
        {
            let matrix = workload.matrix(7);
            let answers = stream.answers(workload);
            for t in 0..7 {
                for lane in 0..2 {
                    let expected: f64 = (0..7).map(|j| matrix[(t, j)] * stream.row(j)[lane]).sum();
                    assert!((answers[2 * t + lane] - expected).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn changes_add_up() {
        let change = Change::of([(0, 0, 1.0), (2, 0, 1.0)]).less(&Change::of([(2, 0, 1.0)]).in_lane(1));
        let changed = Stream::zeros(3, 2).with(&change);
        assert_eq!(changed, Stream { lanes: 2, values: vec![1.0, 0.0, 0.0, 0.0, 1.0, -1.0] });
    }
}
