//! The ChaCha key stream, many blocks at once.
//!
//! **Definition.** Block input words 0 to 3 are the constant "expand 32-byte k" and words 4 to 11
//! are the key. Words 12 to 15 come from the caller: a 64-bit block counter and a 64-bit nonce, low
//! words first, or any other 128 bits. The block is the input after `ROUNDS` rounds, plus the
//! input, word by word.
//!
//! **Guarantee.** The words are those of the cipher for any number of lanes. Only 32-bit additions,
//! exclusive ors and rotations are used, so the vector width has no effect. No branch and no
//! address depends on the key or on a generated word. The tests compare the output with the
//! `chacha20` crate, with a version written out from the definition, and with the vector of RFC
//! 8439.
//!
//! **Cost.** 960 vector operations at 20 rounds for one block per 32-bit lane of a vector. A lane
//! can be any block of any stream under the key. A single block is made row by row instead, in
//! about 400 operations on four words.
//!
//! **Source.** Bernstein, *ChaCha, a variant of Salsa20* (2008); Nir and Langley, RFC 8439 (2018).

use pulp::{Simd, WithSimd};

/// Blocks made together: one for each lane of the widest vectors.
pub(crate) const LANES: usize = 16;
/// 32-bit words per block.
pub(crate) const BLOCK_WORDS: usize = 16;
/// The index of the caller's first word in the block input.
pub(crate) const INPUT: usize = 12;

/// "expand 32-byte k", as words.
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Sixteen blocks, word by word. Row k holds word k of each, so that vector code needs no shuffle.
pub(crate) type Group = [[u32; LANES]; BLOCK_WORDS];

/// Overwrites a buffer that held secrets, with wide stores. Volatile stores, element by element,
/// would cost as much as a short run of draws itself.
#[inline(always)]
pub(crate) fn wipe<T: Copy + Default>(buffer: &mut [T]) {
    buffer.fill(T::default());
    zeroize::optimization_barrier(buffer);
}

/// The caller's words of the input of block `counter` under `nonce`.
#[inline(always)]
pub(crate) fn input(counter: u64, nonce: u64) -> [u32; 4] {
    [counter as u32, (counter >> 32) as u32, nonce as u32, (nonce >> 32) as u32]
}

/// Writes the caller's words of sixteen consecutive blocks, starting at `counter`. They are written
/// in rows, with the carry as a comparison, because a vector load reads them next. That load would
/// have to wait for words written one by one.
#[inline(always)]
pub(crate) fn number(group: &mut Group, counter: u64, nonce: u64) {
    let [low, high, nonce_low, nonce_high] = input(counter, nonce);
    group[INPUT] = std::array::from_fn(|lane| low.wrapping_add(lane as u32));
    group[INPUT + 1] = group[INPUT].map(|word| high.wrapping_add(u32::from(word < low)));
    group[INPUT + 2] = [nonce_low; LANES];
    group[INPUT + 3] = [nonce_high; LANES];
}

/// Makes the first `blocks` blocks of the groups. On entry, rows 12 to 15 of a group hold the
/// caller's words. On return, all rows hold the key stream. The contents of lanes past the last
/// block are unspecified.
pub(crate) fn make_blocks<const ROUNDS: usize>(key: &[u8; 32], groups: &mut [Group], blocks: usize) {
    pulp::Arch::new().dispatch(MakeBlocks::<ROUNDS> { key, groups, blocks });
}

struct MakeBlocks<'a, const ROUNDS: usize> {
    key: &'a [u8; 32],
    groups: &'a mut [Group],
    blocks: usize,
}

impl<const ROUNDS: usize> WithSimd for MakeBlocks<'_, ROUNDS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        const { assert!(LANES.is_multiple_of(S::U32_LANES), "a group consists of complete vectors") };
        const { assert!(ROUNDS.is_multiple_of(2), "rounds come in twos") };
        for (group, done) in self.groups.iter_mut().zip((0..).step_by(LANES)) {
            let wanted = self.blocks.saturating_sub(done).min(LANES);
            for vector in 0..wanted.div_ceil(S::U32_LANES) {
                make_vector::<S, ROUNDS>(simd, self.key, group, vector);
            }
        }
    }
}

