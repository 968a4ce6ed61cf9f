//! The two diagonals, read burst by burst.

use std::sync::Arc;

use super::BURST;
use super::recipe::{GRADED_BLOCK, Grading, Stretch};
use crate::noise::Real;
use crate::noise::vectorise::vectorised;

/// 1/e, d, and how much d rises after the step, for the steps of a burst: ones and zeros without
/// grades, and beyond the horizon.
#[derive(Clone, Copy)]
pub(super) struct Grades<F> {
    pub(super) drive: [F; BURST],
    pub(super) norm: [F; BURST],
    pub(super) rise: [F; BURST],
}

impl Grades<f64> {
    pub(super) fn flat() -> Self {
        Self { drive: [1.0; BURST], norm: [1.0; BURST], rise: [0.0; BURST] }
    }

    pub(super) fn rounded<F: Real>(&self) -> Grades<F> {
        Grades {
            drive: self.drive.map(F::from_f64),
            norm: self.norm.map(F::from_f64),
            rise: self.rise.map(F::from_f64),
        }
    }
}

/// Keeps the block of grades that holds the current step, and the one after it.
pub(super) struct GradeReader {
    grading: Option<Arc<dyn Grading>>,
    horizon: u64,
    /// The number of the block in `here`, with the drives and rises that follow from it.
    block: Option<u64>,
    here: Stretch,
    after: Stretch,
    drives: Vec<f64>,
    rises: Vec<f64>,
}

impl GradeReader {
    pub(super) fn new(grading: Option<Arc<dyn Grading>>, horizon: u64) -> Self {
        Self {
            grading,
            horizon,
            block: None,
            here: Stretch::default(),
            after: Stretch::default(),
            drives: Vec::new(),
            rises: Vec::new(),
        }
    }

    pub(super) fn is_graded(&self) -> bool {
        self.grading.is_some()
    }

    /// The grades of the burst that begins at this step.
    pub(super) fn burst(&mut self, first: u64) -> Grades<f64> {
        let mut grades = Grades::flat();
        if self.grading.is_none() {
            return grades;
        }
        let mut k = 0;
        while k < BURST && first + (k as u64) < self.horizon {
            let step = first + k as u64;
            self.load(step / GRADED_BLOCK);
            let i = (step % GRADED_BLOCK) as usize;
            let len = (BURST - k).min(self.drives.len() - i);
            grades.drive[k..k + len].copy_from_slice(&self.drives[i..i + len]);
            grades.norm[k..k + len].copy_from_slice(&self.here.norms[i..i + len]);
            grades.rise[k..k + len].copy_from_slice(&self.rises[i..i + len]);
            k += len;
        }
        grades
    }

    fn load(&mut self, block: u64) {
        let Some(grading) = &self.grading else { return };
        if self.block == Some(block) {
            return;
        }
        if self.block.is_some_and(|held| held + 1 == block) {
            std::mem::swap(&mut self.here, &mut self.after);
        } else {
            grading.block(block * GRADED_BLOCK, &mut self.here);
        }
        let next = (block + 1) * GRADED_BLOCK;
        if next < self.horizon {
            grading.block(next, &mut self.after);
        } else {
            self.after = Stretch::default();
        }
        self.block = Some(block);
        self.drives.clone_from(&self.here.grades);
        self.rises.clone_from(&self.here.norms);
        let last = self.here.norms.last().copied().unwrap_or(0.0);
        // After the last step there is nothing to rise to.
        let beyond = self.after.norms.first().copied().unwrap_or(last);
        let (drives, rises, norms) = (&mut self.drives, &mut self.rises, &self.here.norms);
        vectorised(
            #[inline(always)]
            || {
                drives.iter_mut().for_each(|drive| *drive = 1.0 / *drive);
                for (rise, next) in rises.iter_mut().zip(&norms[1..]) {
                    *rise = next - *rise;
                }
            },
        );
        if let Some(rise) = self.rises.last_mut() {
            *rise = beyond - last;
        }
    }
}
