//! The plan of an unbounded stream, and its error over time.

use crate::error::Result;
use crate::progress::with_progress;
use evertally::{Milestone, Plan, PlanSpec, Progress};

/// The last step of the milestones and of the plot, as a power of two.
const LAST_POWER: u32 = 40;

/// Points of the curve per doubling of time.
const POINTS_PER_DOUBLING: u32 = 8;

/// The plan of an unbounded stream, and its error over time.
#[derive(Debug, Clone)]
pub(crate) struct UnboundedPlan {
    pub(crate) plan: Plan,
    pub(crate) milestones: Vec<Milestone>,
    /// Steps (from zero) with their standard errors, for the plot.
    pub(crate) profile: Vec<(u64, f64)>,
    /// Steps (from zero) with the error of a plan that ends there, for the plot.
    pub(crate) known: Vec<(u64, f64)>,
}

/// Plans for an unbounded stream, and for known horizons, which takes a while.
pub(crate) fn plan_unbounded(spec: &PlanSpec, with_profile: bool) -> Result<UnboundedPlan> {
    let plan = super::plan(spec)?;
    let powers = (0..=LAST_POWER).filter(|power| 1 << power <= plan.horizon());
    let shown: Vec<u32> = powers.collect();
    let milestones = with_progress("looking ahead", |progress| milestones(&plan, &shown, progress))?;
    let known =
        milestones.iter().filter_map(|milestone| Some((milestone.step - 1, milestone.known_horizon?)));
    let known = if with_profile { known.collect() } else { Vec::new() };
    let profile = if with_profile { profile(&plan, &shown)? } else { Vec::new() };
    Ok(UnboundedPlan { plan, milestones, profile, known })
}

fn milestones(plan: &Plan, powers: &[u32], progress: &dyn Progress) -> Result<Vec<Milestone>> {
    let milestone = |(done, power): (usize, &u32)| {
        progress.report(done as f64 / powers.len() as f64);
        Ok(plan.milestone(1 << power)?)
    };
    powers.iter().enumerate().map(milestone).collect()
}

/// The standard errors up to the last of these powers, evenly spread on a logarithmic axis.
fn profile(plan: &Plan, powers: &[u32]) -> Result<Vec<(u64, f64)>> {
    let last = powers.last().copied().unwrap_or_default() * POINTS_PER_DOUBLING;
    let mut steps: Vec<u64> = (0..=last)
        .map(|index| (f64::from(index) / f64::from(POINTS_PER_DOUBLING)).exp2() as u64 - 1)
        .collect();
    steps.dedup();
    steps.into_iter().map(|step| Ok((step, plan.standard_error(step)?))).collect()
}
