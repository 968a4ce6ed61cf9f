//! The service: private counters over HTTP.
//!
//! Clients send events and read releases, and a page shows them. The ledger (`evertally-ledger`) keeps
//! everything that must last. This crate reads requests, checks their tokens, calls the ledger and
//! writes answers.
//!
//! | module | responsibility |
//! |---|---|
//! | [`listen`] | connections and their timeouts |
//! | `auth` | who may do what |
//! | `routes` | what a request asks of the ledger; new routes go there |
//! | `model` | the shapes of requests and answers |
//! | `formats` | releases as JSON, CSV or Arrow |
//! | `error` | refusals |
//! | `followers` | waking live streams |
//! | [`metrics`], [`logs`] | what operators see, and what they do not |
//!
//! ```no_run
//! use evertally_ledger::{Ledger, Location, read_or_make_key};
//! use evertally_server::{Options, Service, now};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = std::path::Path::new("counters");
//! let key = read_or_make_key(directory)?;
//! let ledger = Ledger::open(Location::directory(directory, None)?, key, now())?;
//! let service = Service::start(ledger, Options::default(), now);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8740").await?;
//! service.serve(listener, None, std::future::pending()).await;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod address;
mod auth;
mod body;
mod error;
mod followers;
mod formats;
pub mod listen;
pub mod logs;
pub mod metrics;
mod middleware;
mod model;
mod openapi;
mod options;
mod page;
mod reply;
mod routes;
mod state;

pub use evertally_stream::time::now_micros as now;
pub use listen::Tls;
pub use logs::{LogFormat, log_to};
pub use options::Options;

use axum::Router;
use axum::routing::get;
use evertally_ledger::{Ledger, LedgerThread};
use state::App;
use std::sync::Arc;
use tokio::net::TcpListener;

/// A running service: the ledger's thread, and the handlers of requests.
#[derive(Clone)]
pub struct Service {
    app: App,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// Starts the ledger's thread. The clock returns microseconds since 1970. It closes steps and expires
    /// tokens.
    #[must_use]
    pub fn start(ledger: Ledger, options: Options, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { app: App::start(ledger, options, Arc::new(clock)) }
    }

    /// The thread that owns the ledger, for programs that record events themselves.
    #[must_use]
    pub fn ledger_thread(&self) -> &LedgerThread {
        self.app.ledger_thread()
    }

    /// All routes, for tests and for programs with their own server.
    pub fn router(&self) -> Router {
        let (routes, _) = routes::all().split_for_parts();
        let document = openapi();
        let json = axum::http::HeaderValue::from_static("application/json");
        routes
            .merge(page::routes())
            .route(
                "/openapi.json",
                get(|| async move { ([(axum::http::header::CONTENT_TYPE, json)], document) }),
            )
            .fallback(|| async { error::Problem::not_found("there is nothing at this path") })
            .method_not_allowed_fallback(|| async { error::Problem::method_not_allowed() })
            .layer(axum::middleware::from_fn_with_state(self.app.clone(), middleware::observe))
            .with_state(self.app.clone())
    }

    /// Serves connections until `stop` is ready, then finishes open requests, ends live streams and
    /// closes the ledger.
    pub async fn serve(self, listener: TcpListener, tls: Option<Tls>, stop: impl Future<Output = ()>) {
        let router = self.router();
        listen::serve(self.app.clone(), router, listener, tls, stop).await;
        let ledger_thread = self.app.ledger_thread().clone();
        // Stopping waits for the last commit.
        let _ = tokio::task::spawn_blocking(move || ledger_thread.stop()).await;
    }
}

/// The OpenAPI document, as JSON.
#[must_use]
pub fn openapi() -> String {
    let document = openapi::finish(routes::all().into_openapi());
    // Serializing plain structures does not fail.
    document.to_pretty_json().unwrap_or_default()
}
