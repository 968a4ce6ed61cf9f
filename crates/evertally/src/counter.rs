//! Counters: one call per step, one release per call.
//!
//! Three counters share one engine: [`Counter`] takes one number per step, [`VectorCounter`] a
//! vector, [`KeyedCounter`] one number for each declared key. [`SparseCounter`] is for keys that
//! are not declared and are released one by one. The types enforce causality: a step cannot be
//! reopened, and step n + 1 is an error.
//!
//! Inputs are doubles, or integers on a stated grid (`step_amount`, `step_amounts`), which reach
//! the totals without rounding.
//!
//! A saved counter is a small versioned blob. It contains true totals, and noise can be computed from
//! it: guard it like the data. It does not contain the key.

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
pub use replay::{ReplayedLane, replay_lane};
pub use scalar::Counter;
pub use sparse::SparseCounter;
pub(crate) use sparse::{Candidate, Candidates};
pub(crate) use state::Head;
pub use vector::{VectorCounter, VectorRelease};
