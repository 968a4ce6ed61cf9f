//! Unit-variance white noise, addressed by index.
//!
//! **Definition.** Word i is the i-th 64-bit little-endian word of the ChaCha20 key stream under
//! the stream key (nonce 1 for Gaussian noise, 2 for Laplace; 64-bit block counter). Gaussian draws
//! come in pairs by Box–Muller. With words a = w₂ᵢ and b = w₂ᵢ₊₁ and r = √(−2 ln((a+½)2⁻⁶⁴)), draw
//! 2i is r cos(2π(b+½)2⁻⁶⁴) and draw 2i+1 is r sin(2π(b+½)2⁻⁶⁴). Laplace draw i takes its sign from
//! the top bit of wᵢ and its size −ln((v+½)2⁻⁶³)/√2 from the other 63 bits, v. The fast Gaussian
//! kind uses ChaCha8 and nonce 3.
//!
//! **Guarantee.** A draw is a pure function of (stream key, kind, index). It has the same bits on
//! every machine, for every way of splitting a range into calls, at every vector width and thread
//! count, and in every version of this library. All 2⁶⁴ indices are distinct draws: index i needs
//! the 32-bit words 2i and 2i+1 of the key stream, which lie below 2⁶⁵, and ChaCha20's counter
//! spans 2⁶⁸. Tails are right to probability 2⁻⁶⁴ (|g| ≤ 9.5). No branch depends on a drawn value.
//! Noise is a double: if the last bits of a release matter, round it to a grid first.
//!
//! **Cost.** Eight bytes of key stream, half a logarithm and half a sine and cosine per draw.
//! Sixteen blocks and eight pairs are made at a time if vectors are wide enough. Memory is
//! constant.
//!
//! **Source.** Box and Muller, *A note on the generation of random normal deviates* (1958);
//! Bernstein, *ChaCha* (2008).

use std::fmt;

use rayon::prelude::*;

use super::key::StreamKey;
use super::real::Real;
use super::sampler::{self, Kind, Lane};

/// Draws that one thread makes at a time: a multiple of the block length, and long enough to hide
/// the cost of the hand-over.
const PARALLEL_CHUNK_LEN: usize = 1 << 13;

/// Unit-variance white noise, addressed by index. A draw is a pure function of (stream key, index).
///
/// ```
/// use evertally::internals::noise::{NoiseKey, WhiteNoise};
///
/// let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(7).stream(b"visits"));
/// let mut all = [0.0; 10];
/// white.fill(0, &mut all);
/// assert_eq!(white.draw(6), all[6]);
/// assert_eq!(format!("{white:?}"), "WhiteNoise(Gaussian, ..)");
/// ```
#[derive(Clone)]
pub struct WhiteNoise {
    stream: StreamKey,
    kind: Kind,
}

impl WhiteNoise {
    /// Independent N(0, 1) draws.
    #[must_use]
    pub fn gaussian(stream: StreamKey) -> Self {
        Self { stream, kind: Kind::Gaussian }
    }

    /// Independent Laplace draws of variance 1, that is, of scale 1/√2.
    ///
    /// ```
    /// use evertally::internals::noise::{NoiseKey, WhiteNoise};
    ///
    /// let scale = 3.0;
    /// let white = WhiteNoise::laplace(NoiseKey::insecure_from_seed(7).stream(b"visits"));
    /// let noise = scale * std::f64::consts::SQRT_2 * white.draw(0); // Laplace of that scale
    /// # assert!(noise.is_finite());
    /// ```
    #[must_use]
    pub fn laplace(stream: StreamKey) -> Self {
        Self { stream, kind: Kind::Laplace }
    }

    /// Like [`gaussian`](Self::gaussian), but with a key stream of 8 rounds instead of 20. It is
    /// faster and has a smaller security margin.
    ///
    /// No attack on 8 rounds is known that is faster than trying all keys, but 7 rounds are broken
    /// in theory. ChaCha20 has a margin of 13 rounds. This kind shares no draws with the other
    /// kinds. Give it its own stream as well, so that a break of it reaches no other noise.
    ///
    /// ```
    /// use evertally::internals::noise::{NoiseKey, WhiteNoise};
    ///
    /// let white = WhiteNoise::gaussian_chacha8(NoiseKey::insecure_from_seed(7).stream(b"simulation"));
    /// assert_eq!(format!("{white:?}"), "WhiteNoise(GaussianChaCha8, ..)");
    /// ```
    #[must_use]
    pub fn gaussian_chacha8(stream: StreamKey) -> Self {
        Self { stream, kind: Kind::GaussianChaCha8 }
    }

