//! New epochs: how a service that is fenced goes on, and counters whose population could not pay
//! for the last one.

use crate::auth::Administrator;
use crate::body::Json;
use crate::error::{Problem, Result};
use crate::model::epoch::{EpochCost, EpochLeft, EpochPreview, EpochStart, EpochStarted};
use crate::model::status::ModeName;
use crate::reply;
use crate::state::App;
use axum::extract::State;
use axum::response::Response;

/// What starting a new epoch would cost.
#[utoipa::path(get, path = "/v1/epoch", tag = "epoch", security(("bearer" = ["admin"])), responses(
    (status = 200, description = "What every counter would cost again.", body = EpochPreview),
))]
pub(crate) async fn preview(_: Administrator, State(app): State<App>) -> Result<Response> {
    let (mode, reason) = ModeName::of(app.shown().mode());
    // A ledger that cannot be changed can still be looked at, but only its owner knows what would
    // be paid for.
    let costs = app.ask(|ledger, _| Ok(ledger.epoch_preview())).await;
    let costs = if mode == ModeName::ReadOnly { costs.unwrap_or_default() } else { costs? };
    let preview = costs
        .into_iter()
        .map(|cost| EpochCost {
            counter: cost.counter,
            population: cost.population,
            rho: cost.rho,
            affordable: cost.affordable,
        })
        .collect();
    Ok(reply::ok(&EpochPreview { mode, reason, epoch: app.shown().epoch(), preview }))
}

/// Starts a new epoch: whatever runs is paid for once more, and goes on with fresh noise.
#[utoipa::path(post, path = "/v1/epoch", tag = "epoch", security(("bearer" = ["admin"])), request_body = EpochStart, responses(
    (status = 200, description = "What became of the counters.", body = EpochStarted),
))]
pub(crate) async fn start(
    _: Administrator,
    State(app): State<App>,
    Json(start): Json<EpochStart>,
) -> Result<Response> {
    if !start.confirm {
        return Err(Problem::bad("confirm must be true: whatever runs is paid for once more"));
    }
    let started = app.ask(|ledger, _| ledger.start_epoch()).await?;
    let left = started.left.into_iter().map(|(counter, reason)| EpochLeft { counter, reason }).collect();
    Ok(reply::ok(&EpochStarted { epoch: started.epoch, restarted: started.restarted, left }))
}
