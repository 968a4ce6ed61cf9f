//! How a counter finds keys: as it is asked for, and as answers show it.

use evertally_ledger::{CounterPlan, Discover};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How keys are found. All of it is public and must not depend on the data.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiscoverDraft {
    /// The part of δ for keys that appear although one person decides whether they can. Defaults to
    /// half of δ.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0)]
    key_delta: Option<f64>,
    /// The part of the budget for the counts of persons, which decide when a key appears. The rest is
    /// for totals.
    #[schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0, default = 0.5)]
    share: Option<f64>,
    /// The number of persons below which a key never appears.
    #[schema(minimum = 1, default = 2)]
    floor: Option<u64>,
    /// The memory that keys may take, in bytes. Once they have taken it, the counter takes no events.
    #[schema(minimum = 1048576, maximum = 1073741824, default = 268435456)]
    memory_limit: Option<u64>,
}

impl DiscoverDraft {
    pub(super) fn discover(self) -> Discover {
        let Self { key_delta, share, floor, memory_limit } = self;
        Discover { key_delta, share, floor, memory_limit, persons_mechanism: None }
    }
}

/// How a counter finds keys.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Discovery {
    /// The part of δ for keys that appear although one person decides whether they can.
    key_delta: f64,
    /// The part of the budget for the counts of persons.
    share: f64,
    /// The number of persons below which a key never appears.
    floor: u64,
    /// The most keys in which one person counts.
    keys_per_person: u64,
    /// The private count of persons at which a key appears at the first step.
    first_threshold: f64,
    /// The private count of persons at which a key appears at the last step.
    last_threshold: f64,
    /// The memory that keys may take, in bytes.
    memory_limit: u64,
}

impl Discovery {
    /// None for a counter that finds no keys.
    pub(super) fn of(counter_plan: &CounterPlan) -> Option<Self> {
        let (discovery, discover) = counter_plan.discovery().zip(counter_plan.spec().discover)?;
        Some(Self {
            key_delta: discovery.key_delta(),
            share: discovery.share(),
            floor: discovery.floor(),
            keys_per_person: discovery.keys_per_person(),
            first_threshold: discovery.threshold(0).ok()?,
            last_threshold: discovery.threshold(discovery.horizon() - 1).ok()?,
            memory_limit: discover.memory_limit.unwrap_or_default(),
        })
    }
}
