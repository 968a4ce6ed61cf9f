//! The two diagonals, read burst by burst.

use std::sync::Arc;

use super::BURST;
use super::recipe::{GRADED_BLOCK, Grading, Stretch};
use crate::noise::Real;

/// 1/e, d, and how much d rises after the step, for the steps of a burst: ones and zeros without grades, and beyond the horizon.
#[derive(Clone, Copy)]
pub(super) struct Grades<F> {
    pub(super) drive: [F; BURST],
    pub(super) norm: [F; BURST],
    pub(super) rise: [F; BURST],
}

impl Grades<f64> {
    fn flat() -> Self {
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
    /// The number of the block in `here`.
    block: Option<u64>,
    here: Stretch,
    after: Stretch,
}

impl GradeReader {
    pub(super) fn new(grading: Option<Arc<dyn Grading>>, horizon: u64) -> Self {
        Self { grading, horizon, block: None, here: Stretch::default(), after: Stretch::default() }
    }

    /// The grades of the burst that begins at this step.
    pub(super) fn burst(&mut self, first: u64) -> Grades<f64> {
        let mut grades = Grades::flat();
        if self.grading.is_none() {
            return grades;
        }
        for k in 0..BURST.min((self.horizon - first) as usize) {
            let step = first + k as u64;
            self.load(step / GRADED_BLOCK);
            let i = (step % GRADED_BLOCK) as usize;
            let norm = self.here.norms[i];
            // After the last step there is nothing to rise to.
            let next = self.here.norms.get(i + 1).or(self.after.norms.first()).unwrap_or(&norm);
            grades.drive[k] = 1.0 / self.here.grades[i];
            grades.norm[k] = norm;
            grades.rise[k] = next - norm;
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
    }
}
