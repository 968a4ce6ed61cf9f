//! Runs other programs in the root of the repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// The root of the repository. Tasks do not depend on the current directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The cargo that runs this task, so that the toolchain stays the same.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A command that runs in the root of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs a command with its output passed through.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot run {}: {error}", name(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", name(command))) }
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run {}: {error}", name(command)))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match text(&output.stderr) {
        _ if output.status.success() => Ok(text(&output.stdout)),
        // Its errors were passed through.
        said if said.is_empty() => Err(format!("{} failed: {}", name(command), output.status)),
        said => Err(format!("{} failed: {said}", name(command))),
    }
}

/// Runs a command with its standard error passed through, and returns its standard output.
pub(crate) fn output_with_progress(command: &mut Command) -> Result<String, String> {
    output(command.stderr(Stdio::inherit()))
}

/// Whether a command can be run and succeeds, in silence.
pub(crate) fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The command that compiles the tests and programs. Another one would have other features and
/// compile the dependencies again.
pub(crate) const AS_TESTED: [&str; 3] = ["test", "--workspace", "--no-run"];

/// The environment variable of steps that run after `AS_TESTED`.
pub(crate) const BUILT: &str = "EVERTALLY_BUILT";

/// Builds the programs as the tests do, unless a step has done so.
pub(crate) fn build_as_tested() -> Outcome {
    if std::env::var_os(BUILT).is_some() {
        return Ok(());
    }
    run(cargo().args(AS_TESTED).arg("--quiet"))
}

/// Builds the workers of the benchmarks in the release profile.
pub(crate) fn build_workers() -> Outcome {
    eprintln!("building the release workers");
    run(cargo().args(["build", "--quiet", "--release", "--package", "evertally-bench"]))
}

/// A seed from the clock, for trials that need not be repeatable.
pub(crate) fn seed_from_clock() -> String {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_secs()).to_string()
}

/// Builds the program, its trials and its benchmarks in the release profile. It always builds all
/// of them: another set would have other features and be compiled again.
pub(crate) fn build_service() -> Outcome {
    eprintln!("building the program, its trials and its benchmarks");
    let packages = ["evertally-cli", "evertally-trial", "evertally-bench"];
    run(cargo()
        .args(["build", "--quiet", "--release"])
        .args(packages.iter().flat_map(|package| ["--package", package])))
}

/// An empty directory under `target/trial`. Anything from an earlier run is removed.
pub(crate) fn fresh_directory(name: &str) -> Result<PathBuf, String> {
    let directory = root().join("target/trial").join(name);
    let cleared = match std::fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(&directory),
    };
    cleared.map(|()| directory).map_err(|error| format!("cannot create target/trial/{name}: {error}"))
}

/// The command as a contributor would type it, without the program's directory.
pub(crate) fn name(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
