//! Counters: the cheap part. One call per step, one release per call.
//!
//! Three counters share one engine: [`Counter`] takes one number per step, [`VectorCounter`] a
//! vector, [`KeyedCounter`] one number for each declared key. [`SparseCounter`] is for keys that
//! are not declared and are released one by one. Causality is in the type: a step cannot be
//! reopened, and step n + 1 is an error.
//!
//! Inputs are doubles, or integers on a stated grid (`step_amount`, `step_amounts`), which reach
//! the totals without rounding.
//!
//! A counter's state is a small versioned blob. It holds true totals and lets noise be computed:
//! guard it like the data. The key is not in it.

mod engine;
#[macro_use]
mod shared_methods;
mod integer;
mod keyed;
mod replay;
mod scalar;
mod sparse;
pub(crate) mod state;
pub(crate) mod totals;
mod vector;

pub use keyed::KeyedCounter;
#[doc(hidden)]
pub use replay::{ReplayedLane, replay_distance, replay_lane};
pub use scalar::Counter;
pub use sparse::SparseCounter;
pub use vector::{VectorCounter, VectorRelease};
