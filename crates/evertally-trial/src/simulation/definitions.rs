//! The definitions of the counters of a simulation.

use std::cell::RefCell;
use std::collections::HashMap;

use evertally::{Budget, Neighbours, Objective, PlanSpec, Workload};
use evertally_ledger::{CounterPlan, Discover, NewPopulation, Spec};
use evertally_stream::BucketLength;

/// The start of simulations, in microseconds since 1970.
pub const BEGINNING: i64 = 1_767_600_000_000_000;

/// The length of a step of all clocks here.
pub const MINUTE: i64 = 60_000_000;

/// The counter of the events that show whether a commit was kept.
pub const PROBE: &str = "probe";

/// The population that can pay for its counter once, but not for a new epoch.
pub const TIGHT: &str = "tight";

/// The definition of a counter, as far as the model needs it.
#[derive(Clone, Debug, Default)]
pub struct CounterDefinition {
    /// Its name.
    pub name: String,
    /// Its population.
    pub population: &'static str,
    /// The length of a step, or `None` if steps are closed by hand.
    pub every: Option<i64>,
    /// The start of the first step.
    pub start: i64,
    /// The grace period: how long after its end a step accepts events.
    pub grace: i64,
    /// The number of steps.
    pub steps: u64,
    /// The number of keys without `other`, or zero for none.
    pub keys: usize,
    /// The number of steps in which a person may count, and their minimum distance.
    pub limits: Option<(u64, u64)>,
    /// Whether keys are found instead of declared.
    pub finds_keys: bool,
    /// The window of sums, or `None` for all steps.
    pub window: Option<u64>,
    /// The number of steps for which ids are remembered, or `None` for all.
    pub remember: Option<u64>,
    /// Whether the noise is small enough to compare values with totals.
    pub is_exact: bool,
}

impl CounterDefinition {
    /// The number of values of a release.
    pub fn width(&self) -> usize {
        if self.keys == 0 { 1 } else { self.keys + 1 }
    }

    /// The name of a key.
    pub fn key(lane: usize) -> String {
        format!("key-{lane}")
    }

    /// The plan. It is built once per name, because every name has one definition.
    ///
    /// # Errors
    /// The ledger's error, if the definition is invalid.
    pub fn counter_plan(&self) -> Result<CounterPlan, String> {
        thread_local! {
            static PLANS: RefCell<HashMap<String, CounterPlan>> = RefCell::default();
        }
        if let Some(counter_plan) = PLANS.with_borrow(|plans| plans.get(&self.name).cloned()) {
            return Ok(counter_plan);
        }
        let length = |micros: i64| BucketLength::from_micros(micros).map_err(|error| error.to_string());
        // A budget that hides nothing: standard errors are at most 0.0818, and so noise reaches 1/2
        // with probability below 10⁻⁹.
        let (epsilon, delta) = match (self.is_exact, self.finds_keys) {
            (true, _) => (1e3, 0.4),
            // A key appears at a few persons.
            (false, true) => (40.0, 0.4),
            (false, false) => (1.0, 1e-9),
        };
        let refuse = |error: evertally_ledger::Error| format!("{}: {error}", self.name);
        let mut spec = Spec::new(&self.name, self.population, epsilon, delta)
            .steps(self.steps)
            .keys((0..self.keys).filter(|_| !self.finds_keys).map(Self::key));
        if let Some((max_steps, min_gap)) = self.limits {
            spec = spec.persons(max_steps, min_gap).map_err(refuse)?;
        }
        let spec = Spec {
            every: self.every.map(length).transpose()?,
            start: self.every.map(|_| self.start),
            grace: Some(self.grace).filter(|grace| *grace > 0).map(length).transpose()?,
            plan: PlanSpec {
                workload: match self.window {
                    None => Workload::PrefixSum,
                    Some(width) => Workload::SlidingWindow { width },
                },
                // No release is less exact than the others.
                objective: Objective::Worst,
                // Fine enough that the standard error comes from the noise and not from rounding.
                grid: self.is_exact.then_some(1.0 / 1024.0),
                ..spec.plan
            },
            // Each epoch pays for it again.
            discover: self.finds_keys.then(|| Discover {
                key_delta: Some(1e-3),
                floor: Some(1),
                ..Discover::default()
            }),
            remember_ids: Some(self.remember.unwrap_or(1 << 20)),
            ..spec
        };
        let counter_plan = spec.plan(BEGINNING).map_err(refuse)?;
        PLANS.with_borrow_mut(|known| known.insert(self.name.clone(), counter_plan.clone()));
        Ok(counter_plan)
    }
}

/// The populations: a large budget for events and for persons, and one that suffices for a single
/// counter.
///
/// # Errors
/// If a budget is invalid.
pub fn populations() -> Result<[NewPopulation; 3], String> {
    let population = |name: &str, unit: &str, rho: f64| -> Result<NewPopulation, String> {
        Ok(NewPopulation {
            name: name.to_owned(),
            unit: unit.to_owned(),
            neighbours: Neighbours::AddRemove,
            total: Budget::zcdp(rho).map_err(|error| error.to_string())?,
            pure_part: 0.0,
            key_delta: if unit == "person" { 0.9 } else { 0.0 },
        })
    };
    Ok([
        population("events", "event", 1e6)?,
        population("persons", "person", 1e6)?,
        population(TIGHT, "event", 0.03)?,
    ])
}

/// The counters that every simulation has from the start.
pub fn initial_definitions() -> Vec<CounterDefinition> {
    let clocked = clocked(String::new());
    let by_hand = CounterDefinition { every: None, start: 0, ..clocked.clone() };
    vec![
        CounterDefinition { name: PROBE.to_owned(), ..by_hand.clone() },
        CounterDefinition { name: "plain".to_owned(), ..clocked.clone() },
        CounterDefinition { name: "keys".to_owned(), keys: 3, grace: 90_000_000, ..clocked.clone() },
        CounterDefinition {
            name: "persons".to_owned(),
            limits: Some((2, 10)),
            population: "persons",
            steps: 30,
            ..clocked.clone()
        },
        CounterDefinition {
            name: "found".to_owned(),
            keys: 3,
            finds_keys: true,
            limits: Some((3, 2)),
            population: "persons",
            steps: 40,
            is_exact: false,
            ..clocked.clone()
        },
        CounterDefinition { name: "window".to_owned(), window: Some(5), ..by_hand.clone() },
        CounterDefinition { name: "by-hand".to_owned(), keys: 2, ..by_hand },
        CounterDefinition { name: "noisy".to_owned(), keys: 2, is_exact: false, ..clocked.clone() },
        CounterDefinition { name: "short".to_owned(), steps: 12, ..clocked.clone() },
        CounterDefinition { name: "later".to_owned(), start: BEGINNING + 7 * MINUTE, ..clocked.clone() },
        CounterDefinition { name: TIGHT.to_owned(), population: TIGHT, is_exact: false, ..clocked },
    ]
}

/// A counter that is created during a simulation.
pub fn extra_definition(number: u64) -> CounterDefinition {
    clocked(format!("extra-{number}"))
}

/// A counter whose steps follow the clock.
fn clocked(name: String) -> CounterDefinition {
    CounterDefinition {
        name,
        population: "events",
        every: Some(MINUTE),
        start: BEGINNING,
        steps: 300,
        is_exact: true,
        ..CounterDefinition::default()
    }
}
