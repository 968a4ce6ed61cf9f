//! A direct implementation of the recipe: one step at a time, one lane after another.
//!
//! **State.** One number per row and lane, row after row: the ordinary decays v, the slow decays e,
//! then ζ if there are grades. [`Correlator::save`] returns these numbers.
//!
//! **Cost.** O(rows) operations per step and lane. It is written for clarity, and the fast
//! implementations are tested against it.

use std::sync::Arc;

use super::chains::{ChainBlock, ChainSource};
use super::recipe::{GRADED_BLOCK, GradeBlock, Recipe};
use crate::Result;
use crate::noise::{Correlator, WhiteField, misfit};

/// See the module documentation.
pub(crate) struct ReferenceCorrelator {
    recipe: Arc<Recipe>,
    field: Arc<dyn WhiteField>,
    horizon: u64,
    step: u64,
    /// Row r of lane c is number r·width + c.
    state: Vec<f64>,
    fresh: Vec<f64>,
}

impl ReferenceCorrelator {
    /// Starts at the first step, with all numbers zero.
    pub(crate) fn new(recipe: Arc<Recipe>, field: Arc<dyn WhiteField>, horizon: u64) -> Self {
        let width = field.width();
        let state = vec![0.0; recipe.rows() * width];
        Self { recipe, field, horizon, step: 0, state, fresh: vec![0.0; width] }
    }

    /// e_t, d_t and d_{t+1}. All are one without grades, and beyond the horizon d stays constant.
    fn grades(&self) -> (f64, f64, f64) {
        let Some(grading) = &self.recipe.grading else { return (1.0, 1.0, 1.0) };
        let at = |step: u64| {
            let mut stretch = GradeBlock::default();
            grading.block(step, &mut stretch);
            let i = (step % GRADED_BLOCK) as usize;
            (stretch.grades[i], stretch.norms[i])
        };
        let (grade, norm) = at(self.step);
        let next = if self.step + 1 < self.horizon { at(self.step + 1).1 } else { norm };
        (grade, norm, next)
    }
}

impl ReferenceCorrelator {
    /// A step of chains.
    fn next_of_chains(&mut self, source: &dyn ChainSource, out: &mut [f64]) {
        self.field.draw(self.step, &mut self.fresh);
        let mut block = ChainBlock::default();
        source.block(self.step, &mut block);
        let (i, width) = ((self.step - block.first) as usize, self.fresh.len());
        let (norm, next) = (f64::from(block.norms[i]), f64::from(block.norms[i + 1]));
        for (lane, z) in out.iter_mut().enumerate() {
            let mut u = 0.0;
            for chain in 0..source.chains() {
                let x = &mut self.state[chain * width + lane];
                let (loss, drive) = (f64::from(block.losses[i][chain]), f64::from(block.drives[i][chain]));
                *x = (1.0 - loss) * *x + drive * self.fresh[lane];
                u += *x;
            }
            let zeta = &mut self.state[source.chains() * width + lane];
            *z = norm * u + *zeta;
            *zeta = (1.0 - source.loss()) * (*zeta - (next - norm) * u);
        }
        self.step += 1;
    }
}

