//! Plans for people who add the noise themselves.

use super::{plan, state_bytes};
use crate::error::{CliError, Result};
use evertally::{Plan, PlanSpec};

/// Makes the plan of a file of noise.
pub(crate) fn noise_plan(spec: &PlanSpec) -> Result<Plan> {
    let made = plan(spec);
    if spec.mechanism.is_none() && spec.memory_limit.is_none() && spec.shape.width() > 1 {
        refuse_silent_loss(made.as_ref().ok(), spec)?;
    }
    made
}

/// Vectors are long, and the default limit on memory could silently cost accuracy. A plan that gives
/// up more than a twentieth of it is refused unless the user asks for it.
fn refuse_silent_loss(made: Option<&Plan>, spec: &PlanSpec) -> Result<()> {
    const WORTH_ASKING: f64 = 1.05;
    let without_limit = PlanSpec { memory_limit: Some(u64::MAX), ..spec.clone() };
    // If nothing fits at any size, the plan has its own reason.
    let Ok(best) = without_limit.build() else { return Ok(()) };
    let squared = |plan: &Plan| plan.accuracy().aimed_at(plan.objective()).powi(2);
    if made.is_some_and(|plan| squared(plan) <= WORTH_ASKING * squared(&best)) {
        return Ok(());
    }
    let gibibytes = state_bytes(&best) as f64 / (1_u64 << 30) as f64;
    Err(CliError::bad(format!(
        "{0} needs {gibibytes:.1} GiB of memory for these coordinates: allow it with --memory-limit {1:.0}G, or name another --mechanism",
        best.mechanism(),
        gibibytes.ceil(),
    )))
}
