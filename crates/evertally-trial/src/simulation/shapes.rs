//! The counters of a simulation.

use std::cell::RefCell;
use std::collections::HashMap;

use evertally::{Budget, Neighbours, Objective, PlanSpec, Workload};
use evertally_ledger::{CounterPlan, NewPopulation, Spec};
use evertally_stream::BucketLength;

/// When simulations begin, in microseconds since 1970.
pub const BEGINNING: i64 = 1_767_600_000_000_000;

/// The step of all clocks here.
pub const MINUTE: i64 = 60_000_000;

/// The event that tells whether a commit was kept belongs to this counter.
pub const PROBE: &str = "probe";

/// The population that can pay for its counter once, and not for a new epoch.
pub const TIGHT: &str = "tight";

/// What a counter is made from, as far as a model needs to know.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// Who pays.
    pub population: &'static str,
    /// The length of a step; by hand where absent.
    pub every: Option<i64>,
    /// When the first step begins.
    pub start: i64,
    /// How long after its end a step still takes events.
    pub grace: i64,
    /// The number of steps.
    pub steps: u64,
    /// The keys, without `other`; zero for none.
    pub keys: usize,
    /// In how many steps a person may count, and how far apart.
    pub limits: Option<(u64, u64)>,
    /// The window of sums; all steps where absent.
    pub window: Option<u64>,
    /// For how many steps ids are remembered; for all where absent.
    pub remember: Option<u64>,
    /// Whether the noise is so small that values can be compared with totals.
    pub is_exact: bool,
}

impl Shape {
    /// How many numbers a release has.
    pub fn width(&self) -> usize {
        if self.keys == 0 { 1 } else { self.keys + 1 }
    }

    /// The name of a key.
    pub fn key(lane: usize) -> String {
        format!("key-{lane}")
    }

    /// The plan, made once for every name: names are used for one shape alone.
    ///
    /// # Errors
    /// The ledger's, where the shape makes no sense.
    pub fn planned(&self) -> Result<CounterPlan, String> {
        thread_local! {
            static PLANNED: RefCell<HashMap<String, CounterPlan>> = RefCell::default();
        }
        if let Some(planned) = PLANNED.with_borrow(|planned| planned.get(&self.name).cloned()) {
            return Ok(planned);
        }
        let length = |micros: i64| BucketLength::from_micros(micros).map_err(|error| error.to_string());
        // A budget that hides nothing: standard errors are at most 0.0818, and so noise reaches 1/2
        // with probability below 10⁻⁹.
        let (epsilon, delta) = if self.is_exact { (1e3, 0.4) } else { (1.0, 1e-9) };
        let refuse = |error: evertally_ledger::Error| format!("{}: {error}", self.name);
        let mut spec = Spec::new(&self.name, self.population, epsilon, delta)
            .steps(self.steps)
            .keys((0..self.keys).map(Self::key));
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
                // Fine enough that the standard error is that of the noise, and not of rounding.
                grid: self.is_exact.then_some(1.0 / 1024.0),
                ..spec.plan
            },
            remember_ids: Some(self.remember.unwrap_or(1 << 20)),
            ..spec
        };
        let planned = spec.plan(BEGINNING).map_err(refuse)?;
        PLANNED.with_borrow_mut(|known| known.insert(self.name.clone(), planned.clone()));
        Ok(planned)
    }
}

/// Who pays: plenty for events and for persons, and enough for one counter.
///
/// # Errors
/// Where these are no budgets.
pub fn populations() -> Result<[NewPopulation; 3], String> {
    let population = |name: &str, unit: &str, rho: f64| -> Result<NewPopulation, String> {
        Ok(NewPopulation {
            name: name.to_owned(),
            unit: unit.to_owned(),
            neighbours: Neighbours::AddRemove,
            total: Budget::zcdp(rho).map_err(|error| error.to_string())?,
            pure_part: 0.0,
        })
    };
    Ok([
        population("events", "event", 1e6)?,
        population("persons", "person", 1e6)?,
        population(TIGHT, "event", 0.03)?,
    ])
}

/// The counters that every simulation has from the beginning.
pub fn shapes() -> Vec<Shape> {
    let clocked = Shape {
        population: "events",
        every: Some(MINUTE),
        start: BEGINNING,
        steps: 300,
        is_exact: true,
        ..Shape::default()
    };
    let by_hand = Shape { every: None, start: 0, ..clocked.clone() };
    vec![
        Shape { name: PROBE.to_owned(), ..by_hand.clone() },
        Shape { name: "plain".to_owned(), ..clocked.clone() },
        Shape { name: "keys".to_owned(), keys: 3, grace: 90_000_000, ..clocked.clone() },
        Shape {
            name: "persons".to_owned(),
            limits: Some((2, 10)),
            population: "persons",
            steps: 30,
            ..clocked.clone()
        },
        Shape { name: "window".to_owned(), window: Some(5), ..by_hand.clone() },
        Shape { name: "by-hand".to_owned(), keys: 2, ..by_hand },
        Shape { name: "noisy".to_owned(), keys: 2, is_exact: false, ..clocked.clone() },
        Shape { name: "short".to_owned(), steps: 12, ..clocked.clone() },
        Shape { name: "later".to_owned(), start: BEGINNING + 7 * MINUTE, ..clocked.clone() },
        Shape { name: TIGHT.to_owned(), population: TIGHT, is_exact: false, ..clocked },
    ]
}

/// One that is created on the way.
pub fn extra(number: u64) -> Shape {
    Shape {
        name: format!("extra-{number}"),
        population: "events",
        every: Some(MINUTE),
        start: BEGINNING,
        steps: 300,
        is_exact: true,
        ..Shape::default()
    }
}
