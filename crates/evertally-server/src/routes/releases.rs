//! Releases: listed, and added up over an interval.

use crate::address::{CounterPath, PathCounter, Query, step, within};
use crate::auth::Reader;
use crate::error::{ErrorBody, Problem, Result};
use crate::formats::{self, Format, Selection, Steps};
use crate::model::counter::evenly;
use crate::model::release::{Releases, Sum};
use crate::reply;
use crate::state::{App, off_thread};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use evertally_ledger::CounterView;
use serde::Deserialize;
use utoipa::IntoParams;

/// The most steps that `points` may select from a range.
const MAX_POINTS: u64 = 100_000;

/// Which releases to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReleasesQuery {
    /// The first step to list. Defaults to 0.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    first: Option<u64>,
    /// The last step to list. Defaults to the latest.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    last: Option<u64>,
    /// Lists only this key.
    #[param(max_length = 256)]
    key: Option<String>,
    /// The most steps to list. Defaults to all.
    #[param(minimum = 1, maximum = 1000000000)]
    limit: Option<u64>,
    /// Lists only this many steps of the range, evenly spaced, including the last.
    #[param(minimum = 1, maximum = 100000)]
    points: Option<u64>,
    /// The format. Defaults to what the header `Accept` names, or to JSON.
    #[param(inline)]
    format: Option<Format>,
}

/// Lists releases of a counter.
#[utoipa::path(get, path = "/v1/counters/{name}/releases", tag = "releases", security(("bearer" = ["read", "admin"])),
    params(CounterPath, ReleasesQuery), responses(
    (status = 200, description = "The releases, in the order of steps.", content(
        (Releases = "application/json"),
        (String = "text/csv"),
        (String = "application/vnd.apache.arrow.stream"),
    ), headers(("evertally-next" = Option<u64>, description = "The first step that `limit` left out."))),
))]
pub(crate) async fn list(
    _: Reader,
    State(app): State<App>,
    PathCounter(counter): PathCounter,
    Query(query): Query<ReleasesQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let limit = within("limit", query.limit, 1..=1_000_000_000)?.unwrap_or(u64::MAX);
    let points = within("points", query.points, 1..=MAX_POINTS)?;
    let (first, upto) = (step("first", query.first)?.unwrap_or(0), step("last", query.last)?);
    if upto.is_some_and(|last| last < first) {
        return Err(Problem::bad_field("first", "at most last"));
    }
    let lane = query.key.map(|key| lane_of(&counter, &key)).transpose()?;
    let end = counter.next_step().min(upto.unwrap_or(u64::MAX).saturating_add(1));
    let (steps, next) = select(first.min(end)..end, points, limit);
    let format = query.format.unwrap_or_else(|| Format::accepted(&headers));
    formats::answer(&app, Selection { counter, steps, lane, next }, format).await
}

/// The steps to list, and the first step that the limit leaves out.
fn select(range: std::ops::Range<u64>, points: Option<u64>, limit: u64) -> (Steps, Option<u64>) {
    let count = range.end - range.start;
    match points.filter(|points| *points < count) {
        None => {
            let end = range.end.min(range.start.saturating_add(limit));
            (Steps::All(range.start..end), (end < range.end).then_some(end))
        }
        Some(points) => {
            let mut steps: Vec<u64> =
                evenly(count, points).into_iter().map(|place| range.start + place).collect();
            let next = steps.get(usize::try_from(limit).unwrap_or(usize::MAX)).copied();
            steps.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            (Steps::Some(steps.into()), next)
        }
    }
}

/// Which steps to add up.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SumQuery {
    /// The first step of the interval. Defaults to 0.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    first: Option<u64>,
    /// The last step of the interval. Defaults to the latest.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    last: Option<u64>,
    /// The key. A counter with keys needs one.
    #[param(max_length = 256)]
    key: Option<String>,
}

/// Adds up an interval of steps. Its error is smaller than that of a difference of two releases.
#[utoipa::path(get, path = "/v1/counters/{name}/sum", tag = "releases", security(("bearer" = ["read", "admin"])),
    params(CounterPath, SumQuery), responses(
    (status = 200, description = "The total.", body = Sum),
    (status = 422, description = "The counter does not release plain totals.", body = ErrorBody),
))]
pub(crate) async fn sum(
    _: Reader,
    State(app): State<App>,
    PathCounter(counter): PathCounter,
    Query(query): Query<SumQuery>,
) -> Result<Response> {
    let lane = match (&query.key, counter.key_names()) {
        (None, Some(_)) => return Err(Problem::bad_field("key", "given: this counter has keys")),
        (None, None) => 0,
        (Some(key), _) => lane_of(&counter, key)?,
    };
    let first = step("first", query.first)?.unwrap_or(0);
    let last = step("last", query.last)?.unwrap_or(counter.next_step().saturating_sub(1));
    let sum = off_thread(move || Ok(app.read_view().sum(&counter, first, last, lane)?)).await?;
    let value = sum.values.first().copied().unwrap_or_default();
    Ok(reply::ok(&Sum {
        first,
        last,
        key: query.key,
        value,
        standard_error: sum.standard_error,
        lower: value - sum.margin,
        upper: value + sum.margin,
    }))
}

/// The position of a key among the counter's keys.
fn lane_of(counter: &CounterView, key: &str) -> Result<usize> {
    let names = counter.key_names();
    let names = names.ok_or_else(|| Problem::bad_field("key", "left out: this counter has no keys"))?;
    let lane = names.iter().position(|name| name == key);
    lane.ok_or_else(|| Problem::bad_field("key", "one of the counter's keys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(selected: (Steps, Option<u64>)) -> (Vec<u64>, Option<u64>) {
        match selected.0 {
            Steps::All(range) => (range.collect(), selected.1),
            Steps::Some(steps) => (steps.into(), selected.1),
        }
    }

    #[test]
    fn limits_say_where_to_continue() {
        assert_eq!(steps(select(0..0, None, 5)), (vec![], None));
        assert_eq!(steps(select(2..5, None, 5)), (vec![2, 3, 4], None));
        assert_eq!(steps(select(2..9, None, 2)), (vec![2, 3], Some(4)));
        assert_eq!(steps(select(0..10, Some(5), u64::MAX)), (vec![1, 3, 5, 7, 9], None));
        assert_eq!(steps(select(0..10, Some(5), 2)), (vec![1, 3], Some(5)));
        assert_eq!(steps(select(0..3, Some(5), u64::MAX)), (vec![0, 1, 2], None));
    }
}
