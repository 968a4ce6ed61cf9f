//! Plans for those who add the noise themselves.

use super::Horizon;
use crate::error::{CliError, Result};
use crate::progress::with_progress;
use evertally::{
    Budget, Contribution, Mechanism, Neighbours, Objective, Participation, Plan, PlanBuilder, Workload,
};

/// Noise multipliers that are accepted: wider than any that protects or that leaves a signal.
const LEAST_MULTIPLIER: f64 = 1e-3;
const LARGEST_MULTIPLIER: f64 = 1e8;

/// Everything that a file of noise is made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NoiseRequest {
    pub(crate) horizon: Horizon,
    pub(crate) workload: Workload,
    pub(crate) budget: Budget,
    pub(crate) neighbours: Neighbours,
    /// At most k steps, at least b apart; one step where absent.
    pub(crate) participation: Option<(u64, u64)>,
    pub(crate) objective: Objective,
    /// By name; the most accurate one that fits where absent.
    pub(crate) mechanism: Option<String>,
    pub(crate) memory_limit: Option<u64>,
    /// The number of coordinates.
    pub(crate) dimension: usize,
    /// The largest Euclidean norm of a contribution.
    pub(crate) norm: f64,
}

impl NoiseRequest {
    /// Makes the plan. A single coordinate is a vector too: its contributions may have either sign.
    pub(crate) fn plan(&self) -> Result<Plan> {
        let mut builder = self
            .horizon
            .builder(self.workload)
            .budget(self.budget)
            .neighbours(self.neighbours)
            .objective(self.objective)
            .dimension(self.dimension)
            .contribution(Contribution::norm(self.norm)?);
        if let Some((max_steps, min_gap)) = self.participation {
            builder = builder.participation(Participation::at_most(max_steps, min_gap)?);
        }
        if let Some(name) = &self.mechanism {
            builder = builder.mechanism(name.parse::<Mechanism>()?);
        }
        if let Some(bytes) = self.memory_limit {
            builder = builder.memory_limit(bytes);
        }
        let plan = with_progress("planning", |progress| builder.build_with_progress(progress));
        if self.mechanism.is_none() && self.memory_limit.is_none() && self.dimension > 1 {
            refuse_silent_loss(&plan, &builder.memory_limit(u64::MAX))?;
        }
        Ok(plan?)
    }
}

/// Vectors are long, and the default limit on memory could take the accuracy away without a word:
/// what gives up more than a twentieth of it must be asked for.
fn refuse_silent_loss(planned: &evertally::Result<Plan>, without_limit: &PlanBuilder) -> Result<()> {
    const WORTH_ASKING: f64 = 1.05;
    // Where nothing fits at any size, the plan has its own reason.
    let Ok(best) = without_limit.build() else { return Ok(()) };
    let squared = |plan: &Plan| plan.accuracy().aimed_at(plan.objective()).powi(2);
    if planned.as_ref().is_ok_and(|plan| squared(plan) <= WORTH_ASKING * squared(&best)) {
        return Ok(());
    }
    let gibibytes = best.cost().bytes(best.shape().width() as u64) as f64 / (1_u64 << 30) as f64;
    Err(CliError::bad(format!(
        "{0} needs {gibibytes:.1} GiB of memory for so many coordinates: allow it with --memory-limit {1:.0}G, or name another --mechanism",
        best.mechanism(),
        gibibytes.ceil(),
    )))
}

/// The budget that a bare noise multiplier σ spends: Gaussian noise of σ at sensitivity one is
/// 1/(2σ²)-zCDP, neither more nor less.
pub(crate) fn budget_of_multiplier(sigma: f64) -> Result<Budget> {
    if !(LEAST_MULTIPLIER..=LARGEST_MULTIPLIER).contains(&sigma) {
        return Err(CliError::bad(format!(
            "--sigma: expected a noise multiplier from {LEAST_MULTIPLIER} to {LARGEST_MULTIPLIER:e}, got {sigma}"
        )));
    }
    Ok(Budget::zcdp(0.5 / (sigma * sigma))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiplier_is_kept_to_the_last_digits_and_never_lowered() {
        for sigma in [1e-3, 0.1, 0.5, 1.0, 1.1, 4.224_679, 1e4, 1e8] {
            let budget = budget_of_multiplier(sigma).unwrap();
            let ratio = budget.noise_multiplier() / sigma;
            assert!((1.0 - 1e-15..1.0 + 1e-12).contains(&ratio), "{sigma}: {ratio:e}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(budget_of_multiplier(bad).is_err(), "{bad} was taken");
        }
    }
}
