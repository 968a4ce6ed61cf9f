//! Which mechanism is taken where none is named.

use super::builder::PlanBuilder;
use super::unbounded::{EXACT_WINDOW_CAP, LEAST_WINDOW_CAP};
use super::{Arithmetic, Lanes, Plan};
use crate::factorization::Mechanism;
use crate::noise::Progress;
use crate::privacy::{Budget, NoiseKind};
use crate::workload::Workload;
use crate::{Error, Result};

/// Operations that choosing a mechanism may spend on preparing one candidate: about a second.
const LARGEST_PREPARATION: f64 = 1e9;

/// Horizons so short that every mechanism is cheap to prepare, and that another may happen to be optimal.
const ALWAYS_COMPARED: u64 = 64;

impl PlanBuilder {
    /// The mechanism that was named, or the most accurate one that is exact, or else the most accurate one.
    pub(super) fn choose(&self, progress: &dyn Progress) -> Result<Plan> {
        let budget = self.checked_budget()?;
        if let Some(mechanism) = self.mechanism {
            return self.plan_for(mechanism, budget, progress);
        }
        if self.is_unbounded && budget.noise() == NoiseKind::Gaussian {
            return self.without_end(budget, progress);
        }
        if self.prefers_exact() {
            let exact = self.best(budget, true);
            if exact.is_ok() || self.insists_on_exact() {
                return exact;
            }
        }
        self.best(budget, false)
    }

    /// Whether floating point will not do.
    fn insists_on_exact(&self) -> bool {
        self.arithmetic == Some(Arithmetic::Exact) || self.grid.is_some()
    }

    /// The square root, exact if it can be: the roundings of a window add up, so that its cap comes
    /// down until they are small.
    fn without_end(&self, budget: Budget, progress: &dyn Progress) -> Result<Plan> {
        let is_window = matches!(self.workload, Workload::SlidingWindow { .. });
        if is_window && self.prefers_exact() {
            let mut cap = EXACT_WINDOW_CAP.min(self.horizon);
            while cap >= LEAST_WINDOW_CAP {
                let capped = self.clone().with_horizon(cap);
                match capped.plan_for(Mechanism::SquareRoot, budget, progress) {
                    Ok(plan) if plan.arithmetic() == Arithmetic::Exact => return Ok(plan),
                    Err(error) if !matches!(error, Error::Unsupported { .. }) => return Err(error),
                    _ => cap /= 2,
                }
            }
        }
        self.plan_for(Mechanism::SquareRoot, budget, progress)
    }

    /// The most accurate of the mechanisms that fit the memory and are quick to prepare; of those
    /// that are exact, where only these are wanted.
    fn best(&self, budget: Budget, only_exact: bool) -> Result<Plan> {
        let is_wanted = |plan: &Plan| !only_exact || plan.arithmetic() == Arithmetic::Exact;
        let mut best: Option<Plan> = None;
        let mut refusal = None;
        // The graded square root is within 0.2 % of the least mean error and within 1 % of the
        // least worst one, closer than any but the optimum itself: where it serves, preparing the
        // others would only take time.
        let is_single = self.workload == Workload::PrefixSum && self.participation_limit() == 1;
        if is_single
            && self.horizon > ALWAYS_COMPARED
            && let Ok(plan) = self.plan_for(Mechanism::GradedSquareRoot { decays: None }, budget, &())
            && is_wanted(&plan)
        {
            best = Some(plan);
        }
        let rivals: &[Mechanism] = if best.is_some() { &[Mechanism::Optimal] } else { &Mechanism::ALL };
        let is_open = *self.lanes == Lanes::OpenKeys;
        for &mechanism in rivals.iter().filter(|mechanism| !only_exact || mechanism.has_exact_path()) {
            let takes_too_long = mechanism.preparation(self.horizon, self.workload) > LARGEST_PREPARATION;
            // The optimum does not stream, and would be prepared in vain.
            let is_in_vain = is_open && mechanism == Mechanism::Optimal;
            if takes_too_long || is_in_vain || mechanism.noise() != budget.noise() {
                continue;
            }
            match self.plan_for(mechanism, budget, &()) {
                Ok(plan) => {
                    let error = |plan: &Plan| plan.accuracy().aimed_at(self.objective);
                    if is_wanted(&plan) && best.as_ref().is_none_or(|best| error(&plan) < error(best)) {
                        best = Some(plan);
                    }
                }
                // The first mechanisms are the most frugal, so their reason says most.
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        best.ok_or_else(|| {
            refusal.unwrap_or_else(|| {
                Error::too_costly("every mechanism", "none fits the horizon and memory limit")
            })
        })
    }
}