    /// Writes the draws with indices `first`, `first + 1`, …. Any draw can be recomputed from the
    /// key alone. An `f32` is the `f64` draw, rounded.
    ///
    /// # Panics
    /// If the range passes the last index, `u64::MAX`: starting over would use noise twice.
    pub fn fill<F: Real>(&self, first: u64, out: &mut [F]) {
        check_range(first, out.len());
        sampler::fill(self.kind, self.stream.bytes(), self.lane(), first, out);
    }

    /// The same draws as [`fill`](Self::fill), bit for bit, made on all threads of the current
    /// rayon pool.
    ///
    /// # Panics
    /// As for [`fill`](Self::fill).
    pub fn fill_parallel<F: Real>(&self, first: u64, out: &mut [F]) {
        check_range(first, out.len());
        let (key, lane) = (self.stream.bytes(), self.lane());
        if out.len() <= PARALLEL_CHUNK_LEN {
            return sampler::fill(self.kind, key, lane, first, out);
        }
        out.par_chunks_mut(PARALLEL_CHUNK_LEN).enumerate().for_each(|(i, chunk)| {
            sampler::fill(self.kind, key, lane, first + (i * PARALLEL_CHUNK_LEN) as u64, chunk);
        });
    }

    /// The draw at one index. For a run of draws, [`fill`](Self::fill) is ten times cheaper.
    #[must_use]
    pub fn draw(&self, index: u64) -> f64 {
        sampler::draw(self.kind, self.stream.bytes(), self.lane(), index)
    }

    /// Each kind has its own nonce. The kinds are independent even if a caller gives both the same
    /// stream key.
    fn lane(&self) -> Lane {
        let nonce = match self.kind {
            Kind::Gaussian => 1,
            Kind::Laplace => 2,
            Kind::GaussianChaCha8 => 3,
        };
        Lane { counter: 0, nonce }
    }
}

impl fmt::Debug for WhiteNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WhiteNoise({:?}, ..)", self.kind)
    }
}

