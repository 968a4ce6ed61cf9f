//! The numbers of steps, read burst by burst: the two diagonals, or those of chains.

use std::sync::Arc;

use super::BURST;
use super::chains::{ChainBurst, ChainReader};
use super::recipe::{GRADED_BLOCK, GradeBlock, Grading, Recipe};
use crate::noise::Real;
use crate::noise::vectorise::vectorised;

/// 1/e, d, and the increase of d after the step, for the steps of a burst. Without grades, and
/// beyond the horizon, these are ones, ones and zeros. With chains, also their numbers.
#[derive(Clone)]
pub(super) struct BurstGrades<F> {
    pub(super) drive: [F; BURST],
    pub(super) norm: [F; BURST],
    pub(super) rise: [F; BURST],
    pub(super) chains: Option<Box<ChainBurst>>,
}

impl BurstGrades<f64> {
    pub(super) fn flat() -> Self {
        Self { drive: [1.0; BURST], norm: [1.0; BURST], rise: [0.0; BURST], chains: None }
    }

    /// Norms and rises are exact in either precision.
    fn of_chains(burst: Box<ChainBurst>) -> Self {
        let norm = |k: usize| f64::from(burst.norms[k]);
        Self {
            drive: [1.0; BURST],
            norm: std::array::from_fn(norm),
            rise: std::array::from_fn(|k| norm(k + 1) - norm(k)),
            chains: Some(burst),
        }
    }

    pub(super) fn rounded<F: Real>(self) -> BurstGrades<F> {
        BurstGrades {
            drive: self.drive.map(F::from_f64),
            norm: self.norm.map(F::from_f64),
            rise: self.rise.map(F::from_f64),
            chains: self.chains,
        }
    }
}

/// The block of grades that holds the current step, and the block after it.
pub(crate) struct GradeBlocks {
    grading: Arc<dyn Grading>,
    horizon: u64,
    /// The number of the block in `here`.
    block: Option<u64>,
    here: GradeBlock,
    after: GradeBlock,
}

impl GradeBlocks {
    pub(crate) fn new(grading: Arc<dyn Grading>, horizon: u64) -> Self {
        Self { grading, horizon, block: None, here: GradeBlock::default(), after: GradeBlock::default() }
    }

    /// Loads the block that holds this step. Returns whether the loaded block changed.
    pub(crate) fn load(&mut self, step: u64) -> bool {
        let block = step / GRADED_BLOCK;
        if self.block == Some(block) {
            return false;
        }
        if self.block.is_some_and(|loaded| loaded + 1 == block) {
            std::mem::swap(&mut self.here, &mut self.after);
        } else {
            self.grading.block(block * GRADED_BLOCK, &mut self.here);
        }
        let next = (block + 1) * GRADED_BLOCK;
        if next < self.horizon {
            self.grading.block(next, &mut self.after);
        } else {
            self.after = GradeBlock::default();
        }
        self.block = Some(block);
        true
    }

    /// The loaded block.
    pub(crate) fn here(&self) -> &GradeBlock {
        &self.here
    }

    /// The norm of the step after place `i` of the loaded block. The last step of the horizon has
    /// no successor, so its own norm is returned.
    pub(crate) fn next_norm(&self, i: usize) -> f64 {
        let norms = &self.here.norms;
        norms.get(i + 1).or(self.after.norms.first()).copied().unwrap_or(norms[i])
    }
}

/// Reads the numbers of steps burst by burst.
pub(super) struct GradeReader {
    blocks: Option<GradeBlocks>,
    chains: Option<ChainReader>,
    horizon: u64,
    /// 1/e of the loaded block.
    drives: Vec<f64>,
    /// How much d rises after each step of the loaded block.
    rises: Vec<f64>,
}

impl GradeReader {
    pub(super) fn new(recipe: &Recipe, horizon: u64) -> Self {
        let blocks = recipe.grading.clone().map(|grading| GradeBlocks::new(grading, horizon));
        let chains = recipe.chains.clone().map(ChainReader::new);
        Self { blocks, chains, horizon, drives: Vec::new(), rises: Vec::new() }
    }

    /// Whether the numbers are not the same at every step.
    pub(super) fn varies(&self) -> bool {
        self.blocks.is_some() || self.chains.is_some()
    }

    /// The numbers of the burst that starts at this step.
    pub(super) fn burst(&mut self, first: u64) -> BurstGrades<f64> {
        if let Some(chains) = &mut self.chains {
            return BurstGrades::of_chains(ChainBurst::read(chains, first, self.horizon));
        }
        let mut grades = BurstGrades::flat();
        let Some(blocks) = &mut self.blocks else { return grades };
        let mut k = 0;
        while k < BURST && first + (k as u64) < self.horizon {
            let step = first + k as u64;
            if blocks.load(step) {
                derive(blocks, &mut self.drives, &mut self.rises);
            }
            let i = (step % GRADED_BLOCK) as usize;
            let len = (BURST - k).min(self.drives.len() - i);
            grades.drive[k..k + len].copy_from_slice(&self.drives[i..i + len]);
            grades.norm[k..k + len].copy_from_slice(&blocks.here().norms[i..i + len]);
            grades.rise[k..k + len].copy_from_slice(&self.rises[i..i + len]);
            k += len;
        }
        grades
    }
}

/// Computes the drives and rises of the loaded block.
fn derive(blocks: &GradeBlocks, drives: &mut Vec<f64>, rises: &mut Vec<f64>) {
    let GradeBlock { grades, norms } = blocks.here();
    drives.clone_from(grades);
    rises.clone_from(norms);
    vectorised(
        #[inline(always)]
        || {
            drives.iter_mut().for_each(|drive| *drive = 1.0 / *drive);
            for (rise, next) in rises.iter_mut().zip(&norms[1..]) {
                *rise = next - *rise;
            }
        },
    );
    let last = norms.len() - 1;
    rises[last] = blocks.next_norm(last) - norms[last];
}
