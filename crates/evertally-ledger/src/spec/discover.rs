//! The choices of a counter that finds its keys.

use super::Spec;
use crate::error::{Error, Result};
use evertally::{Discovery, DiscoveryBuilder, Mechanism};

/// The memory that keys may take, by default and at most. What the library's counter holds of them
/// stays below its own limit of two gibibytes, with the keys of one request on top.
const DEFAULT_MEMORY_BYTES: u64 = 1 << 28;
const MEMORY_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// The choices of a counter that finds its keys ([`Discovery`]). What is left out is filled in when
/// the plan is made.
///
/// ```
/// use evertally_ledger::{Discover, Spec};
/// let spec = Spec::new("pages", "readers", 1.0, 1e-6).steps(365).persons(4, 1)?;
/// let pages = Spec { discover: Some(Discover::default()), ..spec }.plan(0)?;
/// let discovery = pages.discovery().expect("it finds keys");
/// assert_eq!((discovery.floor(), discovery.keys_per_person()), (2, 4));
/// # Ok::<(), evertally_ledger::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Discover {
    /// δ_key: the part of δ for keys that appear although one person decides whether they can.
    pub key_delta: Option<f64>,
    /// The part of the budget for the counts of persons.
    pub share: Option<f64>,
    /// The number of persons below which a key never appears.
    pub floor: Option<u64>,
    /// The memory that keys may take, in bytes. Once they have taken it, the counter takes no more
    /// events.
    pub memory_limit: Option<u64>,
    /// The mechanism of the counts of persons.
    pub persons_mechanism: Option<Mechanism>,
}

impl Discover {
    /// The memory that keys may take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_limit.unwrap_or(DEFAULT_MEMORY_BYTES)
    }

    /// The same with everything filled in.
    fn filled_in(self, discovery: &Discovery) -> Self {
        Self {
            key_delta: Some(discovery.key_delta()),
            share: Some(discovery.share()),
            floor: Some(discovery.floor()),
            memory_limit: Some(self.memory_bytes()),
            persons_mechanism: Some(discovery.persons().mechanism()),
        }
    }
}

impl Spec {
    /// Refuses what keys that are found do not have.
    pub(super) fn check_discover(&self) -> Result<()> {
        let Some(discover) = &self.discover else { return Ok(()) };
        if !self.declared_keys().is_empty() {
            return Err(Error::bad("keys", "left out where keys are found", "declared ones"));
        }
        if self.distinct.is_some() {
            return Err(Error::bad("distinct", "left out where keys are found", "different persons"));
        }
        if !self.bounds_persons {
            let expected = "given where keys are found: a key appears by its number of persons";
            return Err(Error::bad("max_steps", expected, "nothing"));
        }
        if self.noise_name != Self::NOISE_NAME {
            return Err(Error::bad("noise_name", "2 where keys are found", self.noise_name));
        }
        if self.plan.horizon.steps().is_none() {
            let expected = "given where keys are found: the threshold is for all of them";
            return Err(Error::bad("steps", expected, "no known end"));
        }
        if !MEMORY_BYTES.contains(&discover.memory_bytes()) {
            let expected = format!("from {} to {}", MEMORY_BYTES.start(), MEMORY_BYTES.end());
            return Err(Error::bad("memory_limit", expected, discover.memory_bytes()));
        }
        Ok(())
    }

    /// The discovery that this spec describes, if it finds keys.
    pub(super) fn discovery(&self) -> Result<Option<Discovery>> {
        let Some(discover) = self.discover else { return Ok(None) };
        let mut builder = DiscoveryBuilder::from(self.plan.clone());
        if let Some(key_delta) = discover.key_delta {
            builder = builder.key_delta(key_delta);
        }
        if let Some(share) = discover.share {
            builder = builder.share(share);
        }
        if let Some(floor) = discover.floor {
            builder = builder.floor(floor);
        }
        if let Some(mechanism) = discover.persons_mechanism {
            builder = builder.persons_mechanism(mechanism);
        }
        Ok(Some(builder.build()?))
    }

    /// Fills in what was left open.
    pub(super) fn fill_in_discovery(&mut self, discovery: Option<&Discovery>) {
        self.discover = self.discover.zip(discovery).map(|(asked, made)| asked.filled_in(made));
    }
}
