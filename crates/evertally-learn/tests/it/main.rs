//! The tests of learning from outside, in one program.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod learner;
mod regret;
