//! Times of many requests, and their quantiles.

use std::time::Duration;

use serde_json::{Value, json};

/// All times, so that quantiles are exact.
#[derive(Default)]
pub(crate) struct Latencies {
    micros: Vec<u32>,
}

impl Latencies {
    pub(crate) fn add(&mut self, time: Duration) {
        self.micros.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.micros.append(&mut other.micros);
    }

    /// The quantile of the times in seconds, or NaN if there are none.
    pub(crate) fn quantile(&mut self, share: f64) -> f64 {
        if self.micros.is_empty() {
            return f64::NAN;
        }
        let rank = ((self.micros.len() - 1) as f64 * share).ceil() as usize;
        let (_, at, _) = self.micros.select_nth_unstable(rank);
        f64::from(*at) / 1e6
    }

    pub(crate) fn summary(&mut self) -> Value {
        json!({
            "count": self.micros.len(), "p50": self.quantile(0.5), "p99": self.quantile(0.99), "p99.9": self.quantile(0.999),
            "max": self.quantile(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_list() {
        let mut latencies = Latencies::default();
        (1..=1000).rev().for_each(|micros| latencies.add(Duration::from_micros(micros)));
        let quantiles = [0.0, 0.5, 0.99, 0.999, 1.0].map(|share| (latencies.quantile(share) * 1e6).round());
        assert_eq!(quantiles, [1.0, 501.0, 991.0, 1000.0, 1000.0]);
    }
}
