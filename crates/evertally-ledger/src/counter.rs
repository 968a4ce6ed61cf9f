//! One counter inside the ledger: the steps that are open, frozen and released.
//!
//! A pure state machine. The same calls change it whether something happens now or is read from
//! the journal, so recovery can only arrive where the ledger was. Which events count is decided by
//! [`evertally_stream::admission`].

use crate::error::{Error, Result};
use crate::found::FoundKeys;
use crate::ids::RecentIds;
use crate::intake::{PreparedEvent, Receipt};
use crate::persons::PersonRows;
use crate::read_view::{CounterView, Status};
use crate::record::{EpochName, Item, Record, frozen_hash};
use crate::running_counter::{Released, RunningCounter};
use crate::spec::CounterPlan;
use evertally::NoiseKey;
use evertally_stream::{Admission, Amount, Buckets, Outcome, Side};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use zeroize::Zeroize;

pub(crate) struct CounterState {
    /// What anybody may read of it.
    pub(crate) view: Arc<CounterView>,
    /// The plan under the stream of the present epoch.
    pub(crate) counter_plan: Arc<CounterPlan>,
    pub(crate) epoch: EpochName,
    /// The first step of every epoch.
    pub(crate) epochs: Vec<(u32, u64)>,
    pub(crate) life: Life,
    /// The first step that is not frozen.
    pub(crate) open: u64,
    /// Totals of steps that are not frozen, by lane; those without events are left out.
    pub(crate) pending: BTreeMap<u64, BTreeMap<u32, Amount>>,
    /// Steps that are frozen and not released, in order.
    pub(crate) frozen: VecDeque<FrozenStep>,
    /// Which events count, with the ids and persons that have.
    pub(crate) admission: Admission<RecentIds, PersonRows>,
    /// The keys that it finds, if they are not declared.
    pub(crate) found: Option<FoundKeys>,
    /// `None` once it will never release again.
    pub(crate) running: Option<RunningCounter>,
    /// What was released and is not shown yet.
    pub(crate) unshown: Vec<f64>,
    /// The last step of it.
    pub(crate) unshown_latest: Option<Vec<f64>>,
    /// The first frame since its row was written that changed it.
    pub(crate) changed_since: Option<u64>,
    /// When its next step is due, as the ledger has it in its order.
    pub(crate) scheduled: Option<i64>,
    /// The frame that its row on disk is as of; zero if there is none.
    pub(crate) row: u64,
    /// The hash of the last chunk of releases that is full.
    pub(crate) chunk_before: [u8; 32],
}

/// What a counter does, apart from what the whole ledger does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Life {
    Running,
    /// It was left out when a new epoch started.
    Halted,
    Retired,
    Deleted,
}

pub(crate) struct FrozenStep {
    pub(crate) step: u64,
    /// Empty for zero in every lane.
    pub(crate) totals: Vec<i128>,
    pub(crate) hash: [u8; 32],
}

impl Drop for FrozenStep {
    fn drop(&mut self) {
        self.totals.zeroize();
    }
}

/// The step that the present time belongs to, or on which side of all steps it is.
type CurrentStep = std::result::Result<u64, Side>;

fn step_at(buckets: &Buckets, time: i64) -> CurrentStep {
    buckets.step_of(time).map_err(|error| match error {
        evertally_stream::Error::OutsideRange { side: Side::Before } => Side::Before,
        _ => Side::After,
    })
}

/// Admission under the rules of a counter, before the first event.
pub(crate) fn admission_of(counter_plan: &CounterPlan) -> Admission<RecentIds, PersonRows> {
    // Where different persons are counted, a person's key is the id of their events.
    let has_ids = counter_plan.spec().distinct.is_none();
    Admission {
        ids: has_ids.then(|| RecentIds::new(counter_plan.remembered_steps(), counter_plan.steps_in_grace())),
        persons: counter_plan.limits().map(PersonRows::new),
    }
}

impl CounterState {
    pub(crate) fn number(&self) -> u32 {
        self.view.number
    }

