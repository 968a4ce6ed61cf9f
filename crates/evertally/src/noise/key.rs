//! The secret from which all noise is derived, and its subkeys.
//!
//! **Definition.** A [`NoiseKey`] is 256 secret bits. A [`StreamKey`] is the BLAKE3 hash, keyed
//! with these bits, of a context and a label.
//!
//! **Guarantee.** Under the usual assumption on BLAKE3 (its keyed mode is a pseudorandom function),
//! streams with distinct labels are independent of each other, of the key's tag, and of everything
//! an observer without the key can compute. Keys are wiped from memory when dropped, and `Debug`
//! never shows them.
//!
//! **Proof obligation of the caller.** Privacy holds against everyone who does not have the key.
//! The key must have been drawn uniformly, and it must stay secret for as long as the releases
//! matter. The same (key, label, index) must never be used for two different inputs, because the
//! difference of two such releases carries no noise at all. This crate keeps no record and cannot
//! check that. `evertally-keys` checks it for keys in files.
//!
//! **Cost.** One BLAKE3 compression per derived key for short labels.
//!
//! **Source.** O'Connor, Aumasson, Neves and Wilcox-O'Hearn, *BLAKE3: one function, fast
//! everywhere* (2020).

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::{Error, Result};

/// Contexts have the same length and are distinct, so no two (context, label) pairs give the same
/// bytes.
const CONTEXT_STREAM: &[u8; 16] = b"evertally stream";
const CONTEXT_TAG: &[u8; 16] = b"evertally keytag";
const CONTEXT_SUBKEY: &[u8; 16] = b"evertally subkey";
/// BLAKE3's key-derivation mode needs a context string that is used nowhere else.
const CONTEXT_SEED: &str = "evertally 2026 insecure noise key from a 64-bit test seed";

/// The secret from which all noise is derived.
///
/// It is neither `Clone` nor `PartialEq`. Copies are therefore deliberate, and comparisons go
/// through [`NoiseKey::tag`].
///
/// ```
/// use evertally::NoiseKey;
///
/// let key = NoiseKey::from_os()?;
/// assert_eq!(format!("{key:?}"), "NoiseKey(..)");
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(ZeroizeOnDrop)]
pub struct NoiseKey([u8; 32]);

impl NoiseKey {
    /// Draws a key from the operating system.
    ///
    /// # Errors
    /// [`Error::NoEntropy`] if the operating system provides no randomness. There is no fallback: a
    /// weaker source would silently void the privacy guarantee.
    pub fn from_os() -> Result<Self> {
        let mut key = Self([0; 32]);
        getrandom::fill(&mut key.0).map_err(|error| Error::NoEntropy { reason: error.to_string() })?;
        Ok(key)
    }

    /// Restores a key from bytes that the caller stored, as returned by
    /// [`expose_bytes`](Self::expose_bytes).
    ///
    /// The bytes must have been drawn uniformly at random, for example by
    /// [`from_os`](Self::from_os). Nobody who may see a release may know them. A password or a hash
    /// of public data is not a key.
    ///
    /// ```
    /// use evertally::NoiseKey;
    ///
    /// let key = NoiseKey::from_os()?;
    /// let again = NoiseKey::from_bytes(*key.expose_bytes());
    /// assert_eq!(key.tag(), again.tag());
    /// # Ok::<(), evertally::Error>(())
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A key for tests and examples. **Anyone who guesses the seed can subtract the noise**, so
    /// nothing released under it is private.
    ///
    /// ```
    /// use evertally::NoiseKey;
    ///
    /// assert_eq!(NoiseKey::insecure_from_seed(7).tag(), NoiseKey::insecure_from_seed(7).tag());
    /// ```
    #[must_use]
    pub fn insecure_from_seed(seed: u64) -> Self {
        Self(blake3::derive_key(CONTEXT_SEED, &seed.to_le_bytes()))
    }

    /// The bytes of the key, for writing a key file. The caller must keep them as secret as the
    /// data.
    #[must_use]
    pub fn expose_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives the key of one noise stream. Distinct labels give independent streams. The same
    /// label always gives the same stream.
    ///
    /// ```
    /// use evertally::internals::noise::{NoiseKey, WhiteNoise};
    ///
    /// let key = NoiseKey::insecure_from_seed(7);
    /// let north = WhiteNoise::gaussian(key.stream(b"north"));
    /// let south = WhiteNoise::gaussian(key.stream(b"south"));
    /// assert_ne!(north.draw(0), south.draw(0));
    /// ```
    #[must_use]
    pub fn stream(&self, label: &[u8]) -> StreamKey {
        StreamKey(self.derive(CONTEXT_STREAM, label))
    }

