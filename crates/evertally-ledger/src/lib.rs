//! x

#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
