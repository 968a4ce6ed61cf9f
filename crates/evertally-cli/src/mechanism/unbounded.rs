//! A plan for a stream without a known end, and its error over time.

use crate::error::Result;
use crate::progress::with_progress;
use evertally::{Plan, PlanSpec, Progress};

/// The last step of the milestones and of the picture, as a power of two.
const LAST_POWER: u32 = 40;

/// Points of the curve for each doubling of time.
const POINTS_A_DOUBLING: u32 = 8;

/// What is known of a stream without an end before its first step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Endless {
    pub(crate) mechanism: String,
    /// The number of steps that the noise is calibrated to.
    pub(crate) cap: u64,
    pub(crate) noise_multiplier: f64,
    pub(crate) sensitivity: f64,
    /// The largest standard error of a step, the cap included.
    pub(crate) worst_rmse: f64,
    /// For all keys or coordinates together.
    pub(crate) state_bytes: u64,
    pub(crate) operations_per_step: f64,
    pub(crate) milestones: Vec<Moment>,
    /// Steps (from zero) with the standard error there, for the picture.
    pub(crate) profile: Vec<(u64, f64)>,
    /// Steps (from zero) with the error of a plan that had known this one to be the last, for the picture.
    pub(crate) known: Vec<(u64, f64)>,
}

/// The error after this many steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    pub(crate) steps: u64,
    pub(crate) standard_error: f64,
    /// The root mean squared error of a plan for exactly this many steps, if there is one.
    pub(crate) known_horizon: Option<f64>,
    /// How many times the squared error is that one's.
    pub(crate) ratio: Option<f64>,
}

/// Plans for a stream without an end. The picture asks for many more plans of known horizons, which
/// takes a while.
pub(crate) fn plan_without_end(spec: &PlanSpec, with_profile: bool) -> Result<Endless> {
    let plan = super::plan(spec)?;
    let powers = (0..=LAST_POWER).filter(|power| 1 << power <= plan.horizon());
    let shown: Vec<u32> = powers.filter(|power| with_profile || power.is_multiple_of(5)).collect();
    let moments = with_progress("looking ahead", |progress| moments(&plan, &shown, progress))?;
    let known = moments.iter().filter_map(|moment| Some((moment.steps - 1, moment.known_horizon?)));
    let known = if with_profile { known.collect() } else { Vec::new() };
    let profile = if with_profile { profile(&plan, &shown)? } else { Vec::new() };
    Ok(Endless {
        mechanism: plan.mechanism().to_string(),
        cap: plan.horizon(),
        noise_multiplier: plan.noise_multiplier(),
        sensitivity: plan.sensitivity(),
        worst_rmse: plan.accuracy().worst_rmse,
        state_bytes: plan.cost().bytes(plan.shape().width() as u64),
        operations_per_step: plan.cost().operations_per_step,
        milestones: moments.into_iter().filter(is_milestone).collect(),
        profile,
        known,
    })
}

/// Every fifth power of two is in the table.
fn is_milestone(moment: &Moment) -> bool {
    moment.steps.trailing_zeros().is_multiple_of(5)
}

fn moments(plan: &Plan, powers: &[u32], progress: &dyn Progress) -> Result<Vec<Moment>> {
    let mut moments = Vec::with_capacity(powers.len());
    for (done, power) in powers.iter().enumerate() {
        progress.report(done as f64 / powers.len() as f64);
        let milestone = plan.milestone(1 << power)?;
        moments.push(Moment {
            steps: milestone.step,
            standard_error: milestone.standard_error,
            known_horizon: milestone.known_horizon,
            ratio: milestone.ratio(),
        });
    }
    Ok(moments)
}

/// The standard error from the first step to the last of these powers, evenly spread on a logarithmic axis.
fn profile(plan: &Plan, powers: &[u32]) -> Result<Vec<(u64, f64)>> {
    let last = powers.last().copied().unwrap_or_default() * POINTS_A_DOUBLING;
    let mut steps: Vec<u64> =
        (0..=last).map(|index| (f64::from(index) / f64::from(POINTS_A_DOUBLING)).exp2() as u64 - 1).collect();
    steps.dedup();
    steps.into_iter().map(|step| Ok((step, plan.standard_error(step)?))).collect()
}
