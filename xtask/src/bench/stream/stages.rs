//! The parts of a step, and their shares of each figure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use super::{Section, Sides, power};

const HORIZON: u64 = 1 << 20;
const WIDTH: u64 = 1_000_000;

/// The groups of stages of the worker, their sizes, and the stages.
const GROUPS: [(&str, u64, &[&str]); 3] = [
    ("one", HORIZON, &["all", "row-by-row", "white", "white-8-rounds", "grades", "silent"]),
    (
        "wide",
        WIDTH,
        &[
            "all-f32",
            "all-f64",
            "white-f32",
            "white-f64",
            "white-8-rounds-f32",
            "white-8-rounds-f64",
            "tiles-f32",
            "tiles-f64",
            "silent-f64",
        ],
    ),
    ("keyed", WIDTH, &["all", "white", "white-by-eights"]),
];

/// The number of rounds. All stages alternate, so that their differences are meaningful on a busy
/// machine.
const ROUNDS: usize = 5;

/// A figure and its parts, in nanoseconds.
struct Breakdown {
    name: String,
    all: f64,
    parts: Vec<(&'static str, f64)>,
}

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    let mut worker = sides.ours_on_one_thread()?;
    let mut best: BTreeMap<String, f64> = BTreeMap::new();
    for round in 1..=ROUNDS {
        for (group, count, stages) in GROUPS {
            for stage in stages {
                let seconds = worker.ask(&format!("stage {group} {stage} {count}"))?;
                let best = best.entry(format!("{group} {stage}")).or_insert(f64::INFINITY);
                *best = best.min(seconds * 1e9);
            }
        }
        eprintln!("stages: round {round} of {ROUNDS}");
    }
    let breakdowns = breakdowns(&|stage| best.get(stage).copied().unwrap_or(f64::NAN));
    let mut text = String::from(
        "## Parts of each figure\n\nEvery part is timed alone, on one thread, in nanoseconds per step and value. The last part of \
         each list is the remainder.\n\n",
    );
    for breakdown in &breakdowns {
        let parts: Vec<String> = breakdown
            .parts
            .iter()
            .map(|(name, part)| format!("{name} {part:.1} ({:.0} %)", part / breakdown.all * 100.0))
            .collect();
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "- **{}**: {:.1} in total: {}.", breakdown.name, breakdown.all, parts.join(", "));
    }
    let _ = writeln!(
        text,
        "\nThe time of the key stream is the difference between twenty and eight rounds of the cipher, times twenty twelfths. Row by row, one stream takes {:.1}; \
         without drawing, {:.1}. Without drawing, many coordinates take {:.1} (f64, with a copy of each row).",
        best["one row-by-row"], best["one silent"], best["wide silent-f64"]
    );
    let breakdowns: Vec<_> = breakdowns
        .iter()
        .map(|breakdown| {
            let parts: Vec<_> =
                breakdown.parts.iter().map(|(name, part)| json!({ "part": name, "ns": part })).collect();
            json!({ "name": breakdown.name, "all_ns": breakdown.all, "parts": parts })
        })
        .collect();
    Ok(Section { text, figures: json!({ "breakdowns": breakdowns, "stages_ns": best }) })
}

fn breakdowns(best: &dyn Fn(&str) -> f64) -> Vec<Breakdown> {
    let keystream = |twenty: f64, eight: f64| (twenty - eight) * 20.0 / 12.0;
    let (all, white, grades) = (best("one all"), best("one white"), best("one grades"));
    let words = keystream(white, best("one white-8-rounds"));
    let mut breakdowns = vec![Breakdown {
        name: format!("One stream, n = {}", power(HORIZON)),
        all,
        parts: vec![
            ("key stream", words),
            ("normals from it", white - words),
            ("grades", grades),
            ("decays and the rest", all - white - grades),
        ],
    }];
    for precision in ["f32", "f64"] {
        let best = |stage: &str| best(&format!("wide {stage}-{precision}"));
        let (all, white, tiles) = (best("all"), best("white"), best("tiles"));
        let words = keystream(white, best("white-8-rounds"));
        breakdowns.push(Breakdown {
            name: format!("A million coordinates, {precision}"),
            all,
            parts: vec![
                ("key stream", words),
                ("normals from it", white - words),
                ("drawing in tiles rather than at a stretch", tiles - white),
                ("decays, grades and memory", all - tiles),
            ],
        });
    }
    let (all, white, eighths) = (best("keyed all"), best("keyed white"), best("keyed white-by-eights"));
    breakdowns.push(Breakdown {
        name: "A million keys".to_owned(),
        all,
        parts: vec![
            ("white noise", eighths),
            ("using one draw of the eight in a block", white - eighths),
            ("decays, totals, rounding and memory", all - white),
        ],
    });
    breakdowns
}
