//! The shared state of the writers, the observers and the thread that kills the program.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::observers::Observed;
use crate::exact_counter;
use crate::http::{Answer, Client};

/// Counts every event exactly, every two seconds.
pub(super) const EXACT: &str = "exact";
/// Counts every event exactly, in steps that a client closes.
pub(super) const BY_HAND: &str = "by-hand";
/// Has many steps that a client closes, keys, and large noise.
pub(super) const FAST: &str = "fast";
/// Counts once per second with large noise.
pub(super) const NOISY: &str = "noisy";
/// All of them.
pub(super) const COUNTERS: [&str; 4] = [EXACT, BY_HAND, FAST, NOISY];

/// The wait of a thread while the program is down.
const PAUSE: Duration = Duration::from_millis(3);

/// The state of a trial.
#[derive(Debug)]
pub struct TrialState {
    address: RwLock<SocketAddr>,
    token: String,
    stops: AtomicBool,
    failure: Mutex<Option<String>>,
    pub(super) observed: Observed,
    /// Unique acknowledged events by counter.
    acknowledged: Mutex<BTreeMap<&'static str, u64>>,
    sent: AtomicU64,
    /// Counters whose creation was acknowledged, and whether their retirement was.
    pub(super) created: Mutex<BTreeMap<String, bool>>,
}

impl TrialState {
    pub(super) fn new(address: SocketAddr, token: &str) -> Self {
        Self {
            address: RwLock::new(address),
            token: token.to_owned(),
            stops: AtomicBool::new(false),
            failure: Mutex::new(None),
            observed: Observed::default(),
            acknowledged: Mutex::new(BTreeMap::new()),
            sent: AtomicU64::new(0),
            created: Mutex::new(BTreeMap::new()),
        }
    }

    /// Creates the counters that count events.
    pub(super) fn create_counters(&self) -> Result<(), String> {
        let mut client = self.client();
        let mut post = |path: &str, document: Value| -> Result<Value, String> {
            client.post(path, &document).map_err(|error| error.to_string())?.json()
        };
        post("/v1/populations", json!({"name": "trial", "rho": 1e6}))?;
        post("/v1/counters", exact_counter(EXACT, Some("2s")))?;
        post("/v1/counters", exact_counter(BY_HAND, None))?;
        let noisy = json!({"population": "trial", "epsilon": 1.0, "delta": 1e-9, "steps": 1 << 20});
        let with = |name: &str, field: &str, value: Value| {
            let mut document = noisy.clone();
            (document["name"], document[field]) = (json!(name), value);
            document
        };
        post("/v1/counters", with(FAST, "keys", json!(["a"])))?;
        post("/v1/counters", with(NOISY, "every", json!("1s")))?;
        Ok(())
    }

    /// The document of a counter that is created and retired under load.
    pub(super) fn small_counter(name: &str) -> Value {
        json!({"name": name, "population": "trial", "epsilon": 1.0, "delta": 1e-9, "every": "1s", "steps": 1 << 17})
    }

    pub(super) fn client(&self) -> Client {
        Client::new(*self.address.read().unwrap_or_else(PoisonError::into_inner), &self.token)
    }

    /// Notes that the program listens at a new address.
    pub(super) fn moved(&self, address: SocketAddr) {
        *self.address.write().unwrap_or_else(PoisonError::into_inner) = address;
    }

    pub(super) fn stop_writing(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub(super) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed) || self.has_failed()
    }

    /// Repeats a request until there is an answer other than "try later". `None` if the trial has
    /// failed elsewhere.
    pub(super) fn retry(
        &self,
        client: &mut Client,
        ask: impl Fn(&mut Client) -> std::io::Result<Answer>,
    ) -> Option<Answer> {
        while !self.has_failed() {
            match ask(client) {
                Ok(answer) if ![408, 429, 503].contains(&answer.status) => return Some(answer),
                Ok(_) => {}
                // The program may have restarted at another address.
                Err(_) => *client = self.client(),
            }
            thread::sleep(PAUSE);
        }
        None
    }

    pub(super) fn acknowledge(&self, counter: &'static str, unique: u64) {
        *lock(&self.acknowledged).entry(counter).or_default() += unique;
    }

    pub(super) fn count_sent(&self, events: u64) {
        self.sent.fetch_add(events, Ordering::Relaxed);
    }

    /// The numbers of unique events and of events sent.
    pub(super) fn events(&self) -> (u64, u64) {
        (lock(&self.acknowledged).values().sum(), self.sent.load(Ordering::Relaxed))
    }

    /// The totals that the counters with negligible noise must show.
    pub(super) fn totals(&self) -> Vec<(&'static str, u64)> {
        let acknowledged = lock(&self.acknowledged);
        [EXACT, BY_HAND].map(|counter| (counter, acknowledged.get(counter).copied().unwrap_or(0))).to_vec()
    }

    /// Checks that every acknowledged counter exists, and is retired if its retirement was
    /// acknowledged.
    pub(super) fn verify_counters(&self, client: &mut Client) -> Result<(), String> {
        for (name, is_retired) in lock(&self.created).iter() {
            let answer = client.get(&format!("/v1/counters/{name}")).map_err(|error| error.to_string())?;
            let counter = answer.json().map_err(|error| format!("{name} was acknowledged: {error}"))?;
            if (counter["status"] == "retired") != *is_retired {
                return Err(format!("{name} is {} though acknowledged otherwise", counter["status"]));
            }
        }
        Ok(())
    }

    pub(super) fn fail(&self, failure: String) {
        lock(&self.failure).get_or_insert(failure);
    }

    pub(super) fn has_failed(&self) -> bool {
        lock(&self.failure).is_some()
    }

    pub(super) fn failure(&self) -> Result<(), String> {
        lock(&self.failure).clone().map_or(Ok(()), Err)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
