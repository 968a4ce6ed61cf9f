//! The only module that calls the mathematics: it turns a spec into a plan, and closed steps into
//! estimates.

mod noise;
mod unbounded;

pub(crate) use noise::noise_plan;
pub(crate) use unbounded::{UnboundedPlan, plan_unbounded};

use crate::error::Result;
use crate::output::{Estimate, Header};
use crate::progress::with_progress;
use evertally::post::PostProcess;
use evertally::{
    Arithmetic, Counter, KeyedCounter, NoiseKey, NoiseName, Objective, Plan, PlanSpec, Shape, Spend,
};
use evertally_stream::Amount;
use zeroize::Zeroizing;

/// The level of every interval that is written.
const LEVEL: f64 = 0.95;

/// Makes the plan. This is the expensive part, and it refuses bad parameters.
pub(crate) fn plan(spec: &PlanSpec) -> Result<Plan> {
    Ok(with_progress("planning", |progress| spec.build_with_progress(progress))?)
}

/// A plan that is ready to run.
pub(crate) struct Prepared {
    plan: Plan,
    post_processing: PostProcess,
}

impl Prepared {
    pub(crate) fn new(spec: &PlanSpec, post_processing: PostProcess) -> Result<Self> {
        Ok(Self { plan: plan(spec)?, post_processing })
    }

    /// The mechanism's name, for titles.
    pub(crate) fn mechanism_name(&self) -> String {
        self.plan.mechanism().to_string()
    }

    /// Adds the facts of the plan to a header.
    pub(crate) fn describe(&self, header: &mut Header) {
        let plan = &self.plan;
        header.record("budget", plan.budget().to_string());
        header.record("mechanism", self.mechanism_name());
        header.record("objective", plan.objective().to_string());
        header.record("workload", plan.workload().to_string());
        header.record("neighbours", plan.neighbours().to_string());
        header.record("noise_multiplier", plan.noise_multiplier());
        header.record("rho", plan.spend().rho());
        header.record("sensitivity", plan.sensitivity());
        header.record("arithmetic", plan.arithmetic().to_string());
        if let Some(grid) = plan.grid() {
            header.record("grid", grid);
        }
        // A mean over a cap that is never reached would say nothing about the steps that are taken.
        if !plan.is_unbounded() {
            header.record("rmse", plan.accuracy().rmse);
        }
    }

    /// The number of steps that the noise is calibrated to.
    pub(crate) fn horizon(&self) -> u64 {
        self.plan.horizon()
    }

    /// What all releases together cost.
    pub(crate) fn spend(&self) -> Spend {
        self.plan.spend()
    }

    /// The name that the noise is derived from, together with the key.
    pub(crate) fn noise_name(&self) -> NoiseName {
        self.plan.noise_name()
    }

    /// Starts counting with a key.
    pub(crate) fn start(self, key: NoiseKey) -> Result<Running> {
        let plan = &self.plan;
        let width = plan.shape().width();
        let counter = with_progress("making noise", |progress| match plan.shape() {
            Shape::Keyed { .. } => KeyedCounter::with_progress(plan, key, progress).map(AnyCounter::Keyed),
            _ => Counter::with_progress(plan, key, progress).map(AnyCounter::Single),
        })?;
        let rounds = self.post_processing.rounds();
        Ok(Running { counter, post: vec![self.post_processing; width], rounds })
    }
}

/// The counter of a single total or of keys.
enum AnyCounter {
    Single(Counter),
    Keyed(KeyedCounter),
}

/// A counter that is running.
pub(crate) struct Running {
    counter: AnyCounter,
    post: Vec<PostProcess>,
    /// Whether only integers are released.
    rounds: bool,
}

impl Running {
    /// Feeds the totals of the next step and releases one estimate per key, in order.
    pub(crate) fn step(&mut self, totals: &[Amount]) -> Result<Vec<Estimate>> {
        let amounts = Zeroizing::new(totals.iter().map(|total| total.grid_steps()).collect::<Vec<_>>());
        let releases = match &mut self.counter {
            AnyCounter::Single(counter) => vec![counter.step_amount(amounts[0], Amount::GRID_EXPONENT)?],
            AnyCounter::Keyed(counter) => counter.step_amounts(&amounts, Amount::GRID_EXPONENT)?,
        };
        // All releases of a step have the same error.
        let margin = releases.first().map_or(0.0, |release| release.margin(LEVEL));
        let mut estimates = Vec::with_capacity(releases.len());
        for (index, release) in releases.iter().enumerate() {
            let value = self.post.get_mut(index).map_or(release.value, |post| post.apply(release.value));
            // The interval belongs to the release before post-processing. It is widened if the
            // estimate lies outside.
            let (lower, upper) = (release.value - margin, release.value + margin);
            // The margin is public, so the low bits of an end would reveal those that rounding
            // removed.
            let (lower, upper) = if self.rounds { (lower.floor(), upper.ceil()) } else { (lower, upper) };
            estimates.push(Estimate {
                // Adding zero turns a rounded -0 into 0.
                value: value + 0.0,
                standard_error: release.standard_error,
                lower: lower.min(value) + 0.0,
                upper: upper.max(value) + 0.0,
            });
        }
        Ok(estimates)
    }
}

