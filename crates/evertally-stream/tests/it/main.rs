//! The tests of the stream from outside, in one program.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod once_per_key;
mod order;
mod presence;
mod shares;
mod unnamed;
