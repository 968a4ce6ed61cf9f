//! Draws computed from key-stream words.
//!
//! **Definition.** Two 64-bit words a, b give two draws. Gaussian (Box–Muller): r cos θ and r sin θ
//! with r = √(−2 ln((a+½)2⁻⁶⁴)) and θ = 2π(b+½)2⁻⁶⁴. Laplace: the top bit of each word is the sign,
//! and the other 63 bits, v, give the size −ln((v+½)2⁻⁶³)/√2. Both have variance 1.
//!
//! **Guarantee.** A draw has the same bits at every vector width and in either form of the call. An
//! `f32` draw is the `f64` draw, rounded.
//!
//! **Cost.** About 60 vector operations per vector of pairs (one pair per double in the vector),
//! including one division and one square root.
//!
//! **Source.** Box and Muller, *A note on the generation of random normal deviates* (1958).

use std::ops::Range;

use super::keystream::{BLOCK_WORDS, Group, LANES};
use super::portable::{minus_twice_ln_63, minus_twice_ln_64, sin_cos_turn};
use super::real::Real;
use super::vectorise::vectorised;

/// Draws per block: one for every 64 bits.
pub(crate) const BLOCK_DRAWS: usize = BLOCK_WORDS / 2;
/// Pairs per block. A pair never spans two blocks.
pub(crate) const BLOCK_PAIRS: usize = BLOCK_DRAWS / 2;
/// Pairs computed together: one for each double of the widest vector.
pub(crate) const PAIRS: usize = 8;

/// The draws of sixteen blocks: row j holds draw j of each.
pub(crate) type GroupDraws<F> = [[F; LANES]; BLOCK_DRAWS];

/// Turns two words into two draws.
pub(crate) trait Law {
    fn pair(a: u64, b: u64) -> [f64; 2];
}

pub(crate) struct Gaussian;

impl Law for Gaussian {
    #[inline(always)]
    fn pair(a: u64, b: u64) -> [f64; 2] {
        let radius = minus_twice_ln_64(a).sqrt();
        let (sin, cos) = sin_cos_turn(b);
        [radius * cos, radius * sin]
    }
}

pub(crate) struct Laplace;

impl Law for Laplace {
    #[inline(always)]
    fn pair(a: u64, b: u64) -> [f64; 2] {
        [laplace(a), laplace(b)]
    }
}

#[inline(always)]
fn laplace(word: u64) -> f64 {
    const SIGN: u64 = 1 << 63;
    let size = (0.5 * minus_twice_ln_63(word)) * std::f64::consts::FRAC_1_SQRT_2;
    f64::from_bits(size.to_bits() ^ (word & SIGN))
}

/// The pair of a block that starts at 32-bit word `4 · pair`.
#[inline(always)]
pub(crate) fn block_pair<L: Law>(block: &[u32; BLOCK_WORDS], pair: usize) -> [f64; 2] {
    let words = &block[4 * pair..4 * pair + 4];
    L::pair(joined(words[0], words[1]), joined(words[2], words[3]))
}

/// Computes the draws with these pair numbers for the first `blocks` blocks of the groups. The
/// contents of the other places are unspecified.
pub(crate) fn make_draws<L: Law, F: Real>(
    groups: &[Group],
    draws: &mut [GroupDraws<F>],
    blocks: usize,
    pairs: Range<usize>,
) {
    vectorised(
        #[inline(always)]
        || {
            for ((group, draws), done) in groups.iter().zip(draws.iter_mut()).zip((0..).step_by(LANES)) {
                let halves = blocks.saturating_sub(done).min(LANES).div_ceil(PAIRS);
                for pair in pairs.clone() {
                    let [a0, a1, b0, b1] = [0, 1, 2, 3].map(|i| group[4 * pair + i].as_chunks::<PAIRS>().0);
                    let (first, second) = draws[2 * pair..2 * pair + 2].split_at_mut(1);
                    let first = first[0].as_chunks_mut::<PAIRS>().0;
                    let second = second[0].as_chunks_mut::<PAIRS>().0;
                    for i in 0..halves.min(a0.len()) {
                        eight_pairs::<L, F>([&a0[i], &a1[i], &b0[i], &b1[i]], &mut first[i], &mut second[i]);
                    }
                }
            }
        },
    );
}

