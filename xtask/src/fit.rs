//! `cargo xtask fit …`: fits the fitted numbers in the source again, so that a command reproduces
//! each of them.

use std::fs;

use crate::Outcome;
use crate::process::{cargo, command, output, root, run};

/// Fits the shapes of graded-square-root and rewrites their table. This takes a few minutes on two
/// cores.
pub(crate) fn graded() -> Outcome {
    fit("fit_graded", "graded_square_root")
}

/// Fits the weights of markov and rewrites their table. This takes a few minutes on two cores.
pub(crate) fn markov() -> Outcome {
    fit("fit_markov", "markov")
}

/// Runs an example, which prints the table of a mechanism.
fn fit(example: &str, folder: &str) -> Outcome {
    eprintln!("fitting; this takes several minutes");
    let arguments = ["run", "--release", "--quiet", "--package", "evertally", "--example", example];
    let table = output(cargo().args(arguments))?;
    let path = root().join("crates/evertally/src/factorization").join(folder).join("table.rs");
    fs::write(&path, table + "\n").map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    run(command("rustfmt").args(["--edition", "2024"]).arg(path))
}
