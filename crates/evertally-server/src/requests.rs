//! What happens around every request: it is counted, logged, given the headers that all answers
//! have and, should a handler panic, answered all the same.

use crate::error::Problem;
use crate::metrics::Answered;
use crate::page::add_headers;
use crate::state::App;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Runs the rest, and tells metrics and logs of it what they may know.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let method = word(request.method());
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let bytes = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response =
        answer.unwrap_or_else(|_| Problem::system("the service failed at this request").into_response());
    add_headers(&mut response);
    let status = response.status().as_u16();
    let route = path.as_ref().map(MatchedPath::as_str);
    let answered = Answered { route, method, status, bytes, took: started.elapsed() };
    app.metrics().answered(&answered);
    if !answered.is_telling() {
        let route = route.unwrap_or("none");
        let milliseconds = answered.took.as_millis() as u64;
        if status < 500 {
            tracing::info!(method, route, status, milliseconds, "request");
        } else {
            tracing::error!(method, route, status, milliseconds, "request");
        }
    }
    response
}

/// Methods by name: anybody may make one up.
fn word(method: &Method) -> &'static str {
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
