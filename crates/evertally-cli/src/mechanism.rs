//! The only module that calls the mathematics: it turns a spec into a plan, and closed steps into
//! estimates.

mod cumulated;
mod finding;
mod intervals;
mod noise;
mod periods;
mod readout;
mod saved;
mod unbounded;

pub(crate) use cumulated::Cumulated;
pub(crate) use finding::Finding;
pub(crate) use intervals::Intervals;
pub(crate) use noise::noise_plan;
pub(crate) use periods::PeriodSum;
pub(crate) use readout::Reading;
pub(crate) use unbounded::{UnboundedPlan, plan_unbounded};

use crate::error::Result;
use crate::output::{Header, Measured};
use crate::progress::with_progress;
use evertally::post::PostProcess;
use evertally::{Comparison, Counter, Division, KeyedCounter, NoiseKey, Plan, PlanSpec, Shape};
use evertally_stream::Amount;
use periods::Periods;
use readout::Readout;
use zeroize::Zeroizing;

/// Makes the plan. This is the expensive part, and it refuses bad parameters.
pub(crate) fn plan(spec: &PlanSpec) -> Result<Plan> {
    Ok(with_progress("planning", |progress| spec.build_with_progress(progress))?)
}

/// A plan that is ready to run.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    post_processing: PostProcess,
    reading: Reading,
    intervals: Intervals,
}

impl Prepared {
    pub(crate) fn new(spec: &PlanSpec, post_processing: PostProcess, intervals: Intervals) -> Result<Self> {
        Ok(Self { plan: plan(spec)?, post_processing, reading: Reading::Totals, intervals })
    }

    /// A plan that was made before, and how its totals are read.
    pub(crate) fn of_plan(plan: Plan, reading: Reading) -> Self {
        let (post_processing, intervals) = (PostProcess::default(), Intervals::default());
        Self { plan, post_processing, reading, intervals }
    }

    /// The same with totals that are read otherwise.
    pub(crate) fn read_as(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// The root mean squared error over all steps of what is read from totals: of the counts behind means.
    /// There is none without a known end: a mean over a cap that is never reached would say nothing.
    pub(crate) fn rmse(&self) -> Option<f64> {
        (!self.plan.is_unbounded()).then(|| self.reading.per_total() * self.plan.accuracy().rmse)
    }

    /// Adds the facts of the plan to a header.
    pub(crate) fn describe(&self, header: &mut Header) {
        let plan = &self.plan;
        header.record("budget", plan.budget().to_string());
        header.record("mechanism", plan.mechanism().to_string());
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
        let (rmse, of_periods) = match &self.reading {
            Reading::Totals | Reading::Nested { .. } => ("rmse", "rmse_of_periods"),
            Reading::Cumulated(_) => ("rmse_of_cumulative_counts", "rmse_of_cumulative_counts_of_periods"),
            Reading::Means(_) => ("rmse_of_count", "rmse_of_count_of_periods"),
        };
        let per_total = self.reading.per_total();
        if let Some(error) = self.rmse() {
            header.record(rmse, error);
        }
        if let Reading::Cumulated(cumulated) = &self.reading
            && let Some(optimality) = cumulated.optimality(plan)
        {
            header.record("optimality", optimality);
        }
        if let Some(report) = &plan.accuracy().report {
            let errors: Vec<f64> = report.periods.iter().map(|error| per_total * error).collect();
            header.record(of_periods, errors);
            if report.is_sampled {
                header.record("errors_of_periods", "about: estimated from a part of the periods");
            }
        }
    }

    /// Starts counting with a key. Sums over the periods of these divisions can be released too.
    pub(crate) fn start(self, key: NoiseKey, divisions: Vec<Division>) -> Result<Running> {
        let plan = &self.plan;
        let width = plan.shape().width();
        let counter = with_progress("making noise", |progress| match plan.shape() {
            Shape::Keyed { .. } => KeyedCounter::with_progress(plan, key, progress).map(AnyCounter::Keyed),
            _ => Counter::with_progress(plan, key, progress).map(AnyCounter::Single),
        })?;
        let readout = self.readout(vec![self.post_processing.clone(); width]);
        Ok(Running { counter, periods: Periods::new(divisions, &readout), readout })
    }

    fn readout(&self, post: Vec<PostProcess>) -> Readout {
        Readout { intervals: self.intervals, post, reading: self.reading.clone() }
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
    readout: Readout,
    periods: Periods,
}

impl Running {
    /// Feeds the totals of the next step and releases one row per group, in order.
    pub(crate) fn step(&mut self, totals: &[Amount]) -> Result<Vec<Measured>> {
        let amounts = Zeroizing::new(match &self.readout.reading {
            Reading::Cumulated(cumulated) => cumulated.amounts(totals),
            _ => totals.iter().map(|total| total.grid_steps()).collect::<Vec<_>>(),
        });
        let releases = match &mut self.counter {
            AnyCounter::Single(counter) => vec![counter.step_amount(amounts[0], Amount::GRID_EXPONENT)?],
            AnyCounter::Keyed(counter) => counter.step_amounts(&amounts, Amount::GRID_EXPONENT)?,
        };
        let plan = match &self.counter {
            AnyCounter::Single(counter) => counter.plan(),
            AnyCounter::Keyed(counter) => counter.plan(),
        };
        self.periods.step(plan, &releases)?;
        Ok(self.readout.read(plan, &releases))
    }

    /// The sums over the periods that ended with the last step.
    pub(crate) fn period_sums(&mut self) -> Vec<PeriodSum> {
        self.periods.take()
    }
}

/// Compares every mechanism and chooses one of them. A mechanism that the spec names is the only one,
/// and must be usable.
pub(crate) fn compare(spec: &PlanSpec) -> Result<(Comparison, Option<Plan>)> {
    let comparison = with_progress("comparing", |progress| spec.compare(progress))?;
    if spec.mechanism.is_some() {
        return match comparison.entries.first() {
            Some((_, Err(error))) => Err(error.clone().into()),
            _ => Ok((comparison, None)),
        };
    }
    // The planner decides, because it weighs preparation more strictly than a comparison does.
    let chosen = with_progress("choosing", |progress| spec.build_with_progress(progress))?;
    Ok((comparison, Some(chosen)))
}

/// The bytes of a running counter, for all keys or coordinates together.
pub(crate) fn state_bytes(plan: &Plan) -> u64 {
    plan.cost().bytes(plan.shape().width() as u64)
}

/// Steps (from zero) with their standard errors. Long profiles are thinned.
pub(crate) fn profile(plan: &Plan) -> Result<Vec<(u64, f64)>> {
    steps_to_draw(plan.horizon()).into_iter().map(|step| Ok((step, plan.standard_error(step)?))).collect()
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
