//! What must hold of the service whatever fails.
//!
//! **Definition.** A trial runs the ledger or the program under faults and compares what it
//! acknowledges and shows with a model that is too simple to be wrong: a set of ids, and a list of
//! the releases that anybody has seen.
//!
//! **Promises.** No acknowledged event is lost, none counts twice. A release that was seen is never
//! changed, nor seen again with other noise. After a failure nothing is acknowledged; a directory
//! that was put back to an earlier state releases nothing before a new epoch.
//!
//! **Two ways to run.** Tests run each trial for a moment, always the same one where it is
//! simulated. `cargo xtask simulate` and `cargo xtask crash` run them for longer.
//!
//! | file | what it does |
//! |---|---|
//! | `simulation` | the ledger on a simulated machine, with a simulated clock and clients: a seed decides everything |
//! | `crash` | the program itself, killed at random moments under load and while it recovers |
//! | `flood` | very many events with duplicates, out of order and with lost replies: the count is that of the unique ids |
//! | `http`, `served` | a client of a few lines, and the program as a child process |

pub mod crash;
pub mod flood;
pub mod http;
pub mod served;
pub mod simulation;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

/// The largest standard error at which a value is compared with a total: Gaussian noise reaches
/// 1/2, which is 6.11 of them, with probability below 10⁻⁹.
pub const LARGEST_ERROR: f64 = 0.0818;

/// The steps of a counter whose noise can be told from one event.
pub const STEPS: u64 = 1000;

/// The document of a counter in the population `trial` whose budget hides nothing: its standard
/// error is below [`LARGEST_ERROR`]. Its grid is fine, so that the error is that of the noise, and
/// not of rounding.
pub fn exact_counter(name: &str, every: Option<&str>) -> Value {
    json!({
        "name": name, "population": "trial", "every": every, "steps": STEPS, "epsilon": 1000.0, "delta": 0.4, "grid": 1.0 / 1024.0,
        "remember_ids": STEPS,
    })
}

/// A bar for something long, on a terminal only.
pub fn bar(title: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
    // The template is a constant; should it ever be wrong, the plain style still shows progress.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(title)
}
