//! How accurate a counter is, in the units of its data.

use super::finite;
use evertally_ledger::CounterPlan;
use serde::Serialize;
use utoipa::ToSchema;

/// The error of a counter, compared with the least possible error and with the binary tree.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accuracy {
    /// The standard error of the latest release.
    #[schema(required)]
    now: Option<f64>,
    /// The standard error of the last step. Null without a known end.
    #[schema(required)]
    at_horizon: Option<f64>,
    /// The root mean squared error over all steps. Null without a known end.
    #[schema(required)]
    rmse: Option<f64>,
    /// The largest standard error of a step. Null without a known end.
    #[schema(required)]
    worst: Option<f64>,
    /// A bound on the mean squared error as a multiple of the least that any mechanism can have.
    #[schema(required)]
    over_optimum: Option<f64>,
    /// The root mean squared error that the binary tree would have had.
    #[schema(required)]
    binary_tree_rmse: Option<f64>,
    /// The binary tree's mean squared error as a multiple of this one's.
    #[schema(required)]
    binary_tree_over: Option<f64>,
}

impl Accuracy {
    /// The accuracy of a plan, with the standard error of the latest release.
    pub(crate) fn of(counter_plan: &CounterPlan, now: Option<f64>) -> Self {
        let plan = counter_plan.plan();
        let accuracy = plan.accuracy();
        let ends = !plan.is_unbounded();
        // For an unbounded stream, means over the cap would say nothing about any real time.
        let known = |value: f64| finite(value).filter(|_| ends);
        let tree = counter_plan.tree_rmse().and_then(known);
        Self {
            now: now.and_then(finite),
            at_horizon: plan.standard_error(plan.horizon().saturating_sub(1)).ok().and_then(known),
            rmse: known(accuracy.rmse),
            worst: known(accuracy.worst_rmse),
            over_optimum: accuracy.ratio_to_lower_bound().and_then(known),
            binary_tree_rmse: tree,
            binary_tree_over: tree.and_then(|tree| finite((tree / accuracy.rmse).powi(2))),
        }
    }
}
