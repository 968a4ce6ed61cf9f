//! `cargo xtask statistics`: the long statistical suite of the noise.

use crate::Outcome;
use crate::process::{self, cargo};

/// Takes 10⁸ draws of every kind of noise and prints what each check saw. Optimised, because that
/// is the code people run; one kind after another, so that the tables do not mix.
pub(crate) fn run() -> Outcome {
    process::run(
        cargo()
            .args(["test", "--release", "--package", "evertally", "--lib", "noise::statistics::long"])
            .args(["--", "--ignored", "--nocapture", "--test-threads=1"]),
    )
}
