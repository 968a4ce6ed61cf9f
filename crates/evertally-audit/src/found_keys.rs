//! The audit of keys that nobody declared ([`evertally::Discovery`]).
//!
//! **What is attacked.** A finder takes the amounts and new persons of each key, step by step, and says which
//! keys have appeared. Two things must hold:
//!
//! - *Appearance.* A key that is at the floor only because of one person appears with probability at most
//!   δ_key/m, where m is the number of keys in which neighbours may differ. Many such keys are watched
//!   in one run, because the noise of keys is independent. The share that appears has an exact lower
//!   confidence bound, which must not exceed the promise. A plan for an audit has a large δ_key, so that
//!   the share can be measured.
//! - *Traces.* Under one noise key, what is said must not depend on keys below the floor: when their persons
//!   came, how many such keys there are, or whether somebody else knows them. Outputs of inputs that
//!   differ only in this are compared bit for bit.
//!
//! **Guarantee.** A finder that keeps its promise fails with probability at most the false-alarm rate.

use evertally::internals::noise::copy_of;
use evertally::{DiscoveringCounter, Discovery, Neighbours, NoiseKey, Result};

use crate::keys::{Keys, Purpose};
use crate::report::{Attack, Finding, verdict};
use crate::statistics::binomial;

/// What happens to one key in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyArrival {
    /// The key.
    pub key: String,
    /// What is added to its total.
    pub amount: f64,
    /// The persons who are new in it.
    pub new_persons: u64,
}

/// A row of a finder: a key that has appeared, when it appeared, and its private total.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRow {
    /// The key.
    pub key: String,
    /// The step at which it appeared.
    pub since: u64,
    /// The release.
    pub value: f64,
}

/// What is audited: it takes arrivals step by step, and gives the rows of each step.
pub trait Finder {
    /// The plan that it claims to follow.
    fn discovery(&self) -> &Discovery;

    /// Runs on the arrivals of each step.
    ///
    /// # Errors
    /// The errors of the counter.
    fn run(&self, key: NoiseKey, steps: &[Vec<KeyArrival>]) -> Result<Vec<Vec<FoundRow>>>;
}

/// The counter of the library.
#[derive(Debug, Clone)]
pub struct DeployedFinder(pub Discovery);

impl Finder for DeployedFinder {
    fn discovery(&self) -> &Discovery {
        &self.0
    }

    fn run(&self, key: NoiseKey, steps: &[Vec<KeyArrival>]) -> Result<Vec<Vec<FoundRow>>> {
        let mut counter = DiscoveringCounter::new(&self.0, key)?;
        let mut rows = Vec::new();
        for arrivals in steps {
            for KeyArrival { key, amount, new_persons } in arrivals {
                counter.add(key, *amount, *new_persons)?;
            }
            let found = counter.close_step()?;
            let row = |row: &evertally::FoundKey<'_>| FoundRow {
                key: row.key.to_owned(),
                since: row.since,
                value: row.release.value,
            };
            rows.push(found.iter().map(row).collect());
        }
        Ok(rows)
    }
}

/// Attacks a finder: how many of `watched` keys appear that one person decides about, and whether keys below
/// the floor leave a trace.
///
/// ```
/// use evertally::{Budget, Plan};
/// use evertally_audit::{DeployedFinder, Keys, Verdict, audit_found_keys};
/// let discovery = Plan::discover(4).budget(Budget::new(1.0, 0.05)?).key_delta(0.02).build()?;
/// let findings = audit_found_keys(&DeployedFinder(discovery), 2000, Keys::SeededNotPrivate(1), 0.001)?;
/// assert!(findings.iter().all(|finding| finding.verdict == Verdict::Passed));
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// The errors of the finder, and [`evertally::Error::NoEntropy`].
pub fn audit_found_keys(
    finder: &dyn Finder,
    watched: usize,
    keys: Keys,
    false_alarm: f64,
) -> Result<[Finding; 2]> {
    Ok([appearance(finder, watched, keys, false_alarm)?, traces(finder, keys)?])
}

fn appearance(finder: &dyn Finder, watched: usize, keys: Keys, false_alarm: f64) -> Result<Finding> {
    let discovery = finder.discovery();
    let persons = match discovery.persons().neighbours() {
        Neighbours::AddRemove => 1.0,
        Neighbours::Replace => 2.0,
    };
    let promised = discovery.key_delta() / (persons * discovery.keys_per_person() as f64);
    let arrival = |number| arrival(&format!("watched {number}"), discovery.floor());
    let mut steps = vec![Vec::new(); discovery.horizon() as usize];
    steps[0] = (0..watched).map(arrival).collect();
    let rows = finder.run(keys.key(Purpose::Without, 0)?, &steps)?;
    let appeared = rows.last().map_or(0, Vec::len);
    let at_least = binomial::share_at_least(appeared, watched, false_alarm);
    Ok(Finding {
        attack: Attack::FoundKeys,
        tried: format!("{watched} keys at the floor because of one person"),
        measured: format!("{appeared} appeared, so at least {at_least:.2e} of all"),
        allowed: format!("{promised:.2e} of all"),
        bound: None,
        verdict: verdict(at_least <= promised),
    })
}

