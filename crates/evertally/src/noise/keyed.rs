//! White noise for very many named keys, without a subkey for each.
//!
//! **Definition.** A name's tag is the first 88 bits of BLAKE3, keyed with the stream key, of a
//! context and the name. Draw i of a tag is made as in [`WhiteNoise`](super::WhiteNoise), from
//! number i mod 8 of block b = ⌊i/8⌋ of ChaCha20 under a key of its own (BLAKE3, keyed with the
//! stream key, of another context and the kind of noise). The block's input words 12 to 15 hold b
//! in word 12 and the low 8 bits of word 13, and the tag in the other 88 bits.
//!
//! **Guarantee.** A draw is a pure function of (stream key, kind, tag, index), with all that
//! [`WhiteNoise`](super::WhiteNoise) promises of one: the same bits for every way of asking. Block
//! inputs of two (tag, block) pairs never agree, and the cipher's key is used nowhere else, so no
//! draw is ever shared with another tag, kind or stream, whatever else is made of the same stream
//! key. Two *names* share noise if they share a tag: for K names this happens anywhere with
//! probability at most K²/2⁸⁹, below 2⁻⁴⁹ for a million. Whoever states δ for K keys adds that much
//! to it, or compares tags. A tag has 2⁴³ draws.
//!
//! **Cost.** 12 bytes a key. One block of the cipher a key for a single step, in vector lanes, and
//! half a logarithm, sine and cosine more for each further one of eight steps.
//!
//! **Source.** As [`WhiteNoise`](super::WhiteNoise); the birthday bound.

use std::fmt;

use zeroize::Zeroize;

use super::key::StreamKey;
use super::real::Real;
use super::sampler::{self, Kind, Lane};

/// Contexts are as long as each other and distinct, as those under a noise key are.
const CONTEXT_CIPHER: &[u8; 16] = b"evertally lanes.";
const CONTEXT_TAG: &[u8; 16] = b"evertally lanetg";

/// Bits of the block number; the tag has the other 88 of the block input.
pub(crate) const BLOCK_BITS: u32 = 40;

/// Unit-variance white noise of very many named keys, a pure function of (stream key, name, index).
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

/// What stands for a name: 88 bits that a secret key makes of it, in 12 bytes.
///
/// A tag is not secret: it tells nothing of the noise or of the key, and of the name only whether
/// it is the same as another's. It belongs to the stream it was made with. `Debug` leaves its bits
/// out all the same, as they are no use in a log.
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
    /// The number of draws a key has: 2⁴³. Indices run from 0 to one below.
    pub const DRAWS: u64 = 8 << BLOCK_BITS;

    /// Independent N(0, 1) draws.
    #[must_use]
    pub fn gaussian(stream: StreamKey) -> Self {
        Self::new(stream, Kind::Gaussian, b"gaussian")
    }

    /// Independent Laplace draws of variance 1, that is of scale 1/√2.
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

    /// As [`gaussian`](Self::gaussian), on a key stream of 8 rounds instead of 20: quicker, at the
    /// smaller margin of security that
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

    /// The tag of a name: the same for the same name and stream, for every kind of noise.
    #[must_use]
    pub fn tag(&self, name: &[u8]) -> LaneTag {
        LaneTag::of(&self.names, name)
    }

    /// Makes the tags of many names, each in a third of the time that [`tag`](Self::tag) takes,
    /// most of which is wiping.
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

    /// Draws `first`, `first + 1`, … of one key. Runs that begin at a multiple of eight waste nothing.
    ///
    /// # Panics
    /// Where the range passes the last index of a key, 2⁴³ − 1: going on would use the noise of another.
    pub fn fill<F: Real>(&self, tag: LaneTag, first: u64, out: &mut [F]) {
        check_range(first, out.len());
        sampler::fill(self.kind, self.cipher.bytes(), tag.lane(), first, out);
    }

    /// The draw with this index for every key.
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
    /// Where `out` has not one place for each tag; as [`fill`](Self::fill).
    pub fn draw_each<F: Real>(&self, tags: &[LaneTag], index: u64, out: &mut [F]) {
        self.draw_steps(tags, index, 1, out);
    }

    /// Draws `first`, `first + 1`, … for every key, step by step: `out` holds `steps` rows, each
    /// with a place for each tag. One block of the cipher serves eight steps, so eight from a
    /// multiple of eight on cost little more than one.
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
    /// Where `out` has not `steps` places for each tag; as [`fill`](Self::fill).
    pub fn draw_steps<F: Real>(&self, tags: &[LaneTag], first: u64, steps: usize, out: &mut [F]) {
        assert_eq!(Some(out.len()), steps.checked_mul(tags.len()), "one place for each step and tag");
        check_range(first, steps);
        sampler::fill_rows(self.kind, self.cipher.bytes(), tags, LaneTag::lane, first, out);
    }
}

/// Makes the tags of a stream's names, one after the other: see [`KeyedNoise::tagger`]. It holds
/// the stream key, and is wiped when it is dropped.
pub struct Tagger(blake3::Hasher);