/// The state is held in vector types instead of arrays of words, so that all of it stays in
/// registers. With arrays the compiler does not achieve that, and the code runs at a third of the
/// speed.
#[inline(always)]
fn make_vector<S: Simd, const ROUNDS: usize>(simd: S, key: &[u8; 32], group: &mut Group, vector: usize) {
    let mut start = [simd.splat_u32s(0); BLOCK_WORDS];
    for (word, value) in start.iter_mut().zip(SIGMA) {
        *word = simd.splat_u32s(value);
    }
    for (i, word) in start[4..INPUT].iter_mut().enumerate() {
        *word = simd.splat_u32s(key_word(key, i));
    }
    for (word, row) in start[INPUT..].iter_mut().zip(&group[INPUT..]) {
        *word = S::as_simd_u32s(row).0[vector];
    }
    let mut state = start;
    for _ in 0..ROUNDS / 2 {
        vector_round(simd, &mut state, [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]);
        vector_round(simd, &mut state, [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]]);
    }
    for ((row, word), start) in group.iter_mut().zip(state).zip(start) {
        S::as_mut_simd_u32s(row).0[vector] = simd.add_u32s(word, start);
    }
}

/// Runs four quarter rounds in step with each other. Their dependency chains are independent, and
/// the processor looks only a limited distance ahead.
#[inline(always)]
fn vector_round<S: Simd>(simd: S, state: &mut [S::u32s; BLOCK_WORDS], quarters: [[usize; 4]; 4]) {
    vector_step::<S, 0, 1, 3, 16>(simd, state, quarters);
    vector_step::<S, 2, 3, 1, 12>(simd, state, quarters);
    vector_step::<S, 0, 1, 3, 8>(simd, state, quarters);
    vector_step::<S, 2, 3, 1, 7>(simd, state, quarters);
}

/// x += y; z ^= x; z <<<= `AMOUNT`, in each quarter.
#[inline(always)]
fn vector_step<S: Simd, const X: usize, const Y: usize, const Z: usize, const AMOUNT: u32>(
    simd: S,
    state: &mut [S::u32s; BLOCK_WORDS],
    quarters: [[usize; 4]; 4],
) {
    for q in quarters {
        state[q[X]] = simd.add_u32s(state[q[X]], state[q[Y]]);
    }
    for q in quarters {
        state[q[Z]] = simd.xor_u32s(state[q[Z]], state[q[X]]);
    }
    for q in quarters {
        let left = simd.wrapping_dyn_shl_u32s(state[q[Z]], simd.splat_u32s(AMOUNT));
        let right = simd.wrapping_dyn_shr_u32s(state[q[Z]], simd.splat_u32s(32 - AMOUNT));
        state[q[Z]] = simd.or_u32s(left, right);
    }
}

/// Makes one block with the least latency.
#[inline(always)]
pub(crate) fn make_block<const ROUNDS: usize>(
    key: &[u8; 32],
    input: [u32; 4],
    block: &mut [u32; BLOCK_WORDS],
) {
    let start = [
        SIGMA,
        std::array::from_fn(|i| key_word(key, i)),
        std::array::from_fn(|i| key_word(key, 4 + i)),
        input,
    ];
    let [mut a, mut b, mut c, mut d] = start;
    for _ in 0..ROUNDS / 2 {
        (a, b, c, d) = row_round(a, b, c, d);
        (b, c, d) = (turned::<1>(b), turned::<2>(c), turned::<3>(d));
        (a, b, c, d) = row_round(a, b, c, d);
        (b, c, d) = (turned::<3>(b), turned::<2>(c), turned::<1>(d));
    }
    for ((words, row), start) in block.chunks_exact_mut(4).zip([a, b, c, d]).zip(start) {
        words.copy_from_slice(&added(row, start));
    }
}

