//! Keys that nobody declared, found privately.
//!
//! **Definition.** Two counts are made for a key: of its distinct persons, and of its amounts. A key
//! *appears* at the first step at which at least `floor` persons hold it and their private count is at
//! or above a public threshold of that step. From then on its private total is released at every
//! step. Everything that came before it appeared is in that total.
//!
//! **Guarantee.** All releases together, which keys appear and when included, are (ε, δ)-private. Noise
//! has δ − δ_key of it. δ_key bounds the probability that a key appears at a step at which it has
//! fewer than `floor` persons without one of them. The proof is in docs/discovery.md.
//!
//! **What the caller enforces.** The bounds of the plan: in how many steps a person counts, in how many
//! keys of a step, and how much they add. A person is counted as new in a key once, at the first step
//! in which they count there. So a person is new in at most K keys, the product of the two numbers.
//!
//! | file | |
//! |---|---|
//! | `builder` | the choices, and how the budget is split |
//! | `threshold` | how much noise a threshold must be above |
//! | `counter` | [`DiscoveringCounter`] |
//! | `saved` | its saved form |
//! | `fresh` | the same counts with fresh noise |

mod builder;
mod counter;
mod fresh;
mod saved;
#[cfg(test)]
mod tests;
mod threshold;

pub use builder::DiscoveryBuilder;
pub use counter::{DiscoveringCounter, FoundKey};

use crate::plan::Plan;
use crate::privacy::{Neighbours, Spend};
use crate::{Error, Result};
use threshold::Levels;

/// A finished plan for the discovery of keys: the plans of its two counts, and the threshold.
///
/// ```
/// use evertally::{Budget, Participation, Plan};
/// let discovery = Plan::discover(365)
///     .budget(Budget::new(1.0, 1e-6)?)
///     .participation(Participation::at_most(4, 1)?)
///     .build()?;
/// assert_eq!(discovery.keys_per_person(), 4);
/// println!("a page appears at {} visitors on the last day", discovery.threshold(364)?);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Discovery {
    persons: Plan,
    totals: Plan,
    epsilon: f64,
    delta: f64,
    key_delta: f64,
    share: f64,
    floor: u64,
    keys_per_person: u64,
    levels: Levels,
}

impl Discovery {
    /// The plan of the private counts of persons, which decide when a key appears.
    #[must_use]
    pub fn persons(&self) -> &Plan {
        &self.persons
    }

    /// The plan of the totals that are released.
    #[must_use]
    pub fn totals(&self) -> &Plan {
        &self.totals
    }

    /// The number of steps.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.totals.horizon()
    }

    /// ε of everything that is released.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// δ of everything that is released, [`Discovery::key_delta`] included.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// δ_key: the part of δ for keys that appear although one person decides whether they can.
    #[must_use]
    pub fn key_delta(&self) -> f64 {
        self.key_delta
    }

    /// The part of the budget, as μ² of Gaussian noise, for the counts of persons.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// The number of persons below which a key never appears.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// K: the most keys in which one person counts over all steps.
    #[must_use]
    pub fn keys_per_person(&self) -> u64 {
        self.keys_per_person
    }

    /// By how many standard errors the threshold is above the floor, at every step.
    #[must_use]
    pub fn quantile(&self) -> f64 {
        self.levels.quantile()
    }

    /// What everything costs: the noise of both counts, and δ_key.
    #[must_use]
    pub fn spend(&self) -> Spend {
        Spend::composed([self.persons.spend(), self.totals.spend(), Spend::of_keys(self.key_delta)])
    }

    /// The same for a stream of this name ([`PlanBuilder::stream`](crate::PlanBuilder::stream)), without
    /// planning again. Its noise under the same key is independent.
    #[must_use]
    pub fn with_stream(&self, name: &str) -> Self {
        let (persons, totals) = (self.persons.with_stream(name), self.totals.with_stream(name));
        Self { persons, totals, ..self.clone() }
    }

    /// The most bytes that a counter holds for a key whose name has so many bytes.
    #[must_use]
    pub fn bytes_of_key(&self, name_bytes: usize) -> u64 {
        counter::bytes_of_candidate() + counter::bytes_of_awake(self, name_bytes)
    }

    /// The private count of persons at which a key appears at a step.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] for a step beyond the horizon.
    pub fn threshold(&self, step: u64) -> Result<f64> {
        // A release on the grid of ones is at or above an integer if the sum before rounding is at or
        // above that integer less a half.
        Ok(self.floor as f64 + (self.levels.noise_below(&self.persons, step)? + 0.5).ceil())
    }
}

/// The number of keys that may differ between two neighbours: those of one person, or of the two whom
/// replacement exchanges.
fn keys_that_differ(keys_per_person: u64, neighbours: Neighbours) -> u64 {
    match neighbours {
        Neighbours::AddRemove => keys_per_person,
        Neighbours::Replace => keys_per_person.saturating_mul(2),
    }
}

impl Plan {
    /// A plan for running totals of keys that nobody declared, over `horizon` steps.
    pub fn discover(horizon: u64) -> DiscoveryBuilder {
        Self::prefix_sum(horizon).spec().clone().into()
    }
}

/// The refusal of a threshold that no key reaches.
fn out_of_reach(threshold: f64) -> Error {
    let got = format!("a key would appear only at {threshold:.3e} persons or more");
    Error::bad(
        "the threshold",
        "one that a key can reach: allow a larger budget or fewer keys per person",
        got,
    )
}
