//! One counter inside the ledger: which events count, what a step's input is, and what is released of it.
//!
//! A pure state machine. It is changed by the same calls whether something happens now or is read
//! from the journal, so that recovery can only come to where the ledger was.

use crate::arrival::{Arrival, Id, Receipt};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::lanes::Lanes;
use crate::people::People;
use crate::record::{EpochName, Item, Record, frozen_hash};
use crate::shown::{Published, Status};
use crate::spec::CounterPlan;
use evertally::NoiseKey;
use evertally_stream::{Amount, Buckets, Side};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use zeroize::Zeroize;

pub(crate) struct CounterState {
    pub(crate) published: Arc<Published>,
    /// The plan under the stream of the present epoch.
    pub(crate) planned: Arc<CounterPlan>,
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
    pub(crate) ids: Ids,
    pub(crate) people: People,
    /// None when it will never release again.
    pub(crate) lanes: Option<Lanes>,
    /// What was released and is not shown yet.
    pub(crate) unshown: Vec<f64>,
    /// The first frame since its row was written that changed it.
    pub(crate) changed_since: Option<u64>,
    /// When its next step is due, as the ledger has it in its order.
    pub(crate) scheduled: Option<i64>,
    /// The frame that its row on disk is as of; zero where there is none.
    pub(crate) row: u64,
    /// The hash of the last chunk of releases that is full.
    pub(crate) chunk_before: [u8; 32],
}

/// What a counter does, apart from what the whole ledger does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Life {
    Running,
    /// It was left out when a new epoch began.
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

/// The step that the present time belongs to, for a counter by the clock.
pub(crate) struct Present(std::result::Result<u64, Side>);

fn step_at(buckets: &Buckets, time: i64) -> std::result::Result<u64, Side> {
    buckets.step_of(time).map_err(|error| match error {
        evertally_stream::Error::OutsideRange { side: Side::Before } => Side::Before,
        _ => Side::After,
    })
}

/// What becomes of an event.
enum Fate {
    Counts(u64),
    Duplicate,
    Late,
    Early,
    OverBound,
    Ended,
    Unnamed,
}

impl CounterState {
    pub(crate) fn number(&self) -> u32 {
        self.published.number
    }

    /// Whether it takes events and releases, as long as the ledger does.
    pub(crate) fn is_running(&self) -> bool {
        self.life == Life::Running && self.released() < self.planned.steps()
    }

    pub(crate) fn status(&self, is_fenced: bool) -> Status {
        match self.life {
            Life::Retired | Life::Deleted => Status::Retired,
            _ if self.released() == self.planned.steps() => Status::Ended,
            Life::Halted => Status::Fenced,
            Life::Running if is_fenced => Status::Fenced,
            Life::Running => Status::Running,
        }
    }

    /// The number of steps released.
    pub(crate) fn released(&self) -> u64 {
        self.open - self.frozen.len() as u64
    }

    /// What time it is for this counter.
    pub(crate) fn present(&self, now: i64) -> Present {
        Present(self.planned.buckets().map_or(Ok(self.open), |buckets| step_at(buckets, now)))
    }

    /// Decides on an event, and takes it in where it counts.
    pub(crate) fn take(&mut self, arrival: &Arrival, now: &Present, receipt: &mut Receipt) -> Option<Item> {
        let field = match self.fate(arrival, now) {
            Fate::Counts(step) => {
                receipt.counted += 1;
                return Some(Item {
                    step,
                    lane: arrival.lane,
                    amount: arrival.amount.grid_steps(),
                    id: arrival.id.0,
                    person: arrival.person,
                });
            }
            Fate::Duplicate => &mut receipt.duplicate,
            Fate::Late => &mut receipt.late,
            Fate::Early => &mut receipt.early,
            Fate::OverBound => &mut receipt.over_bound,
            Fate::Ended => &mut receipt.ended,
            Fate::Unnamed => &mut receipt.unnamed,
        };
        *field += 1;
        None
    }

    fn fate(&mut self, arrival: &Arrival, now: &Present) -> Fate {
        // Nothing else is looked at: an event that could be anybody's spends nothing.
        if self.planned.limits().is_some() && arrival.person == 0 {
            return Fate::Unnamed;
        }
        if self.ids.contains(&arrival.id) {
            return Fate::Duplicate;
        }
        if !self.is_running() {
            return Fate::Ended;
        }
        let step = match self.step_of(arrival.time, now) {
            Ok(step) => step,
            Err(fate) => return fate,
        };
        if self.count(step, arrival.lane, arrival.amount, arrival.person, arrival.id) {
            Fate::Counts(step)
        } else {
            Fate::OverBound
        }
    }

