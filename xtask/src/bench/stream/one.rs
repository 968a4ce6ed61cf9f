//! One stream: all of its noise, from every side that supports it.

use std::fmt::Write as _;

use serde_json::json;

use super::super::{Worker, duration};
use super::{DEFAULT, GRADED, Section, Sides, power, size};

const HORIZONS: [(u64, usize); 2] = [(1 << 20, 15), (1 << 24, 5)];

/// Longer runs are not repeated.
const LONG_SECONDS: f64 = 5.0;

/// Our mechanisms. Those that this version does not know are skipped.
const OURS: [&str; 4] = [DEFAULT, GRADED, "square-root", "blt"];

/// The name of a peer, its description, and the mechanism with the same error.
const PEERS: [(&str, &str, Option<&str>); 5] = [
    ("scipy", "scipy `fftconvolve`, square root", Some("square-root")),
    ("jax-blt", "jax_privacy, BLT", None),
    ("jax-square-root", "jax_privacy, square root", Some("square-root")),
    ("tree", "tree aggregation", Some("binary")),
    ("honaker", "tree aggregation, Honaker", Some("honaker-streaming")),
];

/// The number of steps for which the peers' code runs on unit vectors, as in `stream.py`.
const CHECKED_STEPS: u64 = 64;

struct Runner {
    name: &'static str,
    label: String,
    is_ours: bool,
    worker: Worker,
    error: f64,
    seconds: f64,
    /// The share of the steps that was measured. The rest is extrapolated.
    share: f64,
    peak: f64,
}

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    check(sides)?;
    let mut text = String::from(
        "## One stream\n\nAll n values of the noise.\n\n\
         | n | | time | per step | mean error | peak memory | fastest peer / this |\n|--:|:--|--:|--:|--:|--:|--:|\n",
    );
    let mut figures = Vec::new();
    for (n, rounds) in HORIZONS {
        let mut runners = runners(sides, n)?;
        for round in 0..rounds {
            for runner in &mut runners {
                runner.run(n, round)?;
            }
        }
        let fastest = fastest_peer(&runners);
        for runner in &runners {
            let ratio =
                if runner.is_ours { format!("{:.1}", fastest / runner.seconds) } else { String::new() };
            let about = if runner.share < 1.0 { "≈ " } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {about}{} | {about}{} | {:.3} | {} | {ratio} |",
                power(n),
                runner.label,
                duration(runner.seconds),
                duration(runner.seconds / n as f64),
                runner.error,
                size(runner.peak),
            );
            figures.push(json!({
                "n": n,
                "name": runner.name,
                "is_peer": !runner.is_ours,
                "seconds": runner.seconds,
                "share_of_steps_measured": runner.share,
                "mean_error": runner.error,
                "peak_bytes": runner.peak,
                "fastest_peer_over_this": runner.is_ours.then(|| fastest / runner.seconds),
            }));
        }
    }
    text.push_str(
        "\n- **mean error**: mean squared error at σ = 1. For evertally, the square root and the trees it comes from plans, for BLT from \
         jax_privacy's own formulas. The error of every peer's code was checked on unit vectors over 64 steps.\n\
         - **peak memory**: the peak memory of the process beyond that before its first run. It includes the plan, but not \
         compiled code.\n\
         - **evertally**: `NoiseStream::<f64>::fill`, 2^16 values at a time, from `new` on; cryptographic draws.\n\
         - **scipy**: all values at once, with numpy's default generator; the kernel is given.\n\
         - **jax_privacy**: `inverse_as_streaming_matrix`, draws and `lax.scan` compiled in one; the noise of the increments, without the \
         sum that gives the noise of totals. BLT in double precision with seven buffers, the square root in single precision with \
         all of its n bands.\n\
         - **tree aggregation**: one noise value per level, with the changed levels replaced at each step, in Python without arrays.\n",
    );
    Ok(Section { text, figures: figures.into() })
}

impl Runner {
    fn run(&mut self, n: u64, round: usize) -> Result<(), String> {
        if round > 0 && self.seconds > LONG_SECONDS {
            return Ok(());
        }
        let seconds = self.worker.ask(&format!("one {} {n}", self.name))?;
        if !self.is_ours {
            self.share = self.worker.ask("steps")? / n as f64;
        }
        if round == 0 {
            self.peak = self.worker.ask("peak")?;
        }
        self.seconds = self.seconds.min(seconds / self.share);
        eprintln!("n = {}: {} in {}", power(n), self.label, duration(self.seconds));
        Ok(())
    }
}

/// Starts each in a separate process, so that their memory can be measured separately.
fn runners(sides: &Sides, n: u64) -> Result<Vec<Runner>, String> {
    let mut ask = sides.ours()?;
    let mut error_of = |mechanism: &str| ask.ask(&format!("error {mechanism} {n}"));
    let new = |name, label: String, is_ours, worker, error| Runner {
        name,
        label,
        is_ours,
        worker,
        error,
        seconds: f64::INFINITY,
        share: 1.0,
        peak: 0.0,
    };
    let mut runners = Vec::new();
    for name in OURS {
        let mut worker = sides.ours()?;
        // An unknown name means the default.
        if worker.text(&format!("name {name} {n}"))?.split(':').next() == Some(name) {
            runners.push(new(name, format!("**evertally, {name}**"), true, worker, error_of(name)?));
        }
    }
    for (name, label, mechanism) in PEERS {
        let mut worker = sides.theirs()?;
        let error = match mechanism {
            Some(mechanism) => error_of(mechanism)?,
            None => worker.ask(&format!("error {name} {n}"))?,
        };
        // Computing the error takes memory, which must not be part of the measurement.
        let worker = if mechanism.is_none() { sides.theirs()? } else { worker };
        runners.push(new(name, label.to_owned(), false, worker, error));
    }
    Ok(runners)
}

/// Checks that the peers' code computes the right noise. Otherwise its time would mean nothing.
fn check(sides: &Sides) -> Result<(), String> {
    let (mut ours, mut theirs) = (sides.ours()?, sides.theirs()?);
    for (name, _, mechanism) in PEERS {
        let error = theirs.ask(&format!("check {name}"))?;
        let Some(mechanism) = mechanism else { continue };
        let wanted = ours.ask(&format!("error {mechanism} {CHECKED_STEPS}"))?;
        if (error / wanted - 1.0).abs() > 1e-5 {
            return Err(format!("{name} has mean error {error} over {CHECKED_STEPS} steps, not {wanted}"));
        }
    }
    Ok(())
}

fn fastest_peer(runners: &[Runner]) -> f64 {
    runners.iter().filter(|runner| !runner.is_ours).map(|runner| runner.seconds).fold(f64::INFINITY, f64::min)
}
