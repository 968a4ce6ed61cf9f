//! Parts of the engine that other crates of this workspace use. **Unstable**: no compatibility
//! promise, in any version.

/// White noise, convolutions, and the types in the interface of
/// [`Factorization`](crate::internals::factorization::Factorization).
pub mod noise {
    pub use crate::noise::{
        CausalConvolver, ChainBlock, ChainBounds, ChainRow, ChainSource, Correlator, CyclicConvolver, Decay,
        GradeBlock, GradeBounds, Grading, IntegerLaw, IntegerNoise, KeyedNoise, LaneTag, MAX_CHAINS,
        NoiseKey, Real, Recipe, SlowDecay, StreamKey, Tagger, VectorField, WhiteField, WhiteNoise,
        WindowDecay, copy_of, square_root_coefficient, square_root_coefficients,
    };
}

/// What a mechanism computes: the trait [`Factorization`](factorization::Factorization).
pub mod factorization {
    pub use crate::factorization::{Cost, Dense, Factorization, IntegerDecoder, MAX_DENSE};
    pub use crate::factorization::{graded_square_root, markov};
}

/// The encoding of noise names, for definitions of what is counted.
pub mod noise_name {
    pub use crate::noise_name::{Fields, Value};
    pub use crate::plan::version_1;
}

/// Releases computed again from a key, for audits.
pub mod replay {
    pub use crate::counter::{ReplayedLane, replay_lane};
}

/// The frame of saved forms.
pub mod saved_form {
    pub use crate::saved_form::{Reader, cut_short, seal, start, unseal};
}

/// Sums that do not lose small terms beside large ones.
pub mod sums {
    pub use crate::privacy::sensitivity::CompensatedSum;
}
