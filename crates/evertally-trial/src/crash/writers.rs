//! The writers: threads that change something and retry until it is acknowledged.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use super::state::{BY_HAND, EXACT, FAST, NOISY, TrialState, lock};
use crate::STEPS;
use crate::flood::shuffle;
use evertally_ledger::simulated::Dice;

/// The maximum number of events per batch.
const MAX_BATCH: u64 = 60;
/// Ids of this many recent events are occasionally sent again.
const RECENT_IDS: u64 = 500;

/// Starts all writers.
pub(super) fn start(state: &Arc<TrialState>, dice: &mut Dice) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    for (number, counter) in (0..).zip([EXACT, EXACT, BY_HAND, FAST, NOISY]) {
        let (state, dice) = (state.clone(), Dice::new(dice.bits()));
        threads.push(thread::spawn(move || post_events(&state, counter, number, dice)));
    }
    // If the first reply was lost, a retry may close a second step.
    for (counter, most, pause) in [(BY_HAND, STEPS / 2, 1000), (FAST, u64::MAX, 5)] {
        let state = state.clone();
        threads.push(thread::spawn(move || advance(&state, counter, most, Duration::from_millis(pause))));
    }
    let building = state.clone();
    threads.push(thread::spawn(move || build(&building)));
    threads
}

/// Posts batches of new ids and some old ones, in any order.
fn post_events(state: &TrialState, counter: &'static str, number: u64, mut dice: Dice) {
    let (mut client, mut sent) = (state.client(), 0);
    let path = format!("/v1/counters/{counter}/events");
    while !state.stops() {
        let new = 1 + dice.below(MAX_BATCH);
        let mut ids: Vec<u64> = (sent..sent + new).collect();
        for _ in 0..dice.below(10) {
            ids.push(sent - dice.below(sent.min(RECENT_IDS) + 1));
        }
        shuffle(&mut ids, &mut dice);
        let event = |id: &u64| {
            let mut event = json!({"id": format!("{number}-{id}")});
            if counter == FAST {
                event["key"] = json!(["a", "another"][(id % 2) as usize]);
            }
            event
        };
        let body = Value::Array(ids.iter().map(event).collect()).to_string();
        if dice.once_in(8) {
            // It may or may not arrive. The same batch follows.
            let _ = client.post_and_leave(&path, "application/json", body.as_bytes());
        }
        state.count_sent(ids.len() as u64);
        let Some(answer) =
            state.retry(&mut client, |client| client.post_bytes(&path, "application/json", body.as_bytes()))
        else {
            return;
        };
        match answer.json() {
            Ok(receipt) if is_complete(&receipt, ids.len() as u64) => state.acknowledge(counter, new),
            Ok(receipt) => state.fail(format!("a receipt that does not add up: {receipt}")),
            Err(error) => state.fail(format!("events were refused: {error}")),
        }
        sent += new;
    }
}

/// Whether every event was counted now or before.
fn is_complete(receipt: &Value, received: u64) -> bool {
    let number = |name: &str| receipt[name].as_u64().unwrap_or(0);
    number("received") == received && number("counted") + number("duplicate") == received
}

/// Closes steps by hand. Its releases are recorded like all others.
fn advance(state: &TrialState, counter: &str, most: u64, pause: Duration) {
    let mut client = state.client();
    for _ in 0..most {
        if state.stops() {
            return;
        }
        let path = format!("/v1/counters/{counter}/advance");
        let Some(answer) = state.retry(&mut client, |client| client.post(&path, &json!({}))) else { return };
        let seen = answer.json().and_then(|answer| state.observed.note(counter, &answer["releases"]));
        seen.unwrap_or_else(|error| state.fail(error));
        thread::sleep(pause);
    }
}

/// Creates counters and retires every other one.
fn build(state: &TrialState) {
    let mut client = state.client();
    for number in 0.. {
        if state.stops() {
            return;
        }
        let name = format!("small-{number}");
        let document = TrialState::small_counter(&name);
        let Some(answer) = state.retry(&mut client, |client| client.post("/v1/counters", &document)) else {
            return;
        };
        // A retry after a lost reply gets a conflict.
        if ![201, 409].contains(&answer.status) {
            return state.fail(format!("a counter was refused: {}", String::from_utf8_lossy(&answer.body)));
        }
        lock(&state.created).insert(name.clone(), false);
        if number % 2 == 1 {
            let path = format!("/v1/counters/{name}/retire");
            let Some(answer) = state.retry(&mut client, |client| client.post(&path, &json!({}))) else {
                return;
            };
            if ![200, 409].contains(&answer.status) {
                return state.fail(format!("could not retire: {}", String::from_utf8_lossy(&answer.body)));
            }
            lock(&state.created).insert(name, true);
        }
        thread::sleep(Duration::from_secs(2));
    }
}
