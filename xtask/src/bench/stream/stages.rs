//! What a step consists of, and so what holds each figure back.

use std::fmt::Write as _;

use serde_json::json;

use super::{DEFAULT, Section, Sides, power};

const HORIZON: u64 = 1 << 20;
const WIDTH: u64 = 1_000_000;

/// A part of a step, in nanoseconds.
type Part = (&'static str, f64);

const ONE: [&str; 6] = ["all", "row-by-row", "white", "keystream", "grades", "silent"];
const MANY: [&str; 7] = ["all-f32", "all-f64", "white-f32", "white-f64", "tiles", "keystream", "silent-f64"];

/// Everything is timed in turns, so that parts can be taken from each other on a busy machine.
const ROUNDS: usize = 3;

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    let mut worker = sides.ours_on_one_thread()?;
    let (mut ones, mut manys) = ([f64::INFINITY; ONE.len()], [f64::INFINITY; MANY.len()]);
    for round in 1..=ROUNDS {
        for (best, stage) in ones.iter_mut().zip(ONE) {
            *best = best.min(worker.ask(&format!("stage {stage} {HORIZON}"))? * 1e9);
        }
        for (best, stage) in manys.iter_mut().zip(MANY) {
            *best = best.min(worker.ask(&format!("wide-stage {stage} {DEFAULT} {WIDTH}"))? * 1e9);
        }
        eprintln!("stages: round {round} of {ROUNDS}");
    }
    let [all, row_by_row, white, keystream, grades, silent] = ones;
    let one = [
        ("key stream", keystream),
        ("normals from it", white - keystream),
        ("grades", grades),
        ("decays and the rest", all - white - grades),
    ];
    let [all_f32, all_f64, white_f32, white_f64, tiles, keystream, silent_f64] = manys;
    let many = [("f32", all_f32, white_f32), ("f64", all_f64, white_f64)].map(|(precision, all, white)| {
        let parts = [
            ("key stream", keystream),
            ("normals from it", white - keystream),
            ("drawing in tiles rather than at a stretch", tiles - white),
            ("decays, grades and memory", all - tiles),
        ];
        (precision, all, parts)
    });
    let mut text = format!(
        "## What holds each figure back\n\nEvery part timed alone, on one thread, in nanoseconds a step and value. What is left over is \
         the last part of each list.\n\n\
         - **One stream**, n = {}: {}. Row by row it takes {row_by_row:.1}; row by row without drawing, {silent:.1}.\n",
        power(HORIZON),
        list(all, &one),
    );
    for (precision, all, parts) in &many {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- **A million coordinates**, {precision}: {}.", list(*all, parts));
    }
    let _ = writeln!(
        text,
        "\nWithout drawing, a million coordinates take {silent_f64:.1} a value (f64, with a copy of each row)."
    );
    let figures = json!({
        "one_stream": document("f64", all, &one),
        "row_by_row_ns": row_by_row,
        "row_by_row_silent_ns": silent,
        "many_coordinates": many.each_ref().map(|(precision, all, parts)| document(precision, *all, parts)),
        "many_coordinates_silent_ns": silent_f64,
    });
    Ok(Section { text, figures })
}

fn list(all: f64, parts: &[Part]) -> String {
    let parts: Vec<String> =
        parts.iter().map(|(name, part)| format!("{name} {part:.1} ({:.0} %)", part / all * 100.0)).collect();
    format!("{all:.1} in all: {}", parts.join(", "))
}

fn document(precision: &str, all: f64, parts: &[Part]) -> serde_json::Value {
    let parts: Vec<_> = parts.iter().map(|(name, part)| json!({ "part": name, "ns": part })).collect();
    json!({ "precision": precision, "all_ns": all, "parts": parts })
}
