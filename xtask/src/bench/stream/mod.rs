//! `cargo xtask bench stream`: correlated noise as it is streamed, beside scipy, jax_privacy and
//! tree aggregation.
//!
//! | file | |
//! |---|---|
//! | `one` | one stream, against all peers |
//! | `wide` | a million coordinates, against jax_privacy and against the limits |
//! | `keyed` | many keys |
//! | `growth` | longer and longer horizons |
//! | `stages` | what a step consists of |

mod growth;
mod keyed;
mod one;
mod stages;
mod wide;

use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use super::{JAX_PACKAGES, Worker, processor, python_with_jax, write_results};
use crate::Outcome;
use crate::process::{self, cargo, command, output, root};

/// The mechanism that a plan takes by itself.
const DEFAULT: &str = "graded-square-root";

/// One part of the results.
struct Section {
    text: String,
    figures: Value,
}

/// The programs that are timed.
struct Sides {
    python: PathBuf,
}

impl Sides {
    fn ours(&self) -> Result<Worker, String> {
        Worker::start(&mut command(root().join("target/release/bench-stream")))
    }

    fn ours_on_one_thread(&self) -> Result<Worker, String> {
        Worker::start(command(root().join("target/release/bench-stream")).env("RAYON_NUM_THREADS", "1"))
    }

    fn theirs(&self) -> Result<Worker, String> {
        Worker::start(command(&self.python).arg("bench/stream.py"))
    }
}

pub(crate) fn run() -> Outcome {
    let sides = Sides { python: python_with_jax()? };
    eprintln!("building the release worker");
    process::run(cargo().args(["build", "--quiet", "--release", "--package", "evertally-bench"]))?;
    let one = one::measure(&sides)?;
    let wide = wide::measure(&sides)?;
    let keyed = keyed::measure(&sides)?;
    let growth = growth::measure(&sides)?;
    let stages = stages::measure(&sides)?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (processor, version) = (processor(), env!("CARGO_PKG_VERSION"));
    let rustc = output(command("rustc").arg("--version"))?;
    let python = output(command("python3").arg("--version"))?;
    let packages = JAX_PACKAGES.map(|package| package.replace("==", " ")).join(", ");
    let sections = [&one, &wide, &keyed, &growth, &stages].map(|section| section.text.as_str()).join("\n");
    let text = format!(
        "# Streamed noise beside its peers\n\n\
         All in one run, the sides in turns. Times are the best of several; ≈ marks one that was measured over fewer steps and \
         extended in proportion. Written by `cargo xtask bench stream`.\n\n{sections}\n\
         {cores} cores ({processor}); evertally {version}, {rustc}, {python}, {packages}.\n"
    );
    let document = json!({
        "benchmark": "streamed noise",
        "cores": cores,
        "processor": processor,
        "versions": { "evertally": version, "rustc": rustc, "python": python, "packages": packages },
        "one_stream": one.figures,
        "many_coordinates": wide.figures,
        "keys": keyed.figures,
        "growth": growth.figures,
        "stages": stages.figures,
    });
    println!("{text}");
    write_results("stream", &document, &text)
}

/// A power of two as such.
fn power(n: u64) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

/// Bytes in the unit that a reader can take in.
fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}
