//! `cargo xtask fit …`: fits the fitted numbers in the source again, so that a command reproduces
//! each of them.

use std::fs;

use crate::Outcome;
use crate::process::{cargo, command, output, root, run};

/// Fits the shapes of graded-square-root and rewrites their table. This takes a few minutes on two
/// cores.
pub(crate) fn graded() -> Outcome {
    eprintln!("fitting; this takes several minutes");
    let table =
        output(cargo().args(["run", "--quiet", "--package", "evertally", "--example", "fit_graded"]))?;
    let path = root().join("crates/evertally/src/factorization/graded_square_root/table.rs");
    fs::write(&path, table + "\n").map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    run(command("rustfmt").args(["--edition", "2024"]).arg(path))
}
