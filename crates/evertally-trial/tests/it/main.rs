//! Short trials of the service under failures, in one program.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod faults;
mod simulation;
