//! Trials of the service under failures.
//!
//! **Definition.** A trial runs the ledger or the program under faults and compares what it
//! acknowledges and shows with a very simple model: a set of ids, and a list of all observed
//! releases.
//!
//! **Promises.** No acknowledged event is lost, and none counts twice. An observed release never
//! changes, and is never drawn again with other noise. After a failure nothing is acknowledged. A
//! directory that was restored to an earlier state releases nothing before a new epoch.
//!
//! **Two ways to run.** Tests run each trial briefly. Simulated trials always use the same seeds.
//! `cargo xtask simulate` and `cargo xtask crash` run them for longer.
//!
//! | file | what it does |
//! |---|---|
//! | `simulation` | the ledger on a simulated machine, with a simulated clock and clients: a seed decides everything |
//! | `crash` | the program, killed at random moments under load and during recovery |
//! | `flood` | many events with duplicates, out of order and with lost replies: the count is the number of unique ids |
//! | `http`, `program` | a minimal client, and the program as a child process |

pub mod crash;
pub mod flood;
pub mod http;
pub mod program;
pub mod simulation;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

/// The maximum standard error of a value that is compared with a total. Gaussian noise reaches 1/2,
/// which is 6.11 standard errors, with probability below 10⁻⁹.
pub const MAX_ERROR: f64 = 0.0818;

/// The number of steps of a counter with negligible noise.
pub const STEPS: u64 = 1000;

/// The document of a counter in the population `trial` whose budget hides nothing: its standard
/// error is below [`MAX_ERROR`]. Its grid is fine, so the error comes from the noise and not
/// from rounding.
pub fn exact_counter(name: &str, every: Option<&str>) -> Value {
    json!({
        "name": name, "population": "trial", "every": every, "steps": STEPS, "epsilon": 1000.0, "delta": 0.4, "grid": 1.0 / 1024.0,
        "remember_ids": STEPS,
    })
}

/// A progress bar, on a terminal only.
pub fn bar(title: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
    // The template is a constant. If it were invalid, the plain style would still show progress.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(title)
}
