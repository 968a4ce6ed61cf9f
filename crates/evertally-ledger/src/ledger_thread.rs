//! The thread that owns a ledger: group commit, and ticks by a clock.
//!
//! Requests queue up while a commit is under way, and the next commit takes all of them. So all
//! requests that came in the meantime share the cost of one sync, and none waits for a timer. A
//! reply is given when what it says is durable, and an error when nothing of the request is known
//! to be durable.

use crate::error::{Error, Result};
use crate::intake::{PreparedEvent, Receipt};
use crate::ledger::Ledger;
use crate::read_view::{CounterView, ReadView};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Requests that may wait.
const QUEUE: usize = 4_096;

/// A commit starts at the latest when it has this many events.
const EVENTS_PER_COMMIT: usize = 100_000;

/// The thread sleeps at most this long: by then it notices a clock that was set forward.
const MAX_SLEEP: Duration = Duration::from_millis(250);

/// Too many requests wait: come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// What the thread has done so far. None of it depends on the content of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Commits that succeeded.
    pub commits: u64,
    /// The time that they took, all together.
    pub commit_time: Duration,
    /// Requests that wait.
    pub waiting: u64,
    /// How long after it was due the last step by the clock was shown.
    pub lateness: Duration,
}

/// What a request becomes once it is applied: a reply that waits for the commit, and learns if it
/// failed.
type Reply = Box<dyn FnOnce(Option<&Error>) + Send>;

type Change = Box<dyn FnOnce(&mut Ledger, i64) -> Reply + Send>;

enum Job {
    Submit {
        counter: Arc<CounterView>,
        events: Vec<PreparedEvent>,
        reply: Box<dyn FnOnce(Result<Receipt>) + Send>,
    },
    Ask(Change),
    Stop,
}

#[derive(Default)]
struct Counts {
    commits: AtomicU64,
    commit_nanos: AtomicU64,
    waiting: AtomicU64,
    lateness_micros: AtomicI64,
}

/// A handle on the thread that owns a ledger. Cloning it is cheap.
#[derive(Clone)]
pub struct LedgerThread {
    jobs: SyncSender<Job>,
    view: Arc<ReadView>,
    counts: Arc<Counts>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl std::fmt::Debug for LedgerThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerThread").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

impl LedgerThread {
    /// Starts the thread. The clock gives microseconds since 1970. `on_change` receives the
    /// counters with something new, after it can be read.
    pub fn start(
        ledger: Ledger,
        clock: impl Fn() -> i64 + Send + 'static,
        on_change: impl Fn(&[Arc<CounterView>]) + Send + 'static,
    ) -> Self {
        let (jobs, queue) = sync_channel(QUEUE);
        let (view, counts) = (ledger.read_view(), Arc::<Counts>::default());
        let work = Work { ledger, queue, clock, on_change, counts: Arc::clone(&counts), stops: false };
        let thread = std::thread::Builder::new().name("ledger".to_owned()).spawn(move || work.run());
        // A process that cannot start a thread cannot serve; every request then finds the queue
        // closed.
        Self { jobs, view, counts, thread: Arc::new(Mutex::new(thread.ok())) }
    }

    /// What anybody may read.
    #[must_use]
    pub fn read_view(&self) -> &Arc<ReadView> {
        &self.view
    }

    /// What the thread has done so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics {
            commits: self.counts.commits.load(Ordering::Relaxed),
            commit_time: Duration::from_nanos(self.counts.commit_nanos.load(Ordering::Relaxed)),
            waiting: self.counts.waiting.load(Ordering::Relaxed),
            lateness: Duration::from_micros(self.counts.lateness_micros.load(Ordering::Relaxed).max(0) as u64),
        }
    }

    /// Submits the events of one request. The reply comes from the ledger's thread when they are
    /// durable: it should not take long.
    ///
    /// # Errors
    /// [`Busy`] if too many requests wait, or the thread has stopped.
    pub fn submit(
        &self,
        counter: Arc<CounterView>,
        events: Vec<PreparedEvent>,
        reply: impl FnOnce(Result<Receipt>) + Send + 'static,
    ) -> std::result::Result<(), Busy> {
        self.send(Job::Submit { counter, events, reply: Box::new(reply) })
    }

    /// Asks for any other change. The reply comes when it is durable, or was refused.
    ///
    /// # Errors
    /// [`Busy`] if too many requests wait, or the thread has stopped.
    pub fn ask<R: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Ledger, i64) -> Result<R> + Send + 'static,
        reply: impl FnOnce(Result<R>) + Send + 'static,
    ) -> std::result::Result<(), Busy> {
        self.send(Job::Ask(Box::new(move |ledger, now| {
            let changed = change(ledger, now);
            Box::new(move |failure| reply(failure.map_or(changed, |failure| Err(failure.clone()))))
        })))
    }

    /// Takes what waits, commits it, writes all rows and ends the thread.
    pub fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // If the queue is full, the thread takes from it until there is room.
            let _ = self.jobs.send(Job::Stop);
            let _ = thread.join();
        }
    }

    fn send(&self, job: Job) -> std::result::Result<(), Busy> {
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        self.jobs.try_send(job).map_err(|error| {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) | TrySendError::Disconnected(_) => Busy,
            }
        })
    }
}

