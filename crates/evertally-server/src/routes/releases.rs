//! Releases out.

use crate::auth::Reader;
use crate::error::{Problem, Result};
use crate::formats::{self, Format, Selection, Steps};
use crate::model::counter::evenly;
use crate::model::release::{Releases, Sum};
use crate::query::{Named, Query, step, within};
use crate::reply;
use crate::state::{App, off_thread};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use evertally_ledger::CounterView;
use serde::Deserialize;
use utoipa::IntoParams;

/// The most steps that may be picked out of a range.
const MOST_POINTS: u64 = 100_000;

/// Which releases.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReleasesQuery {
    /// The first step; 0 where absent.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    first: Option<u64>,
    /// The last step; the latest where absent.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    last: Option<u64>,
    /// Only this key.
    #[param(max_length = 256)]
    key: Option<String>,
    /// The most steps; all where absent.
    #[param(minimum = 1, maximum = 1000000000)]
    limit: Option<u64>,
    /// Only so many steps of the range, evenly, with the last.
    #[param(minimum = 1, maximum = 100000)]
    points: Option<u64>,
    /// The format; by the header `Accept` where absent.
    #[param(inline)]
    format: Option<Format>,
}

/// Releases of a counter.
#[utoipa::path(get, path = "/v1/counters/{name}/releases", tag = "releases", security(("bearer" = ["read", "admin"])),
    params(("name" = String, Path, description = "The counter.", min_length = 1, max_length = 100), ReleasesQuery), responses(
    (status = 200, description = "The releases, in the order of steps.", content(
        (Releases = "application/json"),
        (String = "text/csv"),
        (String = "application/vnd.apache.arrow.stream"),
    ), headers(("evertally-next" = Option<u64>, description = "The step with which to go on where `limit` left some out."))),
))]
pub(crate) async fn list(
    _: Reader,
    State(app): State<App>,
    Named(counter): Named,
    Query(query): Query<ReleasesQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let limit = within("limit", query.limit, 1..=1_000_000_000)?.unwrap_or(u64::MAX);
    let points = within("points", query.points, 1..=MOST_POINTS)?;
    let (first, upto) = (step("first", query.first)?.unwrap_or(0), step("last", query.last)?);
    if upto.is_some_and(|last| last < first) {
        return Err(Problem::bad("first must not be after last"));
    }
    let lane = query.key.map(|key| lane_of(&counter, &key)).transpose()?;
    let end = counter.next_step().min(upto.unwrap_or(u64::MAX).saturating_add(1));
    let (steps, next) = select(first.min(end)..end, points, limit);
    let format = query.format.unwrap_or_else(|| Format::accepted(&headers));
    formats::answer(&app, Selection { counter, steps, lane, next }, format).await
}

/// The steps to show, and the one with which to go on.
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
    /// The first step; 0 where absent.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    first: Option<u64>,
    /// The last step; the latest where absent.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    last: Option<u64>,
    /// The key, which a counter with keys needs.
    #[param(max_length = 256)]
    key: Option<String>,
}

/// The total over several steps, with its error, which is smaller than that of two releases.
#[utoipa::path(get, path = "/v1/counters/{name}/sum", tag = "releases", security(("bearer" = ["read", "admin"])),
    params(("name" = String, Path, description = "The counter.", min_length = 1, max_length = 100), SumQuery), responses(
    (status = 200, description = "The total.", body = Sum),
))]
pub(crate) async fn sum(
    _: Reader,
    State(app): State<App>,
    Named(counter): Named,
    Query(query): Query<SumQuery>,
) -> Result<Response> {
    let lane = match (&query.key, counter.planned().lane_names()) {
        (None, Some(_)) => return Err(Problem::bad("key must be given: this counter has keys")),
        (None, None) => 0,
        (Some(key), _) => lane_of(&counter, key)?,
    };
    let first = step("first", query.first)?.unwrap_or(0);
    let last = step("last", query.last)?.unwrap_or(counter.next_step().saturating_sub(1));
    let sum = off_thread(move || Ok(app.shown().sum(&counter, first, last, lane)?)).await?;
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

/// The place of a key.
fn lane_of(counter: &CounterView, key: &str) -> Result<usize> {
    let names = counter
        .planned()
        .lane_names()
        .ok_or_else(|| Problem::bad("key must be left out: this counter has no keys"))?;
    let lane = names.iter().position(|name| name == key);
    lane.ok_or_else(|| Problem::bad("key must be one of the counter's keys"))
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
    fn limits_say_where_to_go_on() {
        assert_eq!(steps(select(0..0, None, 5)), (vec![], None));
        assert_eq!(steps(select(2..5, None, 5)), (vec![2, 3, 4], None));
        assert_eq!(steps(select(2..9, None, 2)), (vec![2, 3], Some(4)));
        assert_eq!(steps(select(0..10, Some(5), u64::MAX)), (vec![1, 3, 5, 7, 9], None));
        assert_eq!(steps(select(0..10, Some(5), 2)), (vec![1, 3], Some(5)));
        assert_eq!(steps(select(0..3, Some(5), u64::MAX)), (vec![0, 1, 2], None));
    }
}
