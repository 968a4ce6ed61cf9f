//! A service with its ledger, clock and tokens.

use crate::client::{Answer, request};
use crate::documented::check;
use evertally_ledger::{Ledger, Location, Role, read_or_make_key};
use evertally_server::{Options, Service, Tls};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// When every test starts: 2026-01-05T08:00:00Z.
pub(crate) const START: i64 = 1_767_600_000_000_000;

pub(crate) const SECOND: i64 = 1_000_000;

/// Bearers.
#[derive(Clone, Default)]
pub(crate) struct Bearers {
    pub(crate) admin: String,
    pub(crate) read: String,
    pub(crate) ingest: String,
    pub(crate) expired: String,
}

/// A running service.
pub(crate) struct Server {
    runtime: Option<Runtime>,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    pub(crate) service: Service,
    clock: Arc<AtomicI64>,
    pub(crate) bearers: Bearers,
    home: Option<TempDir>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        Self::at(tempfile::tempdir().unwrap(), options)
    }

    /// Starts on a directory that may have been used before.
    pub(crate) fn at(home: TempDir, options: Options) -> Self {
        let directory = directory(&home);
        let place = Location::directory(&directory, None).unwrap();
        let ledger = Ledger::open(place, read_or_make_key(&directory).unwrap(), START).unwrap();
        let mut server = Self::on(ledger, options, None);
        server.home = Some(home);
        server
    }

    /// Starts on any ledger.
    pub(crate) fn on(mut ledger: Ledger, options: Options, tls: Option<Tls>) -> Self {
        let mut add =
            |role, expires| ledger.add_token("test", role, expires, START).map(|(_, bearer)| bearer);
        let bearers = Bearers {
            admin: add(Role::Admin, None).unwrap_or_default(),
            read: add(Role::Read, None).unwrap_or_default(),
            ingest: add(Role::Ingest, None).unwrap_or_default(),
            expired: add(Role::Admin, Some(START + 1)).unwrap_or_default(),
        };
        let _ = ledger.commit(START);
        let clock = Arc::new(AtomicI64::new(START + SECOND));
        let ticking = Arc::clone(&clock);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let service = Service::start(ledger, options, move || ticking.load(Ordering::SeqCst));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = service.clone().serve(listener, tls, async move { drop(stopped.await) });
        let serving = Some(runtime.spawn(serving));
        Self {
            runtime: Some(runtime),
            address,
            stop: Some(stop),
            serving,
            service,
            clock,
            bearers,
            home: None,
        }
    }

    /// Stops the service, and keeps its directory.
    pub(crate) fn stop(mut self) -> Option<TempDir> {
        self.begin_to_stop();
        self.wait();
        self.home.take()
    }

    pub(crate) fn begin_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) fn wait(&mut self) {
        if let (Some(runtime), Some(serving)) = (&self.runtime, self.serving.take()) {
            runtime.block_on(serving).unwrap();
        }
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().unwrap()
    }

    /// Lets time pass, for the service.
    pub(crate) fn pass(&self, micros: i64) {
        self.clock.fetch_add(micros, Ordering::SeqCst);
    }

    /// Lets time pass, and waits until a counter has released this many steps.
    #[track_caller]
    pub(crate) fn pass_until(&self, micros: i64, counter: &str, steps: u64) {
        self.pass(micros);
        let begun = std::time::Instant::now();
        while self.service.ledger_thread().read_view().counter(counter).unwrap().next_step() < steps {
            assert!(begun.elapsed() < crate::client::PATIENCE, "{counter} does not come to step {steps}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Sends a request. Its answer must be documented.
    #[track_caller]
    pub(crate) fn send(
        &self,
        bearer: &str,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let authorization = format!("Bearer {bearer}");
        let mut headers = more.to_vec();
        if !bearer.is_empty() {
            headers.push(("Authorization", &authorization));
        }
        let answer = request(self.address, method, path, &headers, body);
        check(method, path, &answer);
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&self.bearers.admin, "GET", path, &[], &[])
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send(&self.bearers.admin, "DELETE", path, &[], &[])
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, "application/json", body.to_string().as_bytes())
    }

    #[track_caller]
    pub(crate) fn post_text(&self, path: &str, media_type: &str, body: &[u8]) -> Answer {
        self.send(&self.bearers.admin, "POST", path, &[("Content-Type", media_type)], body)
    }

    /// The population `everyone`, and a counter that is advanced by hand. Its ε is so large that
    /// noise rounds to nothing: at ε = 1000 over 50 steps its standard deviation before rounding is
    /// below 0.07, so that a release is not the truth with probability below 10⁻¹¹.
    pub(crate) fn with_counter(self, name: &str) -> Self {
        self.with_population();
        self.post(
            "/v1/counters",
            &json!({"name": name, "epsilon": 1000, "delta": 1e-6, "steps": 50, "grid": 1}),
        )
        .expect(201);
        self
    }

    pub(crate) fn with_population(&self) {
        self.post("/v1/populations", &json!({"name": "everyone", "rho": 1e5})).expect(201);
    }

    /// The value of the latest release of a counter without keys, after closing a step.
    #[track_caller]
    pub(crate) fn total(&self, name: &str) -> f64 {
        let advanced = self.post(&format!("/v1/counters/{name}/advance"), &json!({})).expect(200).json();
        advanced["releases"][0]["value"].as_f64().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.begin_to_stop();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) fn directory(home: &TempDir) -> PathBuf {
    home.path().join("counters")
}

/// Events with these ids.
pub(crate) fn events(ids: impl IntoIterator<Item = String>) -> Value {
    Value::Array(ids.into_iter().map(|id| json!({"id": id})).collect())
}
