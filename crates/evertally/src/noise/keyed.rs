//! White noise for very many named keys, without a subkey for each of them.
//!
//! **Definition.** The tag of a name is the first 88 bits of BLAKE3, keyed with the stream key, of
//! a context and the name. Draw i of a tag is made as in [`WhiteNoise`](super::WhiteNoise), from
//! number i mod 8 of block b = ⌊i/8⌋ of ChaCha20. The cipher has its own key: BLAKE3, keyed with
//! the stream key, of another context and the kind of noise. The block's input words 12 to 15 hold
//! b in word 12 and the low 8 bits of word 13, and the tag in the other 88 bits.
//!
//! **Guarantee.** A draw is a pure function of (stream key, kind, tag, index). Everything that
//! [`WhiteNoise`](super::WhiteNoise) guarantees of a draw holds here as well: it has the same bits
//! in every form of the call. The block inputs of two (tag, block) pairs never agree, and the
//! cipher's key is used nowhere else. So no draw is ever shared with another tag, kind or stream,
//! or with anything else derived from the same stream key. Two *names* share noise if they share a
//! tag. Among K names this happens with probability at most K²/2⁸⁹, which is below 2⁻⁴⁹ for a
//! million. A caller who states δ for K keys must add that much to it, or compare tags. A tag has
//! 2⁴³ draws.
//!
//! **Cost.** 12 bytes per key. A single step takes one block of the cipher per key, in vector
//! lanes. Each further step of the same eight takes half a logarithm, sine and cosine.
//!
//! **Source.** The same as for [`WhiteNoise`](super::WhiteNoise), and the birthday bound.

use std::fmt;

use zeroize::Zeroize;

use super::key::StreamKey;
use super::real::Real;
use super::sampler::{self, Kind, Lane};

/// Contexts have the same length and are distinct, like those under a noise key.
const CONTEXT_CIPHER: &[u8; 16] = b"evertally lanes.";
const CONTEXT_TAG: &[u8; 16] = b"evertally lanetg";

/// Bits of the block number. The tag has the other 88 bits of the block input.
pub(crate) const BLOCK_BITS: u32 = 40;

/// Unit-variance white noise of very many named keys. A draw is a pure function of (stream key,
/// name, index).
///
/// ```
/// use evertally::internals::noise::{KeyedNoise, NoiseKey};
///
/// let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"pages"));
/// let tags = [noise.tag(b"/"), noise.tag(b"/about"), noise.tag(b"/contact")];
///
/// let mut step = [0.0; 3];
/// noise.draw_each(&tags, 5, &mut step); // draw 5 of every key
/// let mut about = [0.0; 6];
/// noise.fill(tags[1], 0, &mut about); // draws 0 to 5 of one key
/// assert_eq!(step[1], about[5]);
/// assert_eq!(format!("{noise:?}"), "KeyedNoise(Gaussian, ..)");
/// ```
#[derive(Clone)]
pub struct KeyedNoise {
    names: StreamKey,
    cipher: StreamKey,
    kind: Kind,
}

/// Stands for a name: 88 bits that are derived from the name with a secret key, in 12 bytes.
///
/// A tag is not secret. It reveals nothing about the noise or the key, and about the name only
/// whether it equals another. A tag belongs to the stream it was derived with. `Debug` still omits
/// its bits, because they are useless in a log.
///
/// ```
/// use evertally::internals::noise::{KeyedNoise, LaneTag, NoiseKey};
///
/// let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"pages"));
/// let tag = noise.tag(b"/about");
/// assert_eq!(LaneTag::from_bytes(tag.to_bytes()), tag);
/// assert_eq!(format!("{tag:?}"), "LaneTag(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneTag([u32; 3]);

impl KeyedNoise {
    /// The number of draws of a key: 2⁴³. Indices run from 0 to 2⁴³ − 1.
    pub const DRAWS: u64 = 8 << BLOCK_BITS;

