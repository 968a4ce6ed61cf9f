//! Every mechanism side by side.

use std::sync::Arc;

use super::Plan;
use super::planner::Planner;
use crate::factorization::optimal::Optimal;
use crate::factorization::{MAX_DENSE, Mechanism};
use crate::noise::Progress;
use crate::objective::Objective;
use crate::privacy::{Budget, NoiseKind};
use crate::research::bounds::Interval;
use crate::research::gamma::{Certificate, Subject, gamma_2, gamma_f, least_mean_error};
use crate::spec::PlanSpec;
use crate::workload::Workload;
use crate::{Error, Result};

/// Operations that preparing one mechanism may take in a comparison: about ten seconds.
const MAX_PREPARATION: f64 = 2.2e10;

/// The relative gap of these bounds, in γ_F and γ_2.
const CERTIFIED_GAP: f64 = 4e-7;

/// The mechanisms of a comparison, each with its plan or the reason why it has none.
#[derive(Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The budget that all of them spend.
    pub budget: Budget,
    /// The least mean error factor of any factorization, if it can be computed in seconds: at every
    /// horizon for running totals (to a relative 10⁻³ above 2^20 steps), and up to 2^20 steps for
    /// decayed totals.
    pub optimal: Option<Optimum>,
    /// The least error factor of any factorization at its worst step, if the horizon is short enough
    /// to compute it.
    pub optimal_worst: Option<Optimum>,
    /// The least weighted error of the report at σ = 1, if there is one and it can be computed.
    pub optimal_report: Option<Optimum>,
    /// The error that decides which plan is best.
    pub objective: Objective,
    /// One entry per mechanism.
    pub entries: Vec<(Mechanism, Result<Plan>)>,
}

/// Proven bounds on the least error factor: γ_F²/n for the mean, γ_2² for the worst step, γ_F² of
/// the weighted sums for a report.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Optimum {
    /// No factorization has a smaller factor.
    pub lower: f64,
    /// Some factorization has at most this factor.
    pub upper: f64,
}

/// γ_F² of a matrix whose rows are weighted already.
fn squared(certificate: &Certificate) -> Optimum {
    let rows = certificate.subject.rows() as f64;
    let (lower, upper) = certificate.error_factor();
    Optimum { lower: (lower * rows).next_down(), upper: (upper * rows).next_up() }
}

impl Comparison {
    /// The longest horizon of a running or decayed total for which a comparison bounds the optimum
    /// closely. It takes some seconds. For longer running totals, the gap is about 10⁻³.
    pub const MAX_CERTIFIED: u64 = 1 << 20;

    /// The same for the worst step, which takes longer.
    pub const MAX_CERTIFIED_WORST: u64 = 1 << 16;

    /// How many times the squared error of a plan's releases is the least possible one at the same
    /// budget, at most: noise and rounding, over σ²·γ_F²/n for the mean and σ²·γ_2² for the worst step
    /// without rounding ([`Accuracy::ratio_to`](crate::Accuracy::ratio_to)). `None` if the least is
    /// not known.
    #[must_use]
    pub fn ratio(&self, plan: &Plan, objective: Objective) -> Option<f64> {
        let optimum = match objective {
            // A stream without an end has no mean over all steps.
            Objective::Anytime => None,
            Objective::Mean => self.optimal,
            Objective::Worst => self.optimal_worst,
            Objective::Report => self.optimal_report,
        };
        Some(plan.accuracy().ratio_to(objective, optimum?.lower))
    }

    /// The plan whose releases have the least squared error, rounding included. The objective decides
    /// between the mean and the worst error.
    #[must_use]
    pub fn best(&self) -> Option<&Plan> {
        let plans = self.entries.iter().filter_map(|(_, plan)| plan.as_ref().ok());
        let error = |plan: &Plan| plan.accuracy().aimed_at(self.objective);
        plans.min_by(|a, b| error(a).total_cmp(&error(b)))
    }
}

impl PlanSpec {
    /// Plans for every mechanism, or only for the named one, and bounds on the optimum.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for choices that no mechanism could serve. If a single mechanism
    /// cannot serve, its entry holds the reason.
    pub fn compare(&self, progress: &dyn Progress) -> Result<Comparison> {
        Ok(Planner::new(self)?.compare(progress))
    }
}

