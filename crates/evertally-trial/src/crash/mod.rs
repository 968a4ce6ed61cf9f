//! The program, killed at random moments.
//!
//! **Definition.** `evertally serve` runs as a child process on a directory. Writers post batches
//! of events with ids of their own and retry until each is acknowledged; some replies are thrown
//! away unread. One advances a counter by hand, one creates and retires counters, readers and
//! followers note every release that they see. Meanwhile the process is killed with `kill -9` and
//! started again: first at random moments under load, then while it recovers as well.
//!
//! **Promises.** Whatever was seen of a release is what is seen of it ever after, to the byte. When
//! all is acknowledged, the counters whose noise rounds to zero show as many events as there are
//! ids: none was lost, none counted twice. Counters that were acknowledged as created or retired
//! are. At the end `evertally serve --verify` finds every hash in place.
//!
//! **False alarms.** Totals are compared exactly. The release that is compared states its standard
//! error s, and the trial demands s ≤ 0.0818, so that noise reaches 1/2 with probability below 10⁻⁹
//! for each of the two comparisons.
//!
//! **Limits.** A killed process loses nothing that it has written, synced or not: what a power cut
//! does is for the simulated machine to show.

mod scene;
mod witness;
mod writers;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::LARGEST_ERROR;
use crate::served::{Program, Served, size_of};
use evertally_ledger::simulated::Dice;
pub use scene::Scene;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Kills at random moments under load.
    pub kills_under_load: u64,
    /// Kills while the program recovers, right after a start; some more under load come between them.
    pub kills_in_recovery: u64,
    /// The longest time under load between two kills.
    pub longest_life: Duration,
    /// Decides the moments and the events. How they meet is for the operating system to decide, so
    /// that a run cannot be repeated exactly.
    pub seed: u64,
}

/// What a trial found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Processes killed, in both phases.
    pub kills: u64,
    /// Of these, while they recovered.
    pub kills_in_recovery: u64,
    /// Unique events, all acknowledged.
    pub events: u64,
    /// Events sent, with duplicates and retries.
    pub sent: u64,
    /// Releases seen and found unchanged at the end.
    pub releases: u64,
    /// From the start of a process until it was ready, in order.
    pub recoveries: Vec<Duration>,
    /// Bytes of the directory at the end.
    pub size: u64,
}

/// Runs a trial in a directory that is empty or not there, and tells after each kill how many there were.
///
/// # Errors
/// With a sentence that says which promise was broken, or what could not be done.
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
    let scene = Arc::new(Scene::new(ready.address, &token));
    scene.create_counters()?;
    let threads = writers::start(&scene, &mut dice).into_iter().chain(witness::start(&scene, &mut dice));
    let threads: Vec<_> = threads.collect();
    let mut recoveries = vec![ready.after];
    let (mut under_load, mut in_recovery) = (0, 0);
    let is_over = |under_load, in_recovery| {
        under_load >= extent.kills_under_load && in_recovery >= extent.kills_in_recovery
    };
    while !is_over(under_load, in_recovery) && !scene.has_failed() {
        thread::sleep(part(extent.longest_life, &mut dice));
        served.kill()?;
        under_load += 1;
        served = program.start()?;
        let median = median(&recoveries);
        // In the second phase a process seldom gets beyond its recovery.
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
        scene.moved(ready.address);
        told(under_load + in_recovery);
    }
    scene.stop_writing();
    let outcomes: Vec<_> =
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")).collect();
    outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
    scene.failure()?;
    let releases = finish(&scene, served)?;
    program.verify()?;
    let (events, sent) = scene.events();
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

/// Compares everything with what was acknowledged and seen.
fn finish(scene: &Scene, served: Served) -> Result<u64, String> {
    let mut client = scene.client();
    for (counter, expected) in scene.totals() {
        let release = last_release(&mut client, counter)?;
        let (value, error) = (&release["value"], release["standard_error"].as_f64().unwrap_or(f64::NAN));
        if error.is_nan() || error > LARGEST_ERROR {
            return Err(format!("{counter} has a standard error of {error}, too much for a comparison"));
        }
        if value.as_f64().map(f64::round) != Some(expected as f64) {
            return Err(format!("{counter} shows {value} for {expected} unique acknowledged events"));
        }
    }
    let releases = scene.seen.verify(&mut client)?;
    scene.verify_counters(&mut client)?;
    served.kill()?;
    Ok(releases)
}

/// The release of a step that was still open when all had been acknowledged.
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

/// A part of a duration, chosen at random.
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
