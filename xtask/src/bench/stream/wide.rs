//! A million coordinates per step, compared with jax_privacy, white noise, and writes to memory.

use std::fmt::Write as _;

use serde_json::json;

use super::super::{Worker, duration};
use super::{DEFAULT, GRADED, Section, Sides, size};

const WIDTH: u64 = 1_000_000;
const HORIZON: u64 = 1000;
/// The steps of one run. Short runs alternate more often, so that a busy minute does not affect
/// only one side.
const STEPS: u64 = 200;
const ROUNDS: usize = 10;
/// The number of decays, equal to the peer's buffers, if this version lets it be chosen.
const BUFFERS: u64 = 8;

struct Row {
    label: String,
    precision: &'static str,
    is_ours: bool,
    request: String,
    worker: Worker,
    error: f64,
    seconds: f64,
    peak: f64,
}

/// The best seconds of a million values.
struct Limits {
    white: f64,
    write: f64,
    peer_white: f64,
}

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    let mut rows = rows(sides)?;
    let (mut ours, mut theirs) = (sides.ours()?, sides.theirs()?);
    let mut limits =
        [(); 2].map(|()| Limits { white: f64::INFINITY, write: f64::INFINITY, peer_white: f64::INFINITY });
    for round in 0..ROUNDS {
        for row in &mut rows {
            row.seconds = row.seconds.min(row.worker.ask(&row.request)? / STEPS as f64);
            if round == 0 {
                row.peak = row.worker.ask("peak")?;
            }
            eprintln!("d = {WIDTH}: {} {} in {} per step", row.label, row.precision, duration(row.seconds));
        }
        for (limits, (own, theirs_)) in limits.iter_mut().zip([("f32", "float32"), ("f64", "float64")]) {
            limits.white = limits.white.min(ours.time(&format!("white {own}"), WIDTH as usize)?);
            limits.write = limits.write.min(ours.time(&format!("write {own}"), WIDTH as usize)?);
            limits.peer_white =
                limits.peer_white.min(theirs.time(&format!("white {theirs_}"), WIDTH as usize)?);
        }
    }
    Ok(Section { text: text(&rows, &limits), figures: figures(&rows, &limits) })
}

fn rows(sides: &Sides) -> Result<Vec<Row>, String> {
    let row = |label: String, precision, is_ours, request, worker, error| Row {
        label,
        precision,
        is_ours,
        request,
        worker,
        error,
        seconds: f64::INFINITY,
        peak: 0.0,
    };
    let mut rows = Vec::new();
    for mechanism in [DEFAULT.to_owned(), GRADED.to_owned(), format!("{GRADED}:{BUFFERS}")] {
        for precision in ["f32", "f64"] {
            let mut worker = sides.ours()?;
            // The numbers per lane: the decays, and one for the grades.
            let held = worker.ask(&format!("rows {mechanism} {HORIZON}"))?;
            if mechanism != GRADED && worker.text(&format!("name {mechanism} {HORIZON}"))? != mechanism {
                continue;
            }
            let error = worker.ask(&format!("error {mechanism} {HORIZON}"))?;
            let label = format!("**evertally, {mechanism}** ({held:.0} numbers per coordinate)");
            let request = format!("wide {precision} {mechanism} {WIDTH} {STEPS}");
            rows.push(row(label, precision, true, request, worker, error));
        }
    }
    for (precision, dtype) in [("f32", "float32"), ("f64", "float64")] {
        let label = format!("jax_privacy, BLT with {BUFFERS} buffers");
        let request = format!("wide {dtype} {BUFFERS} {WIDTH} {STEPS}");
        // Another process, so that its memory is not part of the measurement.
        let error = sides.theirs()?.ask(&format!("error wide {BUFFERS}"))?;
        rows.push(row(label, precision, false, request, sides.theirs()?, error));
    }
    Ok(rows)
}

fn text(rows: &[Row], limits: &[Limits; 2]) -> String {
    let mut text = format!(
        "## A million coordinates\n\nA step of {WIDTH} coordinates over a horizon of {HORIZON}, including draws: the best of {ROUNDS} alternating runs of {STEPS} steps.\n\n\
         | | precision | per step | values/s | mean error | peak memory | jax_privacy / this | this / white |\n|:--|:--|--:|--:|--:|--:|--:|--:|\n"
    );
    for row in rows {
        let (ratio, over_white) = if row.is_ours {
            (format!("{:.2}", peer(rows, row.precision) / row.seconds), limit(limits, row.precision).white)
        } else {
            (String::new(), limit(limits, row.precision).peer_white)
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} M | {:.3} | {} | {ratio} | {:.2} |",
            row.label,
            row.precision,
            duration(row.seconds),
            WIDTH as f64 / row.seconds / 1e6,
            row.error,
            size(row.peak),
            row.seconds / over_white,
        );
    }
    text.push_str(
        "\n| precision | white noise | jax white noise | memory write | white / write |\n|:--|--:|--:|--:|--:|\n",
    );
    for (limits, precision) in limits.iter().zip(["f32", "f64"]) {
        let _ = writeln!(
            text,
            "| {precision} | {} | {} | {} | {:.1} |",
            duration(limits.white),
            duration(limits.peer_white),
            duration(limits.write),
            limits.white / limits.write,
        );
    }
    text.push_str(
        "\n- **evertally**: `NoiseStream::next`; ChaCha20 and Box–Muller in double precision, with correct tails down to 2^-64.\n\
         - **jax_privacy**: `inverse_as_streaming_matrix` and `jax.random.normal` in the same precision, all steps in one compiled scan; \
         called step by step it takes more than twice as long. It uses Threefry, and a single-precision draw has 23 bits, so none lies \
         beyond 5.5 σ.\n\
         - **white**: `WhiteNoise::fill_parallel` into existing memory, on all threads; in jax, `jax.random.normal` alone.\n\
         - **memory write**: a constant written to the same memory on all threads. A million numbers fit the caches.\n",
    );
    text
}

fn peer(rows: &[Row], precision: &str) -> f64 {
    let peers = rows.iter().filter(|row| !row.is_ours && row.precision == precision);
    peers.map(|row| row.seconds).fold(f64::INFINITY, f64::min)
}

fn limit<'a>(limits: &'a [Limits; 2], precision: &str) -> &'a Limits {
    &limits[usize::from(precision == "f64")]
}

fn figures(rows: &[Row], limits: &[Limits; 2]) -> serde_json::Value {
    let results: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "request": row.request,
                "is_peer": !row.is_ours,
                "precision": row.precision,
                "seconds_per_step": row.seconds,
                "mean_error": row.error,
                "peak_bytes": row.peak,
                "peer_over_this": row.is_ours.then(|| peer(rows, row.precision) / row.seconds),
                "this_over_white": row.is_ours.then(|| row.seconds / limit(limits, row.precision).white),
            })
        })
        .collect();
    let limits: Vec<_> = limits
        .iter()
        .zip(["f32", "f64"])
        .map(|(limits, precision)| {
            json!({
                "precision": precision,
                "white_seconds": limits.white,
                "jax_white_seconds": limits.peer_white,
                "write_seconds": limits.write,
                "white_over_write": limits.white / limits.write,
            })
        })
        .collect();
    json!({ "width": WIDTH, "horizon": HORIZON, "steps_per_run": STEPS, "results": results, "limits": limits })
}
