//! `cargo xtask bench gamma`: compares the certified optimum with jax_privacy's dense optimiser and
//! the fixed point in numpy.

use std::fmt::Write as _;

use serde_json::json;

use super::{JAX_PACKAGES, Machine, Worker, duration, processor, python_with_jax, write_results};
use crate::Outcome;
use crate::process::{self, command, root};

/// Horizons at which the peers are timed as well.
const BESIDE_PEERS: [usize; 3] = [256, 512, 1024];
/// Horizons at which growth is measured: powers of four from 2⁸ to 2²⁰.
const GROWTH: [usize; 7] = [1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// The time limit of a peer. `gamma.py` answers with this number if it gave up.
const TIMEOUT_SECONDS: f64 = 60.0;

struct Beside {
    n: usize,
    ours: f64,
    jax_privacy: f64,
    numpy: f64,
}

/// A horizon, with the seconds to a gap of 1e-6 and to one of 1e-9.
type Growth = (usize, f64, f64);

pub(crate) fn run() -> Outcome {
    let python = python_with_jax()?;
    process::build_workers()?;
    let mut ours = Worker::start(&mut command(root().join("target/release/bench-gamma")))?;
    let mut theirs = Worker::start(command(&python).arg("bench/gamma.py"))?;
    let mut beside = Vec::new();
    for n in BESIDE_PEERS {
        let optimum = ours.ask(&format!("optimum {n}"))?;
        let mut row = Beside { n, ours: f64::INFINITY, jax_privacy: f64::INFINITY, numpy: f64::INFINITY };
        row.jax_privacy = theirs.ask(&format!("jax-privacy {n} {optimum}"))?;
        for _ in 0..5 {
            row.ours = row.ours.min(ours.ask(&format!("time {n} 1e-6"))?);
        }
        row.numpy = theirs.ask(&format!("numpy {n} {optimum}"))?;
        eprintln!(
            "n = {n:>4}: {} against {} and {}",
            duration(row.ours),
            peer_time(row.jax_privacy),
            peer_time(row.numpy)
        );
        beside.push(row);
    }
    let mut growth = Vec::new();
    for n in GROWTH {
        let (coarse, fine) = (ours.ask(&format!("time {n} 1e-6"))?, ours.ask(&format!("time {n} 1e-9"))?);
        eprintln!("n = {n:>7}: {} to 1e-6, {} to 1e-9", duration(coarse), duration(fine));
        growth.push((n, coarse, fine));
    }
    let text = text(&beside, &growth)?;
    write_results("gamma", &document(&beside, &growth), &text)
}

/// A peer's time, or its lower bound if the peer gave up.
fn peer_time(seconds: f64) -> String {
    if seconds >= TIMEOUT_SECONDS { format!("> {}", duration(seconds)) } else { duration(seconds) }
}

fn text(beside: &[Beside], growth: &[Growth]) -> Result<String, String> {
    let mut peers = String::from(
        "| n | evertally, certified | jax_privacy | numpy | faster of both / evertally |\n|--:|--:|--:|--:|--:|\n",
    );
    for row in beside {
        // Writing to a string cannot fail.
        let _ = writeln!(
            peers,
            "| {} | {} | {} | {} | {}{:.0} |",
            row.n,
            duration(row.ours),
            peer_time(row.jax_privacy),
            peer_time(row.numpy),
            if row.jax_privacy.min(row.numpy) >= TIMEOUT_SECONDS { "> " } else { "" },
            row.jax_privacy.min(row.numpy) / row.ours
        );
    }
    let mut table = String::from("| n | to 1e-6 | to 1e-9 |\n|--:|--:|--:|\n");
    for (n, coarse, fine) in growth {
        let _ = writeln!(table, "| 2^{} | {} | {} |", n.ilog2(), duration(*coarse), duration(*fine));
    }
    Ok(format!(
        "# The certified optimum compared with its peers\n\n\
         Seconds until the mean error of the prefix sum over n steps is within a relative 1e-6 of the optimum, alternately in one \
         run: single runs of the peers, stopped after a minute, and the best of five runs of evertally. Written by `cargo xtask bench gamma`.\n\n{peers}\n\
         - **evertally, certified**: weights, and both bounds proved by the checker.\n\
         - **jax_privacy**: `matrix_factorization.dense.optimize` on the processor, compiled beforehand. It is given the optimum, so that it \
         can stop as soon as it is close enough. It proves no bounds.\n\
         - **numpy**: the published fixed point v ← diag((√v AᵀA √v)^½) by `numpy.linalg.eigh`, until its own bounds meet.\n\n\
         ## Growth\n\nTime to certify, single runs.\n\n{table}\n{}",
        Machine::with_packages(JAX_PACKAGES)?.line("")
    ))
}

fn document(beside: &[Beside], growth: &[Growth]) -> serde_json::Value {
    let beside = beside.iter().map(|row| {
        json!({
            "n": row.n,
            "evertally_seconds": row.ours,
            "jax_privacy_seconds": row.jax_privacy,
            "numpy_seconds": row.numpy,
            "faster_peer_over_evertally": row.jax_privacy.min(row.numpy) / row.ours,
        })
    });
    let beside: Vec<_> = beside.collect();
    let growth = growth
        .iter()
        .map(|(n, coarse, fine)| json!({ "n": n, "seconds_to_1e-6": coarse, "seconds_to_1e-9": fine }));
    let growth: Vec<_> = growth.collect();
    json!({ "benchmark": "certified optimum", "processor": processor(), "beside_peers": beside, "growth": growth })
}
