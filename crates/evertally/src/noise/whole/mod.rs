//! Noise in whole numbers: exactly drawn, correlated without rounding that could tell anything of the data.
//!
//! docs/exact.md has the proof. Draws come from an exact sampler, are correlated by a reversible
//! filter in integers, and added to totals that are integers too. Doubles occur as fixed numbers of
//! the mechanism, each an exact fraction, and as sums of whole numbers that they hold exactly.
//!
//! | file | its one decision |
//! |---|---|
//! | `draws` | white noise as a function of (key, law, lane, index, scale) |
//! | `words` | where a draw takes its random words from |
//! | `law` | proposals, and the proof that what is accepted has the law |
//! | `chance` | whether a uniform number lies below a multiple of an exponential: nearly always seen at a glance |
//! | `exact` | the same to any number of digits, for what the glance leaves open |
//! | `natural` | the numbers that this takes |
//! | `field` | the draws of several lanes |
//! | `fixed` | products of whole numbers and doubles |
//! | `filter` | correlation by decays, reversible |
//! | `comb` | the same for windows |
//! | `steps` | what all lanes need to know of a step |
//! | `correlator` | one row of noise a step |
//! | `lazy` | lanes that are each at a step of their own |
//! | `reverse` | one lane, back from noise to draws: for those who check |
//! | `timed` | a way in for benchmarks |

mod chance;
mod comb;
mod correlator;
mod draws;
mod exact;
mod field;
mod filter;
mod fixed;
mod law;
mod lazy;
mod natural;
mod reverse;
mod steps;
mod timed;
mod words;

pub use comb::Tooth;
pub(crate) use comb::{CombMachine, Teeth};
pub(crate) use correlator::{FilterMachine, SumMachine, WholeCorrelator};
pub(crate) use draws::WholeNoise;
pub(crate) use field::WholeField;
pub(crate) use filter::{FARTHEST_DRAW, Filter, are_within_reach, rounding as filter_rounding};
pub(crate) use law::WholeLaw;
pub(crate) use lazy::{WholeLane, WholeLanes};
pub(crate) use reverse::ReversibleLane;
pub(crate) use steps::StepReader;
pub use timed::WholeDraws;

#[cfg(test)]
mod tests;
