//! Health, readiness, metrics and the status of the service.

use crate::auth::{Anyone, Bearer, Reader};
use crate::error::Result;
use crate::metrics::Snapshot;
use crate::model::status::{CountersByStatus, ModeName, Readiness, ServiceStatus};
use crate::reply;
use crate::state::App;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use evertally_ledger::Status;
use evertally_stream::time;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Says that the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "service", responses(
    (status = 200, description = "The process is alive.", body = String, content_type = "text/plain"),
))]
pub(crate) async fn healthz() -> Response {
    reply::with_type(StatusCode::OK, TEXT, Body::from("ok"))
}

/// Says whether the service can be used.
#[utoipa::path(get, path = "/readyz", tag = "service", responses(
    (status = 200, description = "The service records events and releases steps.", body = Readiness),
    (status = 503, description = "The service is fenced or read-only.", body = Readiness),
))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let (mode, reason) = ModeName::of(app.read_view().mode());
    let status = if mode == ModeName::Running { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    reply::json(status, &Readiness { mode, reason })
}

/// Shows metrics in the format of Prometheus. The operator decides whether they need a token.
#[utoipa::path(get, path = "/metrics", tag = "service", security(("bearer" = ["read", "admin"])), responses(
    (status = 200, description = "Metrics.", body = String, content_type = "text/plain"),
))]
pub(crate) async fn metrics(State(app): State<App>, request: Request) -> Result<Response> {
    if !app.options().open_metrics {
        Reader::from_request_parts(&mut request.into_parts().0, &app).await?;
    }
    let counters = by_status(&app);
    let (mode, _) = ModeName::of(app.read_view().mode());
    let due = app.read_view().counters().iter().filter_map(|counter| counter.next_release()).min();
    let snapshot = Snapshot {
        mode: match mode {
            ModeName::Running => "running",
            ModeName::Fenced => "fenced",
            ModeName::ReadOnly => "read-only",
        },
        counters: [
            ("running", counters.running),
            ("fenced", counters.fenced),
            ("retired", counters.retired),
            ("ended", counters.ended),
        ],
        overdue_micros: due.map_or(0, |due| app.now().saturating_sub(due)),
        ledger: app.ledger_thread().statistics(),
    };
    Ok(reply::with_type(StatusCode::OK, PROMETHEUS, Body::from(app.metrics().render(&snapshot))))
}

/// Shows the status of the service.
#[utoipa::path(get, path = "/v1/status", tag = "service", security(("bearer" = ["read", "ingest", "admin"])), responses(
    (status = 200, description = "The status of the service, and the name and role of the token.", body = ServiceStatus),
))]
pub(crate) async fn status(Bearer(token): Anyone, State(app): State<App>) -> Response {
    let (mode, reason) = ModeName::of(app.read_view().mode());
    reply::ok(&ServiceStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        mode,
        reason,
        now: time::format_capped(app.now()),
        started: time::format_capped(app.started()),
        counters: by_status(&app),
        role: token.role.into(),
        token_name: token.name,
    })
}

fn by_status(app: &App) -> CountersByStatus {
    let mut counters = CountersByStatus::default();
    for counter in app.read_view().counters() {
        *match counter.status() {
            Status::Running => &mut counters.running,
            Status::Fenced => &mut counters.fenced,
            Status::Retired => &mut counters.retired,
            Status::Ended => &mut counters.ended,
        } += 1;
    }
    counters
}
