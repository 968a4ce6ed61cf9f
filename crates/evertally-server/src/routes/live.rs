//! Releases as they appear: server-sent events.
//!
//! **Guarantee.** Every step from the requested one on is sent once, in order. A client that reconnects
//! with `Last-Event-ID` misses nothing, because releases are read from the ledger by step and not from a
//! queue. A stream ends within seconds when its token expires or is revoked. **Cost.** A client that does
//! not read occupies one chunk of steps and one live stream. It is disconnected after
//! [`Options::write_timeout`](crate::Options::write_timeout).

use crate::address::{CounterPath, PathCounter, Query, step};
use crate::auth::{Bearer, Reader};
use crate::error::{Problem, Result};
use crate::model::release::{LiveStep, of_step};
use crate::reply;
use crate::state::{App, name_of, off_thread};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use evertally_ledger::{CounterView, Status, Token};
use evertally_stream::time;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::IntoParams;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// After this long without a release a comment is sent, so that no proxy closes the connection as idle.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// About how many releases are sent at once to a client that is behind.
const CHUNK_RELEASES: u64 = 1_024;

/// Where to start.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LiveQuery {
    /// The first step to send. Defaults to the next release. The header `Last-Event-ID` overrides it.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    from: Option<u64>,
}

/// Follows a counter. Each `event: release` has the step as its id and a `LiveStep` as its data.
/// `event: end` says that no further release follows.
#[utoipa::path(get, path = "/v1/counters/{name}/live", tag = "releases", security(("bearer" = ["read", "admin"])),
    params(CounterPath, LiveQuery), responses(
    (status = 200, description = "Server-sent events, until the counter ends or the service stops.", body = String, content_type = "text/event-stream"),
))]
pub(crate) async fn follow(
    Bearer(token): Reader,
    State(app): State<App>,
    PathCounter(counter): PathCounter,
    Query(query): Query<LiveQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let from = step("from", query.from)?;
    let after =
        headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<u64>().ok());
    let next = after.map(|step| step.saturating_add(1)).or(from).unwrap_or_else(|| counter.next_step());
    let place = Arc::clone(app.live_streams()).try_acquire_owned().map_err(|_| Problem::busy())?;
    // Subscribed before the counter is read, so that no release is missed.
    let notice = app.followers().follow(name_of(&counter));
    let follower = Follower {
        token,
        stopping: app.stopping(),
        presence: Presence::new(app, place),
        counter,
        notice,
        next,
        is_over: false,
    };
    let opened = futures_util::stream::once(async { Ok(Bytes::from_static(b": evertally\n\n")) });
    let rest = futures_util::stream::unfold(follower, |follower| async {
        let (chunk, follower) = follower.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), follower))
    });
    let body = Body::from_stream(futures_util::StreamExt::chain(opened, rest));
    Ok(reply::with_type(StatusCode::OK, EVENT_STREAM, body))
}

/// A client that follows a counter.
struct Follower {
    token: Token,
    presence: Presence,
    counter: Arc<CounterView>,
    notice: watch::Receiver<()>,
    stopping: watch::Receiver<bool>,
    next: u64,
    is_over: bool,
}

impl Follower {
    /// Waits for the next chunk to send. There is none after the end.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let app = self.presence.app.clone();
        loop {
            self.notice.borrow_and_update();
            if !self.is_authorized() {
                return self.end("unauthorized");
            }
            if self.next < self.counter.next_step() {
                let (counter, next) = (Arc::clone(&self.counter), self.next);
                // A counter that was deleted in the meantime has no releases, which also ends the stream.
                let read = off_thread(move || steps_from(&app, &counter, next)).await;
                let Ok((bytes, next)) = read else { return self.end("failed") };
                self.next = next;
                return Some((bytes, self));
            }
            if let Some(reason) = self.reason_to_end() {
                return self.end(reason);
            }
            tokio::select! {
                _ = self.notice.changed() => {}
                _ = self.stopping.changed() => {}
                () = tokio::time::sleep(KEEP_ALIVE) => return Some((Bytes::from_static(b":\n\n"), self)),
            }
        }
    }

    /// Whether the token is still valid.
    fn is_authorized(&self) -> bool {
        let app = &self.presence.app;
        let is_expired = self.token.expires.is_some_and(|expires| expires <= app.now());
        !is_expired && app.read_view().tokens().iter().any(|known| known.id == self.token.id)
    }

    fn reason_to_end(&self) -> Option<&'static str> {
        if *self.stopping.borrow() {
            return Some("stopping");
        }
        if self.presence.app.read_view().counter(name_of(&self.counter)).is_none() {
            return Some("deleted");
        }
        match self.counter.status() {
            Status::Retired => Some("retired"),
            Status::Ended => Some("ended"),
            Status::Running | Status::Fenced => None,
        }
    }

    fn end(mut self, reason: &str) -> Option<(Bytes, Self)> {
        self.is_over = true;
        Some((Bytes::from(format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n")), self))
    }
}

/// The events of some steps, and the step after them.
fn steps_from(app: &App, counter: &CounterView, next: u64) -> Result<(Bytes, u64)> {
    let width = counter.key_names().map_or(1, |names| names.len()).max(1) as u64;
    let end = next.saturating_add((CHUNK_RELEASES / width).max(1));
    let steps = app.read_view().releases(counter, next..end)?;
    let mut text = Vec::new();
    let mut after = next;
    for step in &steps {
        let live = LiveStep {
            step: step.step,
            time: step.time.map(time::format_capped),
            releases: of_step(counter, step, None).collect(),
        };
        text.extend_from_slice(format!("event: release\nid: {}\ndata: ", step.step).as_bytes());
        serde_json::to_writer(&mut text, &live)
            .map_err(|_| Problem::system("a release cannot be written"))?;
        text.extend_from_slice(b"\n\n");
        after = step.step + 1;
    }
    if after == next {
        return Err(Problem::system("a release is missing"));
    }
    Ok((Bytes::from(text), after))
}

/// Counts as one live stream until it is dropped.
struct Presence {
    app: App,
    _place: OwnedSemaphorePermit,
}

impl Presence {
    fn new(app: App, place: OwnedSemaphorePermit) -> Self {
        app.metrics().live(true);
        Self { app, _place: place }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.app.metrics().live(false);
    }
}
