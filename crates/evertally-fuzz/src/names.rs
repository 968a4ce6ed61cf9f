//! The target for names of mechanisms, workloads and other choices.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use evertally::{Arithmetic, Calibration, Mechanism, Neighbours, Objective};
use evertally_cli::fuzz;
use evertally_stream::BucketLength;

use crate::check_line;

/// Parses a text as every kind of name. An accepted value is written as a text that parses to the
/// same value.
pub fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check::<Mechanism>(&text);
    check::<Calibration>(&text);
    check::<Neighbours>(&text);
    check::<Objective>(&text);
    check::<Arithmetic>(&text);
    check::<BucketLength>(&text);
    workload(&text);
}

fn check<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => {
            let written = value.to_string();
            assert!(
                written.parse::<T>().is_ok_and(|again| again == value),
                "{text:?} is written as {written:?}"
            );
        }
        Err(refusal) => check_line(&refusal.to_string()),
    }
}

/// The name of a workload may be followed by a number of steps.
fn workload(text: &str) {
    let (name, steps) = text.split_once(' ').unwrap_or((text, ""));
    // Longer workloads are not written out, because they would not fit.
    let steps = steps.parse().ok().filter(|steps| *steps < 1 << 10);
    match fuzz::workload(name, steps) {
        Ok((rows, columns)) => assert!(steps.is_none_or(|steps| (rows, columns) == (steps, steps))),
        Err(refusal) => check_line(&refusal),
    }
}