    /// The step that an event belongs to. It is never one that has not begun, so that nobody can
    /// spend the future.
    fn step_of(&self, time: Option<i64>, now: &Present) -> std::result::Result<u64, Fate> {
        let Some(buckets) = self.planned.buckets() else {
            return if self.open < self.planned.steps() { Ok(self.open) } else { Err(Fate::Ended) };
        };
        let present = now.0;
        match time {
            None => match present {
                // A clock that was set back does not open what is closed.
                Ok(step) if step.max(self.open) < self.planned.steps() => Ok(step.max(self.open)),
                Err(Side::Before) => Err(Fate::Early),
                _ => Err(Fate::Ended),
            },
            Some(time) => match (step_at(buckets, time), present) {
                (Err(Side::Before), _) => Err(Fate::Late),
                (Ok(step), _) if step < self.open => Err(Fate::Late),
                (Ok(step), Ok(present)) if step <= present.max(self.open) => Ok(step),
                (Ok(step), Err(Side::After)) => Ok(step),
                (Err(Side::After), Err(Side::After)) => Err(Fate::Ended),
                _ => Err(Fate::Early),
            },
        }
    }

    /// Counts an event in an open step, unless its person may not or the total could not hold it.
    fn count(&mut self, step: u64, lane: u32, amount: Amount, person: u128, id: Id) -> bool {
        let total = self.pending.entry(step).or_default().entry(lane).or_default();
        let Some(with) = total.plus(amount) else { return false };
        if let Some(limits) = self.planned.limits()
            && !self.people.admit(limits, person, step)
        {
            return false;
        }
        *total = with;
        self.ids.insert(step, id);
        true
    }

    /// Takes an event in again that counted.
    pub(crate) fn replay_item(&mut self, item: &Item) -> Result<()> {
        let is_open = item.step >= self.open && (item.lane as usize) < self.planned.width();
        if is_open && self.count(item.step, item.lane, item.amount()?, item.person, item.id()) {
            return Ok(());
        }
        Err(Error::damaged("an event was counted that could not have been"))
    }

    /// Freezes the input of the next step.
    pub(crate) fn freeze(&mut self) -> Record {
        let step = self.open;
        let by_lane = self.pending.remove(&step).unwrap_or_default();
        let mut totals = Vec::new();
        if by_lane.values().any(|total| *total != Amount::default()) {
            totals.resize(self.planned.width(), 0);
            for (lane, total) in by_lane {
                totals[lane as usize] = total.grid_steps();
            }
        }
        let hash = frozen_hash(self.number(), self.epoch.number, step, &totals);
        self.frozen.push_back(FrozenStep { step, totals: totals.clone(), hash });
        self.open += 1;
        self.ids.forget(self.open);
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

    /// Makes the release of the first step that is frozen.
    pub(crate) fn release(&mut self) -> Result<Record> {
        let width = self.planned.width();
        let (Some(frozen), Some(lanes)) = (self.frozen.front(), &mut self.lanes) else {
            return Err(Error::damaged("there is nothing to release"));
        };
        if lanes.steps_taken() != frozen.step {
            return Err(Error::damaged("a mechanism is not at the step that was frozen"));
        }
        let mut totals = vec![0.0; width];
        for (total, steps) in totals.iter_mut().zip(&frozen.totals) {
            *total = Amount::from_grid_steps(*steps).unwrap_or_default().to_f64();
        }
        let values = lanes.step(&totals);
        totals.zeroize();
        let values = values?;
        let record = Record::Released {
            counter: self.published.number,
            step: frozen.step,
            frozen: frozen.hash,
            values: values.clone(),
        };
        self.frozen.pop_front();
        self.unshown.extend(values);
        if self.released() == self.planned.steps() {
            self.forget();
        }
        Ok(record)
    }

    /// Makes a release again, which must be the recorded one bit for bit.
    pub(crate) fn replay_released(&mut self, step: u64, hash: [u8; 32], values: &[f64]) -> Result<()> {
        match self.release()? {
            Record::Released { step: again, frozen, values: made, .. }
                if again == step
                    && frozen == hash
                    && made
                        .iter()
                        .map(|value| value.to_bits())
                        .eq(values.iter().map(|value| value.to_bits())) =>
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
        self.lanes = None;
        self.ids.clear();
        self.people.clear();
        self.pending.clear();
        self.open -= self.frozen.len() as u64;
        self.frozen.clear();
    }

    /// Goes on with fresh noise in a new epoch.
    pub(crate) fn renew(&mut self, epoch: EpochName, stream: &str, key: &NoiseKey) -> Result<()> {
        let planned = Arc::new(self.planned.in_stream(stream));
        if let Some(lanes) = &self.lanes {
            self.lanes = Some(lanes.with_fresh_noise(&planned, key)?);
        }
        self.planned = planned;
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
        let buckets =
            self.planned.buckets().filter(|_| self.is_running() && self.open < self.planned.steps())?;
        Some(buckets.start_of(self.open + 1).saturating_add(self.planned.grace_micros()))
    }
}