    /// Derives a secret for a purpose other than noise, such as hashing the input. It is
    /// independent of all noise and of the secrets for other purposes.
    ///
    /// ```
    /// use evertally::NoiseKey;
    ///
    /// let key = NoiseKey::insecure_from_seed(7);
    /// assert_ne!(*key.subkey(b"inputs"), *key.subkey(b"names"));
    /// ```
    #[must_use]
    pub fn subkey(&self, purpose: &[u8]) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.derive(CONTEXT_SUBKEY, purpose))
    }

    /// A one-way tag by which a saved state recognises its key. It reveals nothing about the key or
    /// its streams except equality. It is not a proof of possession: two keys share a tag with
    /// probability 2⁻⁶⁴.
    ///
    /// ```
    /// use evertally::NoiseKey;
    ///
    /// assert_ne!(NoiseKey::insecure_from_seed(1).tag(), NoiseKey::insecure_from_seed(2).tag());
    /// ```
    #[must_use]
    pub fn tag(&self) -> [u8; 8] {
        let mut wide = self.derive(CONTEXT_TAG, &[]);
        let mut tag = [0; 8];
        tag.copy_from_slice(&wide[..8]);
        wide.zeroize();
        tag
    }

    fn derive(&self, context: &[u8; 16], label: &[u8]) -> [u8; 32] {
        let derived = derive(&self.0, context, label);
        overwrite_stack();
        derived
    }
}

/// A copy of a key, for code that means to run the same noise again. Keys are not `Clone`, so that
/// copies are deliberate.
#[must_use]
pub fn copy_of(key: &NoiseKey) -> NoiseKey {
    NoiseKey(key.0)
}

impl fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoiseKey(..)")
    }
}

/// The key of one noise stream. [`NoiseKey::stream`] derives it.
///
/// ```
/// use evertally::NoiseKey;
///
/// let stream = NoiseKey::insecure_from_seed(7).stream(b"visits");
/// assert_eq!(format!("{stream:?}"), "StreamKey(..)");
/// ```
#[derive(Clone, ZeroizeOnDrop)]
pub struct StreamKey([u8; 32]);

impl StreamKey {
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives a key below this one, for uses of a stream that need several keys.
    pub(crate) fn derive(&self, context: &[u8; 16], label: &[u8]) -> Self {
        Self(derive(&self.0, context, label))
    }
}

impl fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamKey(..)")
    }
}

#[inline(never)]
fn derive(key: &[u8; 32], context: &[u8; 16], label: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(context).update(label);
    let derived = *hasher.finalize().as_bytes();
    // The hasher holds the key in its state, so it is wiped like the key.
    hasher.zeroize();
    derived
}

/// Overwrites the stack below the caller, where BLAKE3 leaves the key when it finalises. A later
/// call that moves a value with unused bytes to the heap would take the key along.
#[inline(never)]
fn overwrite_stack() {
    let mut below = [0_u8; 4096];
    std::hint::black_box(&mut below);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_keys_differ() {
        let (a, b) = (NoiseKey::from_os().unwrap(), NoiseKey::from_os().unwrap());
        assert_ne!(a.expose_bytes(), b.expose_bytes());
        assert_ne!(a.expose_bytes(), &[0; 32]);
    }

    #[test]
    fn debug_shows_no_key_byte() {
        let key = NoiseKey::from_bytes([0xAB; 32]);
        for text in [format!("{key:?} {key:#?}"), format!("{:?} {:#?}", key.stream(b"a"), key.stream(b"a"))] {
            assert!(!text.contains("171") && !text.to_lowercase().contains("ab,"), "{text}");
            assert!(text.contains("Key(..)"), "{text}");
        }
    }

    #[test]
    fn labels_separate_streams_and_the_tag() {
        let key = NoiseKey::insecure_from_seed(1);
        let labels: [&[u8]; 6] = [b"", b"a", b"b", b"aa", b"evertally keytag", &[0]];
        for (i, a) in labels.iter().enumerate() {
            assert_ne!(key.stream(a).bytes()[..8], key.tag());
            assert_ne!(key.stream(a).bytes(), key.expose_bytes());
            for b in &labels[..i] {
                assert_ne!(key.stream(a).bytes(), key.stream(b).bytes());
            }
        }
    }

    /// Saved states carry tags, and released noise depends on the streams. Neither derivation may
    /// ever change.
    #[test]
    fn derivations_are_frozen() {
        let key = NoiseKey::insecure_from_seed(20);
        assert_eq!(&key.expose_bytes()[..8], &FROZEN[0]);
        assert_eq!(&key.stream(b"visits").bytes()[..8], &FROZEN[1]);
        assert_eq!(&key.tag(), &FROZEN[2]);
    }

    const FROZEN: [[u8; 8]; 3] = [
        [156, 51, 63, 32, 196, 170, 38, 22],
        [116, 131, 56, 108, 235, 147, 95, 201],
        [224, 163, 17, 38, 48, 204, 213, 74],
    ];
}
