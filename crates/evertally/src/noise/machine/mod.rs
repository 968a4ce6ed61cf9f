//! Machines that stream L g by a few numbers a lane.
//!
//! | file | its one decision |
//! |---|---|
//! | `recipe` | what every lane does at a step |
//! | `plain` | that, step by step: the oracle |

pub(crate) mod plain;
pub(crate) mod recipe;

pub(crate) use plain::Plain;
pub(crate) use recipe::{Decay, Recipe, SLOW, SlowDecay};
