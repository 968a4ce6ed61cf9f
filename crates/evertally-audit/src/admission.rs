//! Admission under attack: what one person, or one id, can change in the totals that a counter is
//! fed.
//!
//! **Definition.** Before the counter, a [`Gate`] decides which events count, in which step and
//! key, and for how much. The mechanism is the gate and the counter together, and its neighbours
//! are streams of *events*: all events of one person there or not; or, where events are protected
//! one by one, all copies of one id there or not. What the gate moves then must be a change that
//! the counter's plan hides: at most k steps, at least b apart, one key in each, and an amount
//! within the declared range.
//!
//! **The attack** is brute force. Small streams are made up at random: persons who come often, ids
//! that are used twice and by several persons, events that come late or from the future, events
//! without a person, values far outside the range. For every person or id in a stream, the totals
//! with and without are compared. The same is done where nobody else is there, and where everybody
//! else does something else. The three moves must be equal: what others do is no part of anybody's
//! privacy.
//!
//! **Guarantee.** No false alarms: a gate that keeps its promise passes on every stream. What is
//! found is found on the streams that were tried, and no more is proved.
//!
//! **Cost.** Six passes over a few dozen events for each unit of each stream.

pub(crate) mod deployed;
mod made_up;

pub use deployed::{Clocking, Following, Gathering, deployed_gates};
pub use made_up::{MadeUpEvent, TICKS_PER_STEP};

use evertally::{Contribution, Error, Participation, Result};

use crate::keys::{Keys, Purpose};
use crate::report::{Attack, Finding, verdict};
use made_up::{Unit, only, others, random_events, unit_of, without};

/// Streams that are tried on each gate by default.
pub const USUAL_STREAMS: usize = 200;

/// What a gate promises of the totals that it lets through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmissionRules {
    /// Steps of a stream.
    pub steps: usize,
    /// Keys, the one for undeclared names included; one for a single total.
    pub keys: usize,
    /// In how many steps a person may count. `None` where events are protected one by one, with
    /// their copies.
    pub persons: Option<Participation>,
    /// Whether copies are known by their ids.
    pub has_ids: bool,
    /// What one event may count for.
    pub contribution: Contribution,
}

/// What stands before a counter: events go in, the totals of steps come out.
pub trait Gate: Sync {
    /// What it promises.
    fn rules(&self) -> AdmissionRules;

    /// The totals of a whole stream, step by step, in each one number per key. Events come in the
    /// order of their arrival.
    ///
    /// # Errors
    /// Those of the gate. None of the events that an audit makes up is outside of the declared
    /// steps.
    fn totals(&self, events: &[MadeUpEvent]) -> evertally_stream::Result<Vec<f64>>;
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
    fn in_words(self) -> String {
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
/// use evertally_audit::{Keys, Promise, USUAL_STREAMS, Verdict, audit_admission, deployed_gates};
/// let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).build()?;
/// let gates = deployed_gates(&Promise::of(&plan), plan.horizon(), 1);
/// let finding = audit_admission(&gates, USUAL_STREAMS, Keys::SeededNotPrivate(1))?;
/// assert_eq!(finding.verdict, Verdict::Passed);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadParameter`] where a gate refuses a stream, and [`Error::NoEntropy`] where the system
/// gives no randomness.
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
        measured: breach.map_or_else(|| "moved as promised".to_owned(), Breach::in_words),
        allowed,
        bound: None,
        verdict: verdict(breach.is_none()),
    })
}

fn allowed(rules: &AdmissionRules) -> String {
    let participation = rules.persons.unwrap_or_default();
    format!("{participation}, one key, {}", rules.contribution)
}

/// Moves one unit among these events, alone, and among strangers.
fn check(
    gate: &dyn Gate,
    events: &[MadeUpEvent],
    strangers: &[MadeUpEvent],
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

/// What events of one unit move in the totals of others.
fn moved(gate: &dyn Gate, own: &[MadeUpEvent], company: &[MadeUpEvent]) -> Result<Vec<f64>> {
    let totals = |events: &[MadeUpEvent]| {
        gate.totals(events).map_err(|error| Error::BadParameter {
            name: "admission",
            expected: "a gate that takes every stream of events".to_owned(),
            got: error.to_string(),
        })
    };
    let (with, without) = (totals(&others(own, company))?, totals(company)?);
    Ok(with.iter().zip(&without).map(|(with, without)| with - without).collect())
}

/// Whether a move is one that the plan does not hide.
fn breach(rules: &AdmissionRules, unit: Unit, moved: &[f64]) -> Option<Breach> {
    let participation = rules.persons.unwrap_or_default();
    let most_steps = match unit {
        // Whoever names nobody counts nowhere where persons are bounded.
        Unit::Unnamed => 0,
        _ => participation.max_steps(),
    };
    let (low, high) = (rules.contribution.lo().min(0.0), rules.contribution.hi().max(0.0));
    let mut steps = Vec::new();
    for (step, row) in moved.chunks(rules.keys).enumerate() {
        let amounts: Vec<f64> = row.iter().copied().filter(|amount| *amount != 0.0).collect();
        if amounts.len() > 1 {
            return Some(Breach::Keys(amounts.len()));
        }
        if let Some(amount) = amounts.iter().find(|amount| !(low..=high).contains(*amount)) {
            return Some(Breach::Amount(*amount));
        }
        if !amounts.is_empty() {
            steps.push(step);
        }
    }
    if steps.len() as u64 > most_steps {
        return Some(Breach::Steps(steps.len()));
    }
    let gaps = steps.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.min().filter(|gap| (*gap as u64) < participation.min_gap()).map(Breach::Gap)
}

#[cfg(test)]
mod tests;
