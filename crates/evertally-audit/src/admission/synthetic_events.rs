//! Random events for the audit, and the units that they belong to.

use super::AdmissionRules;
use crate::keys::Coins;

/// The number of ticks per step.
pub const TICKS_PER_STEP: u64 = 4;

/// The maximum number of events of a stream.
const MAX_EVENTS: usize = 24;

/// The numbers of persons, ids and undeclared keys. They are small, so that events share them.
const PERSONS: usize = 4;
const IDS: usize = 4;
const UNDECLARED_KEYS: usize = 2;

/// Values in units of the larger end of the range: within it, at its ends, and far outside.
const VALUES: [f64; 7] = [0.0, 0.25, 1.0, -0.5, -3.0, 7.0, 1_048_576.0];

/// A synthetic event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticEvent {
    /// The arrival time, in ticks since the start of the first step. Arrivals are public.
    pub arrival: u64,
    /// The event time, in ticks. It is often the arrival time, sometimes earlier or later.
    pub time: u64,
    /// The number of its key, which may be undeclared.
    pub key: usize,
    /// The number of its person.
    pub person: Option<usize>,
    /// The number of its id.
    pub id: Option<usize>,
    /// Its value.
    pub value: f64,
    /// A number that identifies the event.
    pub serial: u64,
}

/// The events that are added or removed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// All events of a person.
    Person(usize),
    /// All events without a person, if persons are bounded.
    Unnamed,
    /// All copies of an id.
    Id(usize),
    /// One event.
    Single(u64),
}

/// The unit of an event.
pub(super) fn unit_of(rules: &AdmissionRules, event: &SyntheticEvent) -> Unit {
    match (rules.persons, event.person, event.id) {
        (Some(_), Some(person), _) => Unit::Person(person),
        (Some(_), None, _) => Unit::Unnamed,
        (None, _, Some(id)) if rules.has_ids => Unit::Id(id),
        _ => Unit::Single(event.serial),
    }
}

/// The events of a unit.
pub(super) fn only(rules: &AdmissionRules, events: &[SyntheticEvent], unit: Unit) -> Vec<SyntheticEvent> {
    events.iter().filter(|event| unit_of(rules, event) == unit).copied().collect()
}

/// All other events.
pub(super) fn without(rules: &AdmissionRules, events: &[SyntheticEvent], unit: Unit) -> Vec<SyntheticEvent> {
    events.iter().filter(|event| unit_of(rules, event) != unit).copied().collect()
}

/// The events of a unit and its company, in the order of arrival.
pub(super) fn merged(own: &[SyntheticEvent], company: &[SyntheticEvent]) -> Vec<SyntheticEvent> {
    let mut events = [own, company].concat();
    events.sort_by_key(|event| (event.arrival, event.serial));
    events
}

/// A random stream with as many difficult cases as the rules allow.
pub(super) fn random_events(rules: &AdmissionRules, coins: &mut Coins) -> Vec<SyntheticEvent> {
    let end = rules.steps as u64 * TICKS_PER_STEP;
    let one_in = |coins: &mut Coins, chances: usize| coins.below(chances) == 0;
    let mut events: Vec<SyntheticEvent> = (0..=coins.below(MAX_EVENTS))
        .map(|_| {
            let arrival = coins.below(end as usize) as u64;
            // Up to three steps late, or up to two early.
            let late = coins.below(3 * TICKS_PER_STEP as usize) as u64;
            let time = match coins.below(4) {
                0 => arrival.saturating_sub(late),
                1 => (arrival + coins.below(2 * TICKS_PER_STEP as usize) as u64).min(end - 1),
                _ => arrival,
            };
            let magnitude = rules.contribution.magnitude();
            SyntheticEvent {
                arrival,
                time,
                key: coins.below(rules.keys + UNDECLARED_KEYS),
                person: (!one_in(coins, 6)).then(|| coins.below(PERSONS)),
                id: (!one_in(coins, 3)).then(|| coins.below(IDS)),
                value: magnitude * VALUES[coins.below(VALUES.len())],
                serial: coins.next(),
            }
        })
        .collect();
    events.sort_by_key(|event| (event.arrival, event.serial));
    events
}
