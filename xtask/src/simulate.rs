//! `cargo xtask simulate [SEEDS] [FIRST]`: runs the ledger on a simulated machine, for many seeds.

use crate::Outcome;
use crate::process::{self, command, root};

/// The default number of seeds.
const SEEDS: &str = "1000";

/// Runs the seeds from the first one. A failure names its seed, and `simulate 1 SEED` repeats it.
pub(crate) fn run(seeds: Option<&str>, first: Option<&str>) -> Outcome {
    process::build_service()?;
    let worker = root().join("target/release/trial-simulate");
    process::run(command(worker).args([seeds.unwrap_or(SEEDS), first.unwrap_or("0")]))
}
