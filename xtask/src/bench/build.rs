//! `cargo xtask bench build`: compares the README's first build, and that of the whole program, with
//! the first build before it was made shorter, in fresh clones on this machine, and measures the CPU
//! time that the program takes to start.
//!
//! Dependencies are downloaded before the clock starts. Both builds are of committed files, so
//! changes that are not committed are not measured.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Machine, number, write_results};
use crate::Outcome;
use crate::cpu_time;
use crate::process::{cargo, command, fresh_directory, output, run};

/// The last commit before the first build was made shorter.
const BEFORE: &str = "4795f55";

/// What the README's first command builds: the program without the service, Parquet and Arrow.
const FIRST: &[&str] = &["--no-default-features"];

/// How often each command is started.
const STARTS: u32 = 100;

/// How many crates are listed.
const HEAVIEST: usize = 15;

/// A release build from nothing.
struct Build {
    commit: String,
    cpu_seconds: f64,
    wall_seconds: f64,
    program_bytes: u64,
    target_bytes: u64,
    /// Every crate with the seconds that its units took, slowest first.
    crates: Vec<(String, f64)>,
}

pub(crate) fn measure() -> Outcome {
    let (before, _) = build("before", BEFORE, &[])?;
    let (first, _) = build("first", "HEAD", FIRST)?;
    let (whole, program) = build("whole", "HEAD", &[])?;
    let starts = starts(&program)?;
    let machine = Machine::new()?;
    let mut document = machine.document("the first build");
    document["before"] = before.document();
    document["first"] = first.document();
    document["whole"] = whole.document();
    document["cpu_seconds_over_before"] = json!({
        "first": first.cpu_seconds / before.cpu_seconds, "whole": whole.cpu_seconds / before.cpu_seconds,
    });
    document["start_cpu_milliseconds"] =
        starts.iter().map(|(name, time)| (name.clone(), json!(time))).collect();
    write_results("build", &document, &text(&before, &[&first, &whole], &starts, &machine))
}

/// Clones a commit and builds it with these options. Returns the measurements and the program.
fn build(name: &str, commit: &str, options: &[&str]) -> Result<(Build, PathBuf), String> {
    let clone = fresh_directory(&format!("build-{name}"))?;
    run(command("git").args(["clone", "--quiet", "--no-checkout", "."]).arg(&clone))?;
    run(command("git").args(["checkout", "--quiet", commit]).current_dir(&clone))?;
    let commit = output(command("git").args(["rev-parse", "--short", "HEAD"]).current_dir(&clone))?;
    run(cargo().args(["fetch", "--quiet", "--locked"]).current_dir(&clone))?;
    eprintln!("building {commit}: this takes minutes");
    let target = clone.join("target");
    let begun = std::time::Instant::now();
    let used = cpu_time::of_waited_children()?;
    run(cargo()
        .args(["build", "--release", "--locked", "--quiet", "--timings"])
        .args(options)
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(&clone))?;
    let (cpu_seconds, wall_seconds) = (cpu_time::of_waited_children()? - used, begun.elapsed().as_secs_f64());
    let program = target.join("release/evertally");
    let timings = target.join("cargo-timings/cargo-timing.html");
    let timings = fs::read_to_string(&timings)
        .map_err(|error| format!("cannot read {}: {error}", timings.display()))?;
    let built = Build {
        commit,
        cpu_seconds,
        wall_seconds,
        program_bytes: bytes_under(&program),
        target_bytes: bytes_under(&target),
        crates: seconds_by_crate(&timings)?,
    };
    Ok((built, program))
}

/// The average CPU time of commands that should be over at once, in milliseconds.
fn starts(program: &Path) -> Result<Vec<(String, f64)>, String> {
    let events = fresh_directory("build-starts")?.join("events.csv");
    let rows: String = (0..100).map(|row| format!("2026-01-05T{:02}:00:00Z\n", row % 24)).collect();
    fs::write(&events, format!("time\n{rows}"))
        .map_err(|error| format!("cannot write {}: {error}", events.display()))?;
    let count = "--time time --every 1h --from 2026-01-05 --horizon 24 --epsilon 1 --delta 1e-6";
    let count: Vec<&str> = ["count", events.to_str().ok_or("the clone has a path that is not UTF-8")?]
        .into_iter()
        .chain(count.split(' '))
        .collect();
    let commands =
        [("--version", vec!["--version"]), ("--help", vec!["--help"]), ("count of 100 rows", count)];
    let measured = commands.into_iter().map(|(name, words)| {
        let used = cpu_time::of_waited_children()?;
        for _ in 0..STARTS {
            output(command(program).args(&words))?;
        }
        let seconds = cpu_time::of_waited_children()? - used;
        Ok((name.to_owned(), seconds * 1e3 / f64::from(STARTS)))
    });
    measured.collect()
}