impl Tagger {
    /// Of the names of this stream, whatever kind of noise they have.
    pub(crate) fn new(stream: &StreamKey) -> Self {
        Self(blake3::Hasher::new_keyed(stream.bytes()))
    }

    /// The tag that [`KeyedNoise::tag`] makes of this name.
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

    /// The 88 bits, for keeping.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 11] {
        let mut bytes = [0; 11];
        bytes[..3].copy_from_slice(&self.0[0].to_le_bytes()[1..]);
        bytes[3..7].copy_from_slice(&self.0[1].to_le_bytes());
        bytes[7..].copy_from_slice(&self.0[2].to_le_bytes());
        bytes
    }

    /// A tag that was kept. Bytes that no name of the stream gave stand for noise that no name has.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 11]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k] = bytes;
        Self([
            u32::from_le_bytes([0, a, b, c]),
            u32::from_le_bytes([d, e, f, g]),
            u32::from_le_bytes([h, i, j, k]),
        ])
    }

    /// Its block inputs: the lowest 40 bits of the counter are zero, and the block number is added there.
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
mod tests {
    use super::*;
    use crate::noise::keystream::make_block;
    use crate::noise::law::{Gaussian, block_pair};
    use crate::noise::{NoiseKey, WhiteNoise};

    fn stream() -> StreamKey {
        NoiseKey::insecure_from_seed(1).stream(b"test")
    }

    fn all_kinds() -> [KeyedNoise; 3] {
        [
            KeyedNoise::gaussian(stream()),
            KeyedNoise::laplace(stream()),
            KeyedNoise::gaussian_chacha8(stream()),
        ]
    }

    fn tags(noise: &KeyedNoise, count: u32) -> Vec<LaneTag> {
        (0..count).map(|i| noise.tag(&i.to_le_bytes())).collect()
    }

