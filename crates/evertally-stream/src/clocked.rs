//! Events as they arrive, in buckets that a clock closes.
//!
//! **Definition.** The bucket that ends at e is closed when the clock reaches e + lag, whether or
//! not an event has come. Until then events may come in any order. When it closes, its events are
//! decided by time and then by content ([`admission`](crate::admission)). An event of a closed
//! bucket is late. An event whose bucket starts after the clock's time + lag is early, so nobody
//! can spend the future.
//!
//! **Guarantee.** Which steps are closed, and when, is a function of the clock alone. Whether an
//! event counts depends on the clock and on events of the same person (or, without a bound on
//! persons, of the same id). No event makes another one late.
//!
//! **Cost.** One total per key for each open bucket that holds an event: at most 2·lag/length + 2
//! buckets, by the length of the shortest. The events of these buckets that compete are held as well.

use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::{BucketLength, Buckets};
use crate::closed::{ClosedStep, ClosedSteps};
use crate::contest::{Contest, Entry};
use crate::decide::Counted;
use crate::error::{Error, Result};
use crate::rules::{Event, Rules};
use std::collections::BTreeMap;

/// Closes buckets by a clock, which is an argument: time moves only by [`Clocked::advance_to`].
#[derive(Clone)]
pub struct Clocked {
    buckets: Buckets,
    contest: Contest,
    lag_micros: i64,
    now: i64,
    open: u64,
    totals: BTreeMap<u64, Vec<Amount>>,
}

impl Clocked {
    /// Starts before all time: every event is early until the clock says what time it is. The open
    /// buckets and the events that they hold take up to `memory_limit` bytes.
    ///
    /// # Errors
    /// [`Error::TooCostly`] if the buckets that may be open at once would take more than
    /// `memory_limit` bytes.
    pub fn new(buckets: Buckets, rules: Rules, lag: BucketLength, memory_limit: u64) -> Result<Self> {
        let (lag_micros, every) = (lag.micros(), buckets.shortest_micros());
        let steps =
            (lag_micros as u64 / every as u64).saturating_mul(2).saturating_add(4).min(buckets.steps());
        let keys = rules.width();
        let needed = u128::from(steps) * keys as u128 * size_of::<Amount>() as u128;
        if needed > u128::from(memory_limit) {
            return Err(Error::TooCostly { steps, keys, needed, limit: memory_limit });
        }
        Ok(Self {
            buckets,
            contest: Contest::new(rules).holding_at_most(memory_limit - needed as u64),
            lag_micros,
            now: i64::MIN,
            open: 0,
            totals: BTreeMap::new(),
        })
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
        while let Some(step) = self.contest.first_open().filter(|step| *step < ended) {
            for counted in self.contest.close(step) {
                self.add(step, counted);
            }
        }
        let later = self.totals.split_off(&ended);
        let held = std::mem::replace(&mut self.totals, later).into_iter();
        let held = held.map(|(step, totals)| ClosedStep { step, totals }).collect();
        let closed = ClosedSteps::new(self.open..ended, held, self.contest.width());
        self.open = ended;
        closed
    }

    /// Takes one event, at the time that the clock said last. `None` if the event competes with
    /// others and is decided when its step closes.
    ///
    /// # Errors
    /// [`Error::OutsideRange`], [`Error::TooManyClaims`], after which the input cannot be counted, and the
    /// errors of values. The others change nothing.
    pub fn push(&mut self, event: &Event<'_>) -> Result<Option<Outcome>> {
        if self.contest.is_unnamed(event) {
            return Ok(Some(Outcome::Unnamed));
        }
        let step = match self.buckets.step_of(event.time)? {
            step if step < self.open => Err(Outcome::Late),
            step if self.buckets.start_of(step) > self.now.saturating_add(self.lag_micros) => {
                Err(Outcome::Early)
            }
            step => Ok(step),
        };
        Ok(match (self.contest.push(event, step)?, step) {
            (Entry::Refused(outcome), _) | (_, Err(outcome)) => Some(outcome),
            (Entry::Held, Ok(_)) => None,
            (Entry::Counted(counted), Ok(step)) => {
                self.add(step, counted);
                Some(Outcome::Counted { step })
            }
        })
    }

