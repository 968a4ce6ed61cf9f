//! The name of a plan's noise: everything that determines what is counted and how, as bytes.
//!
//! **Definition.** A [`NoiseName`] is a sequence of fields, each with a number, a length and a
//! value (`docs/noise-name.md` has the table). It is built from a plan's choices, the stream's
//! name, and the caller's definition of what is counted ([`crate::PlanBuilder::definition`]). The
//! key of a noise stream is derived from the noise key and this name.
//!
//! **Guarantee.** Two plans have different names if their counters could receive different inputs
//! or if their noise has different laws. Their noise under one key is then independent. The
//! encoding is injective: numbers have a fixed width, texts carry their length, and fields are in
//! ascending order. It uses no `Display` or `Debug` text, so rewording a message never changes
//! noise.
//!
//! **Versions.** Plans write version 2 (`plan/name`). Version 1 was a line of text, which `plan/name`
//! keeps word for word, because states and ledgers of 0.1 resume under it.
//!
//! **Not in the name:** the input itself. Using one name with two inputs shares noise, and then the
//! difference of the two releases is exact. The holder of a key must ensure that this never
//! happens. The crate `evertally-keys` does so for the command line and for Python.

mod encoding;

pub use encoding::{Fields, Value};

/// The version of the names of a plan's noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Naming {
    /// Text, as written by 0.1, for states and ledgers that started under it.
    First,
    /// Fields.
    #[default]
    Second,
}

/// What the noise of a plan is derived from, besides the key.
///
/// ```
/// use evertally::{Budget, Plan};
/// let plan = |grid| Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).grid(grid).build();
/// assert_eq!(plan(1.0)?.noise_name(), plan(1.0)?.noise_name());
/// assert_ne!(plan(1.0)?.noise_name(), plan(0.5)?.noise_name());
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// The name of a count is public. The name of a training run holds a hash of its rows, so there is
/// no `Debug` of the bytes, and records identify names by a keyed hash.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NoiseName(Vec<u8>);

impl std::fmt::Debug for NoiseName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NoiseName(..)")
    }
}

impl NoiseName {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes of the name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The consumer of a plan's noise. Each purpose has different noise, so that a leaked file of noise
/// does not unmask a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A counter in doubles.
    Float,
    /// A counter in integers.
    Integer,
    /// A [`crate::NoiseStream`] in single precision.
    Singles,
    /// A [`crate::NoiseStream`] in double precision.
    Doubles,
}

/// How the draws of a stream are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One draw per index.
    Scalar,
    /// Vectors of this dimension. The layout of draws depends on it, so another dimension must not
    /// read the same stream.
    Vector(usize),
    /// One lane per key, identified by its name.
    Keys,
}
