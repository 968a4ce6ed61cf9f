//! Counters: made, listed, advanced by hand, retired and deleted.

use super::populations::named;
use crate::auth::{Administrator, Ingester, Reader};
use crate::body::{Json, OptionalJson};
use crate::error::{Problem, Result};
use crate::model::counter::{Advance, Counter, Counters, CountersQuery, Preview};
use crate::model::draft::{Draft, NewCounter};
use crate::model::population::Population;
use crate::model::release::{Advanced, of_step};
use crate::query::{Name, Named, Query, within};
use crate::reply;
use crate::state::{App, name_of, off_thread};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// The longest name of a counter.
const LONGEST_NAME: usize = 100;

/// A page of counters, by name.
#[utoipa::path(get, path = "/v1/counters", tag = "counters", security(("bearer" = ["read", "admin"])), params(CountersQuery), responses(
    (status = 200, description = "A page of counters.", body = Counters),
))]
pub(crate) async fn list(
    _: Reader,
    State(app): State<App>,
    Query(query): Query<CountersQuery>,
) -> Result<Response> {
    let limit = within("limit", query.limit.map(|limit| limit as u64), 1..=1_000)?.unwrap_or(100) as usize;
    if query.after.as_ref().is_some_and(|after| after.chars().count() > LONGEST_NAME) {
        return Err(Problem::bad(format!("after must be at most {LONGEST_NAME} characters")));
    }
    let mut counters = app.shown().counters();
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

/// Makes a counter. Its population pays for all its releases at once.
#[utoipa::path(post, path = "/v1/counters", tag = "counters", security(("bearer" = ["admin"])), request_body = NewCounter, responses(
    (status = 201, description = "The counter, which runs.", body = Counter),
))]
pub(crate) async fn create(
    _: Administrator,
    State(app): State<App>,
    Json(draft): Json<NewCounter>,
) -> Result<Response> {
    let (spec, now) = (draft.spec()?, app.now());
    let planned = app.plan(move || Ok(spec.plan(now)?)).await?;
    let made = app.ask(move |ledger, now| ledger.create(&planned, now)).await?;
    Ok(reply::json(StatusCode::CREATED, &Counter::of(&made)))
}

/// What a counter would be, without making it.
#[utoipa::path(post, path = "/v1/plan", tag = "counters", security(("bearer" = ["read", "admin"])), request_body = Draft, responses(
    (status = 200, description = "Its error, and what it would cost.", body = Preview),
))]
pub(crate) async fn plan(_: Reader, State(app): State<App>, Json(draft): Json<Draft>) -> Result<Response> {
    let (spec, now, asked) = (draft.spec()?, app.now(), app.clone());
    let preview = app
        .plan(move || {
            let planned = spec.plan(now)?;
            let population = named(&asked, &planned.spec().population);
            let mut preview = Preview::of(&planned);
            preview.affordable = asked.shown().can_afford(&planned);
            preview.population = population.as_ref().map(Population::of);
            Ok(preview)
        })
        .await?;
    Ok(reply::ok(&preview))
}

/// A counter.
#[utoipa::path(get, path = "/v1/counters/{name}", tag = "counters", security(("bearer" = ["read", "admin"])),
    params(("name" = String, Path, description = "Its name.", min_length = 1, max_length = 100)), responses(
    (status = 200, description = "The counter.", body = Counter),
))]
pub(crate) async fn show(_: Reader, Named(counter): Named) -> Response {
    reply::ok(&Counter::of(&counter))
}

/// Closes steps of a counter that has no clock.
#[utoipa::path(post, path = "/v1/counters/{name}/advance", tag = "counters", security(("bearer" = ["ingest", "admin"])),
    params(("name" = String, Path, description = "Its name.", min_length = 1, max_length = 100)),
    request_body(content = Advance, description = "How many steps; one where there is no body."), responses(
    (status = 200, description = "What was released.", body = Advanced),
))]
pub(crate) async fn advance(
    _: Ingester,
    State(app): State<App>,
    Named(counter): Named,
    OptionalJson(advance): OptionalJson<Advance>,
) -> Result<Response> {
    let steps = within("steps", advance.steps, 1..=1_000)?.unwrap_or(1);
    let name = name_of(&counter).to_owned();
    let closed = app.ask(move |ledger, _| ledger.advance(&name, steps)).await?;
    let advanced = off_thread(move || {
        let next_step = closed.end;
        let steps = app.shown().releases(&counter, closed)?;
        let releases = steps.iter().flat_map(|step| of_step(&counter, step, None)).collect();
        Ok(Advanced { next_step, releases })
    })
    .await?;
    Ok(reply::ok(&advanced))
}

/// Stops a counter for good and wipes its private state; its releases stay.
#[utoipa::path(post, path = "/v1/counters/{name}/retire", tag = "counters", security(("bearer" = ["admin"])),
    params(("name" = String, Path, description = "Its name.", min_length = 1, max_length = 100)), responses(
    (status = 200, description = "The counter, which is retired.", body = Counter),
))]
pub(crate) async fn retire(
    _: Administrator,
    State(app): State<App>,
    Named(counter): Named,
) -> Result<Response> {
    let name = name_of(&counter).to_owned();
    app.ask(move |ledger, _| ledger.retire(&name)).await?;
    app.bells().ring([name_of(&counter)]);
    Ok(reply::ok(&Counter::of(&*app.counter(name_of(&counter))?)))
}

/// Deletes a counter that was retired or has ended, with its releases. What it spent stays spent,
/// and its name is not used again.
#[utoipa::path(delete, path = "/v1/counters/{name}", tag = "counters", security(("bearer" = ["admin"])),
    params(("name" = String, Path, description = "Its name.", min_length = 1, max_length = 100)), responses(
    (status = 204, description = "It is gone."),
))]
pub(crate) async fn delete(_: Administrator, State(app): State<App>, Name(name): Name) -> Result<Response> {
    app.counter(&name)?;
    let deleted = name.clone();
    app.ask(move |ledger, _| ledger.delete(&deleted)).await?;
    app.bells().ring([name.as_str()]);
    Ok(reply::nothing())
}
