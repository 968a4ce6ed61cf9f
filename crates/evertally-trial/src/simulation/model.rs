//! The ledger as plain lists: what each event becomes, and what each step's total is.
//!
//! Written from the description of the service and not from the ledger: an event counts in the step
//! of its time, once; at its arrival where it says no time; not after the step was closed, not
//! before it began, and for a person not in more steps than allowed.

use std::collections::{BTreeMap, BTreeSet};

use super::shapes::Shape;

/// An event of a simulated client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: u64,
    /// When it says that it happened.
    pub time: Option<i64>,
    /// Its key, where the counter has keys; one more than there are stands for another key.
    pub lane: usize,
    /// Whose it is, where the counter asks.
    pub person: u64,
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of a receipt")]
pub enum Fate {
    Counted,
    Duplicate,
    Late,
    Early,
    OverBound,
    Ended,
}

/// What a counter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It counts.
    Running,
    /// Its population could not pay for a new epoch.
    Halted,
    /// It was retired.
    Retired,
}

/// One counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// What it was made from.
    pub shape: Shape,
    /// What it does.
    pub life: Life,
    /// Steps closed.
    pub closed: u64,
    /// Steps released.
    pub released: u64,
    /// Ids that counted, with their persons where these are asked for.
    counted: BTreeSet<(u64, u64)>,
    /// Steps in which each person counted.
    people: BTreeMap<u64, Vec<u64>>,
    /// Events by step and key.
    totals: BTreeMap<(u64, usize), u64>,
}

impl Counter {
    /// A counter without events.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            life: Life::Running,
            closed: 0,
            released: 0,
            counted: BTreeSet::new(),
            people: BTreeMap::new(),
            totals: BTreeMap::new(),
        }
    }

    /// How many events counted.
    pub fn events(&self) -> u64 {
        self.counted.len() as u64
    }

    /// Whether it takes events.
    pub fn is_running(&self) -> bool {
        self.life == Life::Running && self.released < self.shape.steps
    }

    /// Takes an event in.
    pub fn take(&mut self, event: &Event, now: i64) -> Fate {
        let shape = &self.shape;
        let name = (if shape.limits.is_some() { event.person } else { 0 }, event.id);
        if !self.is_running() {
            return Fate::Ended;
        }
        if self.counted.contains(&name) {
            return Fate::Duplicate;
        }
        let step = match self.step_of(event.time, now) {
            Ok(step) => step,
            Err(fate) => return fate,
        };
        if let Some((most, gap)) = shape.limits {
            let steps = self.people.entry(event.person).or_default();
            if steps.len() as u64 >= most || steps.iter().any(|at| at.abs_diff(step) < gap) {
                return Fate::OverBound;
            }
            steps.push(step);
        }
        self.counted.insert(name);
        *self.totals.entry((step, event.lane)).or_default() += 1;
        Fate::Counted
    }

    /// The step of an event, which has begun and is not closed.
    fn step_of(&self, time: Option<i64>, now: i64) -> Result<u64, Fate> {
        let Some(every) = self.shape.every else {
            return if self.closed < self.shape.steps { Ok(self.closed) } else { Err(Fate::Ended) };
        };
        let at = |time: i64| (time - self.shape.start).div_euclid(every);
        let (closed, steps) = (self.closed as i64, self.shape.steps as i64);
        // A clock that was set back does not open what is closed.
        let present = at(now).max(closed);
        let step = match time {
            None if at(now) < 0 => return Err(Fate::Early),
            None => present,
            Some(time) if at(time) < closed => return Err(Fate::Late),
            Some(_) if at(now) < 0 => return Err(Fate::Early),
            Some(time) if at(time) >= steps && present < steps => return Err(Fate::Early),
            Some(time) if at(time) < steps && at(time) > present => return Err(Fate::Early),
            Some(time) => at(time),
        };
        if step < steps { Ok(step as u64) } else { Err(Fate::Ended) }
    }

    /// Closes the steps whose time and grace are over.
    pub fn close_due(&mut self, now: i64) {
        let Some(every) = self.shape.every else { return };
        while self.is_running()
            && self.closed < self.shape.steps
            && self.shape.start + (self.closed as i64 + 1) * every + self.shape.grace <= now
        {
            self.closed += 1;
        }
    }

    /// What the release of a step would be without noise.
    pub fn total(&self, step: u64, lane: usize) -> u64 {
        let first = self.shape.window.map_or(0, |window| (step + 1).saturating_sub(window));
        let steps = self.totals.range((first, 0)..=(step, usize::MAX));
        steps.filter(|((_, at), _)| *at == lane).map(|(_, total)| total).sum()
    }
}

/// All counters.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By name.
    pub counters: BTreeMap<String, Counter>,
    /// How often the ledger began anew.
    pub epoch: u32,
    /// How many tokens there are.
    pub tokens: usize,
}

impl Model {
    /// Closes what is due.
    pub fn close_due(&mut self, now: i64) {
        self.counters.values_mut().for_each(|counter| counter.close_due(now));
    }

    /// Releases what is closed.
    pub fn release(&mut self) {
        for counter in self.counters.values_mut().filter(|counter| counter.life == Life::Running) {
            counter.released = counter.closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn event(id: u64, time: Option<i64>) -> Event {
        Event { id, time, lane: 0, person: 0 }
    }

    #[test]
    fn an_event_counts_once_and_in_time() {
        let shape = Shape { every: Some(MINUTE), start: 0, grace: 0, steps: 3, ..Shape::default() };
        let mut counter = Counter::new(shape);
        assert_eq!(counter.take(&event(1, None), 0), Fate::Counted);
        assert_eq!(counter.take(&event(1, None), 5), Fate::Duplicate);
        assert_eq!(counter.take(&event(2, Some(MINUTE)), 5), Fate::Early);
        assert_eq!(counter.take(&event(2, Some(5)), MINUTE), Fate::Counted);
        counter.close_due(MINUTE);
        assert_eq!((counter.closed, counter.total(0, 0)), (1, 2));
        assert_eq!(counter.take(&event(3, Some(5)), MINUTE), Fate::Late);
        assert_eq!(
            counter.take(&event(3, None), 0),
            Fate::Counted,
            "in step 1, though the clock was set back"
        );
        counter.close_due(10 * MINUTE);
        counter.released = counter.closed;
        assert_eq!((counter.closed, counter.total(1, 0), counter.total(2, 0)), (3, 3, 3));
        assert_eq!(counter.take(&event(4, None), 10 * MINUTE), Fate::Ended);
    }

    #[test]
    fn a_person_counts_in_so_many_steps() {
        let mut counter = Counter::new(Shape { limits: Some((2, 2)), steps: 9, ..Shape::default() });
        let mut take = |id, step| {
            counter.closed = step;
            counter.take(&Event { id, time: None, lane: 0, person: 7 }, 0)
        };
        let fates = [take(1, 0), take(2, 0), take(3, 1), take(4, 2), take(5, 8)];
        assert_eq!(fates, [Fate::Counted, Fate::OverBound, Fate::OverBound, Fate::Counted, Fate::OverBound]);
    }
}
