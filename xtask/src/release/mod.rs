//! `cargo xtask release`: everything that a release consists of, made and checked.
//!
//! The workflow `.github/workflows/release.yml` runs `release build TARGET` on a machine of every
//! kind and publishes what it finds in `target/dist`. `release --dry-run` runs the same steps on
//! this machine for every target that can be built here, and publishes nothing.
//!
//! | file | responsibility |
//! |---|---|
//! | `target` | the systems that a release is for |
//! | `program` | the program, and its archive with manual pages, completions and licences |
//! | `wheel` | the wheel, its audit, and a trial in a fresh environment |
//! | `container` | the image that holds the program alone |
//! | `workflows` | lints of the workflows |

mod container;
mod program;
mod target;
mod wheel;
mod workflows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{self, cargo, command, root};
use crate::venv;
use target::Target;

pub(crate) use workflows::lint;

/// The tools of a release. Only the build itself needs Rust.
const TOOLS: [&str; 7] = [
    "maturin==1.16.0",
    "cargo-zigbuild==0.24.0",
    "ziglang==0.17.0",
    "auditwheel==6.8.2",
    "abi3audit==0.0.26",
    "twine==7.0.0",
    "uv==0.13.7",
];

/// Writes the file `FILE.sha256` beside each file, in the format of `sha256sum`.
const CHECKSUMS: &str = "
import hashlib, pathlib, sys
for file in map(pathlib.Path, sys.argv[1:]):
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    pathlib.Path(f'{file}.sha256').write_text(f'{digest}  {file.name}\\n')
";

/// Builds and checks the archive and the wheel of one target, and puts them into `target/dist`.
pub(crate) fn build(triple: &str) -> Outcome {
    let target = Target::named(triple)?;
    build_for(target, &tools()?).map(drop)
}

/// Runs all steps that are possible on this machine. Nothing is published.
pub(crate) fn dry_run() -> Outcome {
    heading("The workflows");
    lint()?;
    heading("The crates");
    // Verifying builds every crate from its package alone.
    process::run(cargo().args(["publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"]))?;
    let python = tools()?;
    for target in Target::of_this_machine() {
        if !program::has_standard_library(target)? {
            eprintln!(
                "skipped: {} needs its standard library, which rustup cannot install here",
                target.triple
            );
            continue;
        }
        let built = build_for(target, &python)?;
        if target.is_static() {
            heading("The container");
            container::build(&built)?;
        }
    }
    heading("Everything is ready in target/dist. Nothing was published");
    Ok(())
}

fn build_for(target: &Target, python: &Path) -> Result<PathBuf, String> {
    heading(&format!("The program for {}", target.triple));
    let program = program::build(target, python)?;
    let archive = program::archive(target, &program)?;
    heading(&format!("The wheel for {}", target.triple));
    let wheel = wheel::build(target, &program, python)?;
    wheel::audit(target, &wheel, python)?;
    wheel::try_out(target, &wheel, &program, python)?;
    process::run(command(python).args(["-c", CHECKSUMS]).arg(&archive).arg(&wheel))?;
    for file in [&archive, &wheel] {
        let bytes = fs::metadata(file).map_err(|error| cannot("read", file, &error))?.len();
        eprintln!("{}: {:.1} MB", file.display(), bytes as f64 / 1e6);
    }
    Ok(program)
}

/// The interpreter of an environment with the tools.
fn tools() -> Result<PathBuf, String> {
    venv::python("release", &TOOLS)
}

/// A tool of the environment. It finds the other tools, and zig through this interpreter.
fn tool(python: &Path, name: &str) -> Result<Command, String> {
    let programs = python.with_file_name("");
    let mut path = vec![programs.clone()];
    path.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let path = std::env::join_paths(path).map_err(|error| format!("cannot set PATH: {error}"))?;
    let mut tool = command(programs.join(name));
    tool.env("PATH", path);
    Ok(tool)
}

/// The directory that holds what is to be published.
fn dist() -> Result<PathBuf, String> {
    let directory = root().join("target/dist");
    fs::create_dir_all(&directory).map_err(|error| cannot("create", &directory, &error))?;
    Ok(directory)
}

fn heading(text: &str) {
    eprintln!("\n== {text}");
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
