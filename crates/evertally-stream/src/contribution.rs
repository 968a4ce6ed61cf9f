//! How much one person may contribute, and which ids are known: the stores of admission in memory.

use crate::admission::{IdStore, PersonStore};
use evertally::Participation;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// Lets each person count in at most `k` steps, at least `b` apart, with one event per step.
///
/// Whether a person may count depends only on the steps in which the same person has counted.
///
/// Memory: 8 bytes per counted step, and one table entry with its name per person.
#[derive(Clone)]
pub struct ContributionBound {
    limits: Participation,
    counted: HashMap<Box<str>, Vec<u64>>,
}

impl ContributionBound {
    /// A bound before the first event.
    #[must_use]
    pub fn new(limits: Participation) -> Self {
        Self { limits, counted: HashMap::new() }
    }

    /// A bound that knows what this one knows of one person, and nobody else.
    pub(crate) fn only(&self, person: &str) -> Self {
        let counted = self.counted.get_key_value(person).into_iter();
        let counted = counted.map(|(person, steps)| (person.clone(), steps.clone())).collect();
        Self { limits: self.limits, counted }
    }
}

impl PersonStore for ContributionBound {
    type Person<'a> = &'a str;

    fn admit(&mut self, person: &str, step: u64) -> bool {
        match self.counted.get_mut(person) {
            Some(steps) => admit_step(self.limits, steps, step),
            None => {
                self.counted.insert(person.into(), vec![step]);
                true
            }
        }
    }
}

/// The ids of events that counted, each with its person where persons are bounded. They are held as
/// 128 bits under two secret hashers: 16 bytes per id, however long it is, and a chance of
/// mistaking one id for another below 2⁻⁶⁰ for a billion of them.
#[derive(Clone, Default)]
pub struct KnownIds {
    hashers: (RandomState, RandomState),
    known: HashSet<(u64, u64)>,
}

impl KnownIds {
    fn hash(&self, id: (Option<&str>, &str)) -> (u64, u64) {
        (self.hashers.0.hash_one(id), self.hashers.1.hash_one(id))
    }
}

impl IdStore for KnownIds {
    type Id<'a> = (Option<&'a str>, &'a str);

    fn contains(&self, id: Self::Id<'_>) -> bool {
        self.known.contains(&self.hash(id))
    }

    fn insert(&mut self, id: Self::Id<'_>, _step: u64) {
        self.known.insert(self.hash(id));
    }
}

/// The rule of [`ContributionBound`] for one person, for callers that keep the persons themselves.
/// Whether an event in this step counts, for a person who has counted in these steps, in order; if
/// so, the step is put among them.
pub fn admit_step(limits: Participation, steps: &mut Vec<u64>, step: u64) -> bool {
    // Only the two beside the new one can be too near. A gap of at least one also refuses a second
    // event in the same step.
    let place = steps.partition_point(|&at| at < step);
    let beside = &steps[place.saturating_sub(1)..steps.len().min(place + 1)];
    let allowed = (steps.len() as u64) < limits.max_steps()
        && beside.iter().all(|&at| at.abs_diff(step) >= limits.min_gap());
    if allowed {
        steps.insert(place, step);
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound(k: u64, b: u64) -> ContributionBound {
        ContributionBound::new(Participation::at_most(k, b).unwrap())
    }

    #[test]
    fn one_event_a_step_even_without_a_gap() {
        let mut bound = bound(2, 1);
        let answers = [7, 7, 8, 9].map(|step| bound.admit("p1", step));
        assert_eq!(answers, [true, false, true, false]);
        assert!(bound.admit("p2", 7));
    }

    #[test]
    fn zero_is_refused() {
        assert!(Participation::at_most(0, 1).is_err());
        assert!(Participation::at_most(1, 0).is_err());
    }

    proptest! {
        #[test]
        fn at_most_k_steps_at_least_b_apart(
            k in 1_u64..6, b in 1_u64..9, arrivals in prop::collection::vec((0_u8..4, 0_u64..60), 0..200),
        ) {
            let mut bound = bound(k, b);
            let mut counted: HashMap<u8, Vec<u64>> = HashMap::new();
            for (person, step) in arrivals {
                if bound.admit(&person.to_string(), step) {
                    counted.entry(person).or_default().push(step);
                }
            }
            for steps in counted.values_mut() {
                steps.sort_unstable();
                prop_assert!(steps.len() as u64 <= k);
                prop_assert!(steps.windows(2).all(|pair| pair[1] - pair[0] >= b));
            }
        }

        #[test]
        fn nobody_else_matters(
            k in 1_u64..6, b in 1_u64..9, arrivals in prop::collection::vec((0_u8..4, 0_u64..60), 0..200),
        ) {
            let mut together = bound(k, b);
            let mut alone = bound(k, b);
            for (person, step) in arrivals {
                let counted = together.admit(&person.to_string(), step);
                if person == 0 {
                    prop_assert_eq!(counted, alone.admit("0", step));
                }
            }
        }
    }
}
