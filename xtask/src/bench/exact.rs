//! `cargo xtask bench exact`: compares exact integer noise, and the releases made with it, with
//! OpenDP.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Machine, Worker, duration, write_results};
use crate::Outcome;
use crate::process::{self, command, root};
use crate::venv;

const PACKAGES: [&str; 1] = ["opendp==0.16.0"];
/// Scales from 1 to the one at which counters draw.
const SCALES: [u64; 3] = [1, 1000, COUNTER_SCALE];
const COUNTER_SCALE: u64 = 1 << 44;
const HORIZON: u64 = 1 << 20;
const KEYS: u64 = 1000;

/// The extent of a measurement.
struct Extent {
    rounds: usize,
    our_draws: u64,
    their_draws: u64,
    steps: u64,
    keyed_steps: u64,
}

const FULL: Extent =
    Extent { rounds: 7, our_draws: 4_000_000, their_draws: 100_000, steps: HORIZON, keyed_steps: 2000 };
const QUICK: Extent =
    Extent { rounds: 2, our_draws: 200_000, their_draws: 10_000, steps: 1 << 16, keyed_steps: 100 };

/// One way to make noise or releases: the rate per second, and the ratio to OpenDP's rate.
struct Row {
    name: String,
    is_ours: bool,
    per_second: f64,
    beside: f64,
}

/// A table of rows that were measured alternately.
struct Table {
    title: String,
    rows: Vec<Row>,
}

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let tables = measure(if is_quick { &QUICK } else { &FULL })?;
    let (text, document) = results(&tables)?;
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    write_results("exact", &document, &text)
}

fn measure(extent: &Extent) -> Result<Vec<Table>, String> {
    let python = venv::python("bench-opendp", &PACKAGES)?;
    process::build_workers()?;
    // OpenDP draws on one thread, so this side does as well.
    let worker = root().join("target/release/bench-exact");
    let mut ours = Worker::start(command(worker).env("RAYON_NUM_THREADS", "1"))?;
    let mut theirs = Worker::start(command(&python).arg("bench/exact.py"))?;
    let mut tables = Vec::new();
    for scale in SCALES {
        let tasks = [
            ("of 1000 lanes", "across"),
            ("of one lane, 64 steps at a time", "along"),
            ("of one lane, one by one", "one-by-one"),
            ("Laplace, of 1000 lanes", "laplace"),
        ]
        .map(|(name, task)| (name, format!("{task} {scale} {}", extent.our_draws), extent.our_draws));
        let title = format!("Draws at scale {}", shown(scale));
        tables.push(beside(&mut ours, &mut theirs, extent, scale, title, &tasks)?);
    }
    let releases = KEYS * extent.keyed_steps;
    let Extent { our_draws, steps, keyed_steps, .. } = *extent;
    let keyed = "`KeyedCounter::step_into` of 1000 keys, a release each";
    let tasks = [
        ("`Counter::step`, a release each", format!("counter {HORIZON} {steps}"), steps),
        (keyed, format!("keyed {HORIZON} {KEYS} {keyed_steps}"), releases),
        ("draws in floats, of 1000 lanes", format!("floats {our_draws}"), our_draws),
        ("`NoiseStream`, correlated in floats", format!("float-stream {HORIZON} {steps}"), steps),
    ];
    let title = "Releases, and noise in floats".to_owned();
    tables.push(beside(&mut ours, &mut theirs, extent, COUNTER_SCALE, title, &tasks)?);
    Ok(tables)
}

/// Measures both sides alternately, and takes the best of several rounds.
fn beside(
    ours: &mut Worker,
    theirs: &mut Worker,
    extent: &Extent,
    scale: u64,
    title: String,
    tasks: &[(&str, String, u64)],
) -> Result<Table, String> {
    let mut best = vec![f64::INFINITY; tasks.len()];
    let mut their_best = f64::INFINITY;
    for _ in 0..extent.rounds {
        for (best, (_, task, _)) in best.iter_mut().zip(tasks) {
            *best = best.min(ours.ask(task)?);
        }
        their_best = their_best.min(theirs.ask(&format!("draws {scale} {}", extent.their_draws))?);
    }
    let their_rate = extent.their_draws as f64 / their_best;
    let mut rows = Vec::new();
    for ((name, _, count), seconds) in tasks.iter().zip(best) {
        let per_second = *count as f64 / seconds;
        let name = (*name).to_owned();
        rows.push(Row { name, is_ours: true, per_second, beside: per_second / their_rate });
    }
    let name = format!("OpenDP, draws at scale {}", shown(scale));
    rows.push(Row { name, is_ours: false, per_second: their_rate, beside: 1.0 });
    eprintln!("{title}: {} and {} each", duration(1.0 / rows[0].per_second), duration(1.0 / their_rate));
    Ok(Table { title, rows })
}

fn results(tables: &[Table]) -> Result<(String, Value), String> {
    let mut text = String::from(
        "# Exact noise compared with OpenDP\n\n\
         Discrete Gaussian noise on integers, drawn exactly by both sides on one thread each, alternately in one run: the \
         best of several. Written by `cargo xtask bench exact`.\n",
    );
    let mut figures = Vec::new();
    for Table { title, rows } in tables {
        // Writing to a string cannot fail.
        let _ =
            write!(text, "\n## {title}\n\n| | per second | each | ratio to OpenDP |\n|:--|--:|--:|--:|\n");
        for row in rows {
            let name = if row.is_ours { format!("**{}**", row.name) } else { row.name.clone() };
            let (rate, each) = (shown_rate(row.per_second), duration(1.0 / row.per_second));
            let _ = writeln!(text, "| {name} | {rate} | {each} | {:.0} × |", row.beside);
            figures.push(json!({
                "table": title,
                "name": row.name,
                "per_second": row.per_second,
                "beside_opendp": row.beside,
            }));
        }
    }
    let machine = Machine::with_packages(PACKAGES)?;
    let _ = write!(
        text,
        "\n- **OpenDP**: `make_gaussian` over a vector of 64-bit integers, all zero, in one call from Python.\n\
         - **Releases**: prefix sums at n = 2^20, ε = 1, δ = 1e-6, by the default mechanism of a plan: draws, their \
         correlation and the totals. They are compared with single draws of OpenDP, of which a step would need at least one.\n\
         - **Floats**: the same noise if it need not be exact.\n\n{}",
        machine.line("")
    );
    let mut document = machine.document("exact noise");
    document["results"] = figures.into();
    Ok((text, document))
}

fn shown(scale: u64) -> String {
    if scale > 1 && scale.is_power_of_two() { format!("2^{}", scale.ilog2()) } else { scale.to_string() }
}

fn shown_rate(per_second: f64) -> String {
    if per_second >= 1e6 {
        format!("{:.1} M", per_second / 1e6)
    } else {
        format!("{:.1} k", per_second / 1e3)
    }
}
