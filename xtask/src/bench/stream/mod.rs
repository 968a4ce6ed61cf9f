//! `cargo xtask bench stream`: compares streamed correlated noise with scipy, jax_privacy and tree
//! aggregation.
//!
//! | file | |
//! |---|---|
//! | `one` | one stream, against all peers |
//! | `wide` | a million coordinates, against jax_privacy and against the limits |
//! | `keyed` | many keys |
//! | `growth` | increasing horizons |
//! | `stages` | the parts of a step |

mod growth;
mod keyed;
mod one;
mod stages;
mod wide;

use std::path::PathBuf;

use serde_json::Value;

use super::{JAX_PACKAGES, Machine, Worker, python_with_jax, write_results};
use crate::Outcome;
use crate::process::{self, command, root};

/// The default mechanism of a plan.
const DEFAULT: &str = "markov";

/// The mechanism with the fewest numbers per lane whose error is near the optimum.
const GRADED: &str = "graded-square-root";

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
    process::build_workers()?;
    let one = one::measure(&sides)?;
    let wide = wide::measure(&sides)?;
    let keyed = keyed::measure(&sides)?;
    let growth = growth::measure(&sides)?;
    let stages = stages::measure(&sides)?;
    let machine = Machine::with_packages(JAX_PACKAGES)?;
    let sections = [&one, &wide, &keyed, &growth, &stages].map(|section| section.text.as_str()).join("\n");
    let text = format!(
        "# Streamed noise compared with its peers\n\n\
         All in one run, with alternating sides. Times are the best of several. ≈ marks a time that was measured over fewer steps and \
         extrapolated. Written by `cargo xtask bench stream`.\n\n{sections}\n{}",
        machine.line("")
    );
    let mut document = machine.document("streamed noise");
    let parts = [
        ("one_stream", one),
        ("many_coordinates", wide),
        ("keys", keyed),
        ("growth", growth),
        ("stages", stages),
    ];
    for (name, section) in parts {
        document[name] = section.figures;
    }
    write_results("stream", &document, &text)
}

/// A power of two as `2^k`.
fn power(n: u64) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

/// A number of bytes in a readable unit.
fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}
