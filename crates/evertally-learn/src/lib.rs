//! Private online learning: follow the regularised leader on noisy prefix sums of clipped gradients.

#![forbid(unsafe_code)]

mod set;

pub use set::{Set, norm};
