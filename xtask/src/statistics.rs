//! `cargo xtask statistics`: runs the long statistical tests of the noise.

use crate::Outcome;
use crate::process::{self, cargo};

/// Takes 10⁸ draws of every kind of noise and prints the result of each check. It tests the
/// optimised code, because that is what users run. One kind runs after another, so that the tables
/// do not mix.
pub(crate) fn run() -> Outcome {
    process::run(
        cargo()
            .args(["test", "--release", "--package", "evertally", "--lib", "noise::statistics::long"])
            .args(["--", "--ignored", "--nocapture", "--test-threads=1"]),
    )
}
