//! Those who change something, and retry until it is acknowledged.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{BY_HAND, EXACT, FAST, NOISY, Scene, lock};
use crate::STEPS;
use crate::flood::shuffle;
use evertally_ledger::simulated::Dice;

/// The most events in a batch.
const BATCH: u64 = 60;
/// Ids of the last so many events are sent again now and then.
const MEMORY: u64 = 500;

/// Starts all of them.
pub(super) fn start(scene: &Arc<Scene>, dice: &mut Dice) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    for (number, counter) in (0..).zip([EXACT, EXACT, BY_HAND, FAST, NOISY]) {
        let (scene, dice) = (scene.clone(), Dice::new(dice.bits()));
        threads.push(thread::spawn(move || post_events(&scene, counter, number, dice)));
    }
    // A retry may close a second step where the first reply was lost.
    for (counter, most, pause) in [(BY_HAND, STEPS / 2, 1000), (FAST, u64::MAX, 5)] {
        let scene = scene.clone();
        threads.push(thread::spawn(move || advance(&scene, counter, most, Duration::from_millis(pause))));
    }
    let building = scene.clone();
    threads.push(thread::spawn(move || build(&building)));
    threads
}

/// Posts batches of new ids, of some old ones, in any order.
fn post_events(scene: &Scene, counter: &'static str, number: u64, mut dice: Dice) {
    let (mut client, mut sent) = (scene.client(), 0);
    let path = format!("/v1/counters/{counter}/events");
    while !scene.stops() {
        let new = 1 + dice.below(BATCH);
        let mut ids: Vec<u64> = (sent..sent + new).collect();
        for _ in 0..dice.below(10) {
            ids.push(sent - dice.below(sent.min(MEMORY) + 1));
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
            // Whether it arrives is left open: the same batch follows.
            let _ = client.post_and_leave(&path, "application/json", body.as_bytes());
        }
        scene.count_sent(ids.len() as u64);
        let Some(answer) =
            scene.insist(&mut client, |client| client.post_bytes(&path, "application/json", body.as_bytes()))
        else {
            return;
        };
        match answer.json() {
            Ok(receipt) if is_complete(&receipt, ids.len() as u64) => scene.acknowledge(counter, new),
            Ok(receipt) => scene.fail(format!("a receipt that does not add up: {receipt}")),
            Err(error) => scene.fail(format!("events were refused: {error}")),
        }
        sent += new;
    }
}

/// Whether every event was counted now or before.
fn is_complete(receipt: &Value, received: u64) -> bool {
    let number = |name: &str| receipt[name].as_u64().unwrap_or(0);
    number("received") == received && number("counted") + number("duplicate") == received
}

/// Closes steps by hand; what the answers hold is seen like anything else.
fn advance(scene: &Scene, counter: &str, most: u64, pause: Duration) {
    let mut client = scene.client();
    for _ in 0..most {
        if scene.stops() {
            return;
        }
        let path = format!("/v1/counters/{counter}/advance");
        let Some(answer) = scene.insist(&mut client, |client| client.post(&path, &json!({}))) else { return };
        let seen = answer.json().and_then(|answer| scene.seen.note(counter, &answer["releases"]));
        seen.unwrap_or_else(|error| scene.fail(error));
        thread::sleep(pause);
    }
}

/// Creates counters and retires every other one.
fn build(scene: &Scene) {
    let mut client = scene.client();
    for number in 0.. {
        if scene.stops() {
            return;
        }
        let name = format!("small-{number}");
        let document = Scene::small_counter(&name);
        let Some(answer) = scene.insist(&mut client, |client| client.post("/v1/counters", &document)) else {
            return;
        };
        // A conflict is what a retry gets whose first reply was lost.
        if ![201, 409].contains(&answer.status) {
            return scene.fail(format!("a counter was refused: {}", String::from_utf8_lossy(&answer.body)));
        }
        lock(&scene.created).insert(name.clone(), false);
        if number % 2 == 1 {
            let path = format!("/v1/counters/{name}/retire");
            let Some(answer) = scene.insist(&mut client, |client| client.post(&path, &json!({}))) else {
                return;
            };
            if ![200, 409].contains(&answer.status) {
                return scene.fail(format!("could not retire: {}", String::from_utf8_lossy(&answer.body)));
            }
            lock(&scene.created).insert(name, true);
        }
        thread::sleep(Duration::from_secs(2));
    }
}
