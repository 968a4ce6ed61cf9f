//! `cargo xtask bench noise`: compares square-root noise with scipy.

use std::fmt::Write as _;

use serde_json::json;

use super::{Machine, Worker, duration};
use crate::Outcome;
use crate::process::{self, command, root};
use crate::venv;

const PACKAGES: [&str; 2] = ["numpy==2.4.6", "scipy==1.17.1"];
/// Powers of four from 2¹⁰ to 2²⁴.
const LENGTHS: [usize; 8] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24];

/// The best seconds of each task at one length.
struct Row {
    n: usize,
    first: f64,
    reused: f64,
    normals: f64,
    scipy: f64,
    numpy_normals: f64,
}

pub(crate) fn run() -> Outcome {
    let python = venv::python("bench", &PACKAGES)?;
    process::build_workers()?;
    let mut ours = Worker::start(&mut command(root().join("target/release/bench-noise")))?;
    let mut theirs = Worker::start(command(&python).arg("bench/noise.py"))?;
    let mut rows = Vec::new();
    for n in LENGTHS {
        let row = measure(&mut ours, &mut theirs, n)?;
        eprintln!("n = {n:>8}: {} against {}", duration(row.reused), duration(row.scipy));
        rows.push(row);
    }
    let table = table(&rows);
    println!("{table}");
    write_results(&rows, &table)
}

/// Takes the best of several alternating runs. Short lengths are repeated more often, because a
/// single interruption spoils them.
fn measure(ours: &mut Worker, theirs: &mut Worker, n: usize) -> Result<Row, String> {
    let repeats = ((1 << 23) / n).clamp(7, 100);
    let (mut first, mut reused, mut normals) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let (mut scipy, mut numpy_normals) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeats {
        first = first.min(ours.time("first", n)?);
        scipy = scipy.min(theirs.time("noise", n)?);
        reused = reused.min(ours.time("reused", n)?);
        numpy_normals = numpy_normals.min(theirs.time("normals", n)?);
        normals = normals.min(ours.time("normals", n)?);
    }
    Ok(Row { n, first, reused, normals, scipy, numpy_normals })
}

fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| n | first call | plan reused | scipy | scipy / first | scipy / reused | normals/s | numpy normals/s |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| 2^{} | {} | {} | {} | {:.1} | {:.1} | {:.0} M | {:.0} M |",
            row.n.ilog2(),
            duration(row.first),
            duration(row.reused),
            duration(row.scipy),
            row.scipy / row.first,
            row.scipy / row.reused,
            row.n as f64 / row.normals / 1e6,
            row.n as f64 / row.numpy_normals / 1e6,
        );
    }
    table
}

fn write_results(rows: &[Row], table: &str) -> Outcome {
    let machine = Machine::with_packages(PACKAGES)?;
    let results = rows.iter().map(|row| {
        json!({
            "n": row.n,
            "first_call_seconds": row.first,
            "plan_reused_seconds": row.reused,
            "normals_seconds": row.normals,
            "scipy_seconds": row.scipy,
            "numpy_normals_seconds": row.numpy_normals,
            "scipy_over_first_call": row.scipy / row.first,
            "scipy_over_plan_reused": row.scipy / row.reused,
        })
    });
    let mut document = machine.document("square-root noise");
    document["results"] = results.collect();
    let text = format!(
        "# Square-root noise compared with scipy\n\n\
         Seconds to make n values of the noise z = L g of the square-root factorization, best of several, both sides alternately in \
         one run. Written by `cargo xtask bench noise`.\n\n{table}\n\
         - **first call**: coefficients, plan, the kernel's transforms, memory, normals and convolution.\n\
         - **plan reused**: normals (ChaCha20, Box–Muller) and convolution.\n\
         - **scipy**: `scipy.signal.fftconvolve(rng.standard_normal(n), f)[:n]` with numpy's default generator (PCG64, not \
         cryptographic) and f given, without its time. scipy runs a one-dimensional transform on one thread, and \
         transforms f again in every call, one transform of its three.\n\
         - **normals/s**: into fresh memory, on all threads in evertally and on one in numpy.\n\n{}",
        machine.line("")
    );
    super::write_results("noise", &document, &text)
}
