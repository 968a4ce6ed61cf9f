//! Attacks on admission: how much one person, or one id, can change in the inputs of a counter.
//!
//! **Definition.** A [`Gate`] before the counter decides which events count, in which step and key,
//! and for how much. The mechanism consists of the gate and the counter, and its neighbours are
//! streams of *events*: with or without all events of one person, or, if single events are
//! protected, with or without all copies of one id. The resulting change of the totals must be one
//! that the counter's plan hides: at most k steps, at least b apart, one key in each, and an amount
//! within the declared range.
//!
//! **The attack** is brute force. It generates small random streams: persons with many events, ids
//! that occur twice and for several persons, late and future events, events without a person, and
//! values far outside the range. For every person or id in a stream it compares the totals with and
//! without it. It repeats this with no other events, and with other events of everyone else. The
//! three changes must be equal: one person's effect must not depend on other people.
//!
//! **Guarantee.** No false alarms: a gate that keeps its promise passes on every stream. A pass
//! covers only the streams that were tried.
//!
//! **Cost.** Six passes over a few dozen events per unit and stream.

pub(crate) mod deployed;
mod synthetic_events;

pub use deployed::{ClockedGate, FollowGate, GatherGate, deployed_gates};
pub use synthetic_events::{SyntheticEvent, TICKS_PER_STEP};

use evertally::{Contribution, Error, Participation, Result};

use crate::keys::{Keys, Purpose};
use crate::report::{Attack, Finding, verdict};
use synthetic_events::{Unit, merged, only, random_events, unit_of, without};

/// The default number of streams per gate.
pub const DEFAULT_STREAMS: usize = 200;

/// What a gate promises about its totals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmissionRules {
    /// The number of steps of a stream.
    pub steps: usize,
    /// The number of keys, including the one for undeclared names. It is one for a single total.
    pub keys: usize,
    /// The steps in which a person may count. `None` if single events, with their copies, are
    /// protected.
    pub persons: Option<Participation>,
    /// Whether ids identify copies.
    pub has_ids: bool,
    /// The range of one event's contribution.
    pub contribution: Contribution,
}

/// The admission before a counter. It turns events into totals per step.
pub trait Gate: Sync {
    /// The gate's promise.
    fn rules(&self) -> AdmissionRules;

    /// The totals of a whole stream, step by step, with one number per key in each step. Events are
    /// in order of arrival.
    ///
    /// # Errors
    /// The gate's errors. All events of an audit lie within the declared steps.
    fn totals(&self, events: &[SyntheticEvent]) -> evertally_stream::Result<Vec<f64>>;
}

/// How a promise was broken.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Breach {
    Steps(usize),
    Gap(usize),
    Keys(usize),
    Amount(f64),
    Others,
}

impl Breach {
    fn description(self) -> String {
        match self {
            Self::Steps(steps) => format!("{steps} steps moved"),
            Self::Gap(gap) => format!("steps {gap} apart moved"),
            Self::Keys(keys) => format!("{keys} keys moved in one step"),
            Self::Amount(amount) => format!("a total moved by {amount}"),
            Self::Others => "a move that depends on others".to_owned(),
        }
    }
}