/// The four quarter rounds of the columns, as operations on rows of the square of words.
#[inline(always)]
fn row_round(
    mut a: [u32; 4],
    mut b: [u32; 4],
    mut c: [u32; 4],
    mut d: [u32; 4],
) -> ([u32; 4], [u32; 4], [u32; 4], [u32; 4]) {
    a = added(a, b);
    d = mixed::<16>(d, a);
    c = added(c, d);
    b = mixed::<12>(b, c);
    a = added(a, b);
    d = mixed::<8>(d, a);
    c = added(c, d);
    b = mixed::<7>(b, c);
    (a, b, c, d)
}

#[inline(always)]
fn added(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

#[inline(always)]
fn mixed<const AMOUNT: u32>(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| (a[i] ^ b[i]).rotate_left(AMOUNT))
}

#[inline(always)]
fn turned<const BY: usize>(a: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|i| a[(i + BY) % 4])
}

/// Reads a word from the key each time, because a copy of the key would have to be wiped.
#[inline(always)]
fn key_word(key: &[u8; 32], i: usize) -> u32 {
    u32::from_le_bytes([key[4 * i], key[4 * i + 1], key[4 * i + 2], key[4 * i + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::rand_core::{Rng, SeedableRng};
    use chacha20::{ChaCha8Rng, ChaCha20Rng};

    fn key() -> [u8; 32] {
        std::array::from_fn(|i| (i * 7 + 3) as u8)
    }

    /// ChaCha, written out from its definition.
    fn written_out(key: &[u8; 32], input: [u32; 4], rounds: usize) -> [u32; 16] {
        fn quarter(s: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
            for (rotate_d, rotate_b) in [(16, 12), (8, 7)] {
                s[a] = s[a].wrapping_add(s[b]);
                s[d] = (s[d] ^ s[a]).rotate_left(rotate_d);
                s[c] = s[c].wrapping_add(s[d]);
                s[b] = (s[b] ^ s[c]).rotate_left(rotate_b);
            }
        }
        let mut start = [0; 16];
        start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        for (slot, bytes) in start[4..12].iter_mut().zip(key.chunks_exact(4)) {
            *slot = u32::from_le_bytes(bytes.try_into().unwrap());
        }
        start[12..].copy_from_slice(&input);
        let mut s = start;
        for _ in 0..rounds / 2 {
            for i in 0..4 {
                quarter(&mut s, [i, 4 + i, 8 + i, 12 + i]);
            }
            for i in 0..4 {
                quarter(&mut s, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
            }
        }
        std::array::from_fn(|i| s[i].wrapping_add(start[i]))
    }

    /// The blocks for these inputs at every vector width of this processor, and one by one.
    fn every_way<const ROUNDS: usize>(key: &[u8; 32], inputs: &[[u32; 4]]) -> Vec<Vec<[u32; 16]>> {
        let groups = || -> Vec<Group> {
            let mut groups = vec![Group::default(); inputs.len().div_ceil(LANES)];
            for (i, input) in inputs.iter().enumerate() {
                for (row, &word) in groups[i / LANES][INPUT..].iter_mut().zip(input) {
                    row[i % LANES] = word;
                }
            }
            groups
        };
        let blocks = inputs.len();
        let mut made = vec![groups(), groups()];
        make_blocks::<ROUNDS>(key, &mut made[0], blocks);
        MakeBlocks::<ROUNDS> { key, groups: &mut made[1], blocks }.with_simd(pulp::Scalar);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            made.push(groups());
            Simd::vectorize(simd, MakeBlocks::<ROUNDS> { key, groups: &mut made[2], blocks });
        }
        let lane = |groups: &[Group], i: usize| std::array::from_fn(|k| groups[i / LANES][k][i % LANES]);
        let mut ways: Vec<Vec<[u32; 16]>> =
            made.iter().map(|groups| (0..blocks).map(|i| lane(groups, i)).collect()).collect();
        let single = inputs.iter().map(|&input| {
            let mut block = [0; BLOCK_WORDS];
            make_block::<ROUNDS>(key, input, &mut block);
            block
        });
        ways.push(single.collect());
        ways
    }

    #[test]
    fn consecutive_blocks_are_numbered_with_their_carry() {
        for counter in [0, 5, u64::from(u32::MAX) - 7, (7 << 32) - 16, (7 << 32) - 15, u64::MAX - 8] {
            let mut group = Group::default();
            number(&mut group, counter, 0x1234_5678_9abc_def0);
            let got = (0..LANES).map(|lane| [12, 13, 14, 15].map(|row: usize| group[row][lane]));
            let want = (0..).map(|lane| input(counter.wrapping_add(lane), 0x1234_5678_9abc_def0));
            assert!(got.eq(want.take(LANES)), "{counter:#x}");
        }
    }

    #[test]
    fn a_wiped_buffer_is_empty() {
        let mut groups = [[[7; LANES]; BLOCK_WORDS]; 3];
        wipe(&mut groups[..2]);
        assert_eq!(groups, [Group::default(), Group::default(), [[7; LANES]; BLOCK_WORDS]]);
    }

    #[test]
    fn words_are_those_of_the_cipher() {
        let key = key();
        // Consecutive blocks across both carries of the counter, then unrelated lanes.
        let mut inputs: Vec<[u32; 4]> = Vec::new();
        for start in [0, (1 << 32) - 20, u64::MAX - 20] {
            inputs.extend((0..40).map(|i| input(start.wrapping_add(i), 1)));
        }
        inputs.extend((0..77).map(|i| input(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i), !i << 31)));
        for blocks in [1, 3, 16, 17, inputs.len()] {
            let inputs = &inputs[inputs.len() - blocks..];
            for way in every_way::<20>(&key, inputs) {
                for (&input, block) in inputs.iter().zip(way) {
                    assert_eq!(block, written_out(&key, input, 20), "{input:x?}");
                }
            }
            for way in every_way::<8>(&key, inputs) {
                for (&input, block) in inputs.iter().zip(way) {
                    assert_eq!(block, written_out(&key, input, 8), "{input:x?}");
                }
            }
        }
    }

    fn agrees_with_the_crate<const ROUNDS: usize, R: SeedableRng<Seed = [u8; 32]> + Rng>(
        at: impl Fn(&mut R, u64, u64),
    ) {
        for (counter, nonce) in [(0, 0), (0, 1), ((1 << 32) - 30, 2), ((1 << 60) - 9, u64::MAX)] {
            let inputs: Vec<[u32; 4]> = (0..100).map(|i| input(counter + i, nonce)).collect();
            for way in every_way::<ROUNDS>(&key(), &inputs) {
                let mut oracle = R::from_seed(key());
                at(&mut oracle, counter, nonce);
                for (i, word) in way.into_iter().flatten().enumerate() {
                    assert_eq!(word, oracle.next_u32(), "word {i} from block {counter}");
                }
            }
        }
    }

    #[test]
    fn words_are_those_of_the_crate() {
        agrees_with_the_crate::<20, ChaCha20Rng>(|oracle, counter, nonce| {
            oracle.set_stream(nonce);
            oracle.set_word_pos(u128::from(counter) * 16);
        });
        agrees_with_the_crate::<8, ChaCha8Rng>(|oracle, counter, nonce| {
            oracle.set_stream(nonce);
            oracle.set_word_pos(u128::from(counter) * 16);
        });
    }

    /// RFC 8439, section 2.3.2: counter 1 in word 12, the nonce 00:00:00:09:00:00:00:4a:00:00:00:00
    /// in words 13 to 15.
    #[test]
    fn the_vector_of_the_standard() {
        let key: [u8; 32] = std::array::from_fn(|i| i as u8);
        let want = [
            0xe4e7_f110,
            0x1559_3bd1,
            0x1fdd_0f50,
            0xc471_20a3,
            0xc7f4_d1c7,
            0x0368_c033,
            0x9aaa_2204,
            0x4e6c_d4c3,
            0x4664_82d2,
            0x09aa_9f07,
            0x05d7_c214,
            0xa202_8bd9,
            0xd19c_12b5,
            0xb94e_16de,
            0xe883_d0cb,
            0x4e3c_50a2,
        ];
        for way in every_way::<20>(&key, &[[1, 0x0900_0000, 0x4a00_0000, 0]; 5]) {
            assert!(way.iter().all(|block| *block == want));
        }
    }
}
