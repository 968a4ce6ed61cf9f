//! Events in any order, gathered per step and key.

use crate::admission::{Admission, Event, Refusal};
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::closed::ClosedStep;
use crate::error::{Error, Result};

/// Totals of every step and key of a finished input, whose events may stand in any order.
///
/// Memory: 16 bytes × steps × keys, allocated at the start; never proportional to the number of events.
#[derive(Clone)]
pub struct Gather {
    buckets: Buckets,
    rules: Admission,
    totals: Vec<Amount>,
}

impl Gather {
    /// An empty table, refused where it would take more than `memory_limit` bytes.
    pub fn new(buckets: Buckets, rules: Admission, memory_limit: u64) -> Result<Self> {
        let (steps, keys) = (buckets.steps(), rules.width());
        let cells = u128::from(steps) * keys as u128;
        let needed = cells * size_of::<Amount>() as u128;
        let too_costly = Error::TooCostly { steps, keys, needed, limit: memory_limit };
        if needed > u128::from(memory_limit) {
            return Err(too_costly);
        }
        let Ok(cells) = usize::try_from(cells) else { return Err(too_costly) };
        let mut totals = Vec::new();
        if totals.try_reserve_exact(cells).is_err() {
            return Err(too_costly);
        }
        totals.resize(cells, Amount::default());
        Ok(Self { buckets, rules, totals })
    }

    /// Takes one event. An error leaves the totals as they were.
    pub fn push(&mut self, event: &Event<'_>) -> Result<std::result::Result<(), Refusal>> {
        let step = match self.rules.step_of(event, &self.buckets)? {
            Ok(step) => step,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (position, amount) = match self.rules.decide(event, step)? {
            Ok(counted) => counted,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // The table was allocated for every step and key, so the index fits where the allocation did.
        let cell = &mut self.totals[step as usize * self.rules.width() + position];
        *cell = cell.plus(amount).ok_or(Error::TotalTooLarge { step })?;
        Ok(Ok(()))
    }

    /// Closes every declared step, empty ones included, in order.
    #[must_use]
    pub fn finish(self) -> GatheredSteps {
        GatheredSteps { width: self.rules.width(), totals: self.totals, next: 0 }
    }
}

/// The closed steps of a [`Gather`], in order.
pub struct GatheredSteps {
    width: usize,
    totals: Vec<Amount>,
    next: usize,
}

impl GatheredSteps {
    /// The totals of every step that is left, in order, without taking it.
    pub fn totals(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        let left = &self.totals[self.next * self.width..];
        left.chunks(self.width).map(|totals| totals.iter().map(|total| total.to_f64()).collect())
    }
}

impl Iterator for GatheredSteps {
    type Item = ClosedStep;

    fn next(&mut self) -> Option<ClosedStep> {
        let totals = self.totals.get(self.next * self.width..(self.next + 1) * self.width)?;
        let closed = ClosedStep {
            step: self.next as u64,
            totals: totals.iter().map(|total| total.to_f64()).collect(),
        };
        self.next += 1;
        Some(closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::Clamp;
    use crate::keys::KeySet;
    use proptest::prelude::*;

    fn three_buckets() -> Buckets {
        Buckets::new(0, "1s".parse().unwrap(), 3).unwrap()
    }

    #[test]
    fn empty_buckets_close_with_zero() {
        let mut gather = Gather::new(three_buckets(), Admission::new(), 1 << 20).unwrap();
        assert_eq!(gather.push(&Event { time: 2_500_000, ..Event::default() }), Ok(Ok(())));
        let totals: Vec<_> = gather.finish().map(|closed| (closed.step, closed.totals)).collect();
        assert_eq!(totals, [(0, vec![0.0]), (1, vec![0.0]), (2, vec![1.0])]);
    }

    #[test]
    fn a_table_over_the_limit_is_refused() {
        let keys = KeySet::new(["a"]).unwrap();
        let rules = Admission::new().keys(keys);
        assert!(Gather::new(three_buckets(), rules.clone(), 96).is_ok());
        assert!(Gather::new(three_buckets(), rules, 95).is_err());
        let endless = Buckets::new(0, crate::BucketLength::from_micros(1).unwrap(), 1 << 61).unwrap();
        assert!(Gather::new(endless, Admission::new(), u64::MAX).is_err());
    }

    #[test]
    fn a_total_past_two_to_the_53_is_an_error_and_changes_nothing() {
        let clamp = Clamp::new(0.0, 9e15).unwrap();
        let mut gather = Gather::new(three_buckets(), Admission::new().clamp(clamp), 1 << 20).unwrap();
        let event = Event { value: Some(9e15), ..Event::default() };
        assert_eq!(gather.push(&event), Ok(Ok(())));
        assert_eq!(gather.push(&event), Err(Error::TotalTooLarge { step: 0 }));
        assert!(gather.finish().next().is_some_and(|closed| closed.totals == [9e15]));
    }

    proptest! {
        #[test]
        fn the_order_of_events_never_matters(
            events in prop::collection::vec((0_i64..3_000_000, 0_usize..4, -1e6..1e6), 0..60).prop_shuffle(),
            seed in any::<u64>(),
        ) {
            let names = ["a", "b", "c", "undeclared"];
            let gathered = |events: &[(i64, usize, f64)]| {
                let rules = Admission::new()
                    .keys(KeySet::new(["a", "b", "c"]).unwrap())
                    .clamp(Clamp::new(-1e5, 1e5).unwrap());
                let mut gather = Gather::new(three_buckets(), rules, 1 << 20).unwrap();
                for &(time, key, value) in events {
                    let event = Event { time, key: Some(names[key]), value: Some(value), ..Event::default() };
                    gather.push(&event).unwrap().unwrap();
                }
                gather.finish().map(|closed| closed.totals).collect::<Vec<_>>()
            };
            let mut permuted = events.clone();
            permuted.sort_by_key(|event| (event.0 as u64).wrapping_mul(seed | 1));
            prop_assert_eq!(gathered(&events), gathered(&permuted));
        }
    }
}
