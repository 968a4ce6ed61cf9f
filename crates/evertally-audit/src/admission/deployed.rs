//! The deployed gates: every kind of admission of `evertally-stream`.

use evertally::Contribution;
use evertally_stream::{
    Amount, BucketLength, Buckets, Clamp, Clocked, ClosedStep, Event, Follow, Gather, KeySet, Operation,
    Presence, Present, Result, Rules,
};

use super::synthetic_events::{SyntheticEvent, TICKS_PER_STEP};
use super::{AdmissionRules, Gate};
use crate::subject::Promise;

/// The range for the number of steps of a stream. It is long enough for two steps of a person and
/// the gap between them.
const MIN_STEPS: u64 = 8;
const MAX_STEPS: u64 = 64;

/// The maximum number of keys of a stream.
const MAX_KEYS: usize = 4;

/// The memory limit for the totals of a stream, in bytes.
const MEMORY_LIMIT: u64 = 1 << 20;

/// The gates for a counter with this promise, horizon and number of keys: events in any order and
/// as they arrive, with ids and without. If a person may count in one step only, gates that protect
/// single events are included.
#[must_use]
pub fn deployed_gates(promise: &Promise, horizon: u64, keys: usize) -> Vec<Box<dyn Gate>> {
    let participation = promise.participation;
    let steps = horizon.min(participation.min_gap().saturating_mul(3).clamp(MIN_STEPS, MAX_STEPS));
    if participation.is_in_turn() {
        let rules = AdmissionRules {
            steps: steps as usize,
            keys: 1,
            persons: Some(participation),
            has_ids: false,
            contribution: promise.contribution,
        };
        return [Presence::Window { steps: 2 }, Presence::Operations]
            .map(|presence| Box::new(PresentGate { rules, presence }) as Box<dyn Gate>)
            .into();
    }
    let by_event = (participation.max_steps() == 1).then_some(None);
    let mut gates: Vec<Box<dyn Gate>> = Vec::new();
    for persons in std::iter::once(Some(participation)).chain(by_event) {
        for has_ids in [false, true] {
            let rules = AdmissionRules {
                steps: steps as usize,
                keys: keys.clamp(1, MAX_KEYS),
                persons,
                has_ids,
                contribution: promise.contribution,
            };
            gates.push(Box::new(GatherGate(rules)));
            gates.push(Box::new(FollowGate(rules)));
            gates.push(Box::new(ClockedGate(rules)));
        }
    }
    gates
}

/// Events in any order: [`Gather`].
#[derive(Debug, Clone, Copy)]
pub struct GatherGate(pub AdmissionRules);

impl Gate for GatherGate {
    fn rules(&self) -> AdmissionRules {
        self.0
    }

    fn totals(&self, events: &[SyntheticEvent]) -> Result<Vec<f64>> {
        let mut gather = Gather::new(buckets(&self.0)?, admission(&self.0)?, MEMORY_LIMIT)?;
        for event in events {
            // A refused event is a valid outcome.
            let _counted = named(&self.0, event, |event| gather.push(event))?;
        }
        Ok(totals(gather.finish()?))
    }
}

/// Events as they arrive: [`Follow`], driven by a clock, with future events refused. In this use it
/// promises privacy for any order of events.
#[derive(Debug, Clone, Copy)]
pub struct FollowGate(pub AdmissionRules);

impl Gate for FollowGate {
    fn rules(&self) -> AdmissionRules {
        self.0
    }

    fn totals(&self, events: &[SyntheticEvent]) -> Result<Vec<f64>> {
        let mut follow = Follow::new(buckets(&self.0)?, admission(&self.0)?);
        let mut closed: Vec<ClosedStep> = Vec::new();
        for event in events {
            closed.extend(follow.advance_to(micros(event.arrival)));
            if event.time / TICKS_PER_STEP > follow.open_step() {
                continue;
            }
            closed.extend(named(&self.0, event, |event| follow.push(event))?.closed);
        }
        closed.extend(follow.finish());
        Ok(totals(closed))
    }
}

