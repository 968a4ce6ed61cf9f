//! Populations: listed, and created with a budget.

use crate::auth::{Administrator, Reader};
use crate::body::Json;
use crate::error::{Problem, Result};
use crate::model::population::{Population, PopulationDraft, Populations};
use crate::reply;
use crate::state::App;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

/// Lists all populations and their accounts.
#[utoipa::path(get, path = "/v1/populations", tag = "populations", security(("bearer" = ["read", "admin"])), responses(
    (status = 200, description = "Every population.", body = Populations),
))]
pub(crate) async fn list(_: Reader, State(app): State<App>) -> Response {
    let populations = app.read_view().populations().iter().map(Population::of).collect();
    reply::ok(&Populations { populations })
}

/// Creates a population. Its budget cannot be changed later.
#[utoipa::path(post, path = "/v1/populations", tag = "populations", security(("bearer" = ["admin"])), request_body = PopulationDraft, responses(
    (status = 201, description = "The population. Nothing is spent yet.", body = Population),
))]
pub(crate) async fn create(
    _: Administrator,
    State(app): State<App>,
    Json(draft): Json<PopulationDraft>,
) -> Result<Response> {
    let name = draft.name.clone();
    let population = draft.new_population()?;
    let granted = app.ask(move |ledger, _| ledger.grant(&population)).await;
    granted.map_err(|problem| problem.about(&[("conflict", "name")]))?;
    let created = named(&app, &name)
        .ok_or_else(|| Problem::system("the population was created, but cannot be read back"))?;
    Ok(reply::json(StatusCode::CREATED, &Population::of(&created)))
}

/// Finds a population by its name.
pub(super) fn named(app: &App, name: &str) -> Option<evertally_ledger::Population> {
    app.read_view().populations().into_iter().find(|population| population.odometer.population() == name)
}
