//! A trial with many events, some sent more than once: the count must be the number of unique ids.
//!
//! **Definition.** Clients post batches over HTTP. Every batch has new ids and some ids of other
//! batches. Batches and the events within them are sent out of order. Clients discard some replies
//! unread and send the batch again on a new connection, while the first may still be in flight.
//! Steps are closed meanwhile, so a duplicate often belongs to an earlier step. At the end one more
//! step is closed.
//!
//! **Promise.** The total of that step is the number of unique ids. It is compared exactly: the
//! release states its standard error s, and the trial requires s ≤ 0.0818. Noise then reaches 1/2
//! with probability below 10⁻⁹.
//!
//! **Cost.** Each client holds only one batch, because the number of a batch determines its ids.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::Client;
use crate::program::{Program, size_of};
use crate::{MAX_ERROR, STEPS, exact_counter};
use evertally_ledger::simulated::Dice;

const COUNTER: &str = "flood";
const CLIENTS: u64 = 4;
/// New ids per batch.
const BATCH: u64 = 1000;
/// Ids per batch that other batches have as well.
const REPEATED: u64 = 150;

/// The result of a flood.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Unique ids.
    pub unique: u64,
    /// Events sent, including duplicates and retries.
    pub sent: u64,
    /// Duplicates according to the receipts.
    pub duplicates: u64,
    /// Replies discarded.
    pub lost_replies: u64,
    /// Steps closed meanwhile.
    pub steps: u64,
    /// The time from the first event to the last receipt.
    pub time: Duration,
    /// The size of the directory at the end, in bytes.
    pub size: u64,
    /// The peak memory of the process.
    pub memory: Option<u64>,
}

#[derive(Default)]
struct Tally {
    sent: AtomicU64,
    duplicates: AtomicU64,
    lost: AtomicU64,
    batches_done: AtomicU64,
    is_over: AtomicBool,
}

/// Posts `events` unique events, rounded up to whole batches, to the program in a fresh directory.
/// Reports the number of acknowledged events.
///
/// # Errors
/// If the total is not the number of unique ids, or an operation fails.
pub fn run(
    binary: &Path,
    directory: &Path,
    events: u64,
    seed: u64,
    told: impl Fn(u64) + Sync,
) -> Result<Report, String> {
    let program = Program { binary: binary.to_owned(), directory: directory.to_owned(), options: Vec::new() };
    let mut served = program.start()?;
    let ready = served.ready()?;
    let token = ready.token.ok_or("the first start printed no token")?;
    let mut client = Client::new(ready.address, &token);
    create(&mut client)?;
    let batches = events.div_ceil(BATCH);
    let (tally, since) = (Tally::default(), Instant::now());
    let outcome = thread::scope(|scope| -> Result<u64, String> {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (tally, told, token) = (&tally, &told, token.as_str());
                scope.spawn(move || pour(ready.address, token, number, batches, seed, tally, told))
            })
            .collect();
        let advancing = scope.spawn(|| advance_until_over(&tally, Client::new(ready.address, &token)));
        let poured: Result<Vec<()>, String> = clients
            .into_iter()
            .map(|client| client.join().map_err(|_| "a client panicked".to_owned())?)
            .collect();
        tally.is_over.store(true, Ordering::Relaxed);
        let steps = advancing.join().map_err(|_| "the thread that advances steps panicked".to_owned())?;
        poured.and(steps)
    });
    let (steps, time) = (outcome?, since.elapsed());
    let advanced = client.post(&format!("/v1/counters/{COUNTER}/advance"), &json!({}));
    let release = advanced.map_err(|error| error.to_string())?.json()?["releases"][0].clone();
    let unique = batches * BATCH;
    let error = release["standard_error"].as_f64().unwrap_or(f64::INFINITY);
    if error > MAX_ERROR {
        return Err(format!("a standard error of {error} is too much for a comparison"));
    }
    if release["value"].as_f64().map(f64::round) != Some(unique as f64) {
        return Err(format!("{} was released for {unique} unique ids", release["value"]));
    }
    let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let memory = served.resident_memory();
    served.kill()?;
    program.verify()?;
    Ok(Report {
        unique,
        sent: load(&tally.sent),
        duplicates: load(&tally.duplicates),
        lost_replies: load(&tally.lost),
        steps: steps + 1,
        time,
        size: size_of(directory),
        memory,
    })
}

