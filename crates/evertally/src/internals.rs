//! Parts of the engine that other crates of this workspace use. **Unstable**: no compatibility
//! promise, in any version.

/// White noise, the streaming engine and convolutions.
pub mod noise {
    pub use crate::noise::*;
}

/// What a mechanism computes: the trait [`Factorization`](factorization::Factorization).
pub mod factorization {
    pub use crate::factorization::graded_square_root;
    pub use crate::factorization::{Cost, Dense, Factorization, IntegerDecoder, MAX_DENSE};
}

/// The encoding of noise names, for definitions of what is counted.
pub mod noise_name {
    pub use crate::noise_name::{Fields, Value};
    pub use crate::plan::version_1;
}

/// Releases computed again from a key, for audits.
pub mod replay {
    pub use crate::counter::{ReplayedLane, replay_distance, replay_lane};
}
