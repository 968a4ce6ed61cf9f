//! Faults of admission, each a gate that is not quite the deployed one.

use std::collections::HashSet;

use evertally::{Contribution, Participation};
use evertally_stream::{ClosedStep, Follow, Gather, Result};

use crate::admission::deployed::{admission, buckets, named, totals};
use crate::admission::{AdmissionRules, Gate, Gathering, MadeUpEvent, TICKS_PER_STEP};

/// The faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateFault {
    /// A person is bounded in each key by itself.
    BoundPerKey,
    /// Two steps of a person may be one step nearer than promised.
    GapTooSmall,
    /// One person's id suppresses another person's event.
    SharedIds,
    /// Values count as they are.
    NoClamp,
    /// Events without a person are not bounded.
    UnboundedUnnamed,
    /// An event of a later step closes the open one, whoever else is still to come.
    EventsMoveTime,
    /// A late event counts in the step that is open, without the bound.
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
            Self::BoundPerKey => "persons bounded in each key by itself",
            Self::GapTooSmall => "steps of a person one too near",
            Self::SharedIds => "one person's id suppresses another's",
            Self::NoClamp => "values counted as they are",
            Self::UnboundedUnnamed => "events without a person not bounded",
            Self::EventsMoveTime => "one person's event makes others late",
            Self::LateCounts => "late events counted beside the bound",
        }
    }

    /// A gate with this fault, which promises that persons count in two steps at least three apart,
    /// of three keys.
    #[must_use]
    pub fn plant(self, persons: Participation, contribution: Contribution) -> Box<dyn Gate> {
        let rules =
            AdmissionRules { steps: 10, keys: 3, persons: Some(persons), has_ids: true, contribution };
        Box::new(Faulty { fault: self, rules })
    }
}

struct Faulty {
    fault: GateFault,
    rules: AdmissionRules,
}

impl Gate for Faulty {
    fn rules(&self) -> AdmissionRules {
        self.rules
    }

    fn totals(&self, events: &[MadeUpEvent]) -> Result<Vec<f64>> {
        let rules = &self.rules;
        // Another rule, or other events, under the deployed gate.
        let gathered = |rules: AdmissionRules, events: Vec<MadeUpEvent>| Gathering(rules).totals(&events);
        match self.fault {
            GateFault::BoundPerKey => {
                let per_key = |event: &MadeUpEvent| MadeUpEvent {
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
                let is_new = |event: &&MadeUpEvent| event.id.is_none_or(|id| seen.insert(id));
                gathered(
                    AdmissionRules { has_ids: false, ..*rules },
                    events.iter().filter(is_new).copied().collect(),
                )
            }
            GateFault::NoClamp => {
                let contribution = Contribution::range(-1e9, 1e9).unwrap_or(rules.contribution);
                gathered(AdmissionRules { contribution, ..*rules }, events.to_vec())
            }
            GateFault::UnboundedUnnamed => beside(rules, events, |event| event.person.is_none()),
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
                let now = |event: &MadeUpEvent| MadeUpEvent { time: event.arrival, ..*event };
                let arrived: Vec<MadeUpEvent> = events.iter().map(now).collect();
                let is_late = |event: &MadeUpEvent| {
                    let happened = events.iter().find(|other| other.serial == event.serial);
                    happened.is_some_and(|other| other.time / TICKS_PER_STEP < event.time / TICKS_PER_STEP)
                };
                beside(rules, &arrived, is_late)
            }
        }
    }
}

/// Gathers events under the rules, and some of them beside these: without a bound on persons, and
/// whatever their ids.
fn beside(
    rules: &AdmissionRules,
    events: &[MadeUpEvent],
    is_free: impl Fn(&MadeUpEvent) -> bool,
) -> Result<Vec<f64>> {
    let free_rules = AdmissionRules { persons: None, has_ids: false, ..*rules };
    let gather = |rules| Gather::new(buckets(rules)?, admission(rules)?, 1 << 20);
    let (mut bounded, mut free) = (gather(rules)?, gather(&free_rules)?);
    for event in events {
        let gate = if is_free(event) { &mut free } else { &mut bounded };
        let _counted = named(rules, event, |event| gate.push(event))?;
    }
    Ok(sum(bounded, free))
}

/// The totals of two tables together.
fn sum(one: Gather, other: Gather) -> Vec<f64> {
    totals(one.finish()).into_iter().zip(totals(other.finish())).map(|(one, other)| one + other).collect()
}
