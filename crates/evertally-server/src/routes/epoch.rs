//! New epochs. They restart a fenced service, and counters whose population could not pay for the last
//! epoch.

use crate::auth::Administrator;
use crate::body::Json;
use crate::error::{Problem, Result};
use crate::model::epoch::{EpochCost, EpochPreview, EpochResult, EpochStart, SkippedCounter};
use crate::model::status::ModeName;
use crate::reply;
use crate::state::App;
use axum::extract::State;
use axum::response::Response;

/// Shows what starting a new epoch would cost.
#[utoipa::path(get, path = "/v1/epoch", tag = "epoch", security(("bearer" = ["admin"])), responses(
    (status = 200, description = "The cost of restarting every counter.", body = EpochPreview),
))]
pub(crate) async fn preview(_: Administrator, State(app): State<App>) -> Result<Response> {
    let (mode, reason) = ModeName::of(app.read_view().mode());
    // A read-only ledger can still be read, but only its own thread knows the costs.
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
    Ok(reply::ok(&EpochPreview { mode, reason, epoch: app.read_view().epoch(), preview }))
}

/// Starts a new epoch. Every running counter is paid for once more and continues with fresh noise.
#[utoipa::path(post, path = "/v1/epoch", tag = "epoch", security(("bearer" = ["admin"])), request_body = EpochStart, responses(
    (status = 200, description = "The counters that restarted, and those that did not.", body = EpochResult),
))]
pub(crate) async fn start(
    _: Administrator,
    State(app): State<App>,
    Json(start): Json<EpochStart>,
) -> Result<Response> {
    if !start.confirm {
        return Err(Problem::bad_field("confirm", "true: every running counter is paid for once more"));
    }
    let started = app.ask(|ledger, _| ledger.start_epoch()).await?;
    let left = started.left.into_iter().map(|(counter, reason)| SkippedCounter { counter, reason }).collect();
    Ok(reply::ok(&EpochResult { epoch: started.epoch, restarted: started.restarted, left }))
}
