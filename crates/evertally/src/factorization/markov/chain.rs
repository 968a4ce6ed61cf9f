//! The chains: losses and drives of every step, block by block.
//!
//! **Definition.** With K = A⁻ᵀ diag(v)⁻¹ A⁻¹ and nodes s_j with weights w_j, the covariance Σ_j w_j
//! (K + s_j diag(u))⁻¹ is that of a sum of independent Markov chains. From the end of the horizon,
//!
//! > c_t = s_j u_t + λ² c_{t+1} r_{t+1},   r_t = 1/(1 + v_t c_t),
//!
//! and chain j keeps the share λ r_t of its value and gets fresh noise of variance w_j v_t r_t. The
//! sum of the chains alone is observed, so one draw per step makes it, in the innovations form of
//! the Kalman filter: P ← λ²(r rᵀ)∘P + diag(w v r), h = P1, S = 1ᵀh, b = h/√S, P ← P − h hᵀ/S. A
//! lane does x ← λr∘x + b g, and 1ᵀx is the noise.
//!
//! **What runs.** The losses p = 1 − λr, rounded up, and the drives b, both rounded to single
//! precision. Everything else, and Δ above all, is computed from these.
//!
//! **Cost.** O(J²) per step, with one number per chain held at every block from the end and J²/2
//! from the start, so that any block can be made again.

use super::timeline::Timeline;
use super::weights::Weights;
use crate::elliptic::Fraction;
use crate::noise::{ChainRow, MAX_CHAINS as W, total, vectorised};

/// One double per chain.
pub(super) type Row = [f64; W];

/// A symmetric matrix over the chains, written out.
pub(super) type Square = [Row; W];

pub(super) const NO_ROW: Row = [0.0; W];
pub(super) const NO_SQUARE: Square = [NO_ROW; W];

/// The lower triangle of the first `count` rows.
pub(super) fn packed(square: &Square, count: usize) -> Box<[f64]> {
    (0..count).flat_map(|i| square[i][..=i].iter().copied()).collect()
}

/// The matrix of which `packed` is the lower triangle.
pub(super) fn unpacked(packed: &[f64]) -> Square {
    let mut square = NO_SQUARE;
    let (mut i, mut k) = (0, 0);
    for value in packed {
        (square[i][k], square[k][i]) = (*value, *value);
        (i, k) = if k == i { (i + 1, 0) } else { (i, k + 1) };
    }
    square
}

/// Losses and drives of the steps of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    pub(super) losses: Vec<ChainRow>,
    pub(super) drives: Vec<ChainRow>,
}

/// What a block is computed in.
#[derive(Default)]
pub(super) struct Scratch {
    v: Vec<f64>,
    u: Vec<f64>,
    /// r and v c of every step.
    kept: Vec<Row>,
    lost: Vec<Row>,
}

/// See the module.
pub(super) struct Chains {
    pub(super) timeline: Timeline,
    weights: Weights,
    /// λ.
    factor: f64,
    /// 1 − λ.
    pub(super) loss: f64,
    pub(super) count: usize,
    shifts: Row,
    spread: Row,
    /// λ² c r of the step after each block.
    carries: Vec<Row>,
    /// P before each block, packed.
    covariances: Vec<Box<[f64]>>,
    /// The numbers of the frozen steps.
    frozen: Option<(ChainRow, ChainRow)>,
}

impl Chains {
    /// Also the numbers of all blocks, if `keep` is set.
    pub(super) fn new(
        timeline: Timeline,
        weights: Weights,
        factor: f64,
        fractions: &[Fraction],
        keep: bool,
    ) -> (Self, Vec<Numbers>) {
        let mut chains = Self {
            timeline,
            weights,
            factor,
            loss: 1.0 - factor,
            count: fractions.len(),
            shifts: std::array::from_fn(|j| fractions.get(j).map_or(0.0, |f| f.shift)),
            spread: std::array::from_fn(|j| fractions.get(j).map_or(0.0, |f| f.weight)),
            carries: Vec::new(),
            covariances: Vec::new(),
            frozen: None,
        };
        let mut scratch = Scratch::default();
        let mut carry = NO_ROW;
        for block in (0..chains.timeline.blocks()).rev() {
            chains.carries.push(carry);
            chains.backward(block, &mut carry, &mut scratch);
        }
        chains.carries.reverse();
        let (mut covariance, mut numbers, mut all) = (NO_SQUARE, Numbers::default(), Vec::new());
        for block in 0..chains.timeline.blocks() {
            // What is held is what goes on: rounding leaves P not quite symmetric, and a block that is
            // made again begins from the held half.
            let held = packed(&covariance, chains.count);
            covariance = unpacked(&held);
            chains.covariances.push(held);
            let mut carry = chains.carries[block as usize];
            chains.backward(block, &mut carry, &mut scratch);
            chains.forward(block, &mut covariance, &scratch, &mut numbers);
            let range = chains.timeline.range(block);
            if range.end == chains.timeline.frozen.start && range.end > 0 {
                let last = (numbers.losses.len() - 1, numbers.drives.len() - 1);
                chains.frozen = Some((numbers.losses[last.0], numbers.drives[last.1]));
            }
            if keep {
                all.push(std::mem::take(&mut numbers));
            }
        }
        (chains, all)
    }

