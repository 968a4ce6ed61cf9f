//! The observers: readers and followers that record every release.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::state::{COUNTERS, TrialState, lock};
use crate::http::Client;
use evertally_ledger::simulated::Dice;

/// The number of steps per request.
const RANGE: u64 = 500;

/// Every observed release as it was written: the whole document by counter, step and key.
#[derive(Debug, Default)]
pub(super) struct Observed {
    releases: Mutex<BTreeMap<(String, u64, String), String>>,
}

impl Observed {
    /// Records releases. A release that was observed before must be the same to the byte.
    pub(super) fn note(&self, counter: &str, releases: &Value) -> Result<(), String> {
        for release in releases.as_array().into_iter().flatten() {
            let step =
                release["step"].as_u64().ok_or_else(|| format!("a release without a step: {release}"))?;
            let (key, text) = (release["key"].to_string(), release.to_string());
            let mut seen = lock(&self.releases);
            let before = seen.entry((counter.to_owned(), step, key)).or_insert_with(|| text.clone());
            if *before != text {
                return Err(format!("a release of {counter} was {before} and is {text}"));
            }
        }
        Ok(())
    }

    /// Requests every step of every counter once more, and checks that every observed release is
    /// still there. Returns their number.
    pub(super) fn verify(&self, client: &mut Client) -> Result<u64, String> {
        let mut missing = lock(&self.releases).clone();
        let seen = missing.len() as u64;
        for counter in COUNTERS {
            let steps = missing.keys().filter(|(name, ..)| name == counter).map(|(_, step, _)| *step);
            let Some(last) = steps.max() else { continue };
            for first in (0..=last).step_by(RANGE as usize) {
                let releases = ask(client, counter, first)?;
                self.note(counter, &releases)?;
                for release in releases.as_array().into_iter().flatten() {
                    let step = release["step"].as_u64().unwrap_or(u64::MAX);
                    missing.remove(&(counter.to_owned(), step, release["key"].to_string()));
                }
            }
        }
        match missing.first_key_value() {
            None => Ok(seen),
            Some(((counter, step, _), _)) => {
                Err(format!("step {step} of {counter} was seen and is no longer there"))
            }
        }
    }
}

/// Starts the readers and the followers. The trial does not wait for followers, because their
/// connection may be silent for a while.
pub(super) fn start(state: &Arc<TrialState>, dice: &mut Dice) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    for counter in COUNTERS {
        let (asking, following, dice) = (state.clone(), state.clone(), Dice::new(dice.bits()));
        threads.push(thread::spawn(move || read(&asking, counter, dice)));
        thread::spawn(move || follow(&following, counter));
    }
    threads
}

/// Requests ranges of releases, both recent and earlier ones.
fn read(state: &TrialState, counter: &str, mut dice: Dice) {
    let (mut client, mut last) = (state.client(), 0);
    while !state.stops() {
        let first = if dice.once_in(3) { dice.below(last + 1) } else { last };
        match ask(&mut client, counter, first) {
            Ok(releases) => {
                let newest = releases.as_array().and_then(|releases| releases.last()?["step"].as_u64());
                last = newest.map_or(last, |newest| newest.max(last));
                state.observed.note(counter, &releases).unwrap_or_else(|error| state.fail(error));
            }
            Err(_) => client = state.client(),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn ask(client: &mut Client, counter: &str, first: u64) -> Result<Value, String> {
    let path = format!("/v1/counters/{counter}/releases?first={first}&last={}", first + RANGE - 1);
    let answer = client.get(&path).map_err(|error| error.to_string())?;
    Ok(answer.json()?["releases"].clone())
}

/// Follows the live releases, and reconnects whenever the connection ends.
fn follow(state: &TrialState, counter: &str) {
    while !state.stops() {
        thread::sleep(Duration::from_millis(10));
        let Ok(lines) = state.client().follow(&format!("/v1/counters/{counter}/live")) else { continue };
        for line in lines.map_while(Result::ok) {
            let Some(data) = line.strip_prefix("data:") else { continue };
            let Ok(document) = serde_json::from_str::<Value>(data) else { continue };
            state.observed.note(counter, &document["releases"]).unwrap_or_else(|error| state.fail(error));
            if state.stops() {
                return;
            }
        }
    }
}
