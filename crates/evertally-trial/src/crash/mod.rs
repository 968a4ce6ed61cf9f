//! A trial that kills the program at random moments.
//!
//! **Definition.** `evertally serve` runs as a child process on a directory. Writers post batches
//! of events with unique ids and retry until each is acknowledged. They discard some replies
//! unread. One writer advances a counter by hand, and one creates and retires counters. Readers and
//! followers record every release that they observe. Meanwhile the process is killed with `kill -9`
//! and restarted: first at random moments under load, then also while it recovers.
//!
//! **Promises.** An observed release never changes, to the byte. Once everything is acknowledged,
//! the counters whose noise rounds to zero show the number of ids: no event was lost, and none
//! counted twice. Acknowledged creations and retirements of counters persist. At the end `evertally
//! serve --verify` accepts every hash.
//!
//! **False alarms.** Totals are compared exactly. The compared release states its standard error s,
//! and the trial requires s ≤ 0.0818. Noise then reaches 1/2 with probability below 10⁻⁹ in each of
//! the two comparisons.
//!
//! **Limits.** A killed process loses nothing that it has written, synchronised or not. The
//! simulated machine covers power cuts.

mod observers;
mod state;
mod writers;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::MAX_ERROR;
use crate::program::{Process, Program, size_of};
use evertally_ledger::simulated::Dice;
pub use state::TrialState;

/// The extent of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Kills at random moments under load.
    pub kills_under_load: u64,
    /// Kills while the program recovers, right after a start. Further kills under load happen
    /// between them.
    pub kills_in_recovery: u64,
    /// The longest time under load between two kills.
    pub longest_life: Duration,
    /// The seed of the moments and the events. The operating system decides how they interleave, so
    /// a run cannot be repeated exactly.
    pub seed: u64,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct Report {
    /// Processes killed, in both phases.
    pub kills: u64,
    /// Processes killed during recovery.
    pub kills_in_recovery: u64,
    /// Unique events, all acknowledged.
    pub events: u64,
    /// Events sent, including duplicates and retries.
    pub sent: u64,
    /// Releases observed and unchanged at the end.
    pub releases: u64,
    /// The times from the start of a process until it was ready, in order.
    pub recoveries: Vec<Duration>,
    /// The size of the directory at the end, in bytes.
    pub size: u64,
}

/// Runs a trial in an empty or new directory, and reports the number of kills after each.
///
/// # Errors
/// A sentence that names the broken promise or the failed operation.
pub fn run(
    binary: &Path,
    directory: &Path,
    extent: &Extent,
    mut told: impl FnMut(u64),
) -> Result<Report, String> {
    let program = Program { binary: binary.to_owned(), directory: directory.to_owned(), options: Vec::new() };
    let mut dice = Dice::new(extent.seed);
    let mut served = program.start()?;
    let ready = served.ready()?;
    let token = ready.token.clone().ok_or("the first start printed no token")?;
    let state = Arc::new(TrialState::new(ready.address, &token));
    state.create_counters()?;
    let threads = writers::start(&state, &mut dice).into_iter().chain(observers::start(&state, &mut dice));
    let threads: Vec<_> = threads.collect();
    let mut recoveries = vec![ready.after];
    let (mut under_load, mut in_recovery) = (0, 0);
    let is_over = |under_load, in_recovery| {
        under_load >= extent.kills_under_load && in_recovery >= extent.kills_in_recovery
    };
    while !is_over(under_load, in_recovery) && !state.has_failed() {
        thread::sleep(part(extent.longest_life, &mut dice));
        served.kill()?;
        under_load += 1;
        served = program.start()?;
        let median = median(&recoveries);
        // In the second phase a process is often killed during its recovery.
        while under_load >= extent.kills_under_load
            && in_recovery < extent.kills_in_recovery
            && !dice.once_in(4)
        {
            thread::sleep(part(median * 3 / 2, &mut dice));
            served.kill()?;
            in_recovery += 1;
            served = program.start()?;
        }
        let ready = served.ready()?;
        recoveries.push(ready.after);
        state.moved(ready.address);
        told(under_load + in_recovery);
    }
    state.stop_writing();
    let outcomes: Vec<_> =
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")).collect();
    outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
    state.failure()?;
    let releases = finish(&state, served)?;
    program.verify()?;
    let (events, sent) = state.events();
    Ok(Report {
        kills: under_load + in_recovery,
        kills_in_recovery: in_recovery,
        events,
        sent,
        releases,
        recoveries: sorted(recoveries),
        size: size_of(directory),
    })
}

/// Compares everything with what was acknowledged and observed.
fn finish(state: &TrialState, served: Process) -> Result<u64, String> {
    let mut client = state.client();
    for (counter, expected) in state.totals() {
        let release = last_release(&mut client, counter)?;
        let (value, error) = (&release["value"], release["standard_error"].as_f64().unwrap_or(f64::NAN));
        if error.is_nan() || error > MAX_ERROR {
            return Err(format!("{counter} has a standard error of {error}, too much for a comparison"));
        }
        if value.as_f64().map(f64::round) != Some(expected as f64) {
            return Err(format!("{counter} shows {value} for {expected} unique acknowledged events"));
        }
    }
    let releases = state.observed.verify(&mut client)?;
    state.verify_counters(&mut client)?;
    served.kill()?;
    Ok(releases)
}

/// The release of a step that was still open when everything had been acknowledged.
fn last_release(client: &mut crate::http::Client, counter: &str) -> Result<Value, String> {
    let path = format!("/v1/counters/{counter}");
    let ask = |client: &mut crate::http::Client| -> Result<Value, String> {
        client.get(&path).map_err(|error| error.to_string())?.json()
    };
    let asked = ask(client)?;
    if asked["every"].is_null() {
        let advanced =
            client.post(&format!("{path}/advance"), &json!({})).map_err(|error| error.to_string())?.json()?;
        return Ok(advanced["releases"][0].clone());
    }
    let open = asked["next_step"].as_u64().ok_or("a counter without a next step")?;
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(30) {
        let now = ask(client)?;
        if now["next_step"].as_u64() > Some(open) {
            return Ok(now["latest"][0].clone());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(format!("{counter} no longer ticks"))
}

/// A random part of a duration.
fn part(whole: Duration, dice: &mut Dice) -> Duration {
    Duration::from_micros(dice.below(whole.as_micros() as u64 + 1))
}

fn sorted(mut durations: Vec<Duration>) -> Vec<Duration> {
    durations.sort_unstable();
    durations
}

fn median(durations: &[Duration]) -> Duration {
    let sorted = sorted(durations.to_vec());
    sorted[sorted.len() / 2]
}
