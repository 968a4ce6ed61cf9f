//! Events as they arrive: a bucket is closed as soon as time has moved past it.

use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::closed::{ClosedStep, ClosedSteps};
use crate::contest::{Contest, Entry};
use crate::error::Result;
use crate::rules::{Event, Rules};

/// Closes buckets while events arrive.
///
/// One bucket is open at a time. It is closed when an event of a later bucket counts, or when
/// [`Follow::advance_to`] says that time has passed. From then on it never changes, and an event
/// that belongs to it is refused as [`Outcome::Late`]. An event moves something only if an event
/// of its person and step counts. The
/// events of the open bucket are decided when it closes, by time and then by content
/// ([`admission`](crate::admission)). An event of a later bucket that would not count now, but may
/// yet, waits for its bucket and closes nothing: another event of the open bucket can still take
/// the place of the one that it is a copy of.
///
/// Memory: one total per key, the events of the open bucket that compete, and the events of later
/// buckets that wait. Cost: an event of a later bucket is compared with those that wait before it, so
/// n copies that one person sends for n buckets cost n² / 2 look-ups.
///
/// # What must hold
/// Which event arrives first decides which one is late. If one person can send an event of a much
/// later bucket, that event closes the open bucket and makes the stragglers late, so a total can
/// move by more than that event's own share. An event past the declared range does the same to all
/// buckets if the caller ends at it, so a caller asks [`Follow::would_count`] first. The stated
/// guarantee is for events that arrive in the order of their times, or whose arrival is public. A
/// caller who cannot promise either lets a clock close the buckets: [`Clocked`](crate::Clocked).
#[derive(Clone)]
pub struct Follow {
    buckets: Buckets,
    contest: Contest,
    open: u64,
    totals: Vec<Amount>,
}

/// What an event did.
pub struct PushAnswer {
    /// What became of it; `None` if it is decided when its step closes.
    pub outcome: Option<Outcome>,
    /// The steps that it closed, in order.
    pub closed: ClosedSteps,
}

impl Follow {
    /// Starts with the first bucket open.
    #[must_use]
    pub fn new(buckets: Buckets, rules: Rules) -> Self {
        let totals = vec![Amount::default(); rules.width()];
        Self { buckets, contest: Contest::new(rules), open: 0, totals }
    }

    /// Limits the bytes of events that are held. An event beyond them is
    /// [`Error::TooManyClaims`](crate::Error::TooManyClaims).
    #[must_use]
    pub fn holding_at_most(mut self, bytes: u64) -> Self {
        self.contest = self.contest.holding_at_most(bytes);
        self
    }

    /// The step whose bucket is open; the number of steps once all are closed.
    #[must_use]
    pub fn open_step(&self) -> u64 {
        self.open
    }

    /// Takes one event. The steps that it closed must be taken from the answer: they come out once.
    ///
    /// # Errors
    /// [`Error::OutsideRange`](crate::Error::OutsideRange),
    /// [`Error::TooManyClaims`](crate::Error::TooManyClaims), after which the input cannot be counted, and
    /// the errors of values. The others change nothing.
    pub fn push(&mut self, event: &Event<'_>) -> Result<PushAnswer> {
        let refused = |outcome| PushAnswer { outcome: Some(outcome), closed: ClosedSteps::none() };
        if self.contest.is_unnamed(event) {
            return Ok(refused(Outcome::Unnamed));
        }
        let step = self.buckets.step_of(event.time)?;
        if step > self.open {
            let preview = self.contest.preview(event, step);
            if !preview.is_counted() {
                if !self.contest.may_yet_count(event, self.open, step) {
                    return Ok(refused(preview));
                }
                return Ok(match self.contest.push(event, Ok(step))? {
                    Entry::Refused(outcome) => refused(outcome),
                    _ => PushAnswer { outcome: None, closed: ClosedSteps::none() },
                });
            }
        }
        let open = if step < self.open { Err(Outcome::Late) } else { Ok(step) };
        let entry = self.contest.push(event, open)?;
        if let Entry::Refused(outcome) = entry {
            return Ok(refused(outcome));
        }
        let closed = self.close_before(step);
        let outcome = match entry {
            Entry::Counted(counted) => {
                self.contest.add(&mut self.totals, counted);
                Some(Outcome::Counted { step })
            }
            _ => None,
        };
        Ok(PushAnswer { outcome, closed })
    }