    /// Draws key by key, step by step: what every way of asking must agree with.
    fn one_by_one(noise: &KeyedNoise, tags: &[LaneTag], first: u64, steps: usize) -> Vec<f64> {
        let mut rows = Vec::new();
        for step in 0..steps {
            for &tag in tags {
                let mut value = [0.0];
                noise.fill(tag, first + step as u64, &mut value);
                rows.push(value[0]);
            }
        }
        rows
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn every_way_of_asking_agrees() {
        for noise in all_kinds() {
            for (count, first, steps) in [
                (1, 0, 30),
                (3, 7, 2),
                (16, 1, 7),
                (17, 6, 12),
                (64, (1 << 35) - 3, 5),
                (131, 3, 17),
                (33, KeyedNoise::DRAWS - 9, 9),
            ] {
                let tags = tags(&noise, count);
                let want = bits(&one_by_one(&noise, &tags, first, steps));
                let context = format!("{noise:?}, {count} keys from {first}");

                let mut rows = vec![0.0; want.len()];
                noise.draw_steps(&tags, first, steps, &mut rows);
                assert_eq!(bits(&rows), want, "{context}");

                let mut singles = vec![0.0_f32; want.len()];
                noise.draw_steps(&tags, first, steps, &mut singles);
                let rounded: Vec<f32> = rows.iter().map(|&value| value as f32).collect();
                assert_eq!(singles, rounded, "{context}");

                for (step, want) in want.chunks(tags.len()).enumerate() {
                    let mut row = vec![0.0; tags.len()];
                    noise.draw_each(&tags, first + step as u64, &mut row);
                    assert_eq!(bits(&row), want, "{context}");
                }
                for cut in [1, 2, 5, 8] {
                    let mut pieces = vec![0.0; want.len()];
                    for (i, piece) in pieces.chunks_mut(cut * tags.len()).enumerate() {
                        noise.draw_steps(&tags, first + (i * cut) as u64, piece.len() / tags.len(), piece);
                    }
                    assert_eq!(bits(&pieces), want, "{context} by {cut}");
                }
                for (i, &tag) in tags.iter().enumerate() {
                    let mut column = vec![0.0; steps];
                    noise.fill(tag, first, &mut column);
                    let want: Vec<u64> = want.iter().skip(i).step_by(tags.len()).copied().collect();
                    assert_eq!(bits(&column), want, "{context}");
                }
            }
        }
    }

    /// From the definition: BLAKE3, the layout of the block input, the pair.
    #[test]
    fn draws_are_those_of_the_definition() {
        let noise = KeyedNoise::gaussian(stream());
        let hash = |context: &[u8], label: &[u8]| {
            *blake3::keyed_hash(stream().bytes(), &[context, label].concat()).as_bytes()
        };
        let key = hash(b"evertally lanes.", b"gaussian");
        let tag = hash(b"evertally lanetg", b"name");
        assert_eq!(noise.tag(b"name").to_bytes(), tag[..11]);
        let mut tagger = noise.tagger();
        for name in [&b"other"[..], b"name", &[7; 500], b"", b"name"] {
            assert_eq!(tagger.tag(name), noise.tag(name));
        }
        for index in [0, 1, 7, 8, 1 << 35, (1 << 40) + 5, KeyedNoise::DRAWS - 1] {
            let block = index / 8;
            // Sixteen bytes, little endian: five of the block number, then eleven of the tag.
            let mut bytes = [0; 16];
            bytes[..5].copy_from_slice(&block.to_le_bytes()[..5]);
            bytes[5..].copy_from_slice(&tag[..11]);
            let input: [u32; 4] =
                std::array::from_fn(|i| u32::from_le_bytes(*bytes[4 * i..].first_chunk().unwrap()));
            let mut words = [0; 16];
            make_block::<20>(&key, input, &mut words);
            let want = block_pair::<Gaussian>(&words, (index % 8) as usize / 2)[(index % 2) as usize];
            let mut got = [0.0_f64];
            noise.fill(noise.tag(b"name"), index, &mut got);
            assert_eq!(got[0].to_bits(), want.to_bits(), "{index}");
        }
    }

    /// Released noise is derived again years later, so these values may never change.
    #[test]
    fn draws_are_frozen() {
        for (noise, frozen) in all_kinds().iter().zip(FROZEN) {
            let got = [0, 1, 1000, KeyedNoise::DRAWS - 1]
                .map(|index| one_by_one(noise, &[noise.tag(b"name")], index, 1)[0]);
            let got = got.map(f64::to_bits);
            assert!(got == frozen, "{noise:?}: {got:#018x?}");
        }
    }

    const FROZEN: [[u64; 4]; 3] = [
        [0x3fba_ba3e_0184_22fb, 0xbfe2_8280_aafa_9420, 0x3fe8_1cdc_2655_6d60, 0xc001_5801_1de0_7b73],
        [0x3ff6_13cc_3797_79a1, 0xbff4_3592_dffa_2822, 0xbfef_4c12_6422_33ab, 0x3fed_1cc6_2302_4b34],
        [0xbfe5_776a_bf0d_9beb, 0x3fdf_1297_8c96_f139, 0xbfd6_1137_6912_4f99, 0x3fe0_2d77_61f2_9242],
    ];

    #[test]
    fn names_kinds_and_streams_are_separate() {
        let other = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(1).stream(b"other"));
        let [gaussian, laplace, quick] = all_kinds();
        assert_eq!(gaussian.tag(b"a"), laplace.tag(b"a"));
        assert_ne!(gaussian.tag(b"a"), gaussian.tag(b"b"));
        assert_ne!(gaussian.tag(b"a"), other.tag(b"a"));
        let tag = gaussian.tag(b"a");
        let mut seen: Vec<u64> = [&gaussian, &laplace, &quick, &other]
            .into_iter()
            .flat_map(|noise| [tag, noise.tag(b"b")].map(|tag| one_by_one(noise, &[tag], 0, 20)))
            .flatten()
            .chain((0..20).map(|i| WhiteNoise::gaussian(stream()).draw(i)))
            .map(f64::to_bits)
            .collect();
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn tags_are_kept_whole_and_show_nothing() {
        assert_eq!(size_of::<LaneTag>(), 12);
        let bytes = std::array::from_fn(|i| 0xa0 + i as u8);
        assert_eq!(LaneTag::from_bytes(bytes).to_bytes(), bytes);
        assert_eq!(LaneTag::from_bytes([0xff; 11]).lane().counter, u64::MAX << BLOCK_BITS);
        assert_eq!(
            format!("{:?} {:?}", LaneTag::from_bytes(bytes), all_kinds()[0]),
            "LaneTag(..) KeyedNoise(Gaussian, ..)"
        );
    }

    #[test]
    #[should_panic(expected = "passes the last index of a key")]
    fn a_range_past_the_end_is_refused() {
        let [noise, ..] = all_kinds();
        noise.fill(noise.tag(b"a"), KeyedNoise::DRAWS - 1, &mut [0.0; 2]);
    }

    #[test]
    #[should_panic(expected = "passes the last index of a key")]
    fn steps_past_the_end_are_refused() {
        let [noise, ..] = all_kinds();
        noise.draw_each(&[noise.tag(b"a")], KeyedNoise::DRAWS, &mut [0.0]);
    }

    #[test]
    #[should_panic(expected = "one place for each step and tag")]
    fn a_row_too_short_is_refused() {
        let [noise, ..] = all_kinds();
        noise.draw_each(&[noise.tag(b"a"), noise.tag(b"b")], 0, &mut [0.0]);
    }

    #[test]
    fn nothing_is_drawn_for_nobody() {
        let [noise, ..] = all_kinds();
        noise.draw_steps::<f64>(&[], 0, 5, &mut []);
        noise.draw_steps::<f64>(&[noise.tag(b"a")], 3, 0, &mut []);
        noise.fill::<f64>(noise.tag(b"a"), KeyedNoise::DRAWS, &mut []);
    }
}
