//! How much one person may contribute.

use crate::error::{Error, Result};
use std::collections::HashMap;

/// Lets each person count in at most `k` steps, at least `b` apart, with one event a step.
///
/// The first events to arrive win. Whether an event counts depends on nothing but the same person's
/// earlier events, so adding or removing everything that one person ever did leaves every other
/// person's events counted as before. The unit of protection is then the person, not the event: one
/// *event* more can displace later ones of the same person.
///
/// Memory: 8 bytes a counted step, at most persons × k of them, and one table entry with its name a person.
#[derive(Clone)]
pub struct ContributionBound {
    limits: ParticipationLimits,
    counted: HashMap<Box<str>, Vec<u64>>,
}

impl ContributionBound {
    /// At most `max_steps` steps a person, any two of them at least `min_gap` apart (1: any two
    /// different steps).
    pub fn new(max_steps: u64, min_gap: u64) -> Result<Self> {
        Ok(Self { limits: ParticipationLimits::new(max_steps, min_gap)?, counted: HashMap::new() })
    }

    /// Whether this person's event in this step counts; if so, the step is spent.
    pub fn admit(&mut self, person: &str, step: u64) -> bool {
        match self.counted.get_mut(person) {
            Some(steps) => self.limits.admit(steps, step),
            None => {
                self.counted.insert(person.into(), vec![step]);
                true
            }
        }
    }
}

/// The rule of [`ContributionBound`] for one person, for callers that keep the persons themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParticipationLimits {
    max_steps: usize,
    min_gap: u64,
}

impl ParticipationLimits {
    /// At most `max_steps` steps, any two of them at least `min_gap` apart (1: any two different steps).
    pub fn new(max_steps: u64, min_gap: u64) -> Result<Self> {
        if max_steps == 0 {
            return Err(Error::bad("the most steps of a person", "at least 1", max_steps));
        }
        if min_gap == 0 {
            return Err(Error::bad("the least gap between a person's steps", "at least 1", min_gap));
        }
        let max_steps = usize::try_from(max_steps).unwrap_or(usize::MAX);
        Ok(Self { max_steps, min_gap })
    }

    /// Whether an event in this step counts, for a person who has counted in these steps, in order;
    /// if so, the step is put among them.
    pub fn admit(&self, steps: &mut Vec<u64>, step: u64) -> bool {
        // Only the two beside the new one can be too near. A gap of at least one also refuses a
        // second event in the same step.
        let place = steps.partition_point(|&at| at < step);
        let beside = &steps[place.saturating_sub(1)..steps.len().min(place + 1)];
        let allowed =
            steps.len() < self.max_steps && beside.iter().all(|&at| at.abs_diff(step) >= self.min_gap);
        if allowed {
            steps.insert(place, step);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_event_a_step_even_without_a_gap() {
        let mut bound = ContributionBound::new(2, 1).unwrap();
        let answers = [7, 7, 8, 9].map(|step| bound.admit("p1", step));
        assert_eq!(answers, [true, false, true, false]);
        assert!(bound.admit("p2", 7));
    }

    #[test]
    fn zero_is_refused() {
        assert!(ContributionBound::new(0, 1).is_err());
        assert!(ContributionBound::new(1, 0).is_err());
    }

    proptest! {
        #[test]
        fn at_most_k_steps_at_least_b_apart(
            k in 1_u64..6, b in 1_u64..9, arrivals in prop::collection::vec((0_u8..4, 0_u64..60), 0..200),
        ) {
            let mut bound = ContributionBound::new(k, b).unwrap();
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
            let mut together = ContributionBound::new(k, b).unwrap();
            let mut alone = ContributionBound::new(k, b).unwrap();
            for (person, step) in arrivals {
                let counted = together.admit(&person.to_string(), step);
                if person == 0 {
                    prop_assert_eq!(counted, alone.admit("0", step));
                }
            }
        }
    }
}
