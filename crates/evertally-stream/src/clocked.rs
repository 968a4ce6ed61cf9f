//! Events as they arrive, in buckets that a clock closes.
//!
//! **Definition.** The bucket that ends at e is closed when the clock reaches e + lag, whether or
//! not an event has come. Until then events may come in any order. An event of a closed bucket is
//! late. An event whose bucket begins after the clock's time + lag is early, so that nobody can
//! spend the future.
//!
//! **Guarantee.** Which steps are closed, and when, is a function of the clock alone. Whether an
//! event counts depends on the clock, and, where persons are bounded, on the same person's earlier
//! events. No event makes another one late.
//!
//! **Cost.** One total per key for each open bucket that holds an event: at most 2·lag/length + 2 buckets.

use crate::admission::{Admission, Event, Refusal};
use crate::amount::Amount;
use crate::buckets::{BucketLength, Buckets};
use crate::closed::{ClosedStep, ClosedSteps};
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Closes buckets by a clock, which is an argument: time moves only by [`Clocked::advance_to`].
#[derive(Clone)]
pub struct Clocked {
    buckets: Buckets,
    rules: Admission,
    lag_micros: i64,
    now: i64,
    open: u64,
    totals: BTreeMap<u64, Vec<Amount>>,
}

impl Clocked {
    /// Starts before all time: every event is early until the clock is told. Refused where the
    /// buckets that may be open at once would take more than `memory_limit` bytes.
    pub fn new(buckets: Buckets, rules: Admission, lag: BucketLength, memory_limit: u64) -> Result<Self> {
        let (lag_micros, every) = (lag.micros(), buckets.every().micros());
        let steps =
            (lag_micros as u64 / every as u64).saturating_mul(2).saturating_add(4).min(buckets.steps());
        let keys = rules.width();
        let needed = u128::from(steps) * keys as u128 * size_of::<Amount>() as u128;
        if needed > u128::from(memory_limit) {
            return Err(Error::TooCostly { steps, keys, needed, limit: memory_limit });
        }
        Ok(Self { buckets, rules, lag_micros, now: i64::MIN, open: 0, totals: BTreeMap::new() })
    }

    /// The first step that is not closed; the number of steps once all are.
    #[must_use]
    pub fn open_step(&self) -> u64 {
        self.open
    }

    /// The time at which the clock closes the next bucket; nothing once all are closed.
    #[must_use]
    pub fn next_close(&self) -> Option<i64> {
        let is_open = self.open < self.buckets.steps();
        is_open.then(|| self.buckets.start_of(self.open + 1).saturating_add(self.lag_micros))
    }

    /// The clock says `now`: closes every bucket that ended at least the lag ago. A clock that is
    /// set back changes nothing.
    pub fn advance_to(&mut self, now: i64) -> ClosedSteps {
        self.now = self.now.max(now);
        let ended = self.buckets.ended_by(self.now.saturating_sub(self.lag_micros));
        if ended <= self.open {
            return ClosedSteps::none();
        }
        let later = self.totals.split_off(&ended);
        let held = std::mem::replace(&mut self.totals, later).into_iter().map(|(step, totals)| ClosedStep {
            step,
            totals: totals.iter().map(|total| total.to_f64()).collect(),
        });
        let closed = ClosedSteps::new(self.open..ended, held.collect(), self.rules.width());
        self.open = ended;
        closed
    }

