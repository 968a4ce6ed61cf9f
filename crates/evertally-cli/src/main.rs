//! The `evertally` program.

fn main() {}