/// What the thread has.
struct Work<C, O> {
    ledger: Ledger,
    queue: Receiver<Job>,
    clock: C,
    on_change: O,
    counts: Arc<Counts>,
    /// Whether it is time to end.
    stops: bool,
}

impl<C: Fn() -> i64, O: Fn(&[Arc<CounterView>])> Work<C, O> {
    fn run(mut self) {
        // What was frozen before a crash is released first.
        let mut is_behind = true;
        loop {
            let first = match self.queue.recv_timeout(if is_behind { Duration::ZERO } else { self.sleep() }) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Job::Stop),
            };
            let round = catch_unwind(AssertUnwindSafe(|| {
                let (replies, stops) = self.apply(first);
                (self.commit(replies), stops)
            }));
            // Requests that waited find the answer dropped. Later ones learn that nothing is taken
            // any more.
            let Ok((more, stops)) = round else {
                self.ledger.give_up();
                if self.stops {
                    return;
                }
                is_behind = false;
                continue;
            };
            is_behind = more;
            if stops {
                // What was recorded is safe either way; rows only make the next start shorter.
                let _ = self.ledger.checkpoint_all();
                return;
            }
        }
    }

    /// How long there is nothing to do.
    fn sleep(&self) -> Duration {
        let left = self.ledger.next_due().map(|due| due.saturating_sub((self.clock)()).max(0) as u64);
        left.map_or(MAX_SLEEP, |micros| MAX_SLEEP.min(Duration::from_micros(micros)))
    }

    /// Applies a first request and all that wait, and says whether it is time to stop.
    fn apply(&mut self, first: Option<Job>) -> (Vec<Reply>, bool) {
        let (mut replies, mut taken, mut next): (Vec<Reply>, _, _) = (Vec::new(), 0, first);
        while let Some(job) = next {
            let now = (self.clock)();
            match job {
                Job::Stop => {
                    self.stops = true;
                    return (replies, true);
                }
                Job::Submit { counter, events, reply } => {
                    self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
                    taken += events.len();
                    let receipt = self.ledger.submit(&counter, &events, now);
                    replies.push(Box::new(move |failure| {
                        reply(failure.map_or(receipt, |failure| Err(failure.clone())));
                    }));
                }
                Job::Ask(change) => {
                    self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
                    replies.push(change(&mut self.ledger, now));
                }
            }
            let is_enough =
                taken >= EVENTS_PER_COMMIT || replies.len() >= QUEUE || self.ledger.has_full_frame();
            next = if is_enough { None } else { self.queue.try_recv().ok() };
        }
        (replies, false)
    }

    /// Closes what is due, commits, shows and replies; whether more is due already.
    fn commit(&mut self, replies: Vec<Reply>) -> bool {
        let (now, due) = ((self.clock)(), self.ledger.next_due());
        let is_behind = self.ledger.close_due(now).unwrap_or(false);
        let started = Instant::now();
        let committed = self.ledger.commit(now);
        if committed.is_ok() {
            self.counts.commits.fetch_add(1, Ordering::Relaxed);
            let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.counts.commit_nanos.fetch_add(nanos, Ordering::Relaxed);
            if let Some(due) = due.filter(|due| *due <= now) {
                self.counts.lateness_micros.store((self.clock)().saturating_sub(due), Ordering::Relaxed);
            }
        }
        replies.into_iter().for_each(|reply| reply(committed.as_ref().err()));
        match committed {
            Ok(changed) if !changed.is_empty() => (self.on_change)(&changed),
            _ => {}
        }
        is_behind
    }
}
