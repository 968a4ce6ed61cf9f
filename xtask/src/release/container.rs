//! The image that holds the program alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::cannot;
use crate::Outcome;
use crate::process::{command, fresh_directory, run};

/// Builds the image of the `Containerfile` around a program that is built already, instead of the
/// stage that would build it.
pub(super) fn build(program: &Path) -> Outcome {
    let Some(builder) = ["podman", "buildah", "docker"].into_iter().find(|builder| can_build(builder)) else {
        eprintln!("skipped: there is no podman, buildah or docker that works");
        return Ok(());
    };
    let stage = fresh_directory("container")?;
    let image = stage.join("image");
    for directory in ["data", "tmp"].map(|name| image.join(name)) {
        fs::create_dir_all(&directory).map_err(|error| cannot("create", &directory, &error))?;
    }
    fs::copy(program, image.join("evertally")).map_err(|error| cannot("copy", program, &error))?;
    run(command(builder)
        .args(["build", "--file", "Containerfile", "--tag", "evertally", "--build-context"])
        .arg(format!("build={}", stage.display()))
        .arg("."))
}

/// Whether this program can build an image on this machine.
fn can_build(builder: &str) -> bool {
    let mut info = Command::new(builder);
    info.arg("info").stdout(Stdio::null()).stderr(Stdio::null());
    info.status().is_ok_and(|status| status.success())
}
