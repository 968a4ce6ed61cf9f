//! Counters as answers show them.

use super::accuracy::Accuracy;
use super::discover::Discovery;
use super::population::Population;
use super::release::{Release, of_step};
use evertally_ledger::{CounterPlan, CounterView, Status};
use evertally_stream::time;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A counter.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counter {
    name: String,
    #[schema(required)]
    description: Option<String>,
    population: String,
    status: CounterStatus,
    #[schema(format = DateTime)]
    created: String,
    epoch: u32,
    /// The length of a step. Null for a counter that is advanced by hand.
    #[schema(required)]
    every: Option<String>,
    #[schema(required, format = DateTime)]
    start: Option<String>,
    #[schema(required)]
    grace: Option<String>,
    /// The number of steps. Null for a counter without a known end.
    #[schema(required)]
    steps: Option<u64>,
    /// The step that is open. It equals the number of released steps.
    next_step: u64,
    #[schema(required, format = DateTime)]
    next_release: Option<String>,
    /// The keys that were declared and `other`, or those that were found so far. Null for a counter
    /// without keys.
    #[schema(required)]
    keys: Option<Vec<String>>,
    /// How keys are found. Null unless they are.
    #[schema(required)]
    discover: Option<Discovery>,
    budget: Budget,
    /// What it costs its population, as ρ of zCDP.
    rho: f64,
    /// What is protected: `event` or `person`.
    unit: String,
    neighbours: String,
    #[schema(required)]
    participation: Option<Participation>,
    /// In how many keys a person counts, once in each. Null unless different persons are counted.
    #[schema(required)]
    distinct: Option<u64>,
    #[schema(required, min_items = 2, max_items = 2)]
    clamp: Option<[f64; 2]>,
    mechanism: String,
    workload: String,
    objective: String,
    arithmetic: String,
    #[schema(required)]
    grid: Option<f64>,
    remember_ids: u64,
    accuracy: Accuracy,
    /// The releases of the latest step.
    #[schema(required)]
    latest: Option<Vec<Release>>,
}

/// ε and δ.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
}

/// How often a person may take part.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Participation {
    max_steps: u64,
    min_gap: u64,
    /// What happens to events without a person.
    unnamed: &'static str,
}

/// The stage of a counter's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CounterStatus {
    Running,
    Fenced,
    Retired,
    Ended,
}

impl From<Status> for CounterStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Fenced => Self::Fenced,
            Status::Retired => Self::Retired,
            Status::Ended => Self::Ended,
        }
    }
}

impl Counter {
    pub(crate) fn of(counter: &CounterView) -> Self {
        let counter_plan = counter.counter_plan();
        let (spec, plan) = (counter_plan.spec(), counter_plan.plan());
        let latest = counter.latest();
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            population: spec.population.clone(),
            status: counter.status().into(),
            created: time::format_capped(counter.created()),
            epoch: counter.epoch(),
            every: spec.every.map(|every| every.to_string()),
            start: spec.start.map(time::format_capped),
            grace: spec.grace.map(|grace| grace.to_string()),
            steps: spec.plan.horizon.steps(),
            next_step: counter.next_step(),
            next_release: counter.next_release().map(time::format_capped),
            keys: counter.key_names().map(|names| names.iter().map(str::to_owned).collect()),
            discover: Discovery::of(counter_plan),
            budget: Budget {
                epsilon: spec.plan.budget.epsilon.unwrap_or_default(),
                delta: spec.plan.budget.delta.unwrap_or_default(),
            },
            rho: counter_plan.spend().rho(),
            unit: counter_plan.unit().name().to_owned(),
            neighbours: spec.plan.neighbours.to_string(),
            participation: spec.person_bound().map(|bound| Participation {
                max_steps: bound.max_steps(),
                min_gap: bound.min_gap(),
                unnamed: "left out",
            }),
            distinct: spec.distinct,
            clamp: spec.value_range().map(|range| [range.lo(), range.hi()]),
            mechanism: plan.mechanism().to_string(),
            workload: plan.workload().to_string(),
            objective: spec.plan.objective.to_string(),
            arithmetic: plan.arithmetic().to_string(),
            grid: plan.grid(),
            remember_ids: spec.remember_ids.unwrap_or_default(),
            accuracy: Accuracy::of(counter_plan, latest.as_ref().map(|latest| latest.standard_error)),
            latest: latest.map(|latest| of_step(counter, &latest, None).collect()),
        }
    }
}

