//! The machine that makes the noise: O(J) numbers a coordinate, O(J) operations a step.
//!
//! z = A (d ∘ T(f̂)⁻¹ h) with h = g/e. As T(f̂)⁻¹ = A⁻¹ T(Ŝ), u = T(Ŝ) h has y_t = u_t − u_{t−1}, and summation by parts gives
//!
//! > z_t = Σ_{s≤t} d_s(u_s − u_{s−1}) = d_t u_t − Σ_{s≤t} (d_s − d_{s−1}) u_{s−1} = d_t u_t + ζ_t.
//!
//! Differences of u are never formed, so nothing cancels; d_s − d_{s−1} is exact in floating point, as neighbours are close.

use std::sync::Arc;

use super::Parts;
use super::weights::{BLOCK, Stretch};
use crate::Result;
use crate::noise::{Correlator, WhiteField, misfit};

pub(super) struct Stream {
    parts: Arc<Parts>,
    field: Arc<dyn WhiteField>,
    step: u64,
    weights: Stretch,
    /// d of the step before.
    norm_before: f64,
    /// v₀ of every coordinate, then v₁, …; then ζ, then u.
    state: Vec<f64>,
    fresh: Vec<f64>,
}

impl Stream {
    pub(super) fn new(parts: Arc<Parts>, field: Arc<dyn WhiteField>) -> Self {
        let width = field.width();
        let state = vec![0.0; (parts.decays.len() + 2) * width];
        Self {
            parts,
            field,
            step: 0,
            weights: Stretch::default(),
            norm_before: 0.0,
            state,
            fresh: vec![0.0; width],
        }
    }
}

impl Correlator for Stream {
    fn next(&mut self, out: &mut [f64]) {
        let i = (self.step % BLOCK) as usize;
        if i == 0 {
            self.parts.weights.block(self.step, &mut self.weights);
        }
        let (grade, norm) = (self.weights.grades[i], self.weights.norms[i]);
        self.field.draw(self.step, &mut self.fresh);
        let (width, decoder) = (self.fresh.len(), self.parts.pair.decoder());
        let (states, rest) = self.state.split_at_mut(decoder.len() * width);
        let (zeta, sums) = rest.split_at_mut(width);
        // At the first step u is still zero, so that the rise does not matter.
        let rise = norm - self.norm_before;
        let inverse = 1.0 / grade;
        for ((h, zeta), sum) in self.fresh.iter_mut().zip(zeta.iter_mut()).zip(sums.iter_mut()) {
            *h *= inverse;
            *zeta -= rise * *sum;
            *sum = decoder.impulse() * *h;
        }
        let decays = self.parts.decays.iter().zip(decoder.weights());
        for (states, (decay, weight)) in states.chunks_exact_mut(width).zip(decays) {
            for ((state, h), sum) in states.iter_mut().zip(&self.fresh).zip(sums.iter_mut()) {
                *state = decay * *state + h;
                *sum += weight * *state;
            }
        }
        for ((z, zeta), sum) in out.iter_mut().zip(zeta).zip(sums) {
            *z = *zeta + norm * *sum;
        }
        self.norm_before = norm;
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        self.state.clone()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        if saved.len() != self.state.len() || step > self.parts.horizon {
            return Err(misfit());
        }
        self.state.copy_from_slice(saved);
        self.step = step;
        self.norm_before = 0.0;
        if let Some(before) = step.checked_sub(1) {
            self.parts.weights.block(before, &mut self.weights);
            self.norm_before = self.weights.norms[(before % BLOCK) as usize];
        }
        Ok(())
    }
}
