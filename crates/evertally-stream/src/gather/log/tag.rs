//! Tags of claimants: what stands for their names.
//!
//! **Definition.** A tag is the first 88 bits of SipHash-1-3 with 128 bits of output, under a key that
//! the operating system's randomness gave this run. Nothing that leaves the run depends on a tag.
//! **Guarantee.** Whoever chooses names does not know the key, so for K claimants the probability that
//! one of them shares their tag is at most K/2⁸⁸, and no choice of names makes shelves unequal.

use std::hash::{BuildHasher, RandomState};

use siphasher::sip128::SipHasher13;

/// The bits of a tag that select a shelf.
const SHELF_BITS: u32 = 12;

/// The number of shelves.
pub(super) const SHELVES: usize = 1 << SHELF_BITS;

/// The bits of a tag that are held with claims.
pub(super) const HELD_BITS: u32 = 76;

/// Stands for a claimant during one run. No `Debug`: it is as private as the name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tag(u128);

impl Tag {
    /// The number of its shelf.
    pub(super) fn shelf(self) -> usize {
        (self.0 >> HELD_BITS) as usize
    }

    /// The bits that tell claimants of one shelf apart.
    pub(super) fn held(self) -> u128 {
        self.0 & ((1 << HELD_BITS) - 1)
    }
}

/// Makes tags under the key of this run.
#[derive(Clone, Copy)]
pub(super) struct Tagger(SipHasher13);

impl Tagger {
    pub(super) fn new() -> Self {
        // Two outputs of a secret hash, as a key.
        let secret = RandomState::new();
        Self(SipHasher13::new_with_keys(secret.hash_one(0_u8), secret.hash_one(1_u8)))
    }

    #[inline]
    pub(super) fn tag_of(&self, name: &[u8]) -> Tag {
        Tag(self.0.hash(name).as_u128() >> (u128::BITS - SHELF_BITS - HELD_BITS))
    }
}
