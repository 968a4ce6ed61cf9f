//! Populations: the people whose privacy is protected, and what is spent of their budget.

use super::finite;
use crate::error::Result;
use evertally::BudgetSpec;
use evertally::Spend;
use evertally_ledger::NewPopulation;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A population and its account.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Population {
    name: String,
    /// What is protected: `event`, `person`, or another noun.
    unit: String,
    neighbours: String,
    total: Total,
    spent: Share,
    left: Share,
    /// What was spent, in order of time.
    entries: Vec<Entry>,
}

/// What all counters together may spend: ε and δ, or ρ.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Total {
    #[schema(required)]
    epsilon: Option<f64>,
    #[schema(required)]
    delta: Option<f64>,
    #[schema(required)]
    rho: Option<f64>,
    /// The part of δ that is set aside for keys that are found; with a total of ρ, a δ besides it.
    key_delta: f64,
}

/// A part of a budget, as ρ of zCDP and as ε at the total's δ without what is set aside for keys.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Share {
    rho: f64,
    /// Null when no ε is known.
    #[schema(required)]
    epsilon: Option<f64>,
    /// δ for keys that are found.
    key_delta: f64,
}

/// What one counter spent in one epoch.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    counter: String,
    epoch: u32,
    rho: f64,
    /// δ for keys that are found.
    key_delta: f64,
}

impl Population {
    pub(crate) fn of(population: &evertally_ledger::Population) -> Self {
        let odometer = &population.odometer;
        let total = odometer.total();
        // Pure totals have δ = 0. A total in ρ has no ε until somebody chooses a δ.
        let delta = total.delta().or(total.rho().is_none().then_some(0.0));
        // The odometer holds at most the total, so spending beyond it is only in the entries.
        let spent = Spend::composed(population.entries.iter().map(|entry| entry.spend));
        let is_overdrawn = population.is_overdrawn;
        let left = if is_overdrawn { Spend::NOTHING } else { odometer.remaining() };
        let room = |delta| if is_overdrawn { Some(0.0) } else { odometer.room(delta).ok() };
        let entry = |entry: &evertally_ledger::Entry| Entry {
            counter: entry.counter.clone(),
            epoch: entry.epoch,
            rho: entry.spend.rho(),
            key_delta: entry.key_delta,
        };
        Self {
            name: odometer.population().to_owned(),
            unit: odometer.unit().name().to_owned(),
            neighbours: odometer.unit().neighbours().to_string(),
            total: Total {
                epsilon: total.epsilon(),
                delta: delta.map(|delta| population.delta.unwrap_or(delta)),
                rho: total.rho(),
                key_delta: population.key_delta,
            },
            spent: Share {
                rho: spent.rho(),
                epsilon: delta.and_then(|delta| finite(spent.epsilon(delta).ok()?)),
                key_delta: population.spent_on_keys(),
            },
            left: Share {
                rho: left.rho(),
                epsilon: delta.and_then(|delta| finite(room(delta)?)),
                key_delta: if is_overdrawn { 0.0 } else { population.left_for_keys() },
            },
            entries: population.entries.iter().map(entry).collect(),
        }
    }
}

/// All populations.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Populations {
    pub(crate) populations: Vec<Population>,
}

/// A request for a new population.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PopulationDraft {
    /// Its name.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    pub(crate) name: String,
    /// What is protected: `event`, `person`, or another noun.
    #[schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9._-]+$", default = "event")]
    unit: Option<String>,
    /// Which change is hidden.
    #[schema(pattern = "^(add-remove|replace)$", default = "add-remove")]
    neighbours: Option<String>,
    /// ε of all releases about this population together. Needs `delta`.
    #[schema(minimum = 0.000001, maximum = 1000.0)]
    epsilon: Option<f64>,
    /// δ of all releases together. Zero means pure ε.
    #[schema(minimum = 0.0, exclusive_maximum = 1.0)]
    delta: Option<f64>,
    /// ρ of zero-concentrated differential privacy, instead of `epsilon` and `delta`. Better for totals
    /// above ε = 10, and for very many counters.
    #[schema(exclusive_minimum = 0.0)]
    rho: Option<f64>,
    /// The part of ε that is reserved for pure noise.
    #[schema(minimum = 0.0, maximum = 1000.0)]
    pure_part: Option<f64>,
    /// The part of δ that is reserved for keys that are found; with `rho`, a δ besides it.
    #[schema(minimum = 0.0, exclusive_maximum = 1.0, default = 0.0)]
    key_delta: Option<f64>,
}

impl PopulationDraft {
    pub(crate) fn new_population(self) -> Result<NewPopulation> {
        let Self { epsilon, delta, rho, .. } = self;
        let total = BudgetSpec { epsilon, delta, rho, ..BudgetSpec::default() }.budget()?;
        Ok(NewPopulation {
            name: self.name,
            unit: self.unit.unwrap_or_else(|| "event".to_owned()),
            neighbours: self.neighbours.as_deref().unwrap_or("add-remove").parse()?,
            total,
            pure_part: self.pure_part.unwrap_or(0.0),
            key_delta: self.key_delta.unwrap_or(0.0),
        })
    }
}
