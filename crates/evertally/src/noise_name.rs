//! The name of a plan's noise: everything that decides what is counted and how, as bytes.
//!
//! **Definition.** A [`NoiseName`] is a sequence of fields, each with a number, a length and a
//! value (`docs/noise-name.md` has the table). It is made from a plan's choices, from the stream's
//! name, and from the definition of what is counted that a caller hands in
//! ([`crate::PlanBuilder::definition`]). The key of a noise stream is derived from the noise key
//! and this name.
//!
//! **Guarantee.** Two plans whose counters could be fed different inputs, or whose noise has
//! another law, have different names, so that their noise under one key is independent. The
//! encoding is injective: numbers have a fixed width, texts carry their length, and fields stand in
//! ascending order. It uses no `Display` and no `Debug` text, so a reworded message never changes
//! noise.
//!
//! **Versions.** Plans write version 2 (`plan/name`). Version 1 was a line of text, which `plan/name`
//! keeps word for word, because states and ledgers of 0.1 resume under it.
//!
//! **What a name does not hold** is the input itself. The same name with two inputs shares noise, and the
//! difference of the two releases is exact: whoever holds a key must see to it that this never happens. The
//! crate `evertally-keys` does so for the command line and for Python.

mod encoding;

pub use encoding::{Fields, Value};

/// Which form the names of a plan's noise have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Naming {
    /// Text, as 0.1 wrote it: for states and ledgers that began under it.
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
/// A name is public for a count. That of a training run holds a hash of its rows: there is no
/// `Debug` of the bytes, and records know names by a keyed hash.
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

    /// The name itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Who draws from the noise of a plan. Other purposes have other noise: a file of noise that leaks does not
/// unmask a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A counter in doubles.
    Float,
    /// A counter in whole numbers.
    Whole,
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
    /// Vectors of this dimension. Draws are laid out by it, so another dimension must not read the
    /// same stream.
    Vector(usize),
    /// One lane per key, known by its name.
    Keys,
}