/// Computes eight pairs from words in rows: row k holds 32-bit word k of every pair.
pub(crate) fn make_pairs<L: Law, F: Real>(words: &[[u32; PAIRS]; 4], draws: &mut [[F; PAIRS]; 2]) {
    let [first, second] = draws;
    vectorised(
        #[inline(always)]
        || eight_pairs::<L, F>(words.each_ref(), first, second),
    );
}

/// The loop has a fixed length so that it compiles to straight vector code.
#[inline(always)]
fn eight_pairs<L: Law, F: Real>(
    [a0, a1, b0, b1]: [&[u32; PAIRS]; 4],
    first: &mut [F; PAIRS],
    second: &mut [F; PAIRS],
) {
    for i in 0..PAIRS {
        let [x, y] = L::pair(joined(a0[i], a1[i]), joined(b0[i], b1[i]));
        first[i] = F::from_f64(x);
        second[i] = F::from_f64(y);
    }
}

#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words from a simple generator, and the corners of the range.
    fn groups() -> Vec<Group> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 32) as u32
        };
        let mut groups = vec![Group::default(); 500];
        for word in groups.iter_mut().flatten().flatten() {
            *word = next();
        }
        let corners = [0, u32::MAX, 1, 1 << 31, 1 << 30, 1 << 29, (1 << 29) - 1];
        for (lane, (high, low)) in (0..LANES).zip(corners.into_iter().flat_map(|a| corners.map(|b| (a, b)))) {
            for (i, row) in groups[0].iter_mut().enumerate() {
                row[lane] = if i % 2 == 0 { low } else { high };
            }
        }
        groups
    }

    fn vector_width_does_not_matter<L: Law>() {
        let groups = groups();
        let blocks = groups.len() * LANES;
        let mut wide = vec![GroupDraws::<f64>::default(); groups.len()];
        let mut singles = vec![GroupDraws::<f32>::default(); groups.len()];
        make_draws::<L, f64>(&groups, &mut wide, blocks, 0..BLOCK_PAIRS);
        make_draws::<L, f32>(&groups, &mut singles, blocks, 0..BLOCK_PAIRS);
        for ((group, wide), singles) in groups.iter().zip(&wide).zip(&singles) {
            for lane in 0..LANES {
                let block: [u32; BLOCK_WORDS] = std::array::from_fn(|i| group[i][lane]);
                for pair in 0..BLOCK_PAIRS {
                    // One pair at a time leaves the compiler nothing to vectorise over.
                    let want = block_pair::<L>(std::hint::black_box(&block), pair);
                    let got = [wide[2 * pair][lane], wide[2 * pair + 1][lane]];
                    assert!(got.iter().all(|draw| draw.is_finite()));
                    assert_eq!(got.map(f64::to_bits), want.map(f64::to_bits));
                    let got = [singles[2 * pair][lane], singles[2 * pair + 1][lane]];
                    assert_eq!(got.map(f32::to_bits), want.map(|draw| (draw as f32).to_bits()));
                }
            }
        }
        // The same pairs, given as four rows.
        let rows = std::array::from_fn(|i| *groups[7][4 + i].first_chunk().unwrap());
        let mut draws = [[0.0; PAIRS]; 2];
        make_pairs::<L, f64>(&rows, &mut draws);
        for (row, wide) in draws.iter().zip(&wide[7][2..4]) {
            assert_eq!(row.map(f64::to_bits)[..], wide.map(f64::to_bits)[..PAIRS]);
        }
    }

    #[test]
    fn gaussian_pairs_do_not_depend_on_vector_width() {
        vector_width_does_not_matter::<Gaussian>();
    }

    #[test]
    fn laplace_pairs_do_not_depend_on_vector_width() {
        vector_width_does_not_matter::<Laplace>();
    }

    #[test]
    fn only_what_is_asked_for_is_made() {
        let groups = groups();
        let mut all = vec![GroupDraws::<f64>::default(); 2];
        let mut some = all.clone();
        make_draws::<Gaussian, f64>(&groups[..2], &mut all, 2 * LANES, 0..BLOCK_PAIRS);
        make_draws::<Gaussian, f64>(&groups[..2], &mut some, LANES + 3, 1..2);
        for lane in 0..LANES {
            for row in 0..BLOCK_DRAWS {
                let made = (2..4).contains(&row);
                assert_eq!(some[0][row][lane], if made { all[0][row][lane] } else { 0.0 });
                let made = made && lane < PAIRS;
                assert_eq!(some[1][row][lane], if made { all[1][row][lane] } else { 0.0 });
            }
        }
    }
}
