//! Releases, and what is made of them.

use evertally_ledger::{CounterView, StepRelease};
use evertally_stream::time;
use serde::Serialize;
use utoipa::ToSchema;

/// One private number with its error.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    /// The step, counted from zero.
    pub(crate) step: u64,
    /// When the step ended. Null for steps that are closed by hand.
    #[schema(required, format = DateTime)]
    pub(crate) time: Option<String>,
    /// The epoch of the release.
    pub(crate) epoch: u32,
    /// The key. Null for a counter without keys.
    #[schema(required)]
    pub(crate) key: Option<String>,
    /// The private value.
    pub(crate) value: f64,
    /// The standard deviation of the noise in it.
    #[schema(minimum = 0.0)]
    pub(crate) standard_error: f64,
    /// The lower end of the interval that holds the true value with probability 95 %.
    pub(crate) lower: f64,
    /// The upper end of that interval.
    pub(crate) upper: f64,
}

/// Several steps of one counter.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Releases {
    /// The counter.
    counter: String,
    /// Its releases in the order of steps, and of keys within a step.
    releases: Vec<Release>,
    /// The first step that `limit` left out. Null when nothing was left out.
    #[schema(required)]
    next: Option<u64>,
}

/// The releases of steps that were closed by hand.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdvanceResult {
    /// The step that is open now.
    pub(crate) next_step: u64,
    /// The releases of the steps that were closed.
    pub(crate) releases: Vec<Release>,
}

/// All releases of one step, as a live stream sends them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveStep {
    /// The step, counted from zero.
    pub(crate) step: u64,
    /// When the step ended. Null for steps that are closed by hand.
    #[schema(required, format = DateTime)]
    pub(crate) time: Option<String>,
    /// One release per key, or a single one.
    pub(crate) releases: Vec<Release>,
}

/// The total over several steps.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sum {
    /// The first step.
    pub(crate) first: u64,
    /// The last step.
    pub(crate) last: u64,
    /// The key. Null for a counter without keys.
    #[schema(required)]
    pub(crate) key: Option<String>,
    /// The private total.
    pub(crate) value: f64,
    /// The standard deviation of the noise in it.
    pub(crate) standard_error: f64,
    /// The lower end of the interval that holds the true total with probability 95 %.
    pub(crate) lower: f64,
    /// The upper end of that interval.
    pub(crate) upper: f64,
}

/// The releases of a step, for one key or for all of them.
pub(crate) fn of_step<'a>(
    counter: &'a CounterView,
    step: &'a StepRelease,
    lane: Option<usize>,
) -> impl Iterator<Item = Release> + 'a {
    let names = counter.key_names();
    let lanes = lane.map_or(0..step.values.len(), |lane| lane..lane + 1);
    let time = step.time.map(time::format_capped);
    lanes.filter_map(move |lane| {
        let value = *step.values.get(lane)?;
        Some(Release {
            step: step.step,
            time: time.clone(),
            epoch: step.epoch,
            key: names.as_ref().and_then(|names| names.get(lane)).map(str::to_owned),
            value,
            standard_error: step.standard_error,
            lower: value - step.margin,
            upper: value + step.margin,
        })
    })
}
