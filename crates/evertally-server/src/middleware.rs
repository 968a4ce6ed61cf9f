//! What surrounds every request: metrics, logs, the headers of all answers, and an answer even when a
//! handler panics.

use crate::error::Problem;
use crate::metrics::RequestRecord;
use crate::page::add_headers;
use crate::state::App;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Handles a request, and passes to metrics and logs what they may show.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let method = name(request.method());
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let bytes = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answer
        .unwrap_or_else(|_| Problem::system("the service failed to handle this request").into_response());
    add_headers(&mut response);
    let status = response.status().as_u16();
    let route = path.as_ref().map(MatchedPath::as_str);
    let record = RequestRecord { route, method, status, bytes, duration: started.elapsed() };
    app.metrics().request(&record);
    if !record.reveals_events() {
        let route = route.unwrap_or("none");
        let milliseconds = record.duration.as_millis() as u64;
        if status < 500 {
            tracing::info!(method, route, status, milliseconds, "request");
        } else {
            tracing::error!(method, route, status, milliseconds, "request");
        }
    }
    response
}

/// The name of a method. Clients can invent methods, so unknown ones share a name.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