fn arrival(key: &str, new_persons: u64) -> KeyArrival {
    KeyArrival { key: key.to_owned(), amount: 1.0, new_persons }
}

/// Steps in which one key has enough persons, from the middle on, and what is hidden besides.
fn traces(finder: &dyn Finder, keys: Keys) -> Result<Finding> {
    let discovery = finder.discovery();
    let (steps, floor) = (discovery.horizon() as usize, discovery.floor());
    let last = discovery.threshold(discovery.horizon() - 1)?;
    let many = (4.0 * last) as u64 + 2 * floor;
    let visible = |early: u64| {
        let mut all = vec![vec![arrival("steady", many)]; steps];
        if early > 0 {
            all[0].push(arrival("late", early));
        }
        all[steps / 2]
            .push(KeyArrival { amount: (1 + u64::from(early == 0)) as f64, ..arrival("late", many - early) });
        all
    };
    let mut crowded = visible(0);
    if floor > 1 {
        for (step, arrivals) in crowded.iter_mut().enumerate() {
            arrivals.extend((0..200).map(|number| arrival(&format!("hidden {step} {number}"), floor - 1)));
        }
    }
    // All runs have the same noise.
    let key = keys.key(Purpose::Replay, 0)?;
    let run = |steps: &[Vec<KeyArrival>]| finder.run(copy_of(&key), steps);
    let plain = run(&visible(0))?;
    let mut others = vec![("keys below the floor", run(&crowded)?)];
    if floor > 1 && steps > 1 {
        others.push(("when the first person came", run(&visible(floor - 1))?));
    }
    let breach = others.iter().find(|(_, rows)| *rows != plain).map(|(what, _)| *what);
    Ok(Finding {
        attack: Attack::FoundKeys,
        tried: format!("{} inputs that differ below the floor, under one noise key", others.len()),
        measured: breach
            .map_or_else(|| "the same output".to_owned(), |what| format!("the output shows {what}")),
        allowed: "no difference".to_owned(),
        bound: None,
        verdict: verdict(breach.is_none()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;
    use evertally::{Budget, Plan};
    use std::collections::HashMap;

    /// A finder with a fault.
    struct Faulty {
        discovery: Discovery,
        fault: Fault,
    }

    #[derive(PartialEq)]
    enum Fault {
        /// Counts of persons are as much too high as a threshold would be too low by a tenth.
        ThresholdTooLow,
        /// A row says when the key was first seen instead of when it appeared.
        FirstSeen,
        /// A key appears at once if somebody else knows its name.
        KnownElsewhere,
    }

    impl Finder for Faulty {
        fn discovery(&self) -> &Discovery {
            &self.discovery
        }

        fn run(&self, key: NoiseKey, steps: &[Vec<KeyArrival>]) -> Result<Vec<Vec<FoundRow>>> {
            let mut steps = steps.to_vec();
            let mut first = HashMap::new();
            for (step, arrivals) in steps.iter_mut().enumerate() {
                for arrival in arrivals {
                    let is_new = first.insert(arrival.key.clone(), step as u64).is_none();
                    if is_new && self.fault == Fault::ThresholdTooLow {
                        let tenth = 0.1 * self.discovery.threshold(step as u64)?;
                        arrival.new_persons += tenth.round() as u64;
                    }
                }
            }
            let mut seen: HashMap<String, u64> = HashMap::new();
            for (step, arrivals) in steps.iter().enumerate() {
                for arrival in arrivals {
                    seen.entry(arrival.key.clone()).or_insert(step as u64);
                }
            }
            let mut rows = DeployedFinder(self.discovery.clone()).run(key, &steps)?;
            if self.fault == Fault::FirstSeen {
                rows.iter_mut().flatten().for_each(|row| row.since = seen[&row.key]);
            }
            if self.fault == Fault::KnownElsewhere
                && let (Some(since), Some(last)) = (seen.get("hidden 0 7"), rows.last_mut())
            {
                last.push(FoundRow { key: "hidden 0 7".to_owned(), since: *since, value: 1.0 });
            }
            Ok(rows)
        }
    }

    fn discovery(neighbours: Neighbours) -> Discovery {
        let budget = Budget::new(0.05, 0.01).unwrap();
        Plan::discover(2).budget(budget).key_delta(0.005).neighbours(neighbours).build().unwrap()
    }

    fn verdicts(finder: &dyn Finder) -> [Verdict; 2] {
        let findings = audit_found_keys(finder, 20_000, Keys::SeededNotPrivate(3), 0.001).unwrap();
        findings.map(|finding| finding.verdict)
    }

    #[test]
    fn the_deployed_finder_passes() {
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            assert_eq!(
                verdicts(&DeployedFinder(discovery(neighbours))),
                [Verdict::Passed; 2],
                "{neighbours}"
            );
        }
    }

    #[test]
    fn planted_faults_are_found() {
        for (fault, place) in [(Fault::ThresholdTooLow, 0), (Fault::FirstSeen, 1), (Fault::KnownElsewhere, 1)]
        {
            let faulty = Faulty { discovery: discovery(Neighbours::AddRemove), fault };
            assert_eq!(verdicts(&faulty)[place], Verdict::Failed, "{place}");
        }
    }
}
