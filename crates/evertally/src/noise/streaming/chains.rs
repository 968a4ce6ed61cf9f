//! Numbers that change from step to step: a sum of Markov chains.
//!
//! **Definition.** A lane is driven by its own white noise g and holds one number x_j per chain and
//! ζ. At step t, with the losses p, drives b and norms d of the step,
//!
//! > x_j ← x_j + (b_j g − p_j x_j),  u = Σ_j x_j,  z = d_t u + ζ,  ζ ← λ(ζ − (d_{t+1} − d_t)u),
//!
//! and z is row t of L g. With A the workload of the coefficients λ^k and L₀ the matrix from g to u,
//! L = A diag(d) A⁻¹ L₀, by summation by parts: A diag(d) A⁻¹u = d_t u_t − Σ_{s<t} λ^{t−s}(d_{s+1} −
//! d_s)u_s.
//!
//! **Guarantee.** Losses, drives and norms are single-precision numbers, and every path uses exactly
//! these: doubles, single precision and integers apply one and the same matrix. 0 ≤ p ≤ 1 and b ≥ 0.
//! The differences of norms are exact, because neighbouring norms differ by less than a factor of
//! two ([`ChainBounds::largest_rise`]).

use std::sync::Arc;

use super::BURST;

/// The largest number of chains: rows of numbers are padded to it.
pub const MAX_CHAINS: usize = 16;

/// One number per chain, padded with chains that do nothing: loss one, drive zero.
pub type ChainRow = [f32; MAX_CHAINS];

/// The sum over the chains, by halves: in an order that does not depend on the vectors of the
/// processor.
#[inline(always)]
pub(crate) fn total(row: &[f64; MAX_CHAINS]) -> f64 {
    let mut sums = *row;
    let mut half = MAX_CHAINS / 2;
    while half > 0 {
        for j in 0..half {
            sums[j] += sums[j + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The numbers of consecutive steps.
#[derive(Debug, Clone, Default)]
pub struct ChainBlock {
    /// The first step.
    pub first: u64,
    /// p, one row per step.
    pub losses: Vec<ChainRow>,
    /// b, one row per step.
    pub drives: Vec<ChainRow>,
    /// d of every step and of the step after the last. At the end of the horizon the last is
    /// repeated.
    pub norms: Vec<f32>,
}

impl ChainBlock {
    fn holds(&self, step: u64) -> bool {
        step >= self.first && step - self.first < self.losses.len() as u64
    }
}

/// The source of the numbers, in blocks whose length is a multiple of eight.
pub trait ChainSource: Send + Sync {
    /// The number of chains.
    fn chains(&self) -> usize;

    /// 1 − λ: the share of a total that one step of the workload forgets.
    fn loss(&self) -> f64;

    /// Writes the block that holds this step. It does not depend on how the step was reached.
    fn block(&self, step: u64, out: &mut ChainBlock);

    /// Bounds on all numbers of the horizon.
    fn bounds(&self) -> ChainBounds;
}

/// Bounds on all numbers of a horizon.
#[derive(Debug, Clone, Copy)]
pub struct ChainBounds {
    /// An upper bound on every d.
    pub largest_norm: f64,
    /// A lower bound on every d.
    pub least_norm: f64,
    /// An upper bound on Σ|d_{t+1} − d_t|.
    pub norm_variation: f64,
    /// The largest ratio of neighbouring norms, the larger over the smaller.
    pub largest_rise: f64,
    /// An upper bound on every d·Σb, the diagonal of L.
    pub largest_diagonal: f64,
    /// An upper bound on every Σb.
    pub largest_drive: f64,
}

impl ChainBounds {
    /// Whether every norm lies in this range.
    #[must_use]
    pub fn norms_are_within(&self, range: std::ops::Range<f64>) -> bool {
        range.contains(&self.least_norm) && range.contains(&self.largest_norm)
    }
}

/// Reads the numbers step by step. Going back reads a block again.
pub(crate) struct ChainReader {
    source: Arc<dyn ChainSource>,
    block: ChainBlock,
}

impl ChainReader {
    pub(crate) fn new(source: Arc<dyn ChainSource>) -> Self {
        Self { source, block: ChainBlock::default() }
    }

    /// The number of chains.
    pub(crate) fn chains(&self) -> usize {
        self.source.chains()
    }

    /// The block that holds this step, and whether it was read just now.
    pub(crate) fn load(&mut self, step: u64) -> (&ChainBlock, bool) {
        let is_new = !self.block.holds(step);
        if is_new {
            self.source.block(step, &mut self.block);
        }
        (&self.block, is_new)
    }
}

/// The numbers of a burst, and chains that do nothing beyond the horizon.
#[derive(Debug, Clone)]
pub(super) struct ChainBurst {
    pub(super) losses: [ChainRow; BURST],
    pub(super) drives: [ChainRow; BURST],
    /// d of every step and of the step after the burst.
    pub(super) norms: [f32; BURST + 1],
}

impl ChainBurst {
    /// The burst that starts at this step.
    pub(super) fn read(reader: &mut ChainReader, first: u64, horizon: u64) -> Box<Self> {
        let mut burst = Box::new(Self {
            losses: [[0.0; MAX_CHAINS]; BURST],
            drives: [[0.0; MAX_CHAINS]; BURST],
            norms: [1.0; BURST + 1],
        });
        let mut k = 0;
        while k < BURST && first + (k as u64) < horizon {
            let step = first + k as u64;
            let (block, _) = reader.load(step);
            let i = (step - block.first) as usize;
            let len = (BURST - k).min(block.losses.len() - i);
            burst.losses[k..k + len].copy_from_slice(&block.losses[i..i + len]);
            burst.drives[k..k + len].copy_from_slice(&block.drives[i..i + len]);
            burst.norms[k..=k + len].copy_from_slice(&block.norms[i..=i + len]);
            k += len;
        }
        burst
    }
}
