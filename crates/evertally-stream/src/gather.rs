//! Events in any order, gathered per step and key.

mod bulk;
mod log;

use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::closed::ClosedStep;
use crate::decide::Counted;
use crate::error::{Error, Result};
use crate::names::given_name;
use crate::rules::{Event, Rules};
use log::Log;
pub use log::Spill;

/// Totals of every step and key of a finished input, whose events may stand in any order.
///
/// What counts is a function of the set of events: they are decided at the end, by time and then by
/// content ([`admission`](crate::admission)).
///
/// Memory: 16 bytes × steps × keys, allocated at the start. Where persons are bounded or ids are
/// compared, the events that may count are held in addition until the end, in about 20 bytes for each
/// person (or id) and 6 for each further event. Beyond the limit on memory they go to
/// [`Spill`].
pub struct Gather {
    buckets: Buckets,
    rules: Rules,
    totals: Vec<Amount>,
    /// The events that compete, if any may.
    log: Option<Log>,
}

impl Gather {
    /// An empty table.
    ///
    /// # Errors
    /// [`Error::TooCostly`] if the table would take more than `memory_limit` bytes.
    pub fn new(buckets: Buckets, rules: Rules, memory_limit: u64) -> Result<Self> {
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
        let left = memory_limit - needed as u64;
        let log = rules.has_competition().then(|| Log::new(&rules, &buckets, left));
        Ok(Self { buckets, rules, totals, log })
    }

    /// Opens the place for events that do not fit in memory, once there are any. Without a place, they
    /// are an error.
    #[must_use]
    pub fn spilling_to(
        mut self,
        open: impl FnOnce() -> std::io::Result<Box<dyn Spill>> + Send + Sync + 'static,
    ) -> Self {
        if let Some(log) = &mut self.log {
            log.spill_to(Box::new(open));
        }
        self
    }

    /// Takes one event. `None` if it competes with others and is decided at the end.
    ///
    /// # Errors
    /// [`Error::OutsideRange`] and the errors of values, which change nothing.
    /// [`Error::TooManyClaims`] and [`Error::Spill`], after which the input cannot be gathered.
    pub fn push(&mut self, event: &Event<'_>) -> Result<Option<Outcome>> {
        if self.rules.is_unnamed(event) {
            return Ok(Some(Outcome::Unnamed));
        }
        let step = self.buckets.step_of(event.time)?;
        let amount = self.rules.amount(event)?;
        let claimant = if self.rules.limits.is_some() { event.person } else { event.id };
        match (&mut self.log, given_name(claimant)) {
            (Some(log), Some(claimant)) => {
                log.add(claimant, event, amount)?;
                Ok(None)
            }
            _ => {
                let place = self.rules.position(event.key);
                add(&self.rules, &mut self.totals, step, (place, amount));
                Ok(Some(Outcome::Counted { step }))
            }
        }
    }

    /// Decides on the events that compete, and closes every declared step in order, including
    /// empty ones.
    ///
    /// # Errors
    /// [`Error::Spill`].
    pub fn finish(mut self) -> Result<GatheredSteps> {
        let width = self.rules.width();
        if let Some(log) = self.log {
            log.decide(|step, counted| add(&self.rules, &mut self.totals, step, counted))?;
        }
        Ok(GatheredSteps { width, totals: self.totals, next: 0 })
    }
}

/// Adds to the table, which was allocated for every step and key.
fn add(rules: &Rules, totals: &mut [Amount], step: u64, counted: Counted) {
    rules.add(&mut totals[step as usize * rules.width()..], counted);
}

/// The closed steps of a [`Gather`], in order.
pub struct GatheredSteps {
    width: usize,
    totals: Vec<Amount>,
    next: usize,
}

impl GatheredSteps {
    /// The totals of every step that is left, in order, without taking it.
    pub fn totals(&self) -> impl Iterator<Item = &[Amount]> + '_ {
        self.totals[self.next * self.width..].chunks(self.width)
    }
}