    /// Whether an event would count if its bucket were in the range and every bucket before it
    /// closed now. An event past the range says that all buckets are over only if it would: one
    /// that cannot count moves nothing.
    #[must_use]
    pub fn would_count(&self, event: &Event<'_>) -> bool {
        self.contest.preview(event, self.buckets.step_in_any_range(event.time)).is_counted()
    }

    /// Time has reached `time`: closes every bucket that has ended by then.
    pub fn advance_to(&mut self, time: i64) -> ClosedSteps {
        self.close_before(self.buckets.ended_by(time))
    }

    /// Closes every step that is left.
    pub fn finish(mut self) -> ClosedSteps {
        self.close_before(self.buckets.steps())
    }

    fn close_before(&mut self, step: u64) -> ClosedSteps {
        if step <= self.open {
            return ClosedSteps::none();
        }
        let width = self.totals.len();
        let totals = std::mem::replace(&mut self.totals, vec![Amount::default(); width]);
        let mut held = vec![ClosedStep { step: self.open, totals }];
        while let Some(step) = self.contest.first_open().filter(|held| *held < step) {
            if step > self.open {
                held.push(ClosedStep { step, totals: vec![Amount::default(); width] });
            }
            let counted = self.contest.close(step);
            if let Some(last) = held.last_mut() {
                counted.into_iter().for_each(|counted| self.contest.add(&mut last.totals, counted));
            }
        }
        let closed = ClosedSteps::new(self.open..step, held, width);
        self.open = step;
        closed
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

    fn at(second: i64) -> Event<'static> {
        Event { time: second * SECOND, ..Event::default() }
    }

    fn five_seconds() -> Buckets {
        Buckets::new(0, "1s".parse().unwrap(), 5).unwrap()
    }

    fn plain(closed: ClosedSteps) -> Vec<(u64, f64)> {
        closed.map(|closed| (closed.step, closed.totals[0].to_f64())).collect()
    }

    #[test]
    fn a_later_event_closes_and_a_straggler_is_late() {
        let mut follow = Follow::new(five_seconds(), Rules::default());
        assert_eq!(plain(follow.push(&at(0)).unwrap().closed), []);
        assert_eq!(plain(follow.push(&at(0)).unwrap().closed), []);
        assert_eq!(plain(follow.push(&at(3)).unwrap().closed), [(0, 2.0), (1, 0.0), (2, 0.0)]);
        let late = follow.push(&at(2)).unwrap();
        assert_eq!(late.outcome, Some(Outcome::Late));
        assert_eq!(plain(late.closed), []);
        assert_eq!(follow.open_step(), 3);
        assert_eq!(plain(follow.finish()), [(3, 1.0), (4, 0.0)]);
    }

