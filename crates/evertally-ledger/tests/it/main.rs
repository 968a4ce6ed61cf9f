//! The tests of the ledger from outside, in one program. Each has a directory of its own.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod common;
mod damage;
mod discover;
mod distinct;
mod fence;
mod formats;
mod life;
mod regressions;
