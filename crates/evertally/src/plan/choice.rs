//! The choice of a mechanism when none is named.

use super::Plan;
use super::planner::Planner;
use super::unbounded::{EXACT_WINDOW_CAP, MIN_WINDOW_CAP};
use crate::factorization::Mechanism;
use crate::noise::Progress;
use crate::objective::Objective;
use crate::privacy::NoiseKind;
use crate::spec::{Arithmetic, Shape};
use crate::workload::Workload;
use crate::{Error, Result};

/// Operations that choosing a mechanism may spend on preparing one candidate: about a second.
const MAX_PREPARATION: f64 = 1e9;

/// The same if a report is to be accurate. Only the optimum knows where its periods end, and it is
/// worth some seconds: up to about 790 steps.
const MAX_REPORT_PREPARATION: f64 = 1e10;

/// Up to this horizon every mechanism is cheap to prepare, and any of them may be optimal.
const ALWAYS_COMPARED: u64 = 64;

/// A mechanism whose error is smaller by less than this, relatively, is not worth its cost. The
/// optimum itself would be one, whose digits depend on the processor.
const NEGLIGIBLE: f64 = 2e-5;

impl Planner<'_> {
    /// The named mechanism. If none is named, the most accurate exact mechanism, or else the most
    /// accurate one.
    pub(super) fn choose(&self, progress: &dyn Progress) -> Result<Plan> {
        if let Some(mechanism) = self.spec.mechanism {
            return self.plan_for(mechanism, progress);
        }
        if self.is_unbounded() && self.budget.noise() == NoiseKind::Gaussian {
            return self.without_end(progress);
        }
        if self.spec.prefers_exact() {
            let exact = self.best(true);
            if exact.is_ok() || self.spec.insists_on_exact() {
                return exact;
            }
        }
        self.best(false)
    }

    /// The sum of Markov chains for decayed totals, and else the square root, exact if it can be. The
    /// roundings of a window add up, so its cap is halved until they are small.
    fn without_end(&self, progress: &dyn Progress) -> Result<Plan> {
        if let Workload::Decay { .. } = self.spec.workload
            && let Some(plan) = self.nearly_optimal(MAX_PREPARATION)
            && (plan.arithmetic() == Arithmetic::Exact || !self.spec.prefers_exact())
        {
            return Ok(plan);
        }
        // Running totals have a mechanism that needs no end, if a person costs what one step costs.
        let is_one_step = self.participations() == 1 || self.spec.participation.squares().is_some();
        if self.spec.workload == Workload::PrefixSum && is_one_step {
            return self.plan_for(Mechanism::EndlessSquareRoot, progress);
        }
        let is_window = matches!(self.spec.workload, Workload::SlidingWindow { .. });
        if is_window && self.spec.prefers_exact() {
            let mut cap = EXACT_WINDOW_CAP.min(self.horizon);
            while cap >= MIN_WINDOW_CAP {
                let capped = Self { horizon: cap, ..self.clone() };
                match capped.plan_for(Mechanism::SquareRoot, progress) {
                    Ok(plan) if plan.arithmetic() == Arithmetic::Exact => return Ok(plan),
                    Err(error) if !matches!(error, Error::Unsupported { .. }) => return Err(error),
                    _ => cap /= 2,
                }
            }
        }
        self.plan_for(Mechanism::SquareRoot, progress)
    }

    /// The most accurate mechanism that fits the memory limit and is quick to prepare. With
    /// `only_exact`, the most accurate exact one.
    fn best(&self, only_exact: bool) -> Result<Plan> {
        let is_wanted = |plan: &Plan| !only_exact || plan.arithmetic() == Arithmetic::Exact;
        let is_report = self.spec.objective == Objective::Report;
        let longest = if is_report { MAX_REPORT_PREPARATION } else { MAX_PREPARATION };
        let mut refusal = None;
        let mut best = self.nearly_optimal(longest).filter(|plan| is_wanted(plan));
        let rivals: &[Mechanism] = match &best {
            Some(_) if is_report => &[Mechanism::Optimal],
            Some(_) if self.horizon > ALWAYS_COMPARED => &[],
            _ => &Mechanism::ALL,
        };
        let is_open = self.spec.shape == Shape::OpenKeys;
        for &mechanism in rivals.iter().filter(|mechanism| !only_exact || mechanism.has_exact_path()) {
            let takes_too_long = mechanism.preparation(self.horizon, self.spec.workload) > longest;
            // The optimum has no open keys, and integers only for reports: preparing it would be
            // wasted.
            let is_in_vain = mechanism == Mechanism::Optimal && (is_open || only_exact && !is_report);
            if takes_too_long || is_in_vain || mechanism.noise() != self.budget.noise() {
                continue;
            }
            match self.plan_for(mechanism, &()) {
                Ok(plan) => {
                    let error = |plan: &Plan| plan.accuracy().aimed_at(self.spec.objective);
                    let is_better = |best: &Plan| error(&plan) < error(best) * (1.0 - NEGLIGIBLE);
                    if is_wanted(&plan) && best.as_ref().is_none_or(is_better) {
                        best = Some(plan);
                    }
                }
                // The first mechanisms need the least, so their reason is the most informative.
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        best.ok_or_else(|| {
            refusal.unwrap_or_else(|| {
                Error::too_costly("every mechanism", "none fits the horizon and memory limit")
            })
        })
    }

    /// The mechanism of which it is known that no other is better by more than a negligible amount:
    /// the sum of Markov chains. Where its preparation takes too long, running totals take the graded
    /// square root, which is within 0.2 % of the least mean error and within 1 % of the least worst
    /// error. The shape has no say: declared and open keys have the same noise.
    fn nearly_optimal(&self, longest: f64) -> Option<Plan> {
        // Changes of bounded squares cost a multiple of one step.
        let is_one_step = self.participations() == 1 || self.spec.participation.squares().is_some();
        if !is_one_step || self.budget.noise() != NoiseKind::Gaussian {
            return None;
        }
        let is_prefix_sum = self.spec.workload == Workload::PrefixSum;
        let (markov, graded) =
            (Mechanism::Markov { chains: None }, Mechanism::GradedSquareRoot { decays: None });
        let takes_too_long = markov.preparation(self.horizon, self.spec.workload) > longest;
        if is_prefix_sum && takes_too_long {
            let is_long = self.horizon > ALWAYS_COMPARED;
            return is_long.then(|| self.plan_for(graded, &()).ok()).flatten();
        }
        (!takes_too_long).then(|| self.plan_for(markov, &()).ok()).flatten()
    }
}
