//! Running other programs from the root of the repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// The root of the repository: tasks do the same wherever they are called from.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The cargo that runs this task, so that a chosen toolchain is kept.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A program that will run in the root of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs to the end, with output passed through.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot run {}: {error}", name(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", name(command))) }
}

/// Runs to the end and returns what was written to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run {}: {error}", name(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{} failed: {}", name(command), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Runs to the end with its progress shown, and returns what was written to standard output.
pub(crate) fn output_with_progress(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", name(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{} failed: {}", name(command), output.status))
    }
}

/// Builds the programs as `cargo test --workspace` does: asked for in another way they would have
/// other features, and be compiled once more.
pub(crate) fn build_as_tested() -> Outcome {
    run(cargo().args(["test", "--quiet", "--workspace", "--no-run"]))
}

/// Builds the program and whatever tries or times it, as released. Always all of them: another set
/// would have other features, and be compiled once more.
pub(crate) fn build_service() -> Outcome {
    eprintln!("building the program, its trials and the release workers");
    let packages = ["evertally-cli", "evertally-trial", "evertally-bench"];
    run(cargo()
        .args(["build", "--quiet", "--release"])
        .args(packages.iter().flat_map(|package| ["--package", package])))
}

/// An empty directory under `target/trial`, where what an earlier run left is removed.
pub(crate) fn fresh_directory(name: &str) -> Result<PathBuf, String> {
    let directory = root().join("target/trial").join(name);
    let cleared = match std::fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(&directory),
    };
    cleared.map(|()| directory).map_err(|error| format!("cannot make target/trial/{name}: {error}"))
}

/// The command as a contributor would type it, without the directories in front of the program.
pub(crate) fn name(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
