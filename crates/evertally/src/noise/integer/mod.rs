//! Integer noise: exactly drawn, and correlated without rounding that could reveal anything about
//! the data.
//!
//! docs/exact.md has the proof. An exact sampler makes the draws, a reversible filter correlates
//! them in integers, and the result is added to integer totals. Doubles occur only as constants of
//! the mechanism, each an exact fraction, and as sums of integers that doubles hold exactly.
//!
//! | file | content |
//! |---|---|
//! | `draws` | white noise as a function of (key, law, lane, index, scale) |
//! | `words` | the source of the random words of a draw |
//! | `law` | proposals, and the proof that accepted ones have the law |
//! | `acceptance` | accepts with a probability that is a multiple of an exponential: the first digit nearly always decides |
//! | `exact` | the same decision with any number of digits |
//! | `natural` | natural numbers of any size, for `exact` |
//! | `field` | the draws of several lanes |
//! | `factor` | products of integers and doubles |
//! | `filter` | the reversible filter of decays |
//! | `window` | the same for windows |
//! | `rows` | the same for a decoder that is written out |
//! | `steps` | the numbers of a step that all lanes need |
//! | `correlator` | one row of noise per step |
//! | `lazy` | lanes that are each at their own step |
//! | `reverse` | one lane, back from noise to draws, for checks |
//! | `benchmark` | access for benchmarks |

mod acceptance;
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
mod rows;
mod steps;
mod window;
mod words;

pub(crate) use correlator::{FilterCorrelator, IntegerCorrelator, SumCorrelator};
pub use draws::IntegerNoise;
pub(crate) use field::IntegerField;
pub(crate) use filter::{FEWER_BITS, Filter, MAX_DRAW_SCALES, are_within_reach, rounding as filter_rounding};
pub use law::IntegerLaw;
pub(crate) use lazy::{IntegerLane, IntegerLanes};
pub(crate) use reverse::ReversibleLane;
pub(crate) use rows::{Rows, RowsCorrelator};
pub(crate) use steps::StepReader;
pub use window::WindowDecay;
pub(crate) use window::{WindowCorrelator, WindowDecays};

#[cfg(test)]
mod tests;