fn check_range(first: u64, len: usize) {
    let last_offset = (len as u64).saturating_sub(1);
    assert!(first.checked_add(last_offset).is_some(), "the range of noise passes index u64::MAX");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseKey;
    use crate::noise::keystream::{input, make_block};
    use crate::noise::law::{Gaussian, Laplace, block_pair};

    fn all_kinds() -> [WhiteNoise; 3] {
        let stream = || NoiseKey::insecure_from_seed(1).stream(b"test");
        [
            WhiteNoise::gaussian(stream()),
            WhiteNoise::laplace(stream()),
            WhiteNoise::gaussian_chacha8(stream()),
        ]
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn is_shared_between_threads_and_shows_nothing() {
        fn shared<T: Send + Sync + Clone>(_: &T) {}
        let kinds = all_kinds();
        shared(&kinds);
        let shown = kinds.map(|white| format!("{white:?}"));
        assert_eq!(
            shown,
            ["Gaussian", "Laplace", "GaussianChaCha8"].map(|kind| format!("WhiteNoise({kind}, ..)"))
        );
    }

    #[test]
    fn chunking_does_not_matter() {
        for white in all_kinds() {
            // Starts on both sides of every carry: a block of the cipher, 2³² blocks, an odd
            // index, the end.
            for start in [0, 1, (1 << 35) - 700, (1 << 35) - 701, u64::MAX - 1499] {
                let mut whole = vec![0.0; 1500];
                white.fill(start, &mut whole);
                for chunk_len in [1, 2, 3, 7, 255, 512, 513, 1499] {
                    let mut pieces = vec![0.0; 1500];
                    for (i, piece) in pieces.chunks_mut(chunk_len).enumerate() {
                        white.fill(start + (i * chunk_len) as u64, piece);
                    }
                    assert_eq!(bits(&whole), bits(&pieces), "{white:?} from {start} by {chunk_len}");
                }
                let single: Vec<f64> = (0..1500).map(|i| white.draw(start + i)).collect();
                assert_eq!(bits(&whole), bits(&single), "{white:?} from {start}");
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        for white in all_kinds() {
            for (start, len) in [(0, 100_000), (12_345, 99_999), (u64::MAX - 49_999, 50_000), (3, 10)] {
                let (mut one, mut many) = (vec![0.0; len], vec![0.0; len]);
                white.fill(start, &mut one);
                white.fill_parallel(start, &mut many);
                assert_eq!(bits(&one), bits(&many), "{white:?} from {start}");
            }
        }
    }

    #[test]
    fn singles_are_the_doubles_rounded() {
        for white in all_kinds() {
            for (start, len) in [(0, 5000), (7, 1025), (3, 10), (u64::MAX - 2, 3)] {
                let (mut double, mut single, mut many) =
                    (vec![0.0_f64; len], vec![0.0_f32; len], vec![0.0_f32; len]);
                white.fill(start, &mut double);
                white.fill(start, &mut single);
                white.fill_parallel(start, &mut many);
                let rounded: Vec<u32> = double.iter().map(|&value| (value as f32).to_bits()).collect();
                for singles in [single, many] {
                    let got: Vec<u32> = singles.iter().map(|value| value.to_bits()).collect();
                    assert_eq!(got, rounded, "{white:?} from {start}");
                }
            }
        }
    }

    /// Recomputes draws from the definition: the block of the index under the nonce of the kind,
    /// and its pair in that block. It covers the first draws of each kind, the counter's carries at
    /// 2³² blocks, and the very end, where nothing may wrap.
    #[test]
    fn draws_are_those_of_the_definition() {
        let key = NoiseKey::insecure_from_seed(1).stream(b"test");
        for start in [0, 6, (1 << 35) - 20, (1 << 35) - 2, 1 << 63, u64::MAX - 39] {
            for index in start..=start + 39 {
                let (pair, second) = ((index % 8) as usize / 2, (index % 2) as usize);
                let mut words = [0; 16];
                let [gaussian, laplace, quick] = all_kinds().map(|white| white.draw(index).to_bits());
                make_block::<20>(key.bytes(), input(index / 8, 1), &mut words);
                assert_eq!(gaussian, block_pair::<Gaussian>(&words, pair)[second].to_bits(), "{index}");
                make_block::<20>(key.bytes(), input(index / 8, 2), &mut words);
                assert_eq!(laplace, block_pair::<Laplace>(&words, pair)[second].to_bits(), "{index}");
                make_block::<8>(key.bytes(), input(index / 8, 3), &mut words);
                assert_eq!(quick, block_pair::<Gaussian>(&words, pair)[second].to_bits(), "{index}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "passes index u64::MAX")]
    fn a_range_past_the_end_is_refused() {
        all_kinds()[0].fill(u64::MAX, &mut [0.0; 2]);
    }

    /// Released noise may be derived again years later, so these values may never change.
    #[test]
    fn draws_are_frozen() {
        for (white, frozen) in
            all_kinds().iter().zip([FROZEN_GAUSSIAN, FROZEN_LAPLACE, FROZEN_GAUSSIAN_CHACHA8])
        {
            let got = FROZEN_INDICES.map(|index| white.draw(index).to_bits());
            assert!(got == frozen, "{white:?}: {got:#018x?}");
        }
    }

    const FROZEN_INDICES: [u64; 8] = [0, 1, 2, 3, 1000, 1 << 35, 1 << 63, u64::MAX];
    const FROZEN_GAUSSIAN: [u64; 8] = [
        0xbfdf_b12f_5fee_0fad,
        0x3fc7_86e8_d588_f94e,
        0x3fe1_f325_7758_f969,
        0x3fec_b481_3b8d_0559,
        0x3fc7_8a47_ad10_b0b0,
        0xbff7_da37_c769_9e58,
        0xbfd3_f4b5_481a_2d06,
        0xc000_8217_0b0f_99f3,
    ];
    const FROZEN_LAPLACE: [u64; 8] = [
        0x3ff0_7165_81a1_220d,
        0x3fe4_fc99_2d6c_2ba2,
        0xbfc3_7cdf_2ffd_f16b,
        0x3ff8_8521_3e42_b5cf,
        0x3fde_77d2_4d92_2172,
        0xbfe9_57cc_b2f2_f6ee,
        0x3fdc_3abc_7f6a_d08d,
        0x3fd0_acaf_b621_4526,
    ];
    const FROZEN_GAUSSIAN_CHACHA8: [u64; 8] = [
        0xbfda_33ec_b295_c8a2,
        0x3fd5_d0a8_039a_83dc,
        0x3fec_d4f9_173d_6132,
        0x3fea_ac86_2903_37e1,
        0x3fdf_4e31_f8f0_b937,
        0xbff1_1f3c_7f32_9dd4,
        0xbfe6_a551_d3bb_bff4,
        0xbff0_d57b_66d1_9ac0,
    ];
}