/// Events as they arrive, with several steps open: [`Clocked`], with a lag of two steps.
#[derive(Debug, Clone, Copy)]
pub struct ClockedGate(pub AdmissionRules);

impl Gate for ClockedGate {
    fn rules(&self) -> AdmissionRules {
        self.0
    }

    fn totals(&self, events: &[SyntheticEvent]) -> Result<Vec<f64>> {
        let lag = BucketLength::from_micros(micros(2 * TICKS_PER_STEP))?;
        let mut live = Clocked::new(buckets(&self.0)?, admission(&self.0)?, lag, MEMORY_LIMIT)?;
        let mut closed: Vec<ClosedStep> = Vec::new();
        for event in events {
            closed.extend(live.advance_to(micros(event.arrival)));
            // A refused event is a valid outcome.
            let _counted = named(&self.0, event, |event| live.push(event))?;
        }
        closed.extend(live.advance_to(i64::MAX));
        Ok(totals(closed))
    }
}

/// Persons who come and go: [`Present`]. An event with an odd number is a deletion, where there are any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PresentGate {
    /// What the plan hides.
    pub rules: AdmissionRules,
    /// What makes a person present.
    pub presence: Presence,
}

impl Gate for PresentGate {
    fn rules(&self) -> AdmissionRules {
        self.rules
    }

    fn totals(&self, events: &[SyntheticEvent]) -> Result<Vec<f64>> {
        // A stay is two changes. Without two, nobody may come.
        let Some(stays) = self.rules.persons.map(|bound| bound.max_steps() / 2).filter(|stays| *stays > 0)
        else {
            return Ok(vec![0.0; self.rules.steps]);
        };
        let mut present = Present::new(buckets(&self.rules)?, None, self.presence, stays, MEMORY_LIMIT)?;
        for event in events {
            let is_deletion = event.serial % 2 == 1;
            let operation = if is_deletion { Operation::Delete } else { Operation::Insert };
            // A refused event is a valid outcome.
            let _taken = named(&self.rules, event, |event| present.push(event, operation))?;
        }
        Ok(totals(present.finish()))
    }
}

/// The totals of closed steps, one after the other.
pub(crate) fn totals(closed: impl IntoIterator<Item = ClosedStep>) -> Vec<f64> {
    closed.into_iter().flat_map(|closed| closed.totals).map(Amount::to_f64).collect()
}

/// A tick is a microsecond.
fn micros(ticks: u64) -> i64 {
    i64::try_from(ticks).unwrap_or(i64::MAX)
}

pub(crate) fn buckets(rules: &AdmissionRules) -> Result<Buckets> {
    Buckets::new(0, BucketLength::from_micros(micros(TICKS_PER_STEP))?, rules.steps as u64)
}

/// The rules as an admission of `evertally-stream`. One key is reserved for undeclared names, so
/// one key fewer is declared.
pub(crate) fn admission(rules: &AdmissionRules) -> Result<Rules> {
    let has_keys = rules.keys > 1;
    let is_clamped = rules.contribution != Contribution::unit();
    Ok(Rules {
        keys: has_keys.then(|| KeySet::new((1..rules.keys).map(|key| key.to_string()))).transpose()?,
        clamp: is_clamped
            .then(|| Clamp::new(rules.contribution.lo(), rules.contribution.hi()))
            .transpose()?,
        limits: rules.persons,
        has_ids: rules.has_ids,
        ..Rules::default()
    })
}

/// Passes an event on with its names. If every event counts as one, it has no value.
pub(crate) fn named<T>(
    rules: &AdmissionRules,
    event: &SyntheticEvent,
    take: impl FnOnce(&Event<'_>) -> Result<T>,
) -> Result<T> {
    let key = (event.key + 1).to_string();
    let person = event.person.map(|person| format!("person {person}"));
    let id = event.id.map(|id| format!("id {id}"));
    take(&Event {
        time: micros(event.time),
        key: Some(&key),
        person: person.as_deref(),
        id: id.as_deref(),
        value: (rules.contribution != Contribution::unit()).then_some(event.value),
    })
}