    /// Whether it takes events and releases, as long as the ledger does.
    pub(crate) fn is_running(&self) -> bool {
        self.life == Life::Running && self.released() < self.counter_plan.steps()
    }

    pub(crate) fn status(&self, is_fenced: bool) -> Status {
        match self.life {
            Life::Retired | Life::Deleted => Status::Retired,
            _ if self.released() == self.counter_plan.steps() => Status::Ended,
            Life::Halted => Status::Fenced,
            Life::Running if is_fenced => Status::Fenced,
            Life::Running => Status::Running,
        }
    }

    /// The number of steps released.
    pub(crate) fn released(&self) -> u64 {
        self.open - self.frozen.len() as u64
    }

    /// About how many numbers a step releases. It depends on nothing that is not public.
    pub(crate) fn numbers_per_step(&self) -> usize {
        let shown = self.found.as_ref().map_or(0, |found| found.shown().len());
        self.counter_plan.width().unwrap_or(shown.max(1))
    }

    /// The step that the present time belongs to.
    pub(crate) fn current_step(&self, now: i64) -> CurrentStep {
        self.counter_plan.buckets().map_or(Ok(self.open), |buckets| step_at(buckets, now))
    }

    /// Decides on the next event of a request. An event that counts is added to its total and
    /// returned for the journal, and its key is put among the names if it is new.
    pub(crate) fn admit(
        &mut self,
        event: &PreparedEvent,
        current: CurrentStep,
        receipt: &mut Receipt,
        names: &mut Vec<String>,
    ) -> Option<Item> {
        let step = if self.is_running() { self.step_of(event.time, current) } else { Err(Outcome::Ended) };
        let outcome = self.decide(event, step);
        receipt.add(outcome);
        let Outcome::Counted { step } = outcome else { return None };
        let lane = match (&mut self.found, &event.key) {
            (Some(found), Some(key)) => {
                if found.learn(key) {
                    names.push(key.to_string());
                }
                let lane = found.number(key);
                found.count(event.person, step, lane);
                lane
            }
            _ => event.lane,
        };
        self.add(step, lane, event.amount);
        Some(Item { step, lane, amount: event.amount.grid_steps(), id: event.id.0, person: event.person })
    }

    fn decide(&mut self, event: &PreparedEvent, step: std::result::Result<u64, Outcome>) -> Outcome {
        if !self.counts_persons() {
            return self.admission.decide(Some(event.id), event.person(), step);
        }
        // As `evertally_stream` decides where a person counts once per key: the key is the id of the
        // event, so another one is a copy, and it takes a slot of the person.
        let (slot, persons) = (u64::from(event.lane), self.admission.persons.as_ref());
        if event.person().zip(persons).is_some_and(|(person, persons)| persons.has(person, slot)) {
            return Outcome::Duplicate;
        }
        match (self.admission.decide(None, event.person(), step.map(|_| slot)), step) {
            (Outcome::Counted { .. }, Ok(step)) => Outcome::Counted { step },
            (outcome, _) => outcome,
        }
    }

    /// Whether it counts different persons.
    fn counts_persons(&self) -> bool {
        self.counter_plan.spec().distinct.is_some()
    }

    /// The open step that takes an event. It is never a step that has not started, so that nobody
    /// can spend the future.
    fn step_of(&self, time: Option<i64>, current: CurrentStep) -> std::result::Result<u64, Outcome> {
        let Some(buckets) = self.counter_plan.buckets() else {
            return if self.open < self.counter_plan.steps() { Ok(self.open) } else { Err(Outcome::Ended) };
        };
        match time {
            None => match current {
                // A clock that was set back does not open what is closed.
                Ok(step) if step.max(self.open) < self.counter_plan.steps() => Ok(step.max(self.open)),
                Err(Side::Before) => Err(Outcome::Early),
                _ => Err(Outcome::Ended),
            },
            Some(time) => match (step_at(buckets, time), current) {
                (Err(Side::Before), _) => Err(Outcome::Late),
                (Ok(step), _) if step < self.open => Err(Outcome::Late),
                (Ok(step), Ok(current)) if step <= current.max(self.open) => Ok(step),
                (Ok(step), Err(Side::After)) => Ok(step),
                (Err(Side::After), Err(Side::After)) => Err(Outcome::Ended),
                _ => Err(Outcome::Early),
            },
        }
    }

