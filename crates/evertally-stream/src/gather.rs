//! Events in any order, gathered per step and key.

mod bulk;
mod log;
mod open;

use crate::admission::Outcome;
use crate::amount::Amount;
use crate::buckets::Buckets;
use crate::closed::ClosedStep;
use crate::contest::{Contest, Entry};
use crate::decide::Counted;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::names::given_name;
use crate::rules::{Event, Rules};
use log::Log;
pub use log::{ClaimBatch, KeyNumber, Moment, Spill, Tag};
pub use open::{InKey, OpenGather, OpenSteps};
use std::ops::Range;

/// Totals of every step and key of a finished input, whose events may stand in any order.
///
/// What counts is a function of the set of events: they are decided at the end, by time and then by
/// content ([`admission`](crate::admission)).
///
/// With [`Gather::of_steps`], a run takes the events of some steps, and goes on from what earlier runs
/// remember. Which steps those are is public, so no event decides which others count. An event of
/// another step counts in no run but that of its step: [`Outcome::Late`] before them and
/// [`Outcome::Early`] after them. The events of such a run that compete are held in
/// memory, and are an error beyond the limit on memory.
///
/// Memory: 16 bytes × steps × keys, allocated at the start. Where persons are bounded or ids are
/// compared, the events that may count are held in addition until the end, in 11 bytes for each person
/// (or id) and 5 to 8 for each of their events, and a few more if events have values. Beyond the limit on
/// memory they go to [`Spill`].
pub struct Gather {
    buckets: Buckets,
    rules: Rules,
    /// The steps whose events count.
    steps: Range<u64>,
    /// One for each step and key. With other steps than all, two cells more: whether an event before and
    /// after them was left out by columns.
    totals: Vec<Amount>,
    /// The number of cells of steps and keys.
    cells: usize,
    /// The events that compete, if any may.
    log: Option<Log>,
    /// What decides instead in a run that goes on from others.
    run: Option<Run>,
    /// Whether no key is declared and each counts for itself. There is no table then.
    is_open: bool,
}

/// One of the runs that decide together.
struct Run {
    contest: Contest,
    /// The tag of the key that persons and ids are remembered under.
    key_tag: [u8; 8],
}

impl Gather {
    /// An empty table.
    ///
    /// # Errors
    /// [`Error::TooCostly`] if the table would take more than `memory_limit` bytes.
    pub fn new(buckets: Buckets, rules: Rules, memory_limit: u64) -> Result<Self> {
        let steps = 0..buckets.steps();
        let totals = table(&steps, &rules, memory_limit)?;
        let left = memory_limit.saturating_sub(size_of_val(&totals[..]) as u64);
        let log = rules.has_competition().then(|| Log::new(&rules, left));
        let cells = totals.len();
        Ok(Self { buckets, rules, steps, totals, cells, log, run: None, is_open: false })
    }

    /// An empty table of some of the declared steps, for a run that goes on from the memory of earlier
    /// ones.
    ///
    /// # Errors
    /// As [`Gather::new`]. What is remembered of persons and ids counts as memory.
    pub fn of_steps(
        buckets: Buckets,
        rules: Rules,
        memory: Memory,
        steps: Range<u64>,
        memory_limit: u64,
    ) -> Result<Self> {
        let steps = steps.start..steps.end.min(buckets.steps());
        let mut totals = table(&steps, &rules, memory_limit)?;
        let cells = totals.len();
        totals.extend([Amount::default(); 2]);
        let key_tag = memory.key_tag();
        let left = memory_limit.saturating_sub(size_of_val(&totals[..]) as u64 + memory.bytes());
        let run = Run { contest: Contest::after(rules.clone(), memory).holding_at_most(left), key_tag };
        Ok(Self { buckets, rules, steps, totals, cells, log: None, run: Some(run), is_open: false })
    }