    /// Independent N(0, 1) draws.
    #[must_use]
    pub fn gaussian(stream: StreamKey) -> Self {
        Self::new(stream, Kind::Gaussian, b"gaussian")
    }

    /// Independent Laplace draws of variance 1, that is, of scale 1/√2.
    ///
    /// ```
    /// use evertally::internals::noise::{KeyedNoise, NoiseKey};
    ///
    /// let noise = KeyedNoise::laplace(NoiseKey::insecure_from_seed(7).stream(b"pages"));
    /// assert_eq!(format!("{noise:?}"), "KeyedNoise(Laplace, ..)");
    /// ```
    #[must_use]
    pub fn laplace(stream: StreamKey) -> Self {
        Self::new(stream, Kind::Laplace, b"laplace")
    }

    /// Like [`gaussian`](Self::gaussian), but with a key stream of 8 rounds instead of 20. It is
    /// faster and has the smaller security margin that
    /// [`WhiteNoise::gaussian_chacha8`](super::WhiteNoise::gaussian_chacha8) describes.
    ///
    /// ```
    /// use evertally::internals::noise::{KeyedNoise, NoiseKey};
    ///
    /// let noise = KeyedNoise::gaussian_chacha8(NoiseKey::insecure_from_seed(7).stream(b"simulation"));
    /// assert_eq!(format!("{noise:?}"), "KeyedNoise(GaussianChaCha8, ..)");
    /// ```
    #[must_use]
    pub fn gaussian_chacha8(stream: StreamKey) -> Self {
        Self::new(stream, Kind::GaussianChaCha8, b"gaussian, 8 rounds")
    }

    fn new(stream: StreamKey, kind: Kind, label: &[u8]) -> Self {
        Self { cipher: stream.derive(CONTEXT_CIPHER, label), names: stream, kind }
    }

    /// The tag of a name. It is the same for the same name and stream, for every kind of noise.
    #[must_use]
    pub fn tag(&self, name: &[u8]) -> LaneTag {
        LaneTag::of(&self.names, name)
    }

    /// Derives the tags of many names, each in a third of the time of [`tag`](Self::tag), which
    /// mostly goes into wiping.
    ///
    /// ```
    /// use evertally::internals::noise::{KeyedNoise, NoiseKey};
    ///
    /// let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"pages"));
    /// let mut tagger = noise.tagger();
    /// assert_eq!(tagger.tag(b"/about"), noise.tag(b"/about"));
    /// assert_eq!(format!("{tagger:?}"), "Tagger(..)");
    /// ```
    #[must_use]
    pub fn tagger(&self) -> Tagger {
        Tagger::new(&self.names)
    }

    /// Writes the draws `first`, `first + 1`, … of one key. Runs that start at a multiple of eight
    /// waste nothing.
    ///
    /// # Panics
    /// If the range passes the last index of a key, 2⁴³ − 1: continuing would use the noise of
    /// another key.
    pub fn fill<F: Real>(&self, tag: LaneTag, first: u64, out: &mut [F]) {
        check_range(first, out.len());
        sampler::fill(self.kind, self.cipher.bytes(), tag.lane(), first, out);
    }

    /// Writes the draw with this index for every key.
    ///
    /// ```
    /// use evertally::internals::noise::{KeyedNoise, NoiseKey};
    ///
    /// let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"pages"));
    /// let tags: Vec<_> = (0..1000_u32).map(|page| noise.tag(&page.to_le_bytes())).collect();
    /// let mut step = vec![0.0_f32; tags.len()];
    /// noise.draw_each(&tags, 12, &mut step);
    /// ```
    ///
    /// # Panics
    /// If `out` does not have one place per tag, or as in [`fill`](Self::fill).
    pub fn draw_each<F: Real>(&self, tags: &[LaneTag], index: u64, out: &mut [F]) {
        self.draw_steps(tags, index, 1, out);
    }