/// All mechanisms, compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) noise_multiplier: f64,
    /// Lower and upper bound of the best possible mean error factor, if it is known.
    pub(crate) optimal: Option<(f64, f64)>,
    /// The same for the error factor of the worst step.
    pub(crate) optimal_worst: Option<(f64, f64)>,
    pub(crate) entries: Vec<Entry>,
    /// The name of the mechanism that would be chosen, and the reason.
    pub(crate) chosen: Option<(String, String)>,
}

/// One mechanism of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// It can serve the request.
    Report(Report),
    /// It cannot, or not at this size.
    Skipped { name: String, reason: String },
}

/// What one mechanism would do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    /// The name that was requested.
    pub(crate) name: String,
    /// The name with the chosen parameters.
    pub(crate) in_full: String,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) sensitivity: f64,
    pub(crate) mean_error: f64,
    pub(crate) max_error: f64,
    pub(crate) rmse: f64,
    /// The largest standard error of a step.
    pub(crate) worst_rmse: f64,
    /// An upper bound on the mean squared error, divided by the least possible one.
    pub(crate) most_above_optimum: Option<f64>,
    /// For all keys or coordinates together.
    pub(crate) state_bytes: u64,
    /// Floating-point operations per step, preparation included.
    pub(crate) operations_per_step: f64,
    /// Steps (from zero) with their standard errors. Long profiles are thinned.
    pub(crate) profile: Vec<(u64, f64)>,
}

/// Compares every mechanism, or only the one that the spec names, which must then be usable.
pub(crate) fn compare(spec: &PlanSpec, with_profiles: bool) -> Result<Comparison> {
    let compared = with_progress("comparing", |progress| spec.compare(progress))?;
    let entries = compared.entries.iter().map(|(mechanism, plan)| match plan {
        Ok(plan) => Ok(Entry::Report(report(mechanism.to_string(), plan, with_profiles)?)),
        Err(error) if spec.mechanism.is_some() => Err(error.clone().into()),
        Err(error) => Ok(Entry::Skipped { name: mechanism.to_string(), reason: reason(error) }),
    });
    let entries = entries.collect::<Result<_>>()?;
    let chosen = if spec.mechanism.is_some() { None } else { Some(choice(spec)?) };
    Ok(Comparison {
        noise_multiplier: compared.budget.noise_multiplier(),
        optimal: compared.optimal.map(|bounds| (bounds.lower, bounds.upper)),
        optimal_worst: compared.optimal_worst.map(|bounds| (bounds.lower, bounds.upper)),
        entries,
        chosen,
    })
}

/// The mechanism that `count` would choose. The planner decides, because it weighs preparation more
/// strictly than a comparison does.
fn choice(spec: &PlanSpec) -> Result<(String, String)> {
    let plan = with_progress("choosing", |progress| spec.build_with_progress(progress))?;
    let error = match plan.objective() {
        Objective::Worst => "error at the worst step",
        _ => "mean squared error",
    };
    let reason =
        format!("the least {error} of those that fit the memory and are ready within about a second");
    Ok((plan.mechanism().to_string(), reason))
}

/// Why a mechanism cannot be used, without repeating its name.
fn reason(error: &evertally::Error) -> String {
    match error {
        evertally::Error::Unsupported { reason, .. } | evertally::Error::TooCostly { reason, .. } => {
            reason.clone()
        }
        other => other.to_string(),
    }
}

fn report(name: String, plan: &Plan, with_profile: bool) -> Result<Report> {
    let accuracy = plan.accuracy();
    let steps = if with_profile { steps_to_draw(plan.horizon()) } else { Vec::new() };
    let profile = steps.into_iter().map(|step| Ok((step, plan.standard_error(step)?)));
    Ok(Report {
        name,
        in_full: plan.mechanism().to_string(),
        arithmetic: plan.arithmetic(),
        sensitivity: plan.sensitivity(),
        mean_error: accuracy.mean_error,
        max_error: accuracy.max_error,
        rmse: accuracy.rmse,
        worst_rmse: accuracy.worst_rmse,
        most_above_optimum: accuracy.ratio_to_lower_bound(),
        state_bytes: plan.cost().bytes(plan.shape().width() as u64),
        operations_per_step: plan.cost().operations_per_step,
        profile: profile.collect::<Result<_>>()?,
    })
}

/// All steps if there are few. Otherwise steps that are evenly spread on a logarithmic axis.
fn steps_to_draw(horizon: u64) -> Vec<u64> {
    const MAX_STEPS_SHOWN: u64 = 600;
    if horizon <= MAX_STEPS_SHOWN {
        return (0..horizon).collect();
    }
    let spread = (0..MAX_STEPS_SHOWN)
        .map(|index| (horizon as f64).powf(index as f64 / (MAX_STEPS_SHOWN - 1) as f64) as u64);
    let mut steps: Vec<u64> = spread.map(|step| step.clamp(1, horizon) - 1).chain([horizon - 1]).collect();
    steps.dedup();
    steps
}