    /// Sets the limit on the memory of events that compete, before the first of them.
    #[must_use]
    pub fn holding_at_most(mut self, bytes: u64) -> Self {
        self.log = self.log.map(|_| Log::new(&self.rules, bytes));
        self
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
        if self.is_open {
            return self.push_open(event);
        }
        let event = &self.rules.identified(event);
        if self.rules.is_unnamed(event) {
            return Ok(Some(Outcome::Unnamed));
        }
        let step = self.buckets.step_of(event.time)?;
        if let Some(run) = &mut self.run {
            let taken = match step {
                step if step < self.steps.start => Err(Outcome::Late),
                step if step >= self.steps.end => Err(Outcome::Early),
                step => Ok(step),
            };
            return Ok(match run.contest.push(event, taken)? {
                Entry::Counted(counted) => {
                    add(&self.rules, &mut self.totals, step - self.steps.start, counted);
                    Some(Outcome::Counted { step })
                }
                Entry::Held => None,
                Entry::Refused(outcome) => Some(outcome),
            });
        }
        let amount = self.rules.amount(event)?;
        let claimant = if self.rules.limits.is_some() { event.person } else { event.id };
        match (&mut self.log, given_name(claimant)) {
            (Some(log), Some(claimant)) => {
                let moment = moment_of(&self.buckets, event.time)?;
                log.add(claimant, moment, event.key, event.id, amount)?;
                Ok(None)
            }
            _ => {
                let place = self.rules.position(event.key);
                add(&self.rules, &mut self.totals, step, (place, amount));
                Ok(Some(Outcome::Counted { step }))
            }
        }
    }

    /// Decides on the events that compete, and closes every step of the table in order, including
    /// empty ones.
    ///
    /// # Errors
    /// [`Error::Spill`].
    pub fn finish(self) -> Result<GatheredSteps> {
        Ok(self.finish_and_remember()?.0)
    }

    /// The same, with what the next run must remember, if this one began with a memory.
    ///
    /// # Errors
    /// As [`Gather::finish`].
    pub fn finish_and_remember(mut self) -> Result<(GatheredSteps, Option<Memory>)> {
        let (width, first) = (self.rules.width(), self.steps.start);
        let mut memory = None;
        if let Some(Run { mut contest, key_tag }) = self.run {
            while let Some(step) = contest.first_open() {
                for counted in contest.close(step) {
                    add(&self.rules, &mut self.totals, step - first, counted);
                }
            }
            memory = Memory::of(contest.into_admission(), key_tag);
        }
        if let Some(log) = self.log {
            log.decide(|step, counted| add(&self.rules, &mut self.totals, step, counted))?;
        }
        self.totals.truncate(self.cells);
        Ok((GatheredSteps { width, totals: self.totals, first, next: 0 }, memory))
    }
}

/// The place of a time among the steps.
#[inline]
fn moment_of(buckets: &Buckets, time: i64) -> Result<Moment> {
    let (step, offset) = buckets.moment_of(time)?;
    Ok(Moment { step, offset })
}

/// The empty totals of these steps.
pub(crate) fn table(steps: &Range<u64>, rules: &Rules, memory_limit: u64) -> Result<Vec<Amount>> {
    let (steps, keys) = (steps.end.saturating_sub(steps.start), rules.width());
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
    Ok(totals)
}

/// Adds to the table, which was allocated for every step and key. Its rows are the steps.
fn add(rules: &Rules, totals: &mut [Amount], row: u64, counted: Counted) {
    rules.add(&mut totals[row as usize * rules.width()..], counted);
}

/// The closed steps of a [`Gather`], or of rows that were read, in order.
pub struct GatheredSteps {
    width: usize,
    totals: Vec<Amount>,
    /// The step of the first totals.
    first: u64,
    next: usize,
}

impl GatheredSteps {
    /// The totals of all steps from the first on.
    pub(crate) fn new(width: usize, totals: Vec<Amount>) -> Self {
        Self { width, totals, first: 0, next: 0 }
    }

    /// Steps of one total each, from this step on.
    #[must_use]
    pub fn of_rows(first: u64, totals: Vec<Amount>) -> Self {
        Self { width: 1, totals, first, next: 0 }
    }

    /// The totals of every step that is left, in order, without taking it.
    pub fn totals(&self) -> impl Iterator<Item = &[Amount]> + '_ {
        self.totals[self.next * self.width..].chunks(self.width)
    }
}

impl Iterator for GatheredSteps {
    type Item = ClosedStep;

    fn next(&mut self) -> Option<ClosedStep> {
        let totals = self.totals.get(self.next * self.width..(self.next + 1) * self.width)?.to_vec();
        let closed = ClosedStep { step: self.first + self.next as u64, totals };
        self.next += 1;
        Some(closed)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.totals.len() / self.width - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for GatheredSteps {}

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
