//! What must hold of Evertally whatever bytes it is given.
//!
//! **Definition.** A target takes any bytes, and panics where a promise is broken. Bytes are either
//! an input as it stands, a file say, or choices ([`choices`]): which plan, which steps, what is
//! done between them.
//!
//! **Promises.** Nothing panics. A refusal is an error with a message of one line, and changes
//! nothing. What is saved and resumed goes on bit for bit. Releases are finite, and exact ones lie
//! on the public grid. A saved state that was tampered with is refused, or is one that can be gone
//! on from.
//!
//! **Two ways to run.** `tests/short.rs` tries every target for a second, on its seeds, on what
//! mutation makes of them, and on random bytes, always the same ones. `cargo xtask fuzz` lets
//! libFuzzer look for longer, guided by what code is reached.
//!
//! | file | its targets |
//! |---|---|
//! | `plans` | none: arbitrary plans for the others |
//! | `steps` | `steps`: numbers, vectors and declared keys, step by step |
//! | `open` | `open_keys`: keys that nobody declares |
//! | `noise` | `noise`: the noise alone |
//! | `states` | `states`: saved states that were tampered with |
//! | `names` | `names`: the names of mechanisms, workloads and all that is chosen by name |
//! | `files` | `csv`, `jsonl`, `parquet`, `npy`, `matrix`, `certificate`, `ledger`, `training` |
//! | `options` | `options`, `command_line` |

pub mod choices;
mod files;
mod names;
mod noise;
mod open;
mod options;
mod plans;
mod states;
mod steps;

pub use files::{certificate, csv, jsonl, ledger, matrix, npy, parquet, training};
pub use names::names;
pub use noise::noise;
pub use open::open_keys;
pub use options::{command_line, options};
pub use states::states;
pub use steps::steps;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each has a file in `fuzz/targets` and a folder in `fuzz/seeds`.
pub const TARGETS: [Target; 15] = [
    ("names", names),
    ("states", states),
    ("steps", steps),
    ("open_keys", open_keys),
    ("noise", noise),
    ("csv", csv),
    ("jsonl", jsonl),
    ("parquet", parquet),
    ("npy", npy),
    ("matrix", matrix),
    ("certificate", certificate),
    ("ledger", ledger),
    ("training", training),
    ("options", options),
    ("command_line", command_line),
];

/// A message for the operator: one line that a terminal shows as it stands.
fn check_line(message: &str) {
    assert!(!message.trim().is_empty(), "a refusal says why");
    assert!(
        !message.chars().any(char::is_control),
        "a message is one line without control characters: {message:?}"
    );
}
