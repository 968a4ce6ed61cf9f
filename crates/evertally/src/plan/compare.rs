//! Every mechanism side by side.

use std::sync::Arc;

use super::{Objective, Plan, PlanBuilder};
use crate::Result;
use crate::factorization::Mechanism;
use crate::factorization::optimal::Optimal;
use crate::noise::Progress;
use crate::privacy::{Budget, NoiseKind};
use crate::research::gamma::{Subject, gamma_2, gamma_f};
use crate::workload::Workload;
use crate::{Error, factorization};

/// Operations that preparing one mechanism may take in a comparison: some ten seconds.
const LARGEST_PREPARATION: f64 = 2.2e10;

/// The longest horizon of a running or decayed total for which a comparison bounds the optimum: some seconds.
const LONGEST_CERTIFIED: u64 = 1 << 20;

/// The same for the worst step, which takes longer.
const LONGEST_CERTIFIED_WORST: u64 = 1 << 16;

/// The relative gap of these bounds, in γ_F and γ_2.
const CERTIFIED_GAP: f64 = 4e-7;

/// The mechanisms of a comparison, each with its plan or the reason why it has none.
#[derive(Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The budget that all of them spend.
    pub budget: Budget,
    /// The least mean error factor that any factorization has, where it can be computed in seconds:
    /// to 2^20 steps for running and decayed totals.
    pub optimal: Option<Optimum>,
    /// The least error factor that any factorization has at its worst step, where the horizon is
    /// short enough to compute it.
    pub optimal_worst: Option<Optimum>,
    /// The error by which the best is chosen.
    pub objective: Objective,
    /// One entry a mechanism.
    pub entries: Vec<(Mechanism, Result<Plan>)>,
}

/// Proven bounds on the least error factor: γ_F²/n for the mean, γ_2² for the worst step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Optimum {
    /// No factorization has a smaller one.
    pub lower: f64,
    /// Some factorization has at most this one.
    pub upper: f64,
}

impl Comparison {
    /// The plan of least error, mean or worst as the builder's objective asks, in the units of the data.
    #[must_use]
    pub fn best(&self) -> Option<&Plan> {
        let plans = self.entries.iter().filter_map(|(_, plan)| plan.as_ref().ok());
        let error = |plan: &Plan| plan.accuracy().aimed_at(self.objective);
        plans.min_by(|a, b| error(a).total_cmp(&error(b)))
    }
}

impl PlanBuilder {
    /// Plans for every mechanism, or for the named one alone, and the optimum beside them.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for what no mechanism could serve. That a single mechanism cannot
    /// serve is part of the answer.
    pub fn compare(&self, progress: &dyn Progress) -> Result<Comparison> {
        let budget = self.checked_budget()?;
        let mechanisms = match self.named_mechanism() {
            Some(mechanism) => vec![mechanism],
            None => Mechanism::ALL.to_vec(),
        };
        let workload = self.request(progress).workload;
        // Whoever names what cannot serve is told so at once, not after the optimum is found.
        if let [named] = mechanisms[..]
            && named != Mechanism::Optimal
            && let Err(error) = self.plan_for(named, budget, progress)
        {
            let objective = self.chosen_objective();
            let entries = vec![(named, Err(error))];
            return Ok(Comparison { budget, optimal: None, optimal_worst: None, objective, entries });
        }
        let optimum = self.optimum(budget, progress);
        let factors = match &optimum {
            Some(Ok(optimum)) => Some(optimum.certificate().error_factor()),
            _ => self.certified(budget, progress),
        };
        let optimal = factors.map(|(lower, upper)| Optimum { lower, upper });
        let mut optimum = optimum.map(|found| found.map(Arc::new));
        let mut entries = Vec::new();
        for mechanism in mechanisms {
            let plan = match (mechanism, optimum.take_if(|_| mechanism == Mechanism::Optimal)) {
                (Mechanism::Optimal, Some(Ok(optimum))) => self.assemble(optimum, budget),
                (Mechanism::Optimal, Some(Err(error))) => Err(error),
                _ if mechanism.preparation(self.horizon(), workload) > LARGEST_PREPARATION => {
                    Err(Error::too_costly(
                        mechanism,
                        format!("preparing {} steps takes too long", self.horizon()),
                    ))
                }
                _ => self.plan_for(mechanism, budget, progress),
            };
            entries.push((mechanism, plan));
        }
        let optimal_worst = self.certified_worst(budget, progress);
        let objective = self.chosen_objective();
        Ok(Comparison { budget, optimal, optimal_worst, objective, entries })
    }

    /// The optimum, unless it is out of reach or is not what the budget asks about.
    fn optimum(&self, budget: Budget, progress: &dyn Progress) -> Option<Result<Optimal>> {
        let workload = self.request(progress).workload;
        let within_reach = Mechanism::Optimal.preparation(self.horizon(), workload) <= LARGEST_PREPARATION
            && self.horizon() <= factorization::MAX_DENSE;
        let wanted = self.named_mechanism().is_none_or(|mechanism| mechanism == Mechanism::Optimal);
        let needed = wanted || !self.is_structured();
        (within_reach && needed && self.bound_applies(budget)).then(|| Optimal::new(&self.request(progress)))
    }

    /// Bounds on the least mean error factor without its factorization, which costs less and reaches further.
    fn certified(&self, budget: Budget, progress: &dyn Progress) -> Option<(f64, f64)> {
        if !(self.is_structured() && self.bound_applies(budget) && self.horizon() <= LONGEST_CERTIFIED) {
            return None;
        }
        let request = self.request(progress);
        let subject = Subject::workload(request.workload, request.horizon as usize);
        Some(gamma_f(subject, CERTIFIED_GAP, progress).ok()?.error_factor())
    }

    /// Bounds on the least error factor of the worst step.
    fn certified_worst(&self, budget: Budget, progress: &dyn Progress) -> Option<Optimum> {
        if !(self.is_structured() && self.bound_applies(budget) && self.horizon() <= LONGEST_CERTIFIED_WORST)
        {
            return None;
        }
        let request = self.request(progress);
        let subject = Subject::workload(request.workload, request.horizon as usize);
        let (lower, upper) = gamma_2(subject, CERTIFIED_GAP, progress).ok()?.error_factor();
        Some(Optimum { lower, upper })
    }

    /// The certificate speaks of one step and of Gaussian noise.
    fn bound_applies(&self, budget: Budget) -> bool {
        budget.noise() == NoiseKind::Gaussian && self.participation_limit() == 1
    }

    fn is_structured(&self) -> bool {
        matches!(self.request(&()).workload, Workload::PrefixSum | Workload::Decay { .. })
    }
}
