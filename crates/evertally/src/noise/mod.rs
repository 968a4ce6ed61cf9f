//! Seekable white noise and the convolutions that correlate it.
//!
//! A mechanism publishes totals with noise z = L g, where g is white noise and L is a matrix that
//! correlates it. This module makes both parts:
//!
//! - [`NoiseKey`] is the only secret. [`NoiseKey::stream`] derives independent [`StreamKey`]s from
//!   it by label.
//! - [`WhiteNoise`] is g: a pure function of (stream key, index), the same on every machine. Any
//!   step can be recomputed from the key alone.
//! - [`KeyedNoise`] is g for very many named keys at once, at 12 bytes per key.
//! - [`CausalConvolver`] and [`CyclicConvolver`] apply a Toeplitz or circulant L in O(n log n) time
//!   and O(n) memory.
//! - [`square_root_coefficients`] is the Toeplitz L of the square-root factorization of the prefix
//!   sum.
//!
//! ```
//! use evertally::internals::noise::{CausalConvolver, NoiseKey, WhiteNoise, square_root_coefficients};
//!
//! let n = 1000;
//! let key = NoiseKey::insecure_from_seed(1); // NoiseKey::from_os() outside of examples
//! let white = WhiteNoise::gaussian(key.stream(b"visits"));
//! let mut z = vec![0.0; n];
//! white.fill(0, &mut z);                                           // g
//! CausalConvolver::new(&square_root_coefficients(n)).apply(&mut z); // L g
//! assert!(z.iter().all(|value| value.is_finite()));
//! ```

mod convolution;
mod correlator;
mod cyclic;
mod field;
pub(crate) mod integer;
mod key;
mod keyed;
mod keystream;
mod law;
mod portable;
mod progress;
mod real;
mod sampler;
mod square_root;
pub(crate) mod streaming;
mod vector;
mod vectorise;
mod white;

#[cfg(test)]
mod statistics;

pub use convolution::CausalConvolver;
#[cfg(test)]
pub(crate) use convolution::causal_convolution_direct;
pub use correlator::Correlator;
pub(crate) use correlator::{Prepared, expect_no_numbers, misfit, restore_numbers};
pub use cyclic::CyclicConvolver;
pub(crate) use field::{KeyedField, SliceField};
pub use field::{VectorField, WhiteField};
#[doc(hidden)]
pub use integer::{IntegerLaw, IntegerNoise, WindowDecay};
pub use key::{NoiseKey, StreamKey, copy_of};
pub use keyed::{KeyedNoise, LaneTag, Tagger};
pub use progress::Progress;
pub use real::Real;
pub(crate) use square_root::inverse_square_root_coefficients;
pub use square_root::{square_root_coefficient, square_root_coefficients};
pub use streaming::{
    ChainBlock, ChainBounds, ChainRow, ChainSource, Decay, GradeBlock, GradeBounds, Grading, MAX_CHAINS,
    Recipe, SlowDecay,
};
pub(crate) use streaming::{GRADED_BLOCK, LazyLanes, MIN_GRADE, StreamingCorrelator, Tile, total};
pub(crate) use vectorise::vectorised;
pub use white::WhiteNoise;
