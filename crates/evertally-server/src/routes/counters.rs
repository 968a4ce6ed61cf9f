//! Counters: created, listed, advanced by hand, retired and deleted.

use super::populations::named;
use crate::address::{CounterPath, PathCounter, PathName, Query, within};
use crate::auth::{Administrator, Ingester, Reader};
use crate::body::{Json, OptionalJson};
use crate::error::{ErrorBody, Problem, Result};
use crate::model::counter::{Advance, Counter, Counters, CountersQuery, Preview};
use crate::model::draft::{Draft, NewCounter};
use crate::model::population::Population;
use crate::model::release::{AdvanceResult, of_step};
use crate::reply;
use crate::state::{App, name_of, off_thread};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// The most characters of a counter's name.
const MAX_NAME_CHARS: usize = 100;

/// The field of a new counter that must change, by what the refusal says.
const FIELDS: [(&str, &str); 5] = [
    ("conflict", "name"),
    ("not-found", "population"),
    ("unit", "population"),
    ("budget-spent", "epsilon"),
    ("unsupported", "mechanism"),
];

/// Lists counters in the order of their names, one page at a time.
#[utoipa::path(get, path = "/v1/counters", tag = "counters", security(("bearer" = ["read", "admin"])), params(CountersQuery), responses(
    (status = 200, description = "A page of counters.", body = Counters),
))]
pub(crate) async fn list(
    _: Reader,
    State(app): State<App>,
    Query(query): Query<CountersQuery>,
) -> Result<Response> {
    let limit = within("limit", query.limit.map(|limit| limit as u64), 1..=1_000)?.unwrap_or(100) as usize;
    if query.after.as_ref().is_some_and(|after| after.chars().count() > MAX_NAME_CHARS) {
        return Err(Problem::bad_field("after", format_args!("at most {MAX_NAME_CHARS} characters")));
    }
    let mut counters = app.read_view().counters();
    if let Some(status) = query.status {
        counters.retain(|counter| status == counter.status().into());
    }
    let total = counters.len();
    let from =
        query.after.map_or(0, |after| counters.partition_point(|counter| name_of(counter) <= after.as_str()));
    let page = &counters[from..total.min(from + limit)];
    let next = page.last().filter(|_| from + page.len() < total).map(|counter| name_of(counter).to_owned());
    Ok(reply::ok(&Counters {
        counters: page.iter().map(|counter| Counter::of(counter)).collect(),
        total,
        next,
    }))
}

/// Creates a counter. Its population pays for all of its releases at once.
#[utoipa::path(post, path = "/v1/counters", tag = "counters", security(("bearer" = ["admin"])), request_body = NewCounter, responses(
    (status = 201, description = "The counter, which is running.", body = Counter),
    (status = 404, description = "There is no such population.", body = ErrorBody),
))]
pub(crate) async fn create(
    _: Administrator,
    State(app): State<App>,
    Json(draft): Json<NewCounter>,
) -> Result<Response> {
    let (spec, now) = (draft.spec()?, app.now());
    let about = |problem: Problem| problem.about(&FIELDS);
    let counter_plan = app.plan(move || Ok(spec.plan(now)?)).await.map_err(about)?;
    let created = app.ask(move |ledger, now| ledger.create(&counter_plan, now)).await.map_err(about)?;
    Ok(reply::json(StatusCode::CREATED, &Counter::of(&created)))
}

/// Shows what a counter would be, without creating it.
#[utoipa::path(post, path = "/v1/plan", tag = "counters", security(("bearer" = ["read", "admin"])), request_body = Draft, responses(
    (status = 200, description = "Its error, and its cost.", body = Preview),
))]
pub(crate) async fn plan(_: Reader, State(app): State<App>, Json(draft): Json<Draft>) -> Result<Response> {
    let (spec, now, asked) = (draft.spec()?, app.now(), app.clone());
    let preview = app
        .plan(move || {
            let counter_plan = spec.plan(now)?;
            let population = named(&asked, &counter_plan.spec().population);
            let mut preview = Preview::of(&counter_plan);
            preview.affordable = asked.read_view().can_afford(&counter_plan);
            preview.population = population.as_ref().map(Population::of);
            Ok(preview)
        })
        .await
        .map_err(|problem| problem.about(&FIELDS))?;
    Ok(reply::ok(&preview))
}

/// Shows a counter.
#[utoipa::path(get, path = "/v1/counters/{name}", tag = "counters", security(("bearer" = ["read", "admin"])),
    params(CounterPath), responses(
    (status = 200, description = "The counter.", body = Counter),
))]
pub(crate) async fn show(_: Reader, PathCounter(counter): PathCounter) -> Response {
    reply::ok(&Counter::of(&counter))
}

/// Closes steps of a counter that is advanced by hand.
#[utoipa::path(post, path = "/v1/counters/{name}/advance", tag = "counters", security(("bearer" = ["ingest", "admin"])),
    params(CounterPath),
    request_body(content = Advance, description = "The number of steps. Defaults to one."), responses(
    (status = 200, description = "The releases.", body = AdvanceResult),
))]
pub(crate) async fn advance(
    _: Ingester,
    State(app): State<App>,
    PathCounter(counter): PathCounter,
    OptionalJson(advance): OptionalJson<Advance>,
) -> Result<Response> {
    let steps = within("steps", advance.steps, 1..=1_000)?.unwrap_or(1);
    let name = name_of(&counter).to_owned();
    let closed = app.ask(move |ledger, _| ledger.advance(&name, steps)).await?;
    let advanced = off_thread(move || {
        let next_step = closed.end;
        let steps = app.read_view().releases(&counter, closed)?;
        let releases = steps.iter().flat_map(|step| of_step(&counter, step, None)).collect();
        Ok(AdvanceResult { next_step, releases })
    })
    .await?;
    Ok(reply::ok(&advanced))
}

/// Stops a counter for good and wipes its private state. Its releases stay.
#[utoipa::path(post, path = "/v1/counters/{name}/retire", tag = "counters", security(("bearer" = ["admin"])),
    params(CounterPath), responses(
    (status = 200, description = "The counter, now retired.", body = Counter),
))]
pub(crate) async fn retire(
    _: Administrator,
    State(app): State<App>,
    PathCounter(counter): PathCounter,
) -> Result<Response> {
    let name = name_of(&counter).to_owned();
    app.ask(move |ledger, _| ledger.retire(&name)).await?;
    app.followers().notify([name_of(&counter)]);
    Ok(reply::ok(&Counter::of(&*app.counter(name_of(&counter))?)))
}

/// Deletes a counter that was retired or has ended, and its releases. The budget that it spent stays
/// spent, and its name cannot be used again.
#[utoipa::path(delete, path = "/v1/counters/{name}", tag = "counters", security(("bearer" = ["admin"])),
    params(CounterPath), responses(
    (status = 204, description = "The counter is deleted."),
))]
pub(crate) async fn delete(
    _: Administrator,
    State(app): State<App>,
    PathName(name): PathName,
) -> Result<Response> {
    app.counter(&name)?;
    let deleted = name.clone();
    app.ask(move |ledger, _| ledger.delete(&deleted)).await?;
    app.followers().notify([name.as_str()]);
    Ok(reply::no_content())
}