impl Planner<'_> {
    fn compare(&self, progress: &dyn Progress) -> Comparison {
        let (budget, objective) = (self.budget, self.spec.objective);
        let mechanisms = match self.spec.mechanism {
            Some(mechanism) => vec![mechanism],
            None => Mechanism::ALL.to_vec(),
        };
        // A named mechanism that cannot serve is refused at once, not after the optimum is found.
        if let [named] = mechanisms[..]
            && named != Mechanism::Optimal
            && let Err(error) = self.plan_for(named, progress)
        {
            let entries = vec![(named, Err(error))];
            let (optimal, optimal_worst, optimal_report) = (None, None, None);
            return Comparison { budget, optimal, optimal_worst, optimal_report, objective, entries };
        }
        let optimum = self.optimum(progress);
        let is_report = objective == Objective::Report;
        let factors = match &optimum {
            Some(Ok(optimum)) if !is_report => Some(optimum.certificate().error_factor()),
            _ => self.certified(progress),
        };
        let optimal = factors.map(|(lower, upper)| Optimum { lower, upper });
        let optimal_report = match &optimum {
            Some(Ok(optimum)) if is_report => self.certified_report(optimum, progress),
            _ => None,
        };
        let mut optimum = optimum.map(|found| found.map(Arc::new));
        let mut entries = Vec::new();
        for mechanism in mechanisms {
            let plan = match (mechanism, optimum.take_if(|_| mechanism == Mechanism::Optimal)) {
                (Mechanism::Optimal, Some(Ok(optimum))) => self.assemble(optimum),
                (Mechanism::Optimal, Some(Err(error))) => Err(error),
                _ if !self.is_in_time(mechanism) => Err(Error::too_costly(
                    mechanism,
                    format!("preparing {} steps takes too long", self.horizon),
                )),
                _ => self.plan_for(mechanism, progress),
            };
            entries.push((mechanism, plan));
        }
        let optimal_worst = self.certified_worst(progress);
        Comparison { budget, optimal, optimal_worst, optimal_report, objective, entries }
    }

    /// The optimum, unless it takes too long or the bound does not apply.
    fn optimum(&self, progress: &dyn Progress) -> Option<Result<Optimal>> {
        let within_reach = self.is_in_time(Mechanism::Optimal) && self.horizon <= MAX_DENSE;
        let wanted = self.spec.mechanism.is_none_or(|mechanism| mechanism == Mechanism::Optimal);
        let needed = wanted || !self.is_structured() || self.spec.objective == Objective::Report;
        (within_reach && needed && self.bound_applies()).then(|| Optimal::new(&self.request(progress)))
    }

    /// Whether a mechanism is prepared for a comparison. One that was asked for by name always is.
    fn is_in_time(&self, mechanism: Mechanism) -> bool {
        self.spec.mechanism == Some(mechanism)
            || mechanism.preparation(self.horizon, self.spec.workload) <= MAX_PREPARATION
    }

    /// Bounds on the least weighted error of the report. Where the noise is shaped for steps as well,
    /// they are not those of its shape.
    fn certified_report(&self, optimum: &Optimal, progress: &dyn Progress) -> Option<Optimum> {
        let report = self.spec.report.as_ref()?;
        if report.shaping() == *report {
            return Some(squared(optimum.certificate()));
        }
        let subject = Subject::Real(report.matrix(self.horizon as usize));
        Some(squared(&gamma_f(subject, CERTIFIED_GAP, progress).ok()?))
    }

    /// Bounds on the least mean error factor without its factorization. This is cheaper and reaches
    /// longer horizons.
    fn certified(&self, progress: &dyn Progress) -> Option<(f64, f64)> {
        let is_long = self.spec.workload == Workload::PrefixSum && self.horizon > Comparison::MAX_CERTIFIED;
        // A stream without an end is not compared with an optimum that knows it.
        if is_long && self.bound_applies() && !self.is_unbounded() {
            let Interval { lower, upper } = least_mean_error(self.horizon, progress).ok()?;
            return Some((lower, upper));
        }
        let subject = self.subject(Comparison::MAX_CERTIFIED)?;
        Some(gamma_f(subject, CERTIFIED_GAP, progress).ok()?.error_factor())
    }

    /// Bounds on the least error factor of the worst step.
    fn certified_worst(&self, progress: &dyn Progress) -> Option<Optimum> {
        let subject = self.subject(Comparison::MAX_CERTIFIED_WORST)?;
        let (lower, upper) = gamma_2(subject, CERTIFIED_GAP, progress).ok()?.error_factor();
        Some(Optimum { lower, upper })
    }

    /// The workload in the form of the solver, if a bound up to this horizon applies.
    fn subject(&self, max_horizon: u64) -> Option<Subject> {
        let is_bounded = self.is_structured() && self.bound_applies() && self.horizon <= max_horizon;
        is_bounded.then(|| Subject::workload(self.spec.workload, self.horizon as usize))
    }

    /// Certificates hold for one participation and Gaussian noise.
    fn bound_applies(&self) -> bool {
        self.budget.noise() == NoiseKind::Gaussian && self.participations() == 1
    }

    fn is_structured(&self) -> bool {
        matches!(self.spec.workload, Workload::PrefixSum | Workload::Decay { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison does what a count with the same options would do, however long it takes.
    #[test]
    fn a_named_mechanism_is_never_too_slow() {
        let spec = PlanSpec::new(1500, Budget::zcdp(0.5).unwrap());
        assert!(!Planner::new(&spec).unwrap().is_in_time(Mechanism::Optimal));
        let named = PlanSpec { mechanism: Some(Mechanism::Optimal), ..spec };
        assert!(Planner::new(&named).unwrap().is_in_time(Mechanism::Optimal));
    }
}
