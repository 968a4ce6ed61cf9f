//! Python environments with pinned packages, created once under `target/` and reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{command, output, root, run};

/// Returns the interpreter of `target/venv/<name>` with these packages (`name==version`).
///
/// A file written last lists the installed packages, so that an interrupted installation is
/// repeated and a changed pin is noticed.
pub(crate) fn python(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let home = home(name);
    let python = interpreter(name);
    let note = home.join("packages.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&note).is_ok_and(|found| found == wanted)
        && output(command(&python).args(["-c", "import sys"])).is_ok()
    {
        return Ok(python);
    }
    eprintln!("installing {} into target/venv/{name}", packages.join(", "));
    fresh(name)?;
    run(pip(&python).args(packages))?;
    fs::write(&note, wanted).map_err(|error| format!("cannot record the installed packages: {error}"))?;
    Ok(python)
}

/// The Python of an empty environment.
pub(crate) fn fresh(name: &str) -> Result<PathBuf, String> {
    run(command("python3").args(["-m", "venv", "--clear"]).arg(home(name)))?;
    Ok(interpreter(name))
}

/// The Python of an environment that exists.
pub(crate) fn interpreter(name: &str) -> PathBuf {
    home(name).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// The directory of an environment.
pub(crate) fn home(name: &str) -> PathBuf {
    root().join("target/venv").join(name)
}

pub(crate) fn pip(python: &Path) -> Command {
    let mut pip = command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}
