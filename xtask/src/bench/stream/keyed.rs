//! One number per step for each of many keys.

use std::fmt::Write as _;

use serde_json::json;

use super::super::duration;
use super::{DEFAULT, GRADED, Section, Sides, size};

const KEYS: u64 = 1_000_000;
const STEPS: u64 = 1000;
const ROUNDS: usize = 2;

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    let mut text = String::from(
        "## Many keys\n\n`KeyedCounter::step_into` in floats, with an input and a release for every key.\n\n\
         | | keys | steps | time | releases/s | bytes per key, planned | resident | peak |\n|:--|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut figures = Vec::new();
    for mechanism in [DEFAULT.to_owned(), GRADED.to_owned(), format!("{GRADED}:6")] {
        let planned = sides.ours()?.ask(&format!("keyed-bytes {mechanism} {KEYS} {STEPS}"))?;
        let (mut seconds, mut resident, mut peak) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            // A fresh process, because memory that an earlier round left behind would not be
            // counted.
            let mut worker = sides.ours()?;
            seconds = seconds.min(worker.ask(&format!("keyed {mechanism} {KEYS} {STEPS}"))?);
            resident = resident.max(worker.ask("resident")? / KEYS as f64);
            peak = peak.max(worker.ask("peak")? / KEYS as f64);
            eprintln!("{KEYS} keys: {mechanism} in {}", duration(seconds));
        }
        let releases = (KEYS * STEPS) as f64 / seconds;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| **evertally, {mechanism}** | {KEYS} | {STEPS} | {} | {:.1} M | {} | {} | {} |",
            duration(seconds),
            releases / 1e6,
            size(planned),
            size(resident),
            size(peak),
        );
        figures.push(json!({
            "mechanism": mechanism,
            "keys": KEYS,
            "steps": STEPS,
            "seconds": seconds,
            "releases_per_second": releases,
            "planned_bytes_per_key": planned,
            "resident_bytes_per_key": resident,
            "peak_bytes_per_key": peak,
        }));
    }
    text.push_str(
        "\n- **resident**: the memory of the counter after its last step, and **peak** during a step. Names, inputs and \
         releases belong to the caller.\n",
    );
    Ok(Section { text, figures: figures.into() })
}
