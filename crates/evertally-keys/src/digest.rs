//! Digests of inputs: a chain of keyed hashes, one per step.
//!
//! **Definition.** d_t = SipHash-2-4-128 of d_{t−1}, t and the input of step t, under a secret
//! derived from the noise key and the name of the noise. Each nonzero number of a step is hashed
//! together with its index.
//!
//! **Guarantee.** Two inputs with the same digest at step t are equal up to step t, except with
//! probability 2⁻¹²⁸ per pair of inputs over the choice of the key. Without the key a digest
//! reveals nothing, not even whether two names had the same input. `Digest` does not implement
//! `Debug`.

use std::hash::Hasher;

use evertally::NoiseKey;
use siphasher::sip128::{Hasher128, SipHasher24};
use zeroize::ZeroizeOnDrop;

/// The digest of all inputs up to a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub(crate) [u8; 16]);

impl Digest {
    /// The digest as bytes, for a saved state.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The digest as hexadecimal digits, for a readable record.
    #[must_use]
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Digests the inputs of a run, step by step.
///
/// ```
/// use evertally::NoiseKey;
/// use evertally_keys::InputChain;
/// let key = NoiseKey::from_os()?;
/// let mut chain = InputChain::new(&key);
/// let first = chain.step([3.0, 0.0]);
/// assert!(InputChain::new(&key).step([3.0, 0.0]) == first);
/// assert!(InputChain::new(&key).step([0.0, 3.0]) != first);
/// assert!(chain.step([3.0, 0.0]) != first);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Clone, ZeroizeOnDrop)]
pub struct InputChain {
    secret: [u8; 16],
    last: [u8; 16],
    steps: u64,
}

impl InputChain {
    /// A chain before its first step, for digests that belong to no name.
    #[must_use]
    pub fn new(key: &NoiseKey) -> Self {
        Self::with_secret(&key.subkey(b"inputs 1"))
    }

    /// A chain before its first step, keyed with the first half of `secret`.
    pub(crate) fn with_secret(secret: &[u8; 32]) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&secret[..16]);
        Self { secret: half, last: [0; 16], steps: 0 }
    }

    /// The chain after `steps` steps with a known digest.
    #[must_use]
    pub fn after(mut self, steps: u64, digest: Digest) -> Self {
        (self.steps, self.last) = (steps, digest.0);
        self
    }

    /// The chain after `steps` steps of which only a saved state is known.
    #[must_use]
    pub fn after_state(self, steps: u64, state: &[u8]) -> Self {
        let digest = self.hash(u64::MAX, |hasher| hasher.write(state));
        self.after(steps, digest)
    }

    /// The digest of all steps together. It does not reveal how many steps there were, not even
    /// whether there were any.
    pub(crate) fn run_digest(&self) -> Digest {
        self.hash(u64::MAX - 2, |hasher| hasher.write_u64(self.steps))
    }

    /// The digest of the last step; zeros before the first.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(self.last)
    }

    /// The number of steps digested.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Digests the numbers of the next step.
    pub fn step(&mut self, inputs: impl IntoIterator<Item = f64>) -> Digest {
        self.extend(|hasher| {
            for (place, input) in (0_u64..).zip(inputs) {
                if input != 0.0 {
                    hasher.write_u64(place);
                    hasher.write_u64(input.to_bits());
                }
            }
        })
    }

    /// Digests the next step of named lanes. Their order does not matter.
    pub fn step_of_named<'a>(&mut self, inputs: impl IntoIterator<Item = (&'a [u8], i128)>) -> Digest {
        // A sum does not depend on the order of its terms. Each lane occurs once.
        let mut sum = 0_u128;
        for (name, units) in inputs {
            sum = sum.wrapping_add(self.lane(name, units));
        }
        self.extend(|hasher| hasher.write_u128(sum))
    }

    /// A keyed hash of the input of one named lane in the next step. The sum of these hashes
    /// digests a step whose lanes are divided among several machines.
    #[must_use]
    pub fn lane(&self, name: &[u8], units: i128) -> u128 {
        let digest = self.hash(u64::MAX - 1, |hasher| {
            hasher.write_u64(name.len() as u64);
            hasher.write(name);
            hasher.write_i128(units);
        });
        u128::from_le_bytes(digest.0)
    }

    /// Digests the next step, given as bytes.
    pub fn step_of_bytes(&mut self, bytes: &[u8]) -> Digest {
        self.extend(|hasher| hasher.write(bytes))
    }

    fn extend(&mut self, write: impl FnOnce(&mut SipHasher24)) -> Digest {
        let digest = self.hash(self.steps, write);
        self.steps += 1;
        self.last = digest.0;
        digest
    }

    fn hash(&self, step: u64, write: impl FnOnce(&mut SipHasher24)) -> Digest {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write(&self.last);
        hasher.write_u64(step);
        write(&mut hasher);
        Digest(hasher.finish128().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records on disk hold these digests: they must never change.
    #[test]
    fn digests_are_frozen() {
        let mut chain = InputChain::new(&NoiseKey::insecure_from_seed(1));
        let digests = [
            chain.step([1.0, 0.0, -2.5]),
            chain.step([]),
            chain.step_of_named([(&b"a"[..], 3), (b"b", -4)]),
            chain.step_of_bytes(b"rows"),
        ];
        assert_eq!(digests.map(|digest| digest.to_hex()[..8].to_owned()), FROZEN);
    }

    const FROZEN: [&str; 4] = ["ad398275", "31201e3e", "6ae9fd0e", "244fdfd7"];

    #[test]
    fn places_steps_and_names_count_and_the_order_of_names_does_not() {
        let key = NoiseKey::insecure_from_seed(1);
        let chain = || InputChain::new(&key);
        assert!(chain().step([0.0, 1.0]) != chain().step([1.0]));
        assert!(chain().step([0.0, 0.0]) == chain().step([-0.0]));
        let named = |lanes: &[(&[u8], i128)]| chain().step_of_named(lanes.iter().copied());
        assert!(named(&[(b"a", 1), (b"b", 2)]) == named(&[(b"b", 2), (b"a", 1)]));
        assert!(named(&[(b"a", 1), (b"b", 2)]) != named(&[(b"a", 2), (b"b", 1)]));
        let other = NoiseKey::insecure_from_seed(2);
        assert!(chain().step([1.0]) != InputChain::new(&other).step([1.0]));
        let (mut long, mut short) = (chain(), chain());
        long.step([0.0]);
        assert!(long.step([1.0]) != short.step([1.0]));
        let mut resumed = chain().after(1, chain().step([0.0]));
        let mut again = chain();
        again.step([0.0]);
        assert!(resumed.step([7.0]) == again.step([7.0]));
    }
}
