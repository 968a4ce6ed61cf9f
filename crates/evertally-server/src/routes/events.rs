//! Recording events.
//!
//! **Guarantee.** 200 means durable. A JSON body is recorded completely or not at all. Of an NDJSON
//! body, the lines before a bad line are recorded, and the refusal says how many there are; ids make it
//! harmless to send all lines again. **Cost.** The handler parses bodies and prepares events. The ledger's
//! thread receives prepared batches and commits many requests at once.

use super::ndjson;
use crate::address::{CounterPath, PathCounter};
use crate::auth::Ingester;
use crate::body::{MediaType, read_all};
use crate::error::{Problem, Result};
use crate::model::event::{self, Event, Events, Receipt};
use crate::reply;
use crate::state::{App, off_thread, receive};
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use evertally_ledger::{CounterView, PreparedEvent};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Bodies of at least this size are parsed on another thread, so that they do not delay other requests.
const MIN_OFF_THREAD_BYTES: usize = 256 << 10;

/// Records events.
#[utoipa::path(post, path = "/v1/counters/{name}/events", tag = "events", security(("bearer" = ["ingest", "admin"])),
    params(CounterPath),
    request_body(description = "One event or an array of events. NDJSON has one event per line and no limit on the size of the body.", content(
        (Events = "application/json"),
        (Event<'static> = "application/x-ndjson"),
    )), responses(
    (status = 200, description = "The number of events of each outcome. Counted events are durable.", body = Receipt),
))]
pub(crate) async fn post(
    _: Ingester,
    State(app): State<App>,
    PathCounter(counter): PathCounter,
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
    app.metrics().events(&receipt, started.elapsed());
    Ok(reply::ok(&receipt))
}

async fn batch(app: &App, counter: Arc<CounterView>, request: Request) -> Result<Receipt> {
    // Held until the answer, because the body and its events stay in memory until then.
    let size = request.body().size_hint().exact().unwrap_or(app.options().max_body_bytes as u64);
    let _room = app.room_for(size.min(app.options().max_body_bytes as u64))?;
    let body = read_all(request.into_body(), app.options()).await?;
    let arrivals = if body.len() < MIN_OFF_THREAD_BYTES {
        event::batch(&body, counter.intake())?
    } else {
        let intake = counter.intake().clone();
        off_thread(move || event::batch(&body, &intake)).await?
    };
    let receipt = receive(submit(app, counter, arrivals)?).await?;
    Ok(Receipt::default().and(&receipt))
}

/// Passes events to the ledger. The answer arrives when they are durable.
pub(super) fn submit(
    app: &App,
    counter: Arc<CounterView>,
    arrivals: Vec<PreparedEvent>,
) -> Result<oneshot::Receiver<evertally_ledger::Result<evertally_ledger::Receipt>>> {
    let (reply, answer) = oneshot::channel();
    let taken = app.ledger_thread().submit(counter, arrivals, move |result| drop(reply.send(result)));
    taken.map_err(|_| Problem::busy())?;
    Ok(answer)
}
