//! The thread that owns a ledger: group commit, and ticks by a clock.
//!
//! Requests queue up while a commit is under way; the next commit takes all of them. So the cost of
//! a sync is shared by whoever came meanwhile, and nobody waits for a timer. A reply is given when
//! what it says is durable, and an error when nothing of the request is known to be.

use crate::arrival::{Arrival, Receipt};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::shown::{Published, Shown};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Requests that may wait.
const QUEUE: usize = 4_096;

/// Events that one commit takes, as soon as there are so many.
const EVENTS_A_COMMIT: usize = 100_000;

/// The longest that the thread sleeps: a clock that is set forward is noticed by then.
const LONGEST_SLEEP: Duration = Duration::from_millis(250);

/// Too many requests wait: come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// What the thread has done so far. None of it depends on what events say.
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

/// What a request becomes once it was applied: a reply that waits for the commit, and is told if that failed.
type Reply = Box<dyn FnOnce(Option<&Error>) + Send>;

type Change = Box<dyn FnOnce(&mut Ledger, i64) -> Reply + Send>;

enum Job {
    Submit { counter: Arc<Published>, arrivals: Vec<Arrival>, reply: Box<dyn FnOnce(Result<Receipt>) + Send> },
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
pub struct Keeper {
    jobs: SyncSender<Job>,
    shown: Arc<Shown>,
    counts: Arc<Counts>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

impl Keeper {
    /// Starts the thread. The clock gives microseconds since 1970; `on_change` is told of counters
    /// with something new, after it is shown.
    pub fn start(
        ledger: Ledger,
        clock: impl Fn() -> i64 + Send + 'static,
        on_change: impl Fn(&[Arc<Published>]) + Send + 'static,
    ) -> Self {
        let (jobs, queue) = sync_channel(QUEUE);
        let (shown, counts) = (ledger.shown(), Arc::<Counts>::default());
        let work = Work { ledger, queue, clock, on_change, counts: Arc::clone(&counts), stops: false };
        let thread = std::thread::Builder::new().name("ledger".to_owned()).spawn(move || work.run());
        // A process that cannot start a thread cannot serve; every request then finds the queue closed.
        Self { jobs, shown, counts, thread: Arc::new(Mutex::new(thread.ok())) }
    }

    /// What anybody may read.
    #[must_use]
    pub fn shown(&self) -> &Arc<Shown> {
        &self.shown
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

    /// Hands events in. The reply comes when they are durable, from the ledger's thread: it should
    /// not take long.
    ///
    /// # Errors
    /// [`Busy`] where too many requests wait, or the thread has stopped.
    pub fn submit(
        &self,
        counter: Arc<Published>,
        arrivals: Vec<Arrival>,
        reply: impl FnOnce(Result<Receipt>) + Send + 'static,
    ) -> std::result::Result<(), Busy> {
        self.send(Job::Submit { counter, arrivals, reply: Box::new(reply) })
    }

    /// Asks for any other change. The reply comes when it is durable, or was refused.
    ///
    /// # Errors
    /// [`Busy`] where too many requests wait, or the thread has stopped.
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
            // Where the queue is full, the thread takes from it until there is room.
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

impl<C: Fn() -> i64, O: Fn(&[Arc<Published>])> Work<C, O> {
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
            // Whoever waited finds the answer dropped; whoever comes later is told that nothing is
            // taken any more.
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
        left.map_or(LONGEST_SLEEP, |micros| LONGEST_SLEEP.min(Duration::from_micros(micros)))
    }

    /// Applies a first request and whatever waits, and says whether it is time to stop.
    fn apply(&mut self, first: Option<Job>) -> (Vec<Reply>, bool) {
        let (mut replies, mut events, mut next): (Vec<Reply>, _, _) = (Vec::new(), 0, first);
        while let Some(job) = next {
            let now = (self.clock)();
            match job {
                Job::Stop => {
                    self.stops = true;
                    return (replies, true);
                }
                Job::Submit { counter, arrivals, reply } => {
                    self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
                    events += arrivals.len();
                    let receipt = self.ledger.submit(&counter, &arrivals, now);
                    replies.push(Box::new(move |failure| {
                        reply(failure.map_or(receipt, |failure| Err(failure.clone())));
                    }));
                }
                Job::Ask(change) => {
                    self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
                    replies.push(change(&mut self.ledger, now));
                }
            }
            let is_enough = events >= EVENTS_A_COMMIT || replies.len() >= QUEUE || self.ledger.is_laden();
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
