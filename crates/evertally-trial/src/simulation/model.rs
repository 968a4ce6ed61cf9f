//! A model of the ledger as plain lists: the fate of each event, and the total of each step.
//!
//! It is written from the description of the service and not from the ledger's code. An event
//! counts once, in the step of its time. Without a time it counts at its arrival. It does not count
//! after its step was closed or before it began. A person counts in no more steps than allowed.

use std::collections::{BTreeMap, BTreeSet};

use super::definitions::CounterDefinition;

/// An event of a simulated client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: u64,
    /// Its stated time.
    pub time: Option<i64>,
    /// The index of its key, if the counter has keys. The number of keys stands for an undeclared
    /// key.
    pub lane: usize,
    /// Its person, if the counter bounds persons.
    pub person: u64,
}

/// The fate of an event.
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

/// The state of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterState {
    /// It counts events.
    Running,
    /// Its population could not pay for a new epoch.
    Halted,
    /// It was retired.
    Retired,
}

/// One counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Its definition.
    pub definition: CounterDefinition,
    /// Its state.
    pub life: CounterState,
    /// Steps closed.
    pub closed: u64,
    /// Steps released.
    pub released: u64,
    /// Ids that counted, with their persons if persons are bounded.
    counted: BTreeSet<(u64, u64)>,
    /// Steps in which each person counted.
    people: BTreeMap<u64, Vec<u64>>,
    /// Events by step and key.
    totals: BTreeMap<(u64, usize), u64>,
    /// The keys in which each person counted, with the step of their first event there.
    holders: BTreeMap<(u64, usize), u64>,
}

impl Counter {
    /// A counter without events.
    pub fn new(definition: CounterDefinition) -> Self {
        Self {
            definition,
            life: CounterState::Running,
            closed: 0,
            released: 0,
            counted: BTreeSet::new(),
            people: BTreeMap::new(),
            totals: BTreeMap::new(),
            holders: BTreeMap::new(),
        }
    }

    /// The number of counted events.
    pub fn events(&self) -> u64 {
        self.counted.len() as u64
    }

    /// Whether it accepts events.
    pub fn is_running(&self) -> bool {
        self.life == CounterState::Running && self.released < self.definition.steps
    }

    /// Processes an event.
    pub fn take(&mut self, event: &Event, now: i64) -> Fate {
        let definition = &self.definition;
        let name = (if definition.limits.is_some() { event.person } else { 0 }, event.id);
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
        if let Some((most, gap)) = definition.limits {
            let steps = self.people.entry(event.person).or_default();
            if steps.len() as u64 >= most || steps.iter().any(|at| at.abs_diff(step) < gap) {
                return Fate::OverBound;
            }
            steps.push(step);
        }
        self.counted.insert(name);
        *self.totals.entry((step, event.lane)).or_default() += 1;
        self.holders.entry((event.person, event.lane)).or_insert(step);
        Fate::Counted
    }

    /// The step of an event. It must have begun and not be closed.
    fn step_of(&self, time: Option<i64>, now: i64) -> Result<u64, Fate> {
        let Some(every) = self.definition.every else {
            return if self.closed < self.definition.steps { Ok(self.closed) } else { Err(Fate::Ended) };
        };
        let at = |time: i64| (time - self.definition.start).div_euclid(every);
        let (closed, steps) = (self.closed as i64, self.definition.steps as i64);
        // A clock that is set back does not reopen closed steps.
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

    /// Closes the steps whose time and grace period are over.
    pub fn close_due(&mut self, now: i64) {
        let Some(every) = self.definition.every else { return };
        while self.is_running()
            && self.closed < self.definition.steps
            && self.definition.start + (self.closed as i64 + 1) * every + self.definition.grace <= now
        {
            self.closed += 1;
        }
    }

    /// The persons who have counted in a key up to a step.
    pub fn persons(&self, step: u64, lane: usize) -> usize {
        self.holders.iter().filter(|((_, key), new)| *key == lane && **new <= step).count()
    }

    /// The release of a step without noise.
    pub fn total(&self, step: u64, lane: usize) -> u64 {
        let first = self.definition.window.map_or(0, |window| (step + 1).saturating_sub(window));
        let steps = self.totals.range((first, 0)..=(step, usize::MAX));
        steps.filter(|((_, at), _)| *at == lane).map(|(_, total)| total).sum()
    }
}

/// All counters.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By name.
    pub counters: BTreeMap<String, Counter>,
    /// The current epoch.
    pub epoch: u32,
    /// The number of tokens.
    pub tokens: usize,
}

impl Model {
    /// Closes all due steps.
    pub fn close_due(&mut self, now: i64) {
        self.counters.values_mut().for_each(|counter| counter.close_due(now));
    }

    /// Releases all closed steps.
    pub fn release(&mut self) {
        for counter in self.counters.values_mut().filter(|counter| counter.life == CounterState::Running) {
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
        let definition = CounterDefinition {
            every: Some(MINUTE),
            start: 0,
            grace: 0,
            steps: 3,
            ..CounterDefinition::default()
        };
        let mut counter = Counter::new(definition);
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
            "in step 1, although the clock was set back"
        );
        counter.close_due(10 * MINUTE);
        counter.released = counter.closed;
        assert_eq!((counter.closed, counter.total(1, 0), counter.total(2, 0)), (3, 3, 3));
        assert_eq!(counter.take(&event(4, None), 10 * MINUTE), Fate::Ended);
    }

    #[test]
    fn a_person_counts_in_so_many_steps() {
        let mut counter = Counter::new(CounterDefinition {
            limits: Some((2, 2)),
            steps: 9,
            ..CounterDefinition::default()
        });
        let mut take = |id, step| {
            counter.closed = step;
            counter.take(&Event { id, time: None, lane: 0, person: 7 }, 0)
        };
        let fates = [take(1, 0), take(2, 0), take(3, 1), take(4, 2), take(5, 8)];
        assert_eq!(fates, [Fate::Counted, Fate::OverBound, Fate::OverBound, Fate::Counted, Fate::OverBound]);
    }
}