/// A page of counters.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counters {
    /// In the order of their names.
    pub(crate) counters: Vec<Counter>,
    /// The number of counters of the requested status.
    pub(crate) total: usize,
    /// The value of `after` for the next page. Null on the last page.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// Which counters to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CountersQuery {
    /// The most counters on a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(crate) limit: Option<usize>,
    /// Lists counters after this name.
    pub(crate) after: Option<String>,
    /// Lists only counters of this status.
    #[param(inline)]
    pub(crate) status: Option<CounterStatus>,
}

/// The number of steps to close.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Advance {
    /// Defaults to one.
    #[schema(minimum = 1, maximum = 1000, default = 1)]
    pub(crate) steps: Option<u64>,
}

/// What a counter would be.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preview {
    mechanism: String,
    arithmetic: String,
    noise_multiplier: f64,
    rho: f64,
    unit: String,
    accuracy: Accuracy,
    /// How keys are found. Null unless they are.
    #[schema(required)]
    discover: Option<Discovery>,
    /// The population that would pay. Null when there is no population of that name.
    #[schema(required)]
    pub(crate) population: Option<Population>,
    /// Whether the population could pay. Null when there is no population of that name.
    #[schema(required)]
    pub(crate) affordable: Option<bool>,
    /// The standard errors of at most 200 steps.
    #[schema(max_items = 200)]
    profile: Vec<ProfilePoint>,
    /// Why the budget promises little. Empty for a budget that promises much.
    warnings: Vec<String>,
}

/// The standard error of a step.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfilePoint {
    step: u64,
    standard_error: f64,
}

impl Preview {
    /// The preview without the population, which the caller adds.
    pub(crate) fn of(counter_plan: &CounterPlan) -> Self {
        let plan = counter_plan.plan();
        let steps = if plan.is_unbounded() { milestones() } else { evenly(plan.horizon(), 200) };
        let point = |step| {
            let standard_error = plan.standard_error(step).ok()?;
            Some(ProfilePoint { step, standard_error })
        };
        Self {
            mechanism: plan.mechanism().to_string(),
            arithmetic: plan.arithmetic().to_string(),
            noise_multiplier: plan.noise_multiplier(),
            rho: counter_plan.spend().rho(),
            unit: counter_plan.unit().name().to_owned(),
            accuracy: Accuracy::of(counter_plan, None),
            discover: Discovery::of(counter_plan),
            population: None,
            affordable: None,
            profile: steps.into_iter().filter_map(point).collect(),
            // The number of protected units is private.
            warnings: warnings(counter_plan),
        }
    }
}

/// Why the budget of everything that is released promises little.
fn warnings(counter_plan: &CounterPlan) -> Vec<String> {
    let budget = counter_plan.spec().plan.budget.budget();
    budget
        .map_or_else(|_| Vec::new(), |budget| budget.warnings(None).iter().map(ToString::to_string).collect())
}

/// At most `points` of `count` positions, evenly spaced, including the last.
pub(crate) fn evenly(count: u64, points: u64) -> Vec<u64> {
    let points = points.min(count);
    // 128 bits, because positions go up to 2^60.
    let place = |i: u64| (u128::from(i + 1) * u128::from(count)).div_ceil(u128::from(points)) as u64 - 1;
    (0..points).map(place).collect()
}

/// Steps of an unbounded stream: eight per doubling, up to 2^24.
fn milestones() -> Vec<u64> {
    let mut steps: Vec<u64> =
        (0..=24 * 8).map(|eighth| (f64::from(eighth) / 8.0).exp2() as u64 - 1).collect();
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_even_and_end_with_the_last() {
        assert_eq!(evenly(0, 5), [0; 0]);
        assert_eq!(evenly(3, 5), [0, 1, 2]);
        assert_eq!(evenly(10, 5), [1, 3, 5, 7, 9]);
        assert_eq!(evenly(10, 4), [2, 4, 7, 9]);
        assert_eq!(evenly(1 << 60, 200).last(), Some(&((1 << 60) - 1)));
        let steps = milestones();
        assert!(steps.is_sorted_by(|a, b| a < b) && steps.len() <= 200);
        assert_eq!((steps[0], steps[steps.len() - 1]), (0, (1 << 24) - 1));
    }
}
