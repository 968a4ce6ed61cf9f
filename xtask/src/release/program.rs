//! The program of a target, and its archive.

use std::fs;
use std::path::{Path, PathBuf};

use super::target::Target;
use super::{cannot, dist, tool};
use crate::process::{cargo, command, output, root, run};

/// Whether the standard library of a target is installed, or could be.
pub(super) fn has_standard_library(target: &Target) -> Result<bool, String> {
    install_standard_library(target);
    let directory = output(command("rustc").args(["--print", "target-libdir", "--target", target.triple]))?;
    Ok(fs::read_dir(directory).is_ok_and(|mut files| files.next().is_some()))
}

/// On machines without rustup, it must be there already.
fn install_standard_library(target: &Target) {
    let _ = command("rustup").args(["target", "add", target.triple]).output();
}

/// Builds the program in the release profile and returns its path.
pub(super) fn build(target: &Target, python: &Path) -> Result<PathBuf, String> {
    install_standard_library(target);
    let mut build = if target.linux.is_some() {
        let mut zig = tool(python, "cargo-zigbuild")?;
        zig.args(["zigbuild", "--target", &target.for_zig()]);
        zig
    } else {
        let mut cargo = cargo();
        cargo.args(["build", "--target", target.triple]);
        cargo
    };
    build.args(["--release", "--locked", "--package", "evertally-cli", "--bin", "evertally"]);
    run(build.env("CARGO_TARGET_DIR", root().join("target")))?;
    let program = root().join("target").join(target.triple).join("release").join(target.program_name());
    let version = output(command(&program).arg("--version"))?;
    if version == format!("evertally {}", env!("CARGO_PKG_VERSION")) {
        Ok(program)
    } else {
        Err(format!("the program calls itself {version}"))
    }
}

/// Packs the program with its licences, completions and manual pages. Everything is in one
/// directory that is named like the archive.
pub(super) fn archive(target: &Target, program: &Path) -> Result<PathBuf, String> {
    let name = format!("evertally-{}-{}", env!("CARGO_PKG_VERSION"), target.triple);
    let stage = root().join("target/trial/release");
    let directory = stage.join(&name);
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(|error| cannot("remove", &directory, &error))?;
    }
    fs::create_dir_all(&directory).map_err(|error| cannot("create", &directory, &error))?;
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| root().join(name));
    let font = root().join("crates/evertally-cli/assets/LICENSE-DejaVu.txt");
    let readme = root().join("crates/evertally-cli/README.md");
    for file in licences.iter().map(PathBuf::as_path).chain([program, &font, &readme]) {
        let copied = file.file_name().map(|name| fs::copy(file, directory.join(name)));
        copied.transpose().map_err(|error| cannot("copy", file, &error))?;
    }
    run(command(program).args(["completions", "--into"]).arg(directory.join("share")))?;
    let archive = dist()?.join(format!("{name}.tar.gz"));
    run(command("tar").arg("-czf").arg(&archive).arg("-C").arg(&stage).arg(&name))?;
    Ok(archive)
}