    /// Writes the draws `first`, `first + 1`, … of every key, step by step. `out` holds `steps`
    /// rows, and each row has one place per tag. One block of the cipher serves eight steps, so
    /// eight steps that start at a multiple of eight cost little more than one.
    ///
    /// ```
    /// use evertally::internals::noise::{KeyedNoise, NoiseKey};
    ///
    /// let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"pages"));
    /// let tags = [noise.tag(b"/"), noise.tag(b"/about")];
    /// let mut rows = [0.0; 8 * 2];
    /// noise.draw_steps(&tags, 0, 8, &mut rows);
    /// let mut step = [0.0; 2];
    /// noise.draw_each(&tags, 3, &mut step);
    /// assert_eq!(rows[6..8], step);
    /// ```
    ///
    /// # Panics
    /// If `out` does not have `steps` places per tag, or as in [`fill`](Self::fill).
    pub fn draw_steps<F: Real>(&self, tags: &[LaneTag], first: u64, steps: usize, out: &mut [F]) {
        assert_eq!(Some(out.len()), steps.checked_mul(tags.len()), "one place for each step and tag");
        check_range(first, steps);
        sampler::fill_rows(self.kind, self.cipher.bytes(), tags, LaneTag::lane, first, out);
    }
}

/// Derives the tags of a stream's names, one after the other; see [`KeyedNoise::tagger`]. It holds
/// the stream key and is wiped when it is dropped.
#[derive(Clone)]
pub struct Tagger(blake3::Hasher);

impl Tagger {
    /// A tagger for the names of this stream, for every kind of noise.
    pub(crate) fn new(stream: &StreamKey) -> Self {
        Self(blake3::Hasher::new_keyed(stream.bytes()))
    }

    /// The same tag as [`KeyedNoise::tag`] derives from this name.
    pub fn tag(&mut self, name: &[u8]) -> LaneTag {
        self.0.reset();
        self.0.update(CONTEXT_TAG).update(name);
        let mut derived = *self.0.finalize().as_bytes();
        let mut bytes = [0; 11];
        bytes.copy_from_slice(&derived[..11]);
        derived.zeroize();
        LaneTag::from_bytes(bytes)
    }
}

impl Drop for Tagger {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Tagger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tagger(..)")
    }
}

impl fmt::Debug for KeyedNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyedNoise({:?}, ..)", self.kind)
    }
}

impl LaneTag {
    /// The tag of a name under this stream key.
    pub(crate) fn of(stream: &StreamKey, name: &[u8]) -> Self {
        let derived = stream.derive(CONTEXT_TAG, name);
        let mut bytes = [0; 11];
        bytes.copy_from_slice(&derived.bytes()[..11]);
        Self::from_bytes(bytes)
    }

    /// The 88 bits, for storage.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 11] {
        let mut bytes = [0; 11];
        bytes[..3].copy_from_slice(&self.0[0].to_le_bytes()[1..]);
        bytes[3..7].copy_from_slice(&self.0[1].to_le_bytes());
        bytes[7..].copy_from_slice(&self.0[2].to_le_bytes());
        bytes
    }

    /// Restores a stored tag. Bytes that belong to no name of the stream give noise that no name
    /// has.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 11]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k] = bytes;
        Self([
            u32::from_le_bytes([0, a, b, c]),
            u32::from_le_bytes([d, e, f, g]),
            u32::from_le_bytes([h, i, j, k]),
        ])
    }

    /// The start of the block inputs. The lowest 40 bits of the counter are zero, and the block
    /// number is added there.
    #[inline(always)]
    pub(crate) fn lane(self) -> Lane {
        let [high, nonce_low, nonce_high] = self.0;
        Lane { counter: u64::from(high) << 32, nonce: u64::from(nonce_low) | u64::from(nonce_high) << 32 }
    }
}

impl fmt::Debug for LaneTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaneTag(..)")
    }
}

fn check_range(first: u64, len: usize) {
    let end = first.checked_add(len as u64);
    assert!(
        end.is_some_and(|end| end <= KeyedNoise::DRAWS),
        "the range of noise passes the last index of a key"
    );
}

#[cfg(test)]
mod tests;
