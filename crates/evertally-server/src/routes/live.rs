//! Releases as they appear: server-sent events.
//!
//! **Guarantee.** Every step from the first one asked for is sent once, in order. Whoever
//! reconnects with `Last-Event-ID` misses nothing: releases are read from the ledger by their
//! steps, not from a queue. A stream ends within seconds when its token expires or is revoked.
//! **Cost.** A reader that does not read holds one piece of some steps, and a place among the live
//! streams; it is cut off when it leaves what was sent unread for too long.

use crate::auth::{Bearer, Reader};
use crate::error::{Problem, Result};
use crate::model::release::{LiveStep, of_step};
use crate::query::{Named, Query, step};
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

/// After how long without a release a comment is sent, so that nobody in between takes the
/// connection for dead.
const SILENCE: Duration = Duration::from_secs(15);

/// About how many releases are sent at once to a reader that is behind.
const PIECE: u64 = 1_024;

/// Where to begin.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LiveQuery {
    /// The first step to send; the next one to be released where absent. The header `Last-Event-ID`
    /// goes before it.
    #[param(minimum = 0, maximum = 1152921504606846976_u64)]
    from: Option<u64>,
}

/// Follows a counter: `event: release` with the step as its id and a `LiveStep` as its data, and
/// `event: end` when there will be no more.
#[utoipa::path(get, path = "/v1/counters/{name}/live", tag = "releases", security(("bearer" = ["read", "admin"])),
    params(("name" = String, Path, description = "The counter.", min_length = 1, max_length = 100), LiveQuery), responses(
    (status = 200, description = "Server-sent events, until the counter ends or the service stops.", body = String, content_type = "text/event-stream"),
))]
pub(crate) async fn follow(
    Bearer(token): Reader,
    State(app): State<App>,
    Named(counter): Named,
    Query(query): Query<LiveQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let from = step("from", query.from)?;
    let after =
        headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<u64>().ok());
    let next = after.map(|step| step.saturating_add(1)).or(from).unwrap_or_else(|| counter.next_step());
    let place = Arc::clone(app.live_streams()).try_acquire_owned().map_err(|_| Problem::busy())?;
    // Followed before it is looked at, so that nothing falls in between.
    let bell = app.bells().follow(name_of(&counter));
    let follower = Follower {
        token,
        stopping: app.stopping(),
        presence: Presence::new(app, place),
        counter,
        bell,
        next,
        is_over: false,
    };
    let opened = futures_util::stream::once(async { Ok(Bytes::from_static(b": evertally\n\n")) });
    let rest = futures_util::stream::unfold(follower, |follower| async {
        let (piece, follower) = follower.piece().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), follower))
    });
    let body = Body::from_stream(futures_util::StreamExt::chain(opened, rest));
    Ok(reply::with_type(StatusCode::OK, EVENT_STREAM, body))
}

/// Somebody who follows a counter.
struct Follower {
    token: Token,
    presence: Presence,
    counter: Arc<CounterView>,
    bell: watch::Receiver<()>,
    stopping: watch::Receiver<bool>,
    next: u64,
    is_over: bool,
}

impl Follower {
    /// What to send next, after waiting for it; nothing more after the end.
    async fn piece(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let app = self.presence.app.clone();
        loop {
            self.bell.borrow_and_update();
            if !self.is_authorized() {
                return self.end("unauthorized");
            }
            if self.next < self.counter.next_step() {
                let (counter, next) = (Arc::clone(&self.counter), self.next);
                // A counter that was deleted meanwhile has no releases any more: that is an end too.
                let read = off_thread(move || steps_from(&app, &counter, next)).await;
                let Ok((bytes, next)) = read else { return self.end("failed") };
                self.next = next;
                return Some((bytes, self));
            }
            if let Some(reason) = self.reason_to_end() {
                return self.end(reason);
            }
            tokio::select! {
                _ = self.bell.changed() => {}
                _ = self.stopping.changed() => {}
                () = tokio::time::sleep(SILENCE) => return Some((Bytes::from_static(b":\n\n"), self)),
            }
        }
    }

    /// Whether the token is still good.
    fn is_authorized(&self) -> bool {
        let app = &self.presence.app;
        let is_over = self.token.expires.is_some_and(|expires| expires <= app.now());
        !is_over && app.shown().tokens().iter().any(|known| known.id == self.token.id)
    }

    fn reason_to_end(&self) -> Option<&'static str> {
        if *self.stopping.borrow() {
            return Some("stopping");
        }
        if self.presence.app.shown().counter(name_of(&self.counter)).is_none() {
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
    let width = counter.planned().lane_names().map_or(1, <[String]>::len) as u64;
    let end = next.saturating_add((PIECE / width).max(1));
    let steps = app.shown().releases(counter, next..end)?;
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

/// Takes a place among the live streams for as long as it lives.
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
