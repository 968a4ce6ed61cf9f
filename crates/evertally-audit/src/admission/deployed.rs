//! The gates that are deployed: admission as `evertally-stream` does it, in all of its ways.

use evertally::{Contribution, Participation};
use evertally_stream::{
    Amount, BucketLength, Buckets, Clamp, Clocked, ClosedStep, Event, Follow, Gather, KeySet,
    ParticipationLimits, Result, Rules,
};

use super::made_up::{MadeUpEvent, TICKS_PER_STEP};
use super::{AdmissionRules, Gate};
use crate::subject::Promise;

/// The fewest and the most steps of a stream: long enough for two of a person's steps and the gap
/// between them.
const FEWEST_STEPS: u64 = 8;
const MOST_STEPS: u64 = 64;

/// The most keys of a stream.
const MOST_KEYS: usize = 4;

/// Memory for the totals of a stream.
const MEMORY_LIMIT: u64 = 1 << 20;

/// The gates that stand before a counter with this promise, horizon and number of keys: events in
/// any order and as they arrive, with ids and without. Where a person may count in one step only,
/// an event may be protected by itself as well.
#[must_use]
pub fn deployed_gates(promise: &Promise, horizon: u64, keys: usize) -> Vec<Box<dyn Gate>> {
    let participation = promise.participation;
    let steps = horizon.min(participation.min_gap().saturating_mul(3).clamp(FEWEST_STEPS, MOST_STEPS));
    let by_event = (participation.max_steps() == 1).then_some(None);
    let mut gates: Vec<Box<dyn Gate>> = Vec::new();
    for persons in std::iter::once(Some(participation)).chain(by_event) {
        for has_ids in [false, true] {
            let rules = AdmissionRules {
                steps: steps as usize,
                keys: keys.clamp(1, MOST_KEYS),
                persons,
                has_ids,
                contribution: promise.contribution,
            };
            gates.push(Box::new(Gathering(rules)));
            gates.push(Box::new(Following(rules)));
            gates.push(Box::new(Clocking(rules)));
        }
    }
    gates
}

/// Events in any order: [`Gather`].
#[derive(Debug, Clone, Copy)]
pub struct Gathering(pub AdmissionRules);

impl Gate for Gathering {
    fn rules(&self) -> AdmissionRules {
        self.0
    }

    fn totals(&self, events: &[MadeUpEvent]) -> Result<Vec<f64>> {
        let mut gather = Gather::new(buckets(&self.0)?, admission(&self.0)?, MEMORY_LIMIT)?;
        for event in events {
            // A refusal is an answer too.
            let _counted = named(&self.0, event, |event| gather.push(event))?;
        }
        Ok(totals(gather.finish()))
    }
}

/// Events as they arrive: [`Follow`], driven by a clock, with events from the future refused. That
/// is the use for which it promises privacy in any order of events.
#[derive(Debug, Clone, Copy)]
pub struct Following(pub AdmissionRules);

impl Gate for Following {
    fn rules(&self) -> AdmissionRules {
        self.0
    }

    fn totals(&self, events: &[MadeUpEvent]) -> Result<Vec<f64>> {
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
pub struct Clocking(pub AdmissionRules);

impl Gate for Clocking {
    fn rules(&self) -> AdmissionRules {
        self.0
    }

    fn totals(&self, events: &[MadeUpEvent]) -> Result<Vec<f64>> {
        let lag = BucketLength::from_micros(micros(2 * TICKS_PER_STEP))?;
        let mut live = Clocked::new(buckets(&self.0)?, admission(&self.0)?, lag, MEMORY_LIMIT)?;
        let mut closed: Vec<ClosedStep> = Vec::new();
        for event in events {
            closed.extend(live.advance_to(micros(event.arrival)));
            // A refusal is an answer too.
            let _counted = named(&self.0, event, |event| live.push(event))?;
        }
        closed.extend(live.advance_to(i64::MAX));
        Ok(totals(closed))
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

/// The rules in the words of `evertally-stream`. Undeclared keys have a place of their own, so that
/// one key fewer is declared.
pub(crate) fn admission(rules: &AdmissionRules) -> Result<Rules> {
    let mut admission = Rules::new();
    if rules.keys > 1 {
        admission = admission.keys(KeySet::new((1..rules.keys).map(|key| key.to_string()))?);
    }
    if rules.contribution != Contribution::unit() {
        admission = admission.clamp(Clamp::new(rules.contribution.lo(), rules.contribution.hi())?);
    }
    if let Some(persons) = rules.persons {
        admission = admission.bound(bound(persons)?);
    }
    Ok(if rules.has_ids { admission.drop_duplicates() } else { admission })
}

fn bound(persons: Participation) -> Result<ParticipationLimits> {
    ParticipationLimits::new(persons.max_steps(), persons.min_gap())
}

/// Hands on an event under its names. Where events count as one, it has no value.
pub(crate) fn named<T>(
    rules: &AdmissionRules,
    event: &MadeUpEvent,
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
