//! Whose privacy it is.

use crate::auth::{Administrator, Reader};
use crate::body::Json;
use crate::error::{Problem, Result};
use crate::model::population::{Population, PopulationDraft, Populations};
use crate::reply;
use crate::state::App;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// All populations with their accounts.
#[utoipa::path(get, path = "/v1/populations", tag = "populations", security(("bearer" = ["read", "admin"])), responses(
    (status = 200, description = "Every population.", body = Populations),
))]
pub(crate) async fn list(_: Reader, State(app): State<App>) -> Response {
    let populations = app.shown().populations().iter().map(Population::of).collect();
    reply::ok(&Populations { populations })
}

/// Grants a population a budget, once and for all.
#[utoipa::path(post, path = "/v1/populations", tag = "populations", security(("bearer" = ["admin"])), request_body = PopulationDraft, responses(
    (status = 201, description = "The population, with nothing spent.", body = Population),
))]
pub(crate) async fn grant(
    _: Administrator,
    State(app): State<App>,
    Json(draft): Json<PopulationDraft>,
) -> Result<Response> {
    let name = draft.name.clone();
    let population = draft.granted()?;
    app.ask(move |ledger, _| ledger.grant(&population)).await?;
    let made =
        named(&app, &name).ok_or_else(|| Problem::system("the population was made, but is not shown"))?;
    Ok(reply::json(StatusCode::CREATED, &Population::of(&made)))
}

/// A population by its name.
pub(super) fn named(app: &App, name: &str) -> Option<evertally_ledger::Population> {
    app.shown().populations().into_iter().find(|population| population.odometer.population() == name)
}
