//! Events in.
//!
//! **Guarantee.** 200 means durable. A JSON body is taken whole or not at all. Of NDJSON, what
//! stood before a bad line is recorded, and the refusal says how many lines that were; ids make it
//! harmless to send all of them again. **Cost.** Bodies are parsed and events made ready where the
//! request is handled; the ledger's one thread only receives what is ready, a whole batch at a
//! time, and commits many requests at once.

use super::ndjson;
use crate::auth::Ingester;
use crate::body::{MediaType, whole};
use crate::error::{Problem, Result};
use crate::model::event::{self, Event, Events, Receipt};
use crate::query::Named;
use crate::reply;
use crate::state::{App, answered, off_thread};
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use evertally_ledger::{CounterView, PreparedEvent};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// From this size on, a body is parsed on a thread of its own, so that others are not kept waiting.
const LARGE: usize = 256 << 10;

/// Posts events.
#[utoipa::path(post, path = "/v1/counters/{name}/events", tag = "events", security(("bearer" = ["ingest", "admin"])),
    params(("name" = String, Path, description = "The counter.", min_length = 1, max_length = 100)),
    request_body(description = "One event or an array of them; as NDJSON one event a line, without a limit on the whole.", content(
        (Events = "application/json"),
        (Event<'static> = "application/x-ndjson"),
    )), responses(
    (status = 200, description = "What became of the events. What counts is durable.", body = Receipt),
))]
pub(crate) async fn post(
    _: Ingester,
    State(app): State<App>,
    Named(counter): Named,
    request: Request,
) -> Result<Response> {
    let started = Instant::now();
    let receipt = match MediaType::of(request.headers())? {
        MediaType::Json => batch(&app, counter, request).await?,
        MediaType::Ndjson => ndjson::record(&app, counter, request.into_body()).await?,
        MediaType::Absent => {
            return Err(Problem::media_type(
                "the header Content-Type must be application/json or application/x-ndjson",
            ));
        }
    };
    app.metrics().durable(&receipt, started.elapsed());
    Ok(reply::ok(&receipt))
}

async fn batch(app: &App, counter: Arc<CounterView>, request: Request) -> Result<Receipt> {
    // Held until the answer: bodies, and what is made of them, wait in memory.
    let size = request.body().size_hint().exact().unwrap_or(app.options().largest_body as u64);
    let _room = app.room_for(size.min(app.options().largest_body as u64))?;
    let body = whole(request.into_body(), app.options()).await?;
    let arrivals = if body.len() < LARGE {
        event::batch(&body, counter.intake())?
    } else {
        let intake = counter.intake().clone();
        off_thread(move || event::batch(&body, &intake)).await?
    };
    let receipt = answered(submit(app, counter, arrivals)?).await?;
    Ok(Receipt::default().and(&receipt))
}

/// Hands events to the ledger; the answer comes when they are durable.
pub(super) fn submit(
    app: &App,
    counter: Arc<CounterView>,
    arrivals: Vec<PreparedEvent>,
) -> Result<oneshot::Receiver<evertally_ledger::Result<evertally_ledger::Receipt>>> {
    let (reply, answer) = oneshot::channel();
    let taken = app.keeper().submit(counter, arrivals, move |result| drop(reply.send(result)));
    taken.map_err(|_| Problem::busy())?;
    Ok(answer)
}
