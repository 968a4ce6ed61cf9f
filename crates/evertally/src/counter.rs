//! Counters: the cheap part. One call a step, one release a call.
//!
//! Three faces of one engine: [`Counter`] for a number a step, [`VectorCounter`] for a vector,
//! [`KeyedCounter`] for one number for each declared key. [`SparseCounter`] is for keys that are
//! not declared and are released one by one. Causality is in the type: a step cannot be reopened,
//! and step n + 1 is an error.
//!
//! A counter's state is a small versioned blob. It holds true totals and lets noise be computed:
//! guard it like the data. The key is not in it.

mod engine;
#[macro_use]
mod face;
mod keyed;
mod replay;
mod scalar;
mod sparse;
pub(crate) mod state;
pub(crate) mod totals;
mod vector;
mod whole;

pub use keyed::KeyedCounter;
#[doc(hidden)]
pub use replay::{ReplayedLane, replay_distance, replay_lane};
pub use scalar::Counter;
pub use sparse::SparseCounter;
pub use vector::{VectorCounter, VectorRelease};