/// The size of a file, or of all files in a directory.
fn bytes_under(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes_under(&entry.path())).sum(),
        Err(_) => fs::symlink_metadata(path).map_or(0, |file| file.len()),
    }
}

/// The time of each crate in the report of `cargo build --timings`, slowest first. Cargo writes the
/// data of its charts as `const UNIT_DATA = [...]`.
fn seconds_by_crate(report: &str) -> Result<Vec<(String, f64)>, String> {
    let missing = "the report of cargo has no UNIT_DATA";
    let data = report.split_once("const UNIT_DATA = ").and_then(|(_, data)| data.split_once("];"));
    let (data, _) = data.ok_or(missing)?;
    let units: Vec<Value> = serde_json::from_str(&format!("{data}]"))
        .map_err(|error| format!("the report of cargo cannot be read: {error}"))?;
    let mut crates: Vec<(String, f64)> = Vec::new();
    for unit in &units {
        let (name, seconds) = (unit["name"].as_str().ok_or(missing)?, number(&unit["duration"]));
        match crates.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += seconds,
            None => crates.push((name.to_owned(), seconds)),
        }
    }
    crates.sort_by(|left, right| right.1.total_cmp(&left.1));
    Ok(crates)
}

impl Build {
    fn document(&self) -> Value {
        json!({
            "commit": self.commit, "cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds,
            "program_bytes": self.program_bytes, "target_bytes": self.target_bytes,
            "crates": self.crates.iter().map(|(name, seconds)| json!({ "name": name, "seconds": seconds })).collect::<Vec<_>>(),
        })
    }

    fn heaviest(&self) -> impl Iterator<Item = String> {
        self.crates.iter().take(HEAVIEST).map(|(name, seconds)| format!("{name} | {seconds:.1}"))
    }
}

fn text(before: &Build, now: &[&Build; 2], starts: &[(String, f64)], machine: &Machine) -> String {
    let mut rows = String::new();
    let mut row = |name: &str, decimals: usize, figure: fn(&Build) -> f64| {
        let (before, now) = (figure(before), now.map(figure));
        // Writing to a string cannot fail.
        let _ = write!(rows, "| {name} | {before:.decimals$}");
        for now in now {
            let _ = write!(rows, " | {now:.decimals$} | {:.2}", now / before);
        }
        rows.push_str(" |\n");
    };
    row("CPU seconds", 0, |build| build.cpu_seconds);
    row("seconds", 0, |build| build.wall_seconds);
    row("crates", 0, |build| build.crates.len() as f64);
    row("program, MB", 1, |build| build.program_bytes as f64 / 1e6);
    row("target folder, MB", 0, |build| build.target_bytes as f64 / 1e6);
    let [first, whole] = now;
    let heaviest: String = before
        .heaviest()
        .zip(first.heaviest().zip(whole.heaviest()))
        .map(|(before, (first, whole))| format!("| {before} | {first} | {whole} |\n"))
        .collect();
    let starts: String = starts.iter().map(|(name, time)| format!("| {name} | {time:.1} |\n")).collect();
    format!(
        "# The first build\n\n`cargo build --release --locked` in a fresh clone, with all crates downloaded, in one run: the last commit before the \
         build was made shorter, and then commit {}, as the README's first command builds it (`--no-default-features`: without `serve`, Parquet, Arrow and zstd) and whole. \
         Written by `cargo xtask bench build`.\n\n\
         | | before ({}) | first command | / before | whole program | / before |\n|:--|--:|--:|--:|--:|--:|\n{rows}\n\
         ## The heaviest crates\n\nSeconds from start to end of their units, by `cargo build --timings`. Two run side by side, so these add up to \
         more than the time that passed.\n\n\
         | before | seconds | first command | seconds | whole program | seconds |\n|:--|--:|:--|--:|:--|--:|\n{heaviest}\n\
         ## Start of the program\n\nCPU time per run, the mean of {STARTS} runs.\n\n| command | milliseconds |\n|:--|--:|\n{starts}\n{}",
        whole.commit,
        before.commit,
        machine.line("")
    )
}

#[cfg(test)]
mod tests {
    use super::{FIRST, seconds_by_crate};

    #[test]
    fn the_first_command_of_the_readme_is_what_is_built() {
        let readme = include_str!("../../../README.md");
        let options = FIRST.join(" ");
        assert!(readme.contains(&format!("\ncargo run --release {options} -- count ")));
    }

    #[test]
    fn the_units_of_a_crate_are_added_up() {
        let report = "x\nconst UNIT_DATA = [{\"name\":\"a\",\"duration\":1.5,\"sections\":[[1],[2]]},\n{\"name\":\"b\",\"duration\":4.0},{\"name\":\"a\",\"duration\":1.0}];\nconst Y = [];";
        assert_eq!(seconds_by_crate(report), Ok(vec![("b".to_owned(), 4.0), ("a".to_owned(), 2.5)]));
        assert!(seconds_by_crate("nothing").is_err());
    }
}
