//! Fuzz targets: promises that Evertally keeps for all inputs.
//!
//! **Definition.** A target takes any bytes, and panics if a promise is broken. Bytes are either an
//! input, such as a file, or choices ([`choices`]): the plan, the steps, and the operations between
//! them.
//!
//! **Promises.** Nothing panics. A refusal is an error with a message of one line, and changes
//! nothing. A saved and resumed counter continues bit for bit. Releases are finite, and exact ones
//! lie on the public grid. A modified saved state is either refused or can be resumed.
//!
//! **Two ways to run.** `tests/short.rs` runs every target for a second on its seeds, on mutations
//! of them, and on random bytes. These are always the same. `cargo xtask fuzz` runs libFuzzer for
//! longer, guided by code coverage.
//!
//! | file | targets |
//! |---|---|
//! | `plans` | none: arbitrary plans for the others |
//! | `steps` | `steps`: numbers, vectors and declared keys, step by step |
//! | `open` | `open_keys`: open keys |
//! | `found` | `found_keys`: keys that are found |
//! | `noise` | `noise`: the noise alone |
//! | `states` | `states`: modified saved states |
//! | `names` | `names`: the names of mechanisms, workloads and other choices |
//! | `files` | `csv`, `jsonl`, `parquet`, `arrow`, `npy`, `matrix`, `certificate`, `ledger`, `training` |
//! | `options` | `options`, `command_line` |

pub mod choices;
mod files;
mod found;
mod names;
mod noise;
mod open;
mod options;
mod plans;
mod states;
mod steps;

pub use files::{arrow, certificate, csv, jsonl, ledger, matrix, npy, parquet, training};
pub use found::found_keys;
pub use names::names;
pub use noise::noise;
pub use open::open_keys;
pub use options::{command_line, options};
pub use states::states;
pub use steps::steps;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each has a file in `fuzz/targets` and a folder in `fuzz/seeds`.
pub const TARGETS: [Target; 17] = [
    ("names", names),
    ("states", states),
    ("steps", steps),
    ("open_keys", open_keys),
    ("found_keys", found_keys),
    ("noise", noise),
    ("csv", csv),
    ("jsonl", jsonl),
    ("parquet", parquet),
    ("arrow", arrow),
    ("npy", npy),
    ("matrix", matrix),
    ("certificate", certificate),
    ("ledger", ledger),
    ("training", training),
    ("options", options),
    ("command_line", command_line),
];

/// Checks a message for the operator: one line without control characters.
fn check_line(message: &str) {
    assert!(!message.trim().is_empty(), "a refusal says why");
    assert!(
        !message.chars().any(char::is_control),
        "a message is one line without control characters: {message:?}"
    );
}
