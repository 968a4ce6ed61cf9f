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

mod acceptance;
mod benchmark;
mod correlator;
mod draws;
mod exact;
mod factor;
mod field;
mod filter;
mod law;
mod lazy;
mod natural;
mod reverse;
mod steps;
mod window;
mod words;

pub use benchmark::IntegerDraws;
pub(crate) use correlator::{FilterCorrelator, IntegerCorrelator, SumCorrelator};
pub(crate) use draws::IntegerNoise;
pub(crate) use field::IntegerField;
pub(crate) use filter::{Filter, MAX_DRAW_SCALES, are_within_reach, rounding as filter_rounding};
pub(crate) use law::IntegerLaw;
pub(crate) use lazy::{IntegerLane, IntegerLanes};
pub(crate) use reverse::ReversibleLane;
pub(crate) use steps::StepReader;
pub use window::WindowDecay;
pub(crate) use window::{WindowCorrelator, WindowDecays};

#[cfg(test)]
mod tests;
