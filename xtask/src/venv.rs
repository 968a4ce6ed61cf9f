//! Python environments with pinned packages, created once under `target/` and reused.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{command, output, root, run};

/// Returns the interpreter of `target/venv/<name>` with these packages (`name==version`).
///
/// A file written last lists the installed packages, so that an interrupted installation is
/// repeated and a changed pin is noticed.
pub(crate) fn python(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let home = root().join("target/venv").join(name);
    let python = interpreter(&home);
    let note = home.join("packages.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&note).is_ok_and(|found| found == wanted)
        && output(command(&python).args(["-c", "import sys"])).is_ok()
    {
        return Ok(python);
    }
    eprintln!("installing {} into target/venv/{name}", packages.join(", "));
    run(command("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    run(command(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(packages))?;
    fs::write(&note, wanted).map_err(|error| format!("cannot record the installed packages: {error}"))?;
    Ok(python)
}

/// The interpreter of an environment.
pub(crate) fn interpreter(home: &Path) -> PathBuf {
    if cfg!(windows) { home.join("Scripts/python.exe") } else { home.join("bin/python") }
}
