//! The service: private counters over HTTP.
//!
//! Events come in, releases go out, and a page shows them. Everything that must last is the
//! ledger's (`evertally-ledger`); this crate reads requests, checks who asks, hands on what is
//! ready and writes answers.
//!
//! | room | its one decision |
//! |---|---|
//! | [`listen`] | which connections there are, and for how long |
//! | `auth` | who may do what |
//! | `routes` | what a request asks of the ledger |
//! | `model` | what requests and answers look like |
//! | `formats` | how releases are written: JSON, CSV, Arrow |
//! | `error` | how a refusal is said |
//! | [`metrics`], [`logs`] | what is told to operators, and what is not |
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

mod auth;
mod bell;
mod body;
mod error;
mod formats;
pub mod listen;
pub mod logs;
pub mod metrics;
mod model;
mod openapi;
mod options;
mod page;
mod query;
mod reply;
mod requests;
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

/// A service that runs: the ledger's thread, and what answers requests.
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
    /// Starts the ledger's thread. The clock gives microseconds since 1970; it closes steps and ends tokens.
    #[must_use]
    pub fn start(ledger: Ledger, options: Options, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { app: App::start(ledger, options, Arc::new(clock)) }
    }

    /// The thread that owns the ledger, for those who have events of their own.
    #[must_use]
    pub fn keeper(&self) -> &LedgerThread {
        self.app.keeper()
    }

    /// All routes, for tests and for those who have a server already.
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
            .layer(axum::middleware::from_fn_with_state(self.app.clone(), requests::observe))
            .with_state(self.app.clone())
    }

    /// Serves connections until `stop` is ready, and then ends in good order: what was begun is
    /// finished, live streams end, and the ledger is closed.
    pub async fn serve(self, listener: TcpListener, tls: Option<Tls>, stop: impl Future<Output = ()>) {
        let router = self.router();
        listen::serve(self.app.clone(), router, listener, tls, stop).await;
        let keeper = self.app.keeper().clone();
        // It waits for the last commit.
        let _ = tokio::task::spawn_blocking(move || keeper.stop()).await;
    }
}

/// The OpenAPI document, as JSON.
#[must_use]
pub fn openapi() -> String {
    let document = openapi::finish(routes::all().into_openapi());
    // It is made of plain structures, which are always written.
    document.to_pretty_json().unwrap_or_default()
}