    #[test]
    fn time_moves_when_told() {
        let mut follow = Follow::new(five_seconds(), Rules::default());
        assert_eq!(plain(follow.advance_to(SECOND - 1)), []);
        assert_eq!(plain(follow.advance_to(SECOND)), [(0, 0.0)]);
        assert_eq!(plain(follow.advance_to(0)), []);
        assert_eq!(follow.push(&at(0)).unwrap().outcome, Some(Outcome::Late));
        assert_eq!(plain(follow.advance_to(i64::MAX)), [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0)]);
        assert_eq!(plain(follow.finish()), []);
    }

    #[test]
    fn an_event_that_does_not_count_moves_nothing() {
        let rules = Rules { limits: Some(Participation::at_most(1, 1).unwrap()), ..Rules::default() };
        let mut follow = Follow::new(five_seconds(), rules);
        let of = |person, second| Event { person, ..at(second) };
        assert!(follow.push(&of(Some("p1"), 0)).unwrap().outcome.is_none());
        assert_eq!(follow.push(&of(Some("p1"), 4)).unwrap().outcome, Some(Outcome::OverBound));
        for nobody in [None, Some(""), Some(" \t")] {
            assert_eq!(follow.push(&of(nobody, 4)).unwrap().outcome, Some(Outcome::Unnamed));
            // Not even the range of time is asked: nobody's event stops nothing.
            assert_eq!(follow.push(&of(nobody, 9)).unwrap().outcome, Some(Outcome::Unnamed));
        }
        assert_eq!(follow.open_step(), 0);
    }

    /// The copy of an event that is held in the open step was refused at once. Then an earlier event
    /// of the same person took the step, and neither the event nor its copy counted.
    #[test]
    fn a_copy_of_an_event_that_does_not_count_in_the_end_does() {
        let rules =
            Rules { limits: Some(Participation::at_most(2, 1).unwrap()), has_ids: true, ..Rules::default() };
        let at = |id, time| Event { time, person: Some("p"), id: Some(id), ..Event::default() };
        let events = [at("A", 500_000), at("A", 4 * SECOND), at("B", 100_000)];
        for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1]] {
            let mut follow = Follow::new(five_seconds(), rules.clone());
            let mut closed = Vec::new();
            for event in order {
                closed.extend(plain(follow.push(&events[event]).unwrap().closed));
            }
            closed.extend(plain(follow.finish()));
            // In the second order, the event at 4 s came first and made the others late.
            let first = if order[0] == 1 { 0.0 } else { 1.0 };
            assert_eq!(closed, [(0, first), (1, 0.0), (2, 0.0), (3, 0.0), (4, 1.0)], "{order:?}");
        }
    }

    /// Any event past the range ended a followed run, even a copy or one of a person over the bound.
    #[test]
    fn an_event_past_the_range_ends_it_only_if_it_would_count() {
        let rules =
            Rules { limits: Some(Participation::at_most(2, 3).unwrap()), has_ids: true, ..Rules::default() };
        let mut follow = Follow::new(five_seconds(), rules);
        let at = |person, id, second| Event { person, id, ..at(second) };
        let [p, q] = [Some("p"), Some("q")];
        for (person, id, second) in [(p, Some("1"), 0), (p, Some("2"), 3), (q, Some("1"), 3)] {
            follow.push(&at(person, id, second)).unwrap();
        }
        assert!(!follow.would_count(&at(p, Some("3"), 9)), "p has counted in two steps");
        assert!(!follow.would_count(&at(q, Some("1"), 9)), "a copy");
        assert!(!follow.would_count(&at(q, Some("2"), 5)), "too near");
        assert!(!follow.would_count(&at(None, Some("2"), 9)), "nobody's");
        assert!(follow.would_count(&at(q, Some("2"), 6)));
    }

    proptest! {
        #[test]
        fn agrees_with_gathering_on_sorted_events(
            mut events in prop::collection::vec((0_i64..40 * SECOND, 0_u8..4, 0_u8..6), 0..120),
            k in 1_u64..4, b in 1_u64..4, bounded in any::<bool>(),
        ) {
            events.sort_unstable();
            let buckets = Buckets::new(0, "1s".parse().unwrap(), 40).unwrap();
            let rules = Rules {
                keys: Some(KeySet::new(["0", "1", "2"]).unwrap()),
                limits: bounded.then(|| Participation::at_most(k, b).unwrap()),
                ..Rules::default()
            };
            let mut gather = Gather::new(buckets.clone(), rules.clone(), 1 << 20).unwrap();
            let mut follow = Follow::new(buckets, rules);
            let mut followed = Vec::new();
            for (time, key, person) in events {
                let (key, person) = (key.to_string(), person.to_string());
                let event = Event { time, key: Some(&key), person: Some(&person), ..Event::default() };
                let pushed = follow.push(&event).unwrap();
                gather.push(&event).unwrap();
                followed.extend(pushed.closed);
            }
            followed.extend(follow.finish());
            prop_assert!(gather.finish().unwrap().eq(followed));
        }
    }
}
