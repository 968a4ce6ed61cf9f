//! One number a step for each of many keys.

use serde_json::json;

use super::super::duration;
use super::{Section, Sides, size};

const KEYS: u64 = 10_000;
const STEPS: u64 = 1000;
const ROUNDS: usize = 3;

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    let mut worker = sides.ours()?;
    let planned = worker.ask(&format!("keyed-bytes {KEYS} {STEPS}"))?;
    let (mut seconds, mut resident, mut peak) = (f64::INFINITY, 0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        // A fresh process, so that memory is counted that an earlier round left behind.
        let mut worker = sides.ours()?;
        seconds = seconds.min(worker.ask(&format!("keyed {KEYS} {STEPS}"))?);
        resident = resident.max(worker.ask("resident")? / KEYS as f64);
        peak = peak.max(worker.ask("peak")? / KEYS as f64);
        eprintln!("{KEYS} keys: {}", duration(seconds));
    }
    let releases = (KEYS * STEPS) as f64 / seconds;
    let text = format!(
        "## Many keys\n\n`KeyedCounter::step` with an input for every key.\n\n\
         | keys | steps | time | releases/s | bytes a key, planned | resident | at most |\n|--:|--:|--:|--:|--:|--:|--:|\n\
         | {KEYS} | {STEPS} | {} | {:.1} M | {} | {} | {} |\n\n\
         - **resident**: what the process holds for the counter after its last step, names not counted; **at most** has what a step \
         hands out, too.\n",
        duration(seconds),
        releases / 1e6,
        size(planned),
        size(resident),
        size(peak),
    );
    let figures = json!({
        "keys": KEYS,
        "steps": STEPS,
        "seconds": seconds,
        "releases_per_second": releases,
        "planned_bytes_per_key": planned,
        "resident_bytes_per_key": resident,
        "peak_bytes_per_key": peak,
    });
    Ok(Section { text, figures })
}
