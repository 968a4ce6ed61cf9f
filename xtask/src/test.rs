//! `cargo xtask test`: runs every check that must pass before a change lands.

use crate::Outcome;
use crate::book;
use crate::crosscheck;
use crate::process::{self, cargo, name, works};
use crate::python;
use crate::service;
use crate::tidy;

/// The checks in order, cheapest first, so that a formatting error is found before the tests run.
const CHECKS: [(&str, &[&str]); 4] = [
    ("Formatting", &["fmt", "--all", "--check"]),
    ("Lints", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    ("Tests: unit, integration and documentation", &["test", "--workspace"]),
    ("Documentation", &["doc", "--no-deps", "--workspace"]),
];

/// Runs every check and stops at the first that fails.
pub(crate) fn run() -> Outcome {
    heading("Width of comments (cargo xtask tidy)");
    tidy::run()?;
    for (title, arguments) in CHECKS {
        let mut command = cargo();
        command.args(arguments);
        if arguments[0] == "doc" {
            command.env("RUSTDOCFLAGS", "-D warnings");
        }
        heading(&format!("{title} ({})", name(&command)));
        process::run(&mut command)?;
    }
    heading("Cross-check: γ_F against the paper's semidefinite programs");
    if crosscheck::python_is_installed() {
        crosscheck::sdp()?;
    } else {
        eprintln!("skipped: there is no python3 with venv to install the solver into");
    }
    heading("The service: its document, and its page in a browser");
    service::test()?;
    heading("The Python package, in a clean environment");
    if crosscheck::python_is_installed() {
        python::test()?;
    } else {
        eprintln!("skipped: there is no python3 with venv to install the package into");
    }
    heading("The book: its figures, links and commands");
    if crosscheck::python_is_installed() {
        book::test()?;
    } else {
        eprintln!("skipped: there is no python3 with venv to build it with");
    }
    heading("Licences, bans and sources (cargo deny)");
    if works(cargo().args(["deny", "--version"])) {
        // Advisories need a download, so only continuous integration checks them.
        process::run(cargo().args(["deny", "check", "licenses", "bans", "sources"]))?;
    } else {
        eprintln!("skipped: cargo-deny is not installed; `cargo install --locked cargo-deny` installs it");
    }
    heading("All checks passed");
    Ok(())
}

fn heading(text: &str) {
    eprintln!("\n== {text}");
}