fn create(client: &mut Client) -> Result<(), String> {
    let mut post =
        |path: &str, document| client.post(path, &document).map_err(|error| error.to_string())?.json();
    post("/v1/populations", json!({"name": "trial", "rho": 1e6}))?;
    post("/v1/counters", exact_counter(COUNTER, None))?;
    Ok(())
}

/// One client: sends its share of the batches in random order.
fn pour(
    address: SocketAddr,
    token: &str,
    number: u64,
    batches: u64,
    seed: u64,
    tally: &Tally,
    told: &(impl Fn(u64) + Sync),
) -> Result<(), String> {
    let mut dice = Dice::new(seed ^ (number + 1) << 32);
    let mut mine: Vec<u64> = (number..batches).step_by(CLIENTS as usize).collect();
    shuffle(&mut mine, &mut dice);
    let path = format!("/v1/counters/{COUNTER}/events");
    let mut client = Client::new(address, token);
    for batch in mine {
        let mut ids: Vec<u64> = (batch * BATCH..(batch + 1) * BATCH).collect();
        ids.extend((0..REPEATED).map(|_| dice.below(batches * BATCH)));
        shuffle(&mut ids, &mut dice);
        let body = lines(&ids);
        while dice.once_in(10) {
            tally.lost.fetch_add(1, Ordering::Relaxed);
            tally.sent.fetch_add(ids.len() as u64, Ordering::Relaxed);
            client
                .post_and_leave(&path, "application/x-ndjson", body.as_bytes())
                .map_err(|error| error.to_string())?;
        }
        loop {
            tally.sent.fetch_add(ids.len() as u64, Ordering::Relaxed);
            let answer = client.post_bytes(&path, "application/x-ndjson", body.as_bytes());
            let answer = answer.map_err(|error| error.to_string())?;
            if [429, 503].contains(&answer.status) {
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            let receipt = answer.json()?;
            let duplicates = receipt["duplicate"].as_u64().unwrap_or(0);
            tally.duplicates.fetch_add(duplicates, Ordering::Relaxed);
            if receipt["counted"].as_u64().unwrap_or(0) + duplicates != ids.len() as u64 {
                return Err(format!("a receipt that does not add up: {receipt}"));
            }
            break;
        }
        told(BATCH * (tally.batches_done.fetch_add(1, Ordering::Relaxed) + 1));
    }
    Ok(())
}

/// Closes steps from time to time until everything is posted. Returns their number.
fn advance_until_over(tally: &Tally, mut client: Client) -> Result<u64, String> {
    let mut steps = 0;
    while !tally.is_over.load(Ordering::Relaxed) && steps < STEPS - 1 {
        thread::sleep(Duration::from_millis(20));
        let answer = client.post(&format!("/v1/counters/{COUNTER}/advance"), &json!({}));
        let answer = answer.map_err(|error| error.to_string())?;
        if ![429, 503].contains(&answer.status) {
            answer.json()?;
            steps += 1;
        }
    }
    Ok(steps)
}

/// Events as lines of JSON.
fn lines(ids: &[u64]) -> String {
    let mut lines = String::with_capacity(ids.len() * 24);
    for id in ids {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{{\"id\":\"event-{id}\"}}");
    }
    lines
}

/// Shuffles items.
pub(crate) fn shuffle<T>(items: &mut [T], dice: &mut Dice) {
    for last in (1..items.len()).rev() {
        items.swap(last, dice.below(last as u64 + 1) as usize);
    }
}