    fn add(&mut self, step: u64, counted: Counted) {
        let width = self.contest.width();
        let totals = self.totals.entry(step).or_insert_with(|| vec![Amount::default(); width]);
        self.contest.add(totals, counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::Gather;
    use crate::keys::KeySet;
    use evertally::Participation;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000;

    fn clocked(steps: u64, lag: &str) -> Clocked {
        let buckets = Buckets::new(0, "1s".parse().unwrap(), steps).unwrap();
        Clocked::new(buckets, Rules::default(), lag.parse().unwrap(), 1 << 20).unwrap()
    }

    fn at(time: i64) -> Event<'static> {
        Event { time, ..Event::default() }
    }

    fn plain(closed: ClosedSteps) -> Vec<(u64, f64)> {
        closed.map(|closed| (closed.step, closed.totals[0].to_f64())).collect()
    }

    #[test]
    fn buckets_close_by_the_clock_and_by_nothing_else() {
        let mut live = clocked(5, "2s");
        assert_eq!(live.push(&at(0)), Ok(Some(Outcome::Early)), "the clock has not spoken");
        assert_eq!(plain(live.advance_to(SECOND / 2)), []);
        assert_eq!(live.push(&at(0)), Ok(Some(Outcome::Counted { step: 0 })));
        // The bucket of the third second starts within the lag, and the next one does not.
        assert_eq!(live.push(&at(2 * SECOND)), Ok(Some(Outcome::Counted { step: 2 })));
        assert_eq!(live.push(&at(3 * SECOND)), Ok(Some(Outcome::Early)));
        assert_eq!(
            live.push(&at(SECOND)),
            Ok(Some(Outcome::Counted { step: 1 })),
            "an earlier event may come later"
        );
        assert_eq!(live.next_close(), Some(3 * SECOND));
        assert_eq!(plain(live.advance_to(3 * SECOND - 1)), []);
        assert_eq!(plain(live.advance_to(3 * SECOND)), [(0, 1.0)]);
        assert_eq!(live.push(&at(0)), Ok(Some(Outcome::Late)));
        assert_eq!(plain(live.advance_to(0)), [], "a clock that is set back opens nothing");
        assert_eq!(
            live.push(&at(5 * SECOND - 1)),
            Ok(Some(Outcome::Counted { step: 4 })),
            "nor does it forget what time it was"
        );
        assert_eq!(plain(live.advance_to(6 * SECOND)), [(1, 1.0), (2, 1.0), (3, 0.0)]);
        assert_eq!((live.open_step(), live.next_close()), (4, Some(7 * SECOND)));
        assert_eq!(plain(live.advance_to(i64::MAX)), [(4, 1.0)]);
        assert_eq!((live.open_step(), live.next_close()), (5, None));
    }

    /// The day on which clocks go forward ends an hour earlier than by its number of seconds.
    #[test]
    fn days_of_the_calendar_close_at_local_midnight() {
        let zone = crate::Zone::named("Europe/Zurich").unwrap();
        let parse = |text| crate::time::parse(text).unwrap();
        let crate::StepLength::Calendar(day) = crate::StepLength::parse("1d", true).unwrap() else {
            panic!("days of a zone follow its calendar")
        };
        let calendar = crate::Calendar::new(&zone, day, parse("2026-03-29T00:00:00+01:00"), Some(2)).unwrap();
        let buckets = Buckets::of_calendar(calendar, 2).unwrap();
        let mut live =
            Clocked::new(buckets.clone(), Rules::default(), "1h".parse().unwrap(), 1 << 20).unwrap();
        let mut follow = crate::Follow::new(buckets, Rules::default());
        let evening = parse("2026-03-29T23:59:59+02:00");
        assert_eq!(plain(live.advance_to(evening)), []);
        assert_eq!(live.push(&at(evening)), Ok(Some(Outcome::Counted { step: 0 })));
        assert_eq!(live.next_close(), Some(parse("2026-03-30T01:00:00+02:00")));
        assert_eq!(plain(live.advance_to(parse("2026-03-30T01:00:00+02:00"))), [(0, 1.0)]);
        assert_eq!(live.next_close(), Some(parse("2026-03-31T01:00:00+02:00")));
        follow.push(&at(evening)).unwrap();
        assert_eq!(plain(follow.push(&at(parse("2026-03-30T00:00:00+02:00"))).unwrap().closed), [(0, 1.0)]);
    }

    #[test]
    fn a_lag_that_holds_too_many_buckets_open_is_refused() {
        let buckets = Buckets::new(0, "1s".parse().unwrap(), 1000).unwrap();
        let with =
            |lag: &str, limit| Clocked::new(buckets.clone(), Rules::default(), lag.parse().unwrap(), limit);
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
            let rules = Rules {
                keys: Some(KeySet::new(["0", "1", "2"]).unwrap()),
                limits: bounded.then(|| Participation::at_most(k, b).unwrap()),
                ..Rules::default()
            };
            let mut gather = Gather::new(buckets.clone(), rules.clone(), 1 << 20).unwrap();
            let lag_length = BucketLength::from_micros(lag * SECOND).unwrap();
            let mut live = Clocked::new(buckets.clone(), rules, lag_length, 1 << 20).unwrap();
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
                    Ok(outcome @ (None | Some(Outcome::Counted { .. } | Outcome::Unnamed))) => {
                        prop_assert_eq!(gather.push(&event), Ok(outcome));
                    }
                    Ok(Some(Outcome::Late)) => {
                        prop_assert!(buckets.step_of(event.time).unwrap() < closed.len() as u64);
                    }
                    Ok(Some(Outcome::Early)) => {
                        let start = buckets.start_of(buckets.step_of(event.time).unwrap());
                        prop_assert!(start > now + lag * SECOND);
                    }
                    Ok(Some(other)) => prop_assert!(false, "{other:?}"),
                    Err(error) => prop_assert_eq!(gather.push(&event), Err(error)),
                }
                // No more buckets are held than the documentation says.
                prop_assert!(live.totals.len() as i64 <= 2 * lag + 2);
            }
            closed.extend(live.advance_to(i64::MAX));
            prop_assert!(gather.finish().unwrap().eq(closed));
        }
    }
}
