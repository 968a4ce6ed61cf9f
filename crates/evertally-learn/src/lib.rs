//! Private online learning: follow the regularised leader on noisy prefix sums of clipped gradients.

#![forbid(unsafe_code)]

pub mod bound;
pub mod data;
pub mod loss;
mod set;

pub use data::{Dataset, Example};
pub use loss::{Loss, Losses};
pub use set::{Set, norm};