    /// Adds an amount to the total of an open step. Every amount is within the contribution of the
    /// plan, so the counter takes the total of any number of events that there can be.
    fn add(&mut self, step: u64, lane: u32, amount: Amount) {
        *self.pending.entry(step).or_default().entry(lane).or_default() += amount;
    }

    /// Counts an event again that counted before.
    pub(crate) fn replay_item(&mut self, item: &Item) -> Result<()> {
        let is_known = match (&self.found, self.counter_plan.width()) {
            (Some(found), _) => found.has(item.lane),
            (None, width) => width.is_some_and(|width| (item.lane as usize) < width),
        };
        let is_open = item.step >= self.open && is_known;
        let person = self.admission.persons.as_ref().map(|_| item.person);
        let (id, slot) =
            if self.counts_persons() { (None, item.lane.into()) } else { (Some(item.id()), item.step) };
        if is_open && self.admission.count(id, person, slot) {
            if let Some(found) = &mut self.found {
                found.count(item.person, item.step, item.lane);
            }
            self.add(item.step, item.lane, item.amount());
            return Ok(());
        }
        Err(Error::damaged("an event was counted that could not have been"))
    }

    /// Whether the ids of events that counted in a step are forgotten.
    pub(crate) fn forgets_ids_of(&self, step: u64) -> bool {
        self.admission.ids.as_ref().is_none_or(|ids| ids.are_forgotten(step, self.open))
    }

    /// Freezes the input of the next step.
    pub(crate) fn freeze(&mut self) -> Record {
        let step = self.open;
        let by_lane = self.pending.remove(&step).unwrap_or_default();
        let totals = match &mut self.found {
            Some(found) => found.freeze(step, by_lane.iter().map(|(key, total)| (*key, total.grid_steps()))),
            None => in_lanes(&by_lane, self.counter_plan.width().unwrap_or(1)),
        };
        let hash = frozen_hash(self.number(), self.epoch.number, step, &totals);
        self.frozen.push_back(FrozenStep { step, totals: totals.clone(), hash });
        self.open += 1;
        if let Some(ids) = &mut self.admission.ids {
            ids.forget(self.open);
        }
        Record::Frozen { counter: self.number(), step, totals, hash }
    }

    /// Freezes a step again as it was frozen. It must have the input that its events give.
    pub(crate) fn replay_frozen(&mut self, step: u64, totals: &[i128], hash: [u8; 32]) -> Result<()> {
        if step != self.open {
            return Err(Error::damaged("steps were frozen out of order"));
        }
        self.freeze();
        match self.frozen.back() {
            Some(frozen) if frozen.hash == hash && frozen.totals == totals => Ok(()),
            _ => Err(Error::damaged("the input of a step is not that of its events")),
        }
    }

    /// Makes the release of the first step that is frozen. Of keys that are found, a record before it
    /// says which appear with it.
    pub(crate) fn release(&mut self) -> Result<Vec<Record>> {
        let width = self.counter_plan.width().unwrap_or_default();
        let (Some(frozen), Some(running)) = (self.frozen.front(), &mut self.running) else {
            return Err(Error::damaged("there is nothing to release"));
        };
        if running.steps_taken() != frozen.step {
            return Err(Error::damaged("a mechanism is not at the step that was frozen"));
        }
        let Released { values, appeared } = running.step(&frozen.totals, width, self.found.as_mut())?;
        let (counter, step) = (self.view.number, frozen.step);
        let mut records = Vec::new();
        if !appeared.is_empty() {
            records.push(Record::Appeared { counter, step, keys: appeared });
        }
        records.push(Record::Released { counter, step, frozen: frozen.hash, values: values.clone() });
        self.frozen.pop_front();
        self.unshown.extend(&values);
        self.unshown_latest = Some(values);
        if self.released() == self.counter_plan.steps() {
            self.forget();
        }
        Ok(records)
    }

