//! The state that all handlers share.

use crate::error::{Problem, Result};
use crate::followers::Followers;
use crate::metrics::Metrics;
use crate::options::Options;
use evertally_ledger::{CounterView, Ledger, LedgerThread, ReadView, Token};
use governor::clock::{Clock, MonotonicClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

/// The most plans that are made at once. Each may take a core for seconds.
const MAX_PLANNERS: usize = 2;

/// How long a plan may wait for its turn.
const MAX_PLANNING_WAIT: Duration = Duration::from_secs(20);

type Limiter = RateLimiter<String, HashMapStateStore<String>, MonotonicClock>;
type Now = dyn Fn() -> i64 + Send + Sync;

/// The most kibibytes of bodies with events in memory at once. The events of a body take up to eight
/// times as much.
const MAX_BODIES_KIB: usize = 64 << 10;

/// The service behind the routes. Clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    ledger_thread: LedgerThread,
    followers: Followers,
    metrics: Metrics,
    options: Options,
    clock: Arc<Now>,
    started: i64,
    limiter: Option<Limiter>,
    planners: Arc<Semaphore>,
    live_streams: Arc<Semaphore>,
    /// Kibibytes that are free for bodies.
    bodies: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
}

impl App {
    pub(crate) fn start(ledger: Ledger, options: Options, clock: Arc<Now>) -> Self {
        let followers = Followers::default();
        let (notified, ticking) = (followers.clone(), Arc::clone(&clock));
        let ledger_thread = LedgerThread::start(
            ledger,
            move || ticking(),
            move |changed: &[Arc<CounterView>]| {
                notified.notify(changed.iter().map(|counter| name_of(counter)));
            },
        );
        let limiter =
            options.rate.map(|rate| RateLimiter::hashmap_with_clock(Quota::per_second(rate), MonotonicClock));
        Self(Arc::new(Inner {
            ledger_thread,
            followers,
            metrics: Metrics::new(options.event_metrics),
            started: clock(),
            clock,
            limiter,
            planners: Arc::new(Semaphore::new(MAX_PLANNERS)),
            live_streams: Arc::new(Semaphore::new(options.max_live_streams as usize)),
            bodies: Arc::new(Semaphore::new(MAX_BODIES_KIB)),
            stopping: watch::channel(false).0,
            options,
        }))
    }

    pub(crate) fn ledger_thread(&self) -> &LedgerThread {
        &self.0.ledger_thread
    }

    pub(crate) fn read_view(&self) -> &ReadView {
        self.0.ledger_thread.read_view()
    }

    pub(crate) fn followers(&self) -> &Followers {
        &self.0.followers
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) fn now(&self) -> i64 {
        (self.0.clock)()
    }

    pub(crate) fn started(&self) -> i64 {
        self.0.started
    }

    /// Reserves memory for a body of this size until the permit is dropped.
    pub(crate) fn room_for(&self, bytes: u64) -> Result<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(MAX_BODIES_KIB as u32);
        Arc::clone(&self.0.bodies).try_acquire_many_owned(kib).map_err(|_| Problem::busy())
    }

    pub(crate) fn live_streams(&self) -> &Arc<Semaphore> {
        &self.0.live_streams
    }

    /// Becomes true when the service stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stopping.subscribe()
    }

    /// Tells everybody that the service stops.
    pub(crate) fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Finds a counter by its name.
    pub(crate) fn counter(&self, name: &str) -> Result<Arc<CounterView>> {
        self.read_view().counter(name).ok_or_else(|| Problem::not_found("there is no counter of this name"))
    }

    /// Changes the ledger, and returns when the change is durable.
    pub(crate) async fn ask<R, F>(&self, change: F) -> Result<R>
    where
        R: Send + 'static,
        F: FnOnce(&mut Ledger, i64) -> evertally_ledger::Result<R> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.ledger_thread()
            .ask(change, move |result| drop(reply.send(result)))
            .map_err(|_| Problem::busy())?;
        receive(answer).await
    }

    /// Does expensive work on one of a few threads.
    pub(crate) async fn plan<R, F>(&self, work: F) -> Result<R>
    where
        R: Send + 'static,
        F: FnOnce() -> Result<R> + Send + 'static,
    {
        let turn =
            tokio::time::timeout(MAX_PLANNING_WAIT, Arc::clone(&self.0.planners).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Problem::busy()) };
        off_thread(move || {
            // The work continues when the client has left, and so must its turn.
            let _turn = turn;
            work()
        })
        .await
    }

    /// Refuses a token that sends too many requests.
    pub(crate) fn check_rate(&self, token: &Token) -> Result<()> {
        let Some(limiter) = &self.0.limiter else { return Ok(()) };
        limiter.check_key(&token.id).map_err(|refusal| {
            let wait = refusal.wait_time_from(limiter.clock().now()).as_secs_f64();
            Problem::too_many_requests(wait.ceil().max(1.0) as u32)
        })
    }
}

/// The name of a counter.
pub(crate) fn name_of(counter: &CounterView) -> &str {
    &counter.counter_plan().spec().name
}

/// Waits for the answer of the ledger's thread.
pub(crate) async fn receive<R>(answer: oneshot::Receiver<evertally_ledger::Result<R>>) -> Result<R> {
    match answer.await {
        Ok(result) => Ok(result?),
        Err(_) => Err(Problem::busy()),
    }
}

/// Runs work that may block.
pub(crate) async fn off_thread<R, F>(work: F) -> Result<R>
where
    R: Send + 'static,
    F: FnOnce() -> Result<R> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(Problem::system("the work did not finish")),
    }
}