impl Correlator for ReferenceCorrelator {
    fn next(&mut self, out: &mut [f64]) {
        if let Some(source) = self.recipe.chains.clone() {
            return self.next_of_chains(&*source, out);
        }
        let (grade, norm, next_norm) = self.grades();
        self.field.draw(self.step, &mut self.fresh);
        let (recipe, width) = (&self.recipe, self.fresh.len());
        for (lane, z) in out.iter_mut().enumerate() {
            let h = self.fresh[lane] / grade;
            let at = |row: usize| row * width + lane;
            let mut u = recipe.impulse * h;
            // S of the step before. It is not used without slow decays.
            let before = if recipe.slow.is_empty() { 0.0 } else { self.state[at(0)] };
            for (row, decay) in recipe.decays.iter().enumerate() {
                let v = decay.decay * self.state[at(row)] + h;
                self.state[at(row)] = v;
                u += decay.weight * v;
            }
            for (i, slow) in recipe.slow.iter().enumerate() {
                let row = recipe.decays.len() + i;
                let e = self.state[at(row)];
                let e = e + slow.loss * (before - e);
                self.state[at(row)] = e;
                u += slow.weight * (self.state[at(0)] - e);
            }
            *z = norm * u;
            if recipe.grading.is_some() {
                let zeta = at(recipe.rows() - 1);
                *z += self.state[zeta];
                self.state[zeta] -= (next_norm - norm) * u;
            }
        }
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        self.state.clone()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        if saved.len() != self.state.len() || step > self.horizon {
            return Err(misfit());
        }
        self.state.copy_from_slice(saved);
        self.step = step;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::super::recipe::{Decay, GradeBounds, Grading, SlowDecay};
    use super::*;

    /// Lane c gets 1 at step c.
    struct Impulses(usize);

    impl WhiteField for Impulses {
        fn width(&self) -> usize {
            self.0
        }
        fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
            for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
                for (value, lane) in row.iter_mut().zip(lanes.clone()) {
                    *value = f64::from(u8::from(lane as u64 == index));
                }
            }
        }
    }

    fn rows(recipe: Recipe, n: usize) -> Vec<Vec<f64>> {
        let mut reference = ReferenceCorrelator::new(Arc::new(recipe), Arc::new(Impulses(n)), n as u64);
        let row = |_| {
            let mut out = vec![0.0; n];
            reference.next(&mut out);
            out
        };
        (0..n).map(row).collect()
    }

    #[test]
    fn without_grades_it_is_a_toeplitz_matrix() {
        let recipe = Recipe {
            decays: vec![Decay { decay: 1.0, weight: 0.3 }, Decay { decay: 0.5, weight: 0.2 }],
            slow: vec![SlowDecay { loss: 0.25, weight: 0.7 }],
            impulse: 0.1,
            ..Recipe::default()
        };
        for (t, row) in rows(recipe, 9).iter().enumerate() {
            for (j, z) in row.iter().enumerate() {
                let lag = t as i32 - j as i32;
                let sum = 0.3 + 0.2 * 0.5_f64.powi(lag) + 0.7 * 0.75_f64.powi(lag);
                let expected = if lag < 0 { 0.0 } else { sum + if lag == 0 { 0.1 } else { 0.0 } };
                assert!((z - expected).abs() < 1e-14, "{t} {j}: {z} {expected}");
            }
        }
    }

    struct Ramp(u64);

    impl Grading for Ramp {
        fn block(&self, step: u64, out: &mut GradeBlock) {
            let first = step - step % GRADED_BLOCK;
            let steps = first..(first + GRADED_BLOCK).min(self.0);
            out.grades = steps.clone().map(|t| 1.0 + 0.1 * t as f64).collect();
            out.norms = steps.map(|t| 2.0 - 0.01 * t as f64).collect();
        }

        fn bounds(&self) -> GradeBounds {
            let largest_grade = 1.0 + 0.1 * self.0 as f64;
            GradeBounds {
                largest_grade,
                least_grade: 1.0,
                largest_norm: 2.0,
                least_norm: 1.0,
                largest_ratio: 2.0,
                norm_variation: 1.0,
                is_falling: false,
            }
        }
    }

    #[test]
    fn with_grades_it_is_the_graded_matrix() {
        let n = 70;
        let recipe = Recipe {
            decays: vec![Decay { decay: 1.0, weight: 0.4 }, Decay { decay: 0.6, weight: 0.5 }],
            slow: Vec::new(),
            impulse: 0.1,
            grading: Some(Arc::new(Ramp(n as u64))),
            ..Recipe::default()
        };
        let l = |lag: usize| 0.4 + 0.5 * 0.6_f64.powi(lag as i32) + if lag == 0 { 0.1 } else { 0.0 };
        for (t, row) in rows(recipe, n).iter().enumerate() {
            for (j, z) in row.iter().enumerate().take(t + 1) {
                // A diag(d) A⁻¹ T(l) diag(1/e): differences of u, weighted by d, added up.
                let difference = |s: usize| l(s - j) - if s > j { l(s - 1 - j) } else { 0.0 };
                let sum: f64 = (j..=t).map(|s| (2.0 - 0.01 * s as f64) * difference(s)).sum();
                let expected = sum / (1.0 + 0.1 * j as f64);
                assert!((z - expected).abs() < 1e-13, "{t} {j}: {z} {expected}");
            }
        }
    }

    /// Compares with (1−p)^k in closed form, for losses that are too small for doubles near one. In
    /// the response to one draw, rounding could only spoil S = 1 − e.
    #[test]
    fn slow_decays_keep_their_digits() {
        for loss in [libm::exp2(-31.0), libm::exp2(-40.0), 1e-19] {
            let recipe = Recipe {
                decays: vec![Decay { decay: 1.0, weight: 0.0 }],
                slow: vec![SlowDecay { loss, weight: 1.0 }],
                impulse: 0.0,
                ..Recipe::default()
            };
            let mut reference = ReferenceCorrelator::new(Arc::new(recipe), Arc::new(Impulses(1)), 1 << 20);
            let mut out = [0.0];
            for k in 0..100_000 {
                reference.next(&mut out);
                let expected = -libm::expm1(f64::from(k) * libm::log1p(-loss));
                let lost = reference.state[1];
                // Each of k additions rounds e by half a unit; e itself grows evenly.
                assert!((lost - expected).abs() <= 1e-11 * expected, "p = {loss}, {k}: {lost} {expected}");
                assert!((out[0] - (1.0 - expected)).abs() < 2e-16, "p = {loss}, {k}");
            }
        }
    }

    #[test]
    fn states_that_do_not_fit_are_refused() {
        let recipe =
            Recipe { decays: vec![Decay { decay: 1.0, weight: 1.0 }], impulse: 0.0, ..Recipe::default() };
        let mut reference = ReferenceCorrelator::new(Arc::new(recipe), Arc::new(Impulses(2)), 5);
        assert!(reference.restore(3, &[1.0, 2.0]).is_ok());
        assert!(reference.restore(6, &[1.0, 2.0]).is_err());
        assert!(reference.restore(3, &[1.0]).is_err());
        assert_eq!(reference.save(), [1.0, 2.0]);
    }
}
