//! `cargo xtask crosscheck sdp`: compares γ_F with the paper's semidefinite programs, solved by
//! Clarabel. `cargo xtask crosscheck datasets`: counts public data sets in every form.

use crate::Outcome;
use crate::process::{build_as_tested, command, root, run, works};
use crate::venv;

/// The packages of the cross-check.
const PACKAGES: [&str; 4] = ["cvxpy==1.9.3", "clarabel==0.11.1", "numpy==2.4.6", "scipy==1.17.1"];

/// Solves both programs for small matrices, real and complex, and compares them with
/// `evertally research gamma`.
pub(crate) fn sdp() -> Outcome {
    build_as_tested()?;
    let python = venv::python("crosscheck", &PACKAGES)?;
    run(command(&python).arg(root().join("crosscheck/sdp.py")).arg(root().join("target/debug/evertally")))
}

/// The packages with the data sets, and with a writer of Parquet.
const DATASETS: [&str; 3] = ["vega_datasets==0.9.0", "polars==2.1.0", "pyarrow==26.0.1"];

/// Counts data sets that a package ships, as CSV, TSV, JSON and Parquet, and compares the releases.
pub(crate) fn datasets() -> Outcome {
    build_as_tested()?;
    let python = venv::python("datasets", &DATASETS)?;
    let script = root().join("crosscheck/datasets.py");
    run(command(&python).arg(script).arg(root().join("target/debug/evertally")))
}

/// Whether there is a Python that can create environments.
pub(crate) fn python_is_installed() -> bool {
    works(command("python3").args(["-c", "import venv"]))
}