    /// The losses and drives of a block of the timeline.
    pub(super) fn numbers(&self, block: u64, scratch: &mut Scratch, out: &mut Numbers) {
        let mut carry = self.carries[block as usize];
        self.backward(block, &mut carry, scratch);
        let mut covariance = unpacked(&self.covariances[block as usize]);
        self.forward(block, &mut covariance, scratch, out);
    }

    /// Whether P before the next block is what follows from P as it is held before this one.
    #[cfg(test)]
    pub(super) fn next_covariance_follows(&self, block: u64) -> bool {
        let (mut scratch, mut numbers) = (Scratch::default(), Numbers::default());
        let (mut carry, mut covariance) =
            (self.carries[block as usize], unpacked(&self.covariances[block as usize]));
        self.backward(block, &mut carry, &mut scratch);
        self.forward(block, &mut covariance, &scratch, &mut numbers);
        packed(&covariance, self.count) == self.covariances[block as usize + 1]
    }

    /// r and v c of every step of a block, and the carry into the block before it.
    fn backward(&self, block: u64, carry: &mut Row, scratch: &mut Scratch) {
        let range = self.timeline.range(block);
        let len = (range.end - range.start) as usize;
        let Scratch { v, u, kept, lost } = scratch;
        v.resize(len, 0.0);
        u.resize(len, 0.0);
        kept.resize(len, NO_ROW);
        lost.resize(len, NO_ROW);
        self.weights.fill(range.start, v, u);
        let square = self.factor * self.factor;
        let shifts = &self.shifts;
        vectorised(
            #[inline(always)]
            || {
                for t in (0..len).rev() {
                    let (v, u) = (v[t], u[t]);
                    for j in 0..W {
                        let c = shifts[j] * u + carry[j];
                        let vc = v * c;
                        let r = 1.0 / (1.0 + vc);
                        carry[j] = square * c * r;
                        kept[t][j] = r;
                        lost[t][j] = vc;
                    }
                }
            },
        );
    }

    /// Moves P over a block, and writes its losses and drives.
    fn forward(&self, block: u64, covariance: &mut Square, scratch: &Scratch, out: &mut Numbers) {
        let range = self.timeline.range(block);
        let len = (range.end - range.start) as usize;
        out.losses.clear();
        out.losses.resize(len, [1.0; W]);
        out.drives.clear();
        out.drives.resize(len, [0.0; W]);
        // Frozen steps leave P as it is: it has converged.
        let frozen = self.timeline.frozen.start.max(range.start)..self.timeline.frozen.end.min(range.end);
        let is_frozen = |t: usize| frozen.contains(&(range.start + t as u64));
        let (count, factor, loss) = (self.count, self.factor, self.loss);
        let (losses, drives) = (&mut out.losses, &mut out.drives);
        let held = self.frozen;
        vectorised(
            #[inline(always)]
            || {
                for t in 0..len {
                    if is_frozen(t)
                        && let Some((held_losses, held_drives)) = &held
                    {
                        losses[t] = *held_losses;
                        drives[t] = *held_drives;
                        continue;
                    }
                    let (kept, lost) = (&scratch.kept[t], &scratch.lost[t]);
                    let mut h = NO_ROW;
                    for k in 0..count {
                        let share = factor * factor * kept[k];
                        let row = &mut covariance[k];
                        for i in 0..W {
                            row[i] *= share * kept[i];
                        }
                        row[k] += self.spread[k] * scratch.v[t] * kept[k];
                        for i in 0..W {
                            h[i] += row[i];
                        }
                    }
                    let variance = total(&h);
                    let (inverse, deviation) = (1.0 / variance, 1.0 / variance.sqrt());
                    for k in 0..count {
                        let share = h[k] * inverse;
                        let row = &mut covariance[k];
                        for i in 0..W {
                            row[i] -= share * h[i];
                        }
                        losses[t][k] = rounded_up((kept[k] * (loss + lost[k])).max(loss).min(1.0));
                        drives[t][k] = (h[k] * deviation).max(0.0) as f32;
                    }
                }
            },
        );
    }

    /// The bytes held.
    pub(super) fn bytes(&self) -> u64 {
        let packed: usize = self.covariances.iter().map(|packed| packed.len()).sum();
        (8 * packed + size_of::<Row>() * self.carries.len()) as u64
    }
}

/// The least single-precision number that is not below x.
#[inline(always)]
pub(super) fn rounded_up(x: f64) -> f32 {
    let nearest = x as f32;
    if f64::from(nearest) < x { nearest.next_up() } else { nearest }
}
