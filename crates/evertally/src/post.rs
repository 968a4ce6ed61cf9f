//! Post-processing: what can be done to releases without spending privacy.
//!
//! Everything here uses released values only, so it costs no budget. It does change the error. A
//! value that is moved towards the plausible range is no longer unbiased, and the released standard
//! error describes the value before the change.
//!
//! | step | what it does | bias |
//! |---|---|---|
//! | [`PostProcess::round`] | nearest integer | negligible; adds at most 1/12 to the variance |
//! | [`PostProcess::non_negative`] | max(0, value) | upwards near zero, where noise below zero is cut off |
//! | [`PostProcess::monotone`] | running maximum: never falls, never revised | upwards, by about the largest recent noise; grows with the number of steps between real increases |
//! | [`isotonic_regression`] | the closest non-decreasing curve, once all steps are known | small; reduces the squared error, but revises earlier values, so it is for finished streams only |
//!
//! [`BoundedMean`] computes means of values in a range from two totals, with their intervals.
//!
//! Sums of post-processed values inherit their bias. Compute sums and differences from the raw
//! releases.

mod mean;

pub use mean::{BoundedMean, Combined, Mean};

/// Steps that are applied to each release as it arrives, in the order monotone, non-negative,
/// round. They are safe for streams, because an earlier value is never revised.
///
/// ```
/// use evertally::post::PostProcess;
/// let mut post = PostProcess::default().monotone().non_negative().round();
/// assert_eq!([-1.3, 4.4, 2.2].map(|value| post.apply(value)), [0.0, 4.0, 4.0]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PostProcess {
    round: bool,
    non_negative: bool,
    monotone: bool,
    largest: Option<f64>,
}

impl PostProcess {
    /// Rounds to the nearest integer.
    #[must_use]
    pub fn round(mut self) -> Self {
        self.round = true;
        self
    }

    /// Replaces negative values by zero.
    #[must_use]
    pub fn non_negative(mut self) -> Self {
        self.non_negative = true;
        self
    }

    /// Replaces a value by the largest value so far.
    #[must_use]
    pub fn monotone(mut self) -> Self {
        self.monotone = true;
        self
    }

    /// The same without the running maximum, for values that are no running totals.
    #[must_use]
    pub fn without_monotone(mut self) -> Self {
        self.monotone = false;
        self.largest = None;
        self
    }

    /// The largest value so far, which [`PostProcess::monotone`] goes on from. `None` before the first
    /// value, and without `monotone`.
    #[must_use]
    pub fn largest(&self) -> Option<f64> {
        self.largest
    }

    /// The same steps for values that go on after others, the largest of which was this one.
    #[must_use]
    pub fn after(mut self, largest: Option<f64>) -> Self {
        self.largest = largest.filter(|_| self.monotone);
        self
    }

    /// Whether values stay unchanged.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        !(self.round || self.non_negative || self.monotone)
    }

    /// Whether values are rounded to integers.
    #[must_use]
    pub fn rounds(&self) -> bool {
        self.round
    }

    /// The names of the steps, in the order in which they are applied.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        [(self.monotone, "monotone"), (self.non_negative, "non-negative"), (self.round, "round")]
            .into_iter()
            .filter_map(|(on, name)| on.then_some(name))
            .collect()
    }

    /// Processes the next value of the stream.
    pub fn apply(&mut self, value: f64) -> f64 {
        let mut value = value;
        if self.monotone {
            value = self.largest.map_or(value, |largest| largest.max(value));
            self.largest = Some(value);
        }
        if self.non_negative {
            value = value.max(0.0);
        }
        if self.round { value.round() } else { value }
    }
}

/// The non-decreasing sequence closest to `values` in weighted least squares, by pooling adjacent
/// violators. O(n).
///
/// Use the weights 1/standard_error². This is for finished streams, because earlier values are
/// revised.
///
/// ```
/// use evertally::post::isotonic_regression;
/// assert_eq!(isotonic_regression(&[1.0, 3.0, 2.0], &[1.0, 1.0, 1.0]), [1.0, 2.5, 2.5]);
/// ```
///
/// # Panics
/// If the numbers of weights and values differ.
#[must_use]
pub fn isotonic_regression(values: &[f64], weights: &[f64]) -> Vec<f64> {
    assert_eq!(values.len(), weights.len(), "one weight a value");
    struct Pool {
        mean: f64,
        weight: f64,
        length: usize,
    }
    let mut pools: Vec<Pool> = Vec::new();
    for (&mean, &weight) in values.iter().zip(weights) {
        let mut last = Pool { mean, weight, length: 1 };
        while let Some(before) = pools.pop_if(|before| before.mean >= last.mean) {
            let weight = before.weight + last.weight;
            let mean = (before.mean * before.weight + last.mean * last.weight) / weight;
            last = Pool { mean, weight, length: before.length + last.length };
        }
        pools.push(last);
    }
    pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean, pool.length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The projection onto a cone: the result is monotone, and no small admissible change is
        /// closer.
        #[test]
        fn isotonic_regression_is_the_closest_monotone_sequence(
            values in prop::collection::vec(-5.0..5.0_f64, 1..12),
            seed in 0_u64..1000,
        ) {
            let weights: Vec<f64> = (0..values.len() as u64).map(|i| 0.5 + ((i * 7 + seed) % 5) as f64).collect();
            let fit = isotonic_regression(&values, &weights);
            prop_assert!(fit.windows(2).all(|w| w[0] <= w[1] + 1e-12));
            // Stationarity in every monotone direction: a step at position k, up or down for the
            // whole tail.
            for k in 0..values.len() {
                let pull: f64 = (k..values.len()).map(|i| weights[i] * (values[i] - fit[i])).sum();
                prop_assert!(pull <= 1e-9, "raising the tail from {k} would help");
            }
            let total: f64 = (0..values.len()).map(|i| weights[i] * (values[i] - fit[i])).sum();
            prop_assert!(total.abs() < 1e-9);
            let inner: f64 = (0..values.len()).map(|i| weights[i] * (values[i] - fit[i]) * fit[i]).sum();
            prop_assert!(inner.abs() < 1e-8);
        }
    }
}