    /// Takes one event, at the time that the clock said last.
    pub fn push(&mut self, event: &Event<'_>) -> Result<std::result::Result<(), Refusal>> {
        let step = match self.rules.step_of(event, &self.buckets)? {
            Ok(step) if step < self.open => return Ok(Err(Refusal::Late)),
            Ok(step) if self.buckets.start_of(step) > self.now.saturating_add(self.lag_micros) => {
                return Ok(Err(Refusal::Early));
            }
            Ok(step) => step,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (position, amount) = match self.rules.decide(event, step)? {
            Ok(counted) => counted,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let width = self.rules.width();
        let total = &mut self.totals.entry(step).or_insert_with(|| vec![Amount::default(); width])[position];
        *total = total.plus(amount).ok_or(Error::TotalTooLarge { step })?;
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contribution::ContributionBound;
    use crate::gather::Gather;
    use crate::keys::KeySet;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000;

    fn clocked(steps: u64, lag: &str) -> Clocked {
        let buckets = Buckets::new(0, "1s".parse().unwrap(), steps).unwrap();
        Clocked::new(buckets, Admission::new(), lag.parse().unwrap(), 1 << 20).unwrap()
    }

    fn at(time: i64) -> Event<'static> {
        Event { time, ..Event::default() }
    }

    fn plain(closed: ClosedSteps) -> Vec<(u64, f64)> {
        closed.map(|closed| (closed.step, closed.totals[0])).collect()
    }

    #[test]
    fn buckets_close_by_the_clock_and_by_nothing_else() {
        let mut live = clocked(5, "2s");
        assert_eq!(live.push(&at(0)), Ok(Err(Refusal::Early)), "no time has been told");
        assert_eq!(plain(live.advance_to(SECOND / 2)), []);
        assert_eq!(live.push(&at(0)), Ok(Ok(())));
        // The bucket of the third second begins within the lag, and the next one does not.
        assert_eq!(live.push(&at(2 * SECOND)), Ok(Ok(())));
        assert_eq!(live.push(&at(3 * SECOND)), Ok(Err(Refusal::Early)));
        assert_eq!(live.push(&at(SECOND)), Ok(Ok(())), "an earlier event may come later");
        assert_eq!(live.next_close(), Some(3 * SECOND));
        assert_eq!(plain(live.advance_to(3 * SECOND - 1)), []);
        assert_eq!(plain(live.advance_to(3 * SECOND)), [(0, 1.0)]);
        assert_eq!(live.push(&at(0)), Ok(Err(Refusal::Late)));
        assert_eq!(plain(live.advance_to(0)), [], "a clock that is set back opens nothing");
        assert_eq!(live.push(&at(5 * SECOND - 1)), Ok(Ok(())), "nor does it forget what time it was");
        assert_eq!(plain(live.advance_to(6 * SECOND)), [(1, 1.0), (2, 1.0), (3, 0.0)]);
        assert_eq!((live.open_step(), live.next_close()), (4, Some(7 * SECOND)));
        assert_eq!(plain(live.advance_to(i64::MAX)), [(4, 1.0)]);
        assert_eq!((live.open_step(), live.next_close()), (5, None));
    }

    #[test]
    fn a_lag_that_holds_too_many_buckets_open_is_refused() {
        let buckets = Buckets::new(0, "1s".parse().unwrap(), 1000).unwrap();
        let with = |lag: &str, limit| Clocked::new(buckets, Admission::new(), lag.parse().unwrap(), limit);
        assert!(with("10s", 24 * 16).is_ok());
        assert!(with("10s", 24 * 16 - 1).is_err());
        assert!(with("15250w", 1000 * 16).is_ok(), "there are no more buckets than steps");
    }

    proptest! {
        /// What was admitted is what `Gather` makes of the same events; and the steps come by the
        /// clock, each once.
        #[test]
        fn agrees_with_gathering_what_was_admitted(
            arrivals in prop::collection::vec((0_i64..4 * SECOND, -4 * SECOND..6 * SECOND, 0_u8..4, 0_u8..7), 0..120),
            lag in 1_i64..4, k in 1_u64..4, b in 1_u64..4, bounded in any::<bool>(),
        ) {
            let buckets = Buckets::new(0, "1s".parse().unwrap(), 40).unwrap();
            let mut rules = Admission::new().keys(KeySet::new(["0", "1", "2"]).unwrap());
            if bounded {
                rules = rules.bound(ContributionBound::new(k, b).unwrap());
            }
            let mut gather = Gather::new(buckets, rules.clone(), 1 << 20).unwrap();
            let lag_length = BucketLength::from_micros(lag * SECOND).unwrap();
            let mut live = Clocked::new(buckets, rules, lag_length, 1 << 20).unwrap();
            let (mut now, mut closed) = (0, Vec::new());
            for (passed, offset, key, person) in arrivals {
                now += passed;
                closed.extend(live.advance_to(now));
                prop_assert_eq!(closed.len() as u64, buckets.ended_by(now - lag * SECOND));
                prop_assert_eq!(live.open_step(), closed.len() as u64);
                let (key, name) = (key.to_string(), person.to_string());
                // Nobody has the name of the last one.
                let person = Some(name.as_str()).filter(|_| person < 6);
                let event = Event { time: now + offset, key: Some(&key), person, ..Event::default() };
                match live.push(&event) {
                    Ok(counted @ (Ok(()) | Err(Refusal::OverBound | Refusal::Unnamed))) => {
                        prop_assert_eq!(gather.push(&event), Ok(counted));
                    }
                    Ok(Err(Refusal::Late)) => {
                        prop_assert!(buckets.step_of(event.time).unwrap() < closed.len() as u64);
                    }
                    Ok(Err(Refusal::Early)) => {
                        let start = buckets.start_of(buckets.step_of(event.time).unwrap());
                        prop_assert!(start > now + lag * SECOND);
                    }
                    Ok(Err(other)) => prop_assert!(false, "{other:?}"),
                    Err(error) => prop_assert_eq!(gather.push(&event), Err(error)),
                }
                // No more buckets are held than were said to be.
                prop_assert!(live.totals.len() as i64 <= 2 * lag + 2);
            }
            closed.extend(live.advance_to(i64::MAX));
            prop_assert!(gather.finish().eq(closed));
        }
    }
}
