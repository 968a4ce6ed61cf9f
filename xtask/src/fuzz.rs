//! `cargo xtask fuzz [SECONDS]`: runs libFuzzer on every target.
//!
//! `crates/evertally-fuzz` states what the targets promise, and its tests run each briefly. Here
//! each runs for longer, guided by code coverage and with the address sanitizer. Failing inputs are
//! written to `fuzz/artifacts`. Copied to the seeds, they run in every test.

use std::fs;
use std::process::Command;

use crate::Outcome;
use crate::process::{command, root, run as run_to_end, works};

/// The default number of seconds per target.
const SECONDS: u64 = 60;

/// The seconds after which an input counts as hanging, and its memory limit in megabytes. Long
/// inputs are tried from the start, because a few bytes only choose a plan.
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
                // libFuzzer writes new inputs to the first folder, and only reads the second.
                .args([format!("fuzz/corpus/{name}"), format!("fuzz/seeds/{name}")])
                .args(["--", &format!("-max_total_time={seconds}")])
                .args(LIMITS),
        )?;
    }
    Ok(())
}

/// The cargo of the nightly toolchain, which libFuzzer's instrumentation needs.
fn nightly() -> Command {
    let mut cargo = command("cargo");
    cargo.arg("+nightly");
    cargo
}

/// Reports what is missing, and how to install it.
fn check_installed() -> Outcome {
    if !works(nightly().arg("--version")) {
        return Err(
            "fuzzing needs the nightly toolchain: `rustup toolchain install nightly` installs it".to_owned()
        );
    }
    if !works(nightly().args(["fuzz", "--version"])) {
        return Err("fuzzing needs cargo-fuzz: `cargo install --locked cargo-fuzz` installs it".to_owned());
    }
    Ok(())
}
