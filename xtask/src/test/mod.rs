//! `cargo xtask test`: every check that must pass before a change lands, and `--quick` for the
//! checks of daily work.
//!
//! A check is a step. The scheduler (`schedule`) runs each in a process of its own, as
//! `cargo xtask test step NAME`, as soon as the steps that it needs have passed. Everything is
//! compiled once for the lints and once for the tests. The other steps are independent.

mod report;
mod schedule;

use crate::Outcome;
use crate::book;
use crate::crosscheck;
use crate::process::{self, cargo, works};
use crate::python;
use crate::service;
use crate::spark;
use crate::tidy;
use schedule::Step;

const TIDY: Step = Step { name: "tidy", title: "Comments, modules and features", needs: &[], run: tidy::run };
const FORMAT: Step = Step { name: "format", title: "Formatting", needs: &[], run: format };
const LINTS: Step = Step { name: "lints", title: "Lints", needs: &["tidy", "format"], run: lints };

/// All checks. The first step that can start does, so those on the longest path come first.
const ALL: [Step; 16] = [
    TIDY,
    FORMAT,
    LINTS,
    Step { name: "build", title: "Build of the tests and programs", needs: &["lints"], run: build },
    Step { name: "package", title: "The Python package, installed", needs: &["build"], run: package },
    Step { name: "spark", title: "evertally.spark", needs: &["package"], run: spark },
    Step { name: "rust", title: "Tests in Rust", needs: &["build"], run: rust },
    Step { name: "torch", title: "evertally.torch", needs: &["package"], run: torch },
    Step { name: "page", title: "The page of the service", needs: &["build"], run: service::page },
    Step { name: "schemathesis", title: "The service's document", needs: &["build"], run: schemathesis },
    Step { name: "crosscheck", title: "γ_F and semidefinite programs", needs: &["build"], run: crosscheck },
    Step { name: "datasets", title: "Public data sets in every form", needs: &["build"], run: datasets },
    Step { name: "python", title: "The Python package", needs: &["package"], run: python },
    Step { name: "book", title: "The book", needs: &["build"], run: book },
    Step { name: "documentation", title: "Documentation", needs: &["build"], run: documentation },
    Step { name: "licences", title: "Licences, bans and sources", needs: &["format"], run: licences },
];

/// The checks of daily work.
const QUICK: [Step; 5] = [
    TIDY,
    FORMAT,
    LINTS,
    Step { name: "quick-rust", title: "Quick tests in Rust", needs: &["lints"], run: quick_rust },
    Step { name: "quick-python", title: "The Python package", needs: &["quick-rust"], run: quick_python },
];

/// Parts of the names of tests that take seconds, and of those that need the examples. `--quick`
/// leaves them out.
const SLOW: [&str; 17] = [
    "admission::tests::deployed_gates_keep_their_promises",
    "audit::",
    "coverage::sums_between_steps_hold_the_truth_too",
    "crash::",
    "damage::",
    "examples::",
    "extremes::",
    "faults::",
    "key_kills::",
    "learn_resume::",
    "lazy_lanes_are_those_of_a_machine",
    "long_streams_fall_back_to_blocks",
    "noise::statistics::",
    "power::tests::gaussian_noise_is_found_as_often_as_stated",
    "every_filter_is_its_matrix_to_half_a_unit_and_runs_back",
    "runs_that_count_differently_share_no_noise",
    "simulation::",
];

/// Runs all checks.
pub(crate) fn all() -> Outcome {
    schedule::run(&ALL).map(drop)
}

/// Runs all checks, and writes the time of each to `bench/`.
pub(crate) fn timings() -> Outcome {
    report::write(&schedule::run(&ALL)?)
}

/// Runs the checks of daily work.
pub(crate) fn quick() -> Outcome {
    schedule::run(&QUICK).map(drop)
}

/// Runs one step in this process.
pub(crate) fn step(name: &str) -> Outcome {
    let mut steps = ALL.iter().chain(&QUICK);
    let step = steps.find(|step| step.name == name).ok_or_else(|| format!("there is no step {name:?}"))?;
    schedule::run_here(step)
}

fn format() -> Outcome {
    process::run(cargo().args(["fmt", "--all", "--check"]))
}

fn lints() -> Outcome {
    let all: &[_] = &["--workspace", "--all-targets", "--all-features"];
    // What the README's first command compiles.
    let first: &[_] = &["--package", "evertally-cli", "--no-default-features"];
    for targets in [all, first] {
        process::run(cargo().arg("clippy").args(targets).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn build() -> Outcome {
    process::run(cargo().args(process::AS_TESTED))
}

/// Unit and integration tests, then the examples of the documentation.
fn rust() -> Outcome {
    process::run(cargo().args(["test", "--workspace"]))
}

/// Unit and integration tests. This also builds the program, which the tests of the Python package
/// use.
fn quick_rust() -> Outcome {
    let mut test = cargo();
    test.args(["test", "--quiet", "--workspace", "--tests", "--"]);
    process::run(test.args(SLOW.iter().flat_map(|name| ["--skip", name])))
}

fn documentation() -> Outcome {
    process::run(cargo().args(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn crosscheck() -> Outcome {
    with_python(crosscheck::sdp)
}

fn datasets() -> Outcome {
    with_python(crosscheck::datasets)
}

fn schemathesis() -> Outcome {
    with_python(service::schemathesis)
}

fn book() -> Outcome {
    with_python(book::test)
}

fn package() -> Outcome {
    with_python(python::install)
}

fn python() -> Outcome {
    with_python(python::core)
}

fn torch() -> Outcome {
    with_python(python::torch)
}

fn spark() -> Outcome {
    with_python(spark::test)
}

fn quick_python() -> Outcome {
    with_python(python::quick)
}

/// Runs a check that needs a Python environment, if there is Python to create one.
fn with_python(check: fn() -> Outcome) -> Outcome {
    if crosscheck::python_is_installed() {
        return check();
    }
    eprintln!("skipped: there is no python3 with venv to create an environment");
    Ok(())
}

fn licences() -> Outcome {
    if works(cargo().args(["deny", "--version"])) {
        // Advisories need a download, so only continuous integration checks them.
        return process::run(cargo().args(["deny", "check", "licenses", "bans", "sources"]));
    }
    eprintln!("skipped: cargo-deny is not installed; `cargo install --locked cargo-deny` installs it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_needs_only_steps_that_come_before_it() {
        for steps in [&ALL[..], &QUICK] {
            for (place, step) in steps.iter().enumerate() {
                let before = |need: &&str| steps[..place].iter().any(|step| step.name == *need);
                assert!(step.needs.iter().all(before), "{}", step.name);
            }
        }
    }
}
