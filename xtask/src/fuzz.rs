//! `cargo xtask fuzz [SECONDS]`: lets libFuzzer look for inputs that break a promise.
//!
//! What the targets promise is in `crates/evertally-fuzz`, whose tests try each for a moment. Here
//! each runs for longer, guided by the code that inputs reach and with addresses checked. What is
//! found stands in `fuzz/artifacts`; made a seed, it is tried again by every test.

use std::fs;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::process::{command, root, run as run_to_end};

/// Seconds for each target where none are named.
const SECONDS: u64 = 60;

/// Seconds after which one input is taken to hang, and the memory in megabytes beyond which it is
/// taken to grow for ever. Long inputs are tried from the beginning: a few bytes choose a plan, and
/// then nothing is done with it.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=4096", "-len_control=0"];

/// Runs every target in turn, and stops at the first that fails.
pub(crate) fn run(seconds: Option<&str>) -> Outcome {
    let seconds = match seconds {
        None => SECONDS,
        Some(text) => text.parse().map_err(|_| format!("expected a number of seconds, got {text:?}"))?,
    };
    check_installed()?;
    let folder = root().join("fuzz");
    let entries = fs::read_dir(folder.join("targets")).map_err(|error| format!("fuzz/targets: {error}"))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    for name in names {
        eprintln!("\n== {name}, {seconds} seconds");
        let corpus = folder.join("corpus").join(&name);
        fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        run_to_end(
            nightly()
                .args(["fuzz", "run", "--fuzz-dir", "fuzz", &name])
                // What libFuzzer finds worth keeping goes into the first folder; the second is only read.
                .args([format!("fuzz/corpus/{name}"), format!("fuzz/seeds/{name}")])
                .args(["--", &format!("-max_total_time={seconds}")])
                .args(LIMITS),
        )?;
    }
    Ok(())
}

/// cargo of the nightly toolchain, which libFuzzer's instrumentation needs.
fn nightly() -> Command {
    let mut cargo = command("cargo");
    cargo.arg("+nightly");
    cargo
}

/// Says what is missing, and how to get it.
fn check_installed() -> Outcome {
    let works = |arguments: &[&str]| {
        let mut cargo = nightly();
        cargo.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        cargo.status().is_ok_and(|status| status.success())
    };
    if !works(&["--version"]) {
        return Err(
            "fuzzing needs the nightly toolchain: `rustup toolchain install nightly` installs it".to_owned()
        );
    }
    if !works(&["fuzz", "--version"]) {
        return Err("fuzzing needs cargo-fuzz: `cargo install --locked cargo-fuzz` installs it".to_owned());
    }
    Ok(())
}
