//! Runs of draws from the key stream, shared by [`WhiteNoise`](super::WhiteNoise) and
//! [`KeyedNoise`](super::KeyedNoise).
//!
//! **Definition.** A [`Lane`] is one sequence of draws under a key: draw i is number i mod 8 of
//! block ⌊i/8⌋, whose block input is (counter + ⌊i/8⌋, nonce).
//!
//! **Guarantee.** A draw depends only on (key, kind, lane, index) and not on the call that made it:
//! it has the same block, the same pair and the same arithmetic. Words and draws are wiped from the
//! buffers they passed through.
//!
//! **Cost.** Long runs make 64 blocks at a time: 4 KiB of words and 4 KiB of draws, which stay in
//! the first-level cache. Short runs make only the blocks they touch. One or two blocks are made
//! one by one, because that is faster than a vector of them.

use std::ops::Range;

use super::keystream::{BLOCK_WORDS, Group, INPUT, LANES, input, make_block, make_blocks, number, wipe};
use super::law::{
    BLOCK_DRAWS, BLOCK_PAIRS, Gaussian, GroupDraws, Laplace, Law, PAIRS, block_pair, make_draws, make_pairs,
};
use super::real::Real;

/// Groups of blocks that a long run makes at a time.
const LONG_RUN_GROUPS: usize = 4;
/// Blocks that are made one by one.
const FEW_BLOCKS: usize = PAIRS / BLOCK_PAIRS;

/// A distribution and the number of cipher rounds behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Gaussian,
    Laplace,
    /// Eight rounds instead of twenty.
    GaussianChaCha8,
}

/// Calls a function that is generic over the distribution and the rounds.
macro_rules! with_kind {
    ($kind:expr, $function:ident::<_, _ $(, $more:tt)*>($($argument:expr),*)) => {
        match $kind {
            Kind::Gaussian => $function::<Gaussian, 20 $(, $more)*>($($argument),*),
            Kind::Laplace => $function::<Laplace, 20 $(, $more)*>($($argument),*),
            Kind::GaussianChaCha8 => $function::<Gaussian, 8 $(, $more)*>($($argument),*),
        }
    };
}

/// One sequence of draws, given by where its block inputs start.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    /// The 64-bit counter of block 0.
    pub(crate) counter: u64,
    pub(crate) nonce: u64,
}

impl Lane {
    /// The caller's words of the input of one block. The counter wraps, because unused lanes of a
    /// vector may run past the last block. Callers check the range of the draws they need.
    #[inline(always)]
    pub(crate) fn input(self, block: u64) -> [u32; 4] {
        input(self.counter.wrapping_add(block), self.nonce)
    }
}

/// The draw with this index.
pub(crate) fn draw(kind: Kind, key: &[u8; 32], lane: Lane, index: u64) -> f64 {
    with_kind!(kind, draw_of::<_, _>(key, lane, index))
}

/// Writes the draws from index `first`. The caller has checked that the range does not pass the
/// end.
pub(crate) fn fill<F: Real>(kind: Kind, key: &[u8; 32], lane: Lane, first: u64, out: &mut [F]) {
    with_kind!(kind, fill_of::<_, _, F>(key, lane, first, out));
}

/// Writes the draws `first, first + 1, …` of many lanes, step by step. `out` has one row per step,
/// and each row has one place per lane.
pub(crate) fn fill_rows<T: Copy, F: Real>(
    kind: Kind,
    key: &[u8; 32],
    lanes: &[T],
    lane: impl Fn(T) -> Lane,
    first: u64,
    out: &mut [F],
) {
    if let [only] = lanes {
        fill(kind, key, lane(*only), first, out);
    } else if lanes.len() <= LANES {
        with_kind!(kind, fill_rows_of::<_, _, T, F, 1>(key, lanes, &lane, first, out));
    } else {
        with_kind!(kind, fill_rows_of::<_, _, T, F, LONG_RUN_GROUPS>(key, lanes, &lane, first, out));
    }
}

fn draw_of<L: Law, const ROUNDS: usize>(key: &[u8; 32], lane: Lane, index: u64) -> f64 {
    let (block, within) = split(index);
    let mut words = [0; BLOCK_WORDS];
    make_block::<ROUNDS>(key, lane.input(block), &mut words);
    let pair = block_pair::<L>(&words, within / 2);
    wipe(&mut words);
    pair[within % 2]
}

fn fill_of<L: Law, const ROUNDS: usize, F: Real>(key: &[u8; 32], lane: Lane, first: u64, out: &mut [F]) {
    match out {
        [] => return,
        [value] => return *value = F::from_f64(draw_of::<L, ROUNDS>(key, lane, first)),
        _ => {}
    }
    let blocks = (split(first).1 + out.len()).div_ceil(BLOCK_DRAWS);
    if blocks <= FEW_BLOCKS {
        fill_few::<L, ROUNDS, F>(key, lane, first, out);
    } else if blocks <= LANES {
        fill_groups::<L, ROUNDS, F, 1>(key, lane, first, out);
    } else {
        fill_groups::<L, ROUNDS, F, LONG_RUN_GROUPS>(key, lane, first, out);
    }
}

