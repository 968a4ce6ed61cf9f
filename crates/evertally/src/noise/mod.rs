//! Seekable white noise and the convolutions that correlate it.
//!
//! A mechanism publishes totals with noise z = L g: white noise g, correlated by a matrix L. This
//! module makes both halves:
//!
//! - [`NoiseKey`] is the one secret. [`NoiseKey::stream`] derives independent [`StreamKey`]s from
//!   it by label.
//! - [`WhiteNoise`] is g: a pure function of (stream key, index), the same on every machine, so
//!   that any step can be made again from nothing.
//! - [`KeyedNoise`] is g for very many named keys at once, at 12 bytes a key.
//! - [`CausalConvolver`] and [`CyclicConvolver`] apply a Toeplitz or circulant L in O(n log n) time
//!   and O(n) memory.
//! - [`square_root_coefficients`] is the Toeplitz L of the square-root factorization of the prefix sum.
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
mod key;
mod keyed;
mod keystream;
mod law;
pub(crate) mod machine;
#[cfg(test)]
mod measure;
mod portable;
mod progress;
mod real;
mod sampler;
mod square_root;
mod vector;
mod vectorise;
mod white;
pub(crate) mod whole;

#[cfg(test)]
mod statistics;

pub use convolution::{CausalConvolver, causal_convolution_direct};
pub use correlator::Correlator;
pub(crate) use correlator::{Prepared, expect_no_numbers, misfit};
pub use cyclic::CyclicConvolver;
pub(crate) use field::SliceField;
pub use field::{KeyedField, VectorField, WhiteField};
pub use key::{NoiseKey, StreamKey};
pub use keyed::{KeyedNoise, LaneTag, Tagger};
pub use machine::{Decay, GradeBounds, Grading, Recipe, SlowDecay, Stretch};
pub(crate) use machine::{GRADED_BLOCK, LEAST_GRADE, LazyLanes, Machine, Tile};
pub use progress::Progress;
pub use real::Real;
pub use square_root::{inverse_square_root_coefficients, square_root_coefficient, square_root_coefficients};
pub(crate) use vectorise::vectorised;
pub use white::WhiteNoise;
#[doc(hidden)]
pub use whole::{Tooth, WholeDraws};