/// Attacks gates with random streams.
///
/// ```
/// use evertally::{Budget, Plan};
/// use evertally_audit::{Keys, Promise, DEFAULT_STREAMS, Verdict, audit_admission, deployed_gates};
/// let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).build()?;
/// let gates = deployed_gates(&Promise::of(&plan), plan.horizon(), 1);
/// let finding = audit_admission(&gates, DEFAULT_STREAMS, Keys::SeededNotPrivate(1))?;
/// assert_eq!(finding.verdict, Verdict::Passed);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadParameter`] if a gate refuses a stream, and [`Error::NoEntropy`] if the operating
/// system provides no randomness.
pub fn audit_admission(gates: &[Box<dyn Gate>], streams: usize, keys: Keys) -> Result<Finding> {
    let mut coins = keys.coins(Purpose::Admission)?;
    let (mut units, mut breach) = (0, None);
    for gate in gates {
        let rules = gate.rules();
        for _ in 0..streams {
            let events = random_events(&rules, &mut coins);
            let strangers = random_events(&rules, &mut coins);
            let mut seen: Vec<Unit> = events.iter().map(|event| unit_of(&rules, event)).collect();
            seen.sort_unstable();
            seen.dedup();
            for unit in seen {
                units += 1;
                breach = breach.or(check(&**gate, &events, &strangers, unit)?);
            }
        }
    }
    let allowed = gates.first().map_or_else(String::new, |gate| allowed(&gate.rules()));
    Ok(Finding {
        attack: Attack::Admission,
        tried: format!("{units} persons or ids added and removed, {} gates", gates.len()),
        measured: breach.map_or_else(|| "moved as promised".to_owned(), Breach::description),
        allowed,
        bound: None,
        verdict: verdict(breach.is_none()),
    })
}

fn allowed(rules: &AdmissionRules) -> String {
    let participation = rules.persons.unwrap_or_default();
    format!("{participation}, one key, {}", rules.contribution)
}

/// Compares the effect of one unit among these events, alone, and among other events.
fn check(
    gate: &dyn Gate,
    events: &[SyntheticEvent],
    strangers: &[SyntheticEvent],
    unit: Unit,
) -> Result<Option<Breach>> {
    let rules = gate.rules();
    let own = only(&rules, events, unit);
    let moved = moved(gate, &own, &without(&rules, events, unit))?;
    for company in [Vec::new(), without(&rules, strangers, unit)] {
        if self::moved(gate, &own, &company)? != moved {
            return Ok(Some(Breach::Others));
        }
    }
    Ok(breach(&rules, unit, &moved))
}

/// The change of the totals by the events of one unit, in the presence of other events.
fn moved(gate: &dyn Gate, own: &[SyntheticEvent], company: &[SyntheticEvent]) -> Result<Vec<f64>> {
    let totals = |events: &[SyntheticEvent]| {
        let expected = "a gate that accepts every stream of events";
        gate.totals(events).map_err(|error| Error::bad("admission", expected, error))
    };
    let (with, without) = (totals(&merged(own, company))?, totals(company)?);
    Ok(with.iter().zip(&without).map(|(with, without)| with - without).collect())
}

/// The breach of a change that the plan does not hide.
fn breach(rules: &AdmissionRules, unit: Unit, moved: &[f64]) -> Option<Breach> {
    let participation = rules.persons.unwrap_or_default();
    let max_steps = match unit {
        // If persons are bounded, events without a person must not count.
        Unit::Unnamed => 0,
        _ => participation.max_steps(),
    };
    let (low, high) = (rules.contribution.lo().min(0.0), rules.contribution.hi().max(0.0));
    let (mut steps, mut last) = (Vec::new(), None);
    for (step, row) in moved.chunks(rules.keys).enumerate() {
        let amounts: Vec<f64> = row.iter().copied().filter(|amount| *amount != 0.0).collect();
        if amounts.len() > 1 {
            return Some(Breach::Keys(amounts.len()));
        }
        if let Some(amount) = amounts.iter().find(|amount| !(low..=high).contains(*amount)) {
            return Some(Breach::Amount(*amount));
        }
        if let Some(amount) = amounts.first() {
            if participation.is_in_turn() && last.is_some_and(|last: f64| last * amount > 0.0) {
                return Some(Breach::Amount(*amount));
            }
            last = Some(*amount);
            steps.push(step);
        }
    }
    if steps.len() as u64 > max_steps {
        return Some(Breach::Steps(steps.len()));
    }
    let gaps = steps.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.min().filter(|gap| (*gap as u64) < participation.min_gap()).map(Breach::Gap)
}

#[cfg(test)]
mod tests;