/// Writes draws from at most [`FEW_BLOCKS`] blocks, whose pairs together fill one vector.
fn fill_few<L: Law, const ROUNDS: usize, F: Real>(key: &[u8; 32], lane: Lane, first: u64, out: &mut [F]) {
    let (block, skip) = split(first);
    let mut words = [0; BLOCK_WORDS];
    let mut rows = [[0; PAIRS]; 4];
    let mut draws = [[F::ZERO; PAIRS]; 2];
    for i in 0..(skip + out.len()).div_ceil(BLOCK_DRAWS) {
        make_block::<ROUNDS>(key, lane.input(block.wrapping_add(i as u64)), &mut words);
        for (pair, words) in words.as_chunks::<4>().0.iter().enumerate() {
            for (row, &word) in rows.iter_mut().zip(words) {
                row[i * BLOCK_PAIRS + pair] = word;
            }
        }
    }
    make_pairs::<L, F>(&rows, &mut draws);
    for (value, i) in out.iter_mut().zip(skip..) {
        *value = draws[i % 2][i / 2];
    }
    wipe(&mut words);
    wipe(&mut rows);
    wipe(&mut draws);
}

fn fill_groups<L: Law, const ROUNDS: usize, F: Real, const GROUPS: usize>(
    key: &[u8; 32],
    lane: Lane,
    first: u64,
    mut out: &mut [F],
) {
    let mut words = [Group::default(); GROUPS];
    let mut draws = [GroupDraws::<F>::default(); GROUPS];
    let (mut block, mut skip) = split(first);
    while !out.is_empty() {
        let blocks = (skip + out.len()).div_ceil(BLOCK_DRAWS).min(GROUPS * LANES);
        for (i, group) in words.iter_mut().enumerate() {
            number(group, lane.counter.wrapping_add(block).wrapping_add((i * LANES) as u64), lane.nonce);
        }
        make_blocks::<ROUNDS>(key, &mut words, blocks);
        make_draws::<L, F>(&words, &mut draws, blocks, 0..BLOCK_PAIRS);
        let (now, later) = out.split_at_mut((blocks * BLOCK_DRAWS - skip).min(out.len()));
        in_order(&draws, skip, now);
        out = later;
        block = block.wrapping_add(blocks as u64);
        skip = 0;
    }
    wipe(&mut words);
    wipe(&mut draws);
}

fn fill_rows_of<L: Law, const ROUNDS: usize, T: Copy, F: Real, const GROUPS: usize>(
    key: &[u8; 32],
    lanes: &[T],
    lane: &impl Fn(T) -> Lane,
    first: u64,
    out: &mut [F],
) {
    let width = lanes.len();
    let mut words = [Group::default(); GROUPS];
    let mut draws = [GroupDraws::<F>::default(); GROUPS];
    let (mut block, mut skip) = split(first);
    let mut rows = out;
    while !rows.is_empty() {
        // One block of each lane serves up to eight rows.
        let (now, later) = rows.split_at_mut(rows.len().min((BLOCK_DRAWS - skip) * width));
        let within = skip..skip + now.len() / width;
        for (lanes, at) in lanes.chunks(GROUPS * LANES).zip((0..).step_by(GROUPS * LANES)) {
            for (group, lanes) in words.iter_mut().zip(lanes.chunks(LANES)) {
                for (i, &place) in lanes.iter().enumerate() {
                    for (row, word) in group[INPUT..].iter_mut().zip(lane(place).input(block)) {
                        row[i] = word;
                    }
                }
            }
            make_blocks::<ROUNDS>(key, &mut words, lanes.len());
            make_draws::<L, F>(&words, &mut draws, lanes.len(), pairs_of(&within));
            for (row, draw) in now.chunks_exact_mut(width).zip(within.clone()) {
                for (places, draws) in row[at..at + lanes.len()].chunks_mut(LANES).zip(&draws) {
                    places.copy_from_slice(&draws[draw][..places.len()]);
                }
            }
        }
        rows = later;
        block = block.wrapping_add(1);
        skip = 0;
    }
    wipe(&mut words);
    wipe(&mut draws);
}

/// The block of an index, and its place in that block.
#[inline(always)]
fn split(index: u64) -> (u64, usize) {
    (index / BLOCK_DRAWS as u64, (index % BLOCK_DRAWS as u64) as usize)
}

/// The pairs that hold these draws of a block.
fn pairs_of(draws: &Range<usize>) -> Range<usize> {
    draws.start / 2..draws.end.div_ceil(2)
}

/// Writes the draws block by block and skips the first `skip`.
fn in_order<F: Real>(groups: &[GroupDraws<F>], skip: usize, out: &mut [F]) {
    let draw = |i: usize| groups[i / BLOCK_DRAWS / LANES][i % BLOCK_DRAWS][i / BLOCK_DRAWS % LANES];
    let head = skip.next_multiple_of(BLOCK_DRAWS) - skip;
    let (partial, out) = out.split_at_mut(head.min(out.len()));
    for (value, i) in partial.iter_mut().zip(skip..) {
        *value = draw(i);
    }
    let start = skip + head;
    let (whole, partial) = out.as_chunks_mut::<BLOCK_DRAWS>();
    let done = start + whole.len() * BLOCK_DRAWS;
    for (block, values) in whole.iter_mut().enumerate() {
        let block = start / BLOCK_DRAWS + block;
        let group = &groups[block / LANES];
        for (value, row) in values.iter_mut().zip(group) {
            *value = row[block % LANES];
        }
    }
    for (value, i) in partial.iter_mut().zip(done..) {
        *value = draw(i);
    }
}
