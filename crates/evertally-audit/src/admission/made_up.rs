//! Events that the audit makes up, and which of them belong together.

use super::AdmissionRules;
use crate::keys::Coins;

/// Moments in a step.
pub const TICKS_PER_STEP: u64 = 4;

/// The most events of a stream.
const MOST_EVENTS: usize = 24;

/// Persons, ids and undeclared keys beside the declared ones: few, so that they meet.
const PERSONS: usize = 4;
const IDS: usize = 4;
const STRANGE_KEYS: usize = 2;

/// Values in units of the larger end of the range: within it, at its ends, and far outside.
const VALUES: [f64; 7] = [0.0, 0.25, 1.0, -0.5, -3.0, 7.0, 1_048_576.0];

/// An event of nobody.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MadeUpEvent {
    /// When it arrived, in ticks since the first step began. Arrivals are public.
    pub arrival: u64,
    /// When it happened, in ticks: often when it arrived, sometimes earlier, sometimes later.
    pub time: u64,
    /// The number of its key, which may be none of the declared ones.
    pub key: usize,
    /// The number of its person.
    pub person: Option<usize>,
    /// The number of its id.
    pub id: Option<usize>,
    /// Its value.
    pub value: f64,
    /// What tells it from all other events.
    pub serial: u64,
}

/// What is there or not as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// All events of a person.
    Person(usize),
    /// All events without a person, where others have one.
    Unnamed,
    /// All copies of an id.
    Id(usize),
    /// One event.
    Single(u64),
}

/// What an event belongs to.
pub(super) fn unit_of(rules: &AdmissionRules, event: &MadeUpEvent) -> Unit {
    match (rules.persons, event.person, event.id) {
        (Some(_), Some(person), _) => Unit::Person(person),
        (Some(_), None, _) => Unit::Unnamed,
        (None, _, Some(id)) if rules.has_ids => Unit::Id(id),
        _ => Unit::Single(event.serial),
    }
}

/// The events of a unit.
pub(super) fn only(rules: &AdmissionRules, events: &[MadeUpEvent], unit: Unit) -> Vec<MadeUpEvent> {
    events.iter().filter(|event| unit_of(rules, event) == unit).copied().collect()
}

/// All other events.
pub(super) fn without(rules: &AdmissionRules, events: &[MadeUpEvent], unit: Unit) -> Vec<MadeUpEvent> {
    events.iter().filter(|event| unit_of(rules, event) != unit).copied().collect()
}

/// The events of a unit and its company, in the order of arrival.
pub(super) fn others(own: &[MadeUpEvent], company: &[MadeUpEvent]) -> Vec<MadeUpEvent> {
    let mut events = [own, company].concat();
    events.sort_by_key(|event| (event.arrival, event.serial));
    events
}

/// A stream that is as awkward as the rules let it be.
pub(super) fn random_events(rules: &AdmissionRules, coins: &mut Coins) -> Vec<MadeUpEvent> {
    let end = rules.steps as u64 * TICKS_PER_STEP;
    let one_in = |coins: &mut Coins, chances: usize| coins.below(chances) == 0;
    let mut events: Vec<MadeUpEvent> = (0..=coins.below(MOST_EVENTS))
        .map(|_| {
            let arrival = coins.below(end as usize) as u64;
            // Up to three steps late; or up to two early.
            let late = coins.below(3 * TICKS_PER_STEP as usize) as u64;
            let time = match coins.below(4) {
                0 => arrival.saturating_sub(late),
                1 => (arrival + coins.below(2 * TICKS_PER_STEP as usize) as u64).min(end - 1),
                _ => arrival,
            };
            let magnitude = rules.contribution.magnitude();
            MadeUpEvent {
                arrival,
                time,
                key: coins.below(rules.keys + STRANGE_KEYS),
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