    /// Notes which keys a record says to appear with the next release.
    pub(crate) fn replay_appeared(&mut self, keys: Vec<u32>) -> Result<()> {
        let found = self.found.as_mut();
        found.ok_or_else(|| Error::damaged("a key appears where none are found"))?.expected = keys;
        Ok(())
    }

    /// Takes the names of new keys again.
    pub(crate) fn replay_named(&mut self, names: Vec<String>) -> Result<()> {
        let found = self.found.as_mut();
        let found = found.ok_or_else(|| Error::damaged("a key is named where none are found"))?;
        if names.into_iter().all(|name| found.learn(&name.into())) {
            return Ok(());
        }
        Err(Error::damaged("a key was named twice"))
    }

    /// Makes a release again, which must be the recorded one bit for bit.
    pub(crate) fn replay_released(&mut self, step: u64, hash: [u8; 32], values: &[f64]) -> Result<()> {
        let found = self.found.as_mut();
        let expected = found.map(|found| std::mem::take(&mut found.expected)).unwrap_or_default();
        let records = self.release()?;
        let appeared = match records.first() {
            Some(Record::Appeared { keys, .. }) => &keys[..],
            _ => &[],
        };
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        match records.last() {
            Some(Record::Released { step: again, frozen, values: made, .. })
                if *again == step
                    && *frozen == hash
                    && bits(made) == bits(values)
                    && *appeared == expected =>
            {
                Ok(())
            }
            _ => Err(Error::damaged(
                "a release cannot be made again as it was recorded: the key is another one, or the noise is",
            )),
        }
    }

    /// Stops it for good, and drops everything that is private.
    pub(crate) fn retire(&mut self) {
        self.life = Life::Retired;
        self.forget();
    }

    fn forget(&mut self) {
        self.running = None;
        self.admission.ids.iter_mut().for_each(RecentIds::clear);
        self.admission.persons.iter_mut().for_each(PersonRows::clear);
        self.found.iter_mut().for_each(FoundKeys::forget);
        self.pending.clear();
        self.open -= self.frozen.len() as u64;
        self.frozen.clear();
    }

    /// Resumes with fresh noise in a new epoch.
    pub(crate) fn renew(&mut self, epoch: EpochName, stream: &str, key: &NoiseKey) -> Result<()> {
        let counter_plan = Arc::new(self.counter_plan.in_stream(stream));
        if let Some(running) = &self.running {
            let found = self.found.as_ref();
            self.running = Some(running.with_fresh_noise(&counter_plan, key, found)?);
        }
        self.counter_plan = counter_plan;
        self.epoch = epoch;
        self.epochs.push((epoch.number, self.released()));
        // What was frozen in the old epoch is released in the new one.
        let number = self.number();
        for frozen in &mut self.frozen {
            frozen.hash = frozen_hash(number, epoch.number, frozen.step, &frozen.totals);
        }
        Ok(())
    }

    /// When the next step is over and its grace too.
    pub(crate) fn next_due(&self) -> Option<i64> {
        let buckets = self
            .counter_plan
            .buckets()
            .filter(|_| self.is_running() && self.open < self.counter_plan.steps())?;
        Some(buckets.start_of(self.open + 1).saturating_add(self.counter_plan.grace_micros()))
    }
}

/// The totals of a step in all lanes; none for zero in every lane.
fn in_lanes(by_lane: &BTreeMap<u32, Amount>, width: usize) -> Vec<i128> {
    let mut totals = Vec::new();
    if by_lane.values().any(|total| *total != Amount::default()) {
        totals.resize(width, 0);
        for (lane, total) in by_lane {
            totals[*lane as usize] = total.grid_steps();
        }
    }
    totals
}
