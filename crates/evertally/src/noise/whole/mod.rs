//! Noise in whole numbers, drawn exactly.
//!
//! | file | |
//! |---|---|
//! | `draws` | the noise as a function of (key, law, lane, index, scale) |
//! | `words` | where a draw takes its random words from |
//! | `law` | proposals, and the proof that what is accepted has the law |
//! | `chance` | whether a uniform number lies below a multiple of an exponential: nearly always seen at a glance |
//! | `exact` | the same to any number of digits, for what the glance leaves open |
//! | `natural` | the numbers that this takes |
//! | `timed` | a way in for benchmarks |

mod chance;
mod draws;
mod exact;
mod law;
mod natural;
mod timed;
mod words;

pub(crate) use draws::WholeNoise;
pub(crate) use law::WholeLaw;
pub use timed::WholeDraws;