impl Iterator for GatheredSteps {
    type Item = ClosedStep;

    fn next(&mut self) -> Option<ClosedStep> {
        let totals = self.totals.get(self.next * self.width..(self.next + 1) * self.width)?.to_vec();
        let closed = ClosedStep { step: self.next as u64, totals };
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
        let mut gather = Gather::new(three_buckets(), Rules::default(), 1 << 20).unwrap();
        assert_eq!(
            gather.push(&Event { time: 2_500_000, ..Event::default() }),
            Ok(Some(Outcome::Counted { step: 2 }))
        );
        let totals: Vec<_> =
            gather.finish().unwrap().map(|closed| (closed.step, closed.totals[0].to_f64())).collect();
        assert_eq!(totals, [(0, 0.0), (1, 0.0), (2, 1.0)]);
    }

    #[test]
    fn a_table_over_the_limit_is_refused() {
        let rules = Rules { keys: Some(KeySet::new(["a"]).unwrap()), ..Rules::default() };
        assert!(Gather::new(three_buckets(), rules.clone(), 96).is_ok());
        assert!(Gather::new(three_buckets(), rules, 95).is_err());
        let endless = Buckets::new(0, crate::BucketLength::from_micros(1).unwrap(), 1 << 61).unwrap();
        assert!(Gather::new(endless, Rules::default(), u64::MAX).is_err());
    }

    /// Such a total was refused when totals were handed on as doubles.
    #[test]
    fn a_total_past_two_to_the_53_is_exact() {
        let rules = Rules { clamp: Some(Clamp::new(0.0, 9e15).unwrap()), ..Rules::default() };
        let mut gather = Gather::new(three_buckets(), rules, 1 << 20).unwrap();
        for value in [9e15, 9e15, 0.25, 1.0] {
            assert!(gather.push(&Event { value: Some(value), ..Event::default() }).is_ok());
        }
        let total = gather.finish().unwrap().next().unwrap().totals[0].grid_steps();
        assert_eq!(total, (18_000_000_000_000_001 << 20) + (1 << 18));
    }

    #[test]
    fn an_event_in_error_spends_nothing() {
        let rules = Rules { clamp: Some(Clamp::new(0.0, 5.0).unwrap()), has_ids: true, ..Rules::default() };
        let mut gather = Gather::new(three_buckets(), rules, 1 << 20).unwrap();
        let event = Event { id: Some("1"), value: Some(f64::NAN), ..Event::default() };
        assert!(gather.push(&event).is_err());
        assert!(gather.push(&Event { value: Some(7.0), ..event }).is_ok());
        assert_eq!(gather.finish().unwrap().next().unwrap().totals[0].to_f64(), 5.0);
    }

    proptest! {
        #[test]
        fn the_order_of_events_never_matters(
            events in prop::collection::vec((0_i64..3_000_000, 0_usize..4, -1e6..1e6), 0..60).prop_shuffle(),
            seed in any::<u64>(),
        ) {
            let names = ["a", "b", "c", "undeclared"];
            let gathered = |events: &[(i64, usize, f64)]| {
                let keys = Some(KeySet::new(["a", "b", "c"]).unwrap());
                let rules = Rules { keys, clamp: Some(Clamp::new(-1e5, 1e5).unwrap()), ..Rules::default() };
                let mut gather = Gather::new(three_buckets(), rules, 1 << 20).unwrap();
                for &(time, key, value) in events {
                    let event = Event { time, key: Some(names[key]), value: Some(value), ..Event::default() };
                    gather.push(&event).unwrap();
                }
                gather.finish().unwrap().map(|closed| closed.totals).collect::<Vec<_>>()
            };
            let mut permuted = events.clone();
            permuted.sort_by_key(|event| (event.0 as u64).wrapping_mul(seed | 1));
            prop_assert!(gathered(&events) == gathered(&permuted));
        }
    }
}
