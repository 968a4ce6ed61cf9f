//! Faults of admission: gates that differ slightly from the deployed ones.

use std::collections::HashSet;

use evertally::{Contribution, Participation};
use evertally_stream::{ClosedStep, Follow, Gather, Result};

use crate::admission::deployed::{admission, buckets, named, totals};
use crate::admission::{AdmissionRules, Gate, GatherGate, SyntheticEvent, TICKS_PER_STEP};

/// The faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateFault {
    /// A person is bounded separately in each key.
    BoundPerKey,
    /// Two steps of a person may be one step closer than promised.
    GapTooSmall,
    /// One person's id suppresses another person's event.
    SharedIds,
    /// Values count without clamping.
    NoClamp,
    /// Events without a person are not bounded.
    UnboundedUnnamed,
    /// An event of a later step closes the open step before other events arrive.
    EventsMoveTime,
    /// A late event counts in the open step, without the bound.
    LateCounts,
}

impl GateFault {
    /// All faults.
    pub const ALL: [Self; 7] = [
        Self::BoundPerKey,
        Self::GapTooSmall,
        Self::SharedIds,
        Self::NoClamp,
        Self::UnboundedUnnamed,
        Self::EventsMoveTime,
        Self::LateCounts,
    ];

    /// The fault in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BoundPerKey => "persons bounded separately in each key",
            Self::GapTooSmall => "steps of a person one step too close",
            Self::SharedIds => "one person's id suppresses another's",
            Self::NoClamp => "values counted without clamping",
            Self::UnboundedUnnamed => "events without a person not bounded",
            Self::EventsMoveTime => "one person's event makes others late",
            Self::LateCounts => "late events counted without the bound",
        }
    }

    /// A gate with this fault. It has three keys, and promises that persons count in two steps at
    /// least three apart.
    #[must_use]
    pub fn plant(self, persons: Participation, contribution: Contribution) -> Box<dyn Gate> {
        let rules =
            AdmissionRules { steps: 10, keys: 3, persons: Some(persons), has_ids: true, contribution };
        Box::new(FaultyGate { fault: self, rules })
    }
}

struct FaultyGate {
    fault: GateFault,
    rules: AdmissionRules,
}

impl Gate for FaultyGate {
    fn rules(&self) -> AdmissionRules {
        self.rules
    }

    fn totals(&self, events: &[SyntheticEvent]) -> Result<Vec<f64>> {
        let rules = &self.rules;
        // The deployed gate with another rule or other events.
        let gathered = |rules: AdmissionRules, events: Vec<SyntheticEvent>| GatherGate(rules).totals(&events);
        match self.fault {
            GateFault::BoundPerKey => {
                let per_key = |event: &SyntheticEvent| SyntheticEvent {
                    person: event.person.map(|person| person * 64 + event.key),
                    ..*event
                };
                gathered(*rules, events.iter().map(per_key).collect())
            }
            GateFault::GapTooSmall => {
                let nearer = rules.persons.and_then(|persons| {
                    Participation::at_most(persons.max_steps(), persons.min_gap().saturating_sub(1)).ok()
                });
                gathered(AdmissionRules { persons: nearer.or(rules.persons), ..*rules }, events.to_vec())
            }
            GateFault::SharedIds => {
                let mut seen = HashSet::new();
                let is_new = |event: &&SyntheticEvent| event.id.is_none_or(|id| seen.insert(id));
                gathered(
                    AdmissionRules { has_ids: false, ..*rules },
                    events.iter().filter(is_new).copied().collect(),
                )
            }
            GateFault::NoClamp => {
                let contribution = Contribution::range(-1e9, 1e9).unwrap_or(rules.contribution);
                gathered(AdmissionRules { contribution, ..*rules }, events.to_vec())
            }
            GateFault::UnboundedUnnamed => outside_rules(rules, events, |event| event.person.is_none()),
            GateFault::EventsMoveTime => {
                let mut follow = Follow::new(buckets(rules)?, admission(rules)?);
                let mut closed: Vec<ClosedStep> = Vec::new();
                for event in events {
                    closed.extend(named(rules, event, |event| follow.push(event))?.closed);
                }
                closed.extend(follow.finish());
                Ok(totals(closed))
            }
            GateFault::LateCounts => {
                let now = |event: &SyntheticEvent| SyntheticEvent { time: event.arrival, ..*event };
                let arrived: Vec<SyntheticEvent> = events.iter().map(now).collect();
                let is_late = |event: &SyntheticEvent| {
                    let happened = events.iter().find(|other| other.serial == event.serial);
                    happened.is_some_and(|other| other.time / TICKS_PER_STEP < event.time / TICKS_PER_STEP)
                };
                outside_rules(rules, &arrived, is_late)
            }
        }
    }
}

/// Gathers events under the rules, and some of them outside the rules: without a bound on persons,
/// and regardless of ids.
fn outside_rules(
    rules: &AdmissionRules,
    events: &[SyntheticEvent],
    is_free: impl Fn(&SyntheticEvent) -> bool,
) -> Result<Vec<f64>> {
    let free_rules = AdmissionRules { persons: None, has_ids: false, ..*rules };
    let gather = |rules| Gather::new(buckets(rules)?, admission(rules)?, 1 << 20);
    let (mut bounded, mut free) = (gather(rules)?, gather(&free_rules)?);
    for event in events {
        let gate = if is_free(event) { &mut free } else { &mut bounded };
        let _counted = named(rules, event, |event| gate.push(event))?;
    }
    sum(bounded, free)
}

/// The totals of two tables together.
fn sum(one: Gather, other: Gather) -> Result<Vec<f64>> {
    let pairs = totals(one.finish()?).into_iter().zip(totals(other.finish()?));
    Ok(pairs.map(|(one, other)| one + other).collect())
}
