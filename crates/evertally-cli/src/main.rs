//! The `evertally` program.
mod error;
mod input;
mod output;
mod time;
fn main() {}
