//! One lane of chains, step by step: a step is one vector operation over all chains.
//!
//! **Definition.** [`super::chains`]. The sum over the chains is added up by halves, in an order that
//! does not depend on the vectors of the processor. (A lane of [`super::many_lanes`] adds them up in
//! another order, so the two give noise that differs in the last bits.)
//!
//! **Cost.** Four operations per step on vectors of [`MAX_CHAINS`], and the sum.

use zeroize::Zeroize;

use super::BURST;
use super::chains::{MAX_CHAINS, total};
use super::grades::BurstGrades;
use super::recipe::Recipe;
use crate::noise::vectorise::vectorised;

/// The state of one lane.
pub(super) struct SingleChains {
    chains: usize,
    loss: f64,
    scale: f64,
    state: [f64; MAX_CHAINS],
    zeta: f64,
}

impl SingleChains {
    pub(super) fn new(recipe: &Recipe, scale: f64) -> Self {
        let (chains, loss) =
            recipe.chains.as_ref().map_or((0, 0.0), |source| (source.chains(), source.loss()));
        Self { chains, loss, scale, state: [0.0; MAX_CHAINS], zeta: 0.0 }
    }

    /// Takes eight steps per burst with this white noise, and replaces it by their output.
    pub(super) fn bursts<'a>(
        &mut self,
        bursts: impl Iterator<Item = (&'a mut [f64; BURST], &'a BurstGrades<f64>)>,
    ) {
        let mut bursts = bursts;
        vectorised(
            #[inline(always)]
            || {
                for (values, grades) in &mut bursts {
                    self.take(values, grades);
                }
            },
        );
    }

    #[inline(always)]
    fn take(&mut self, values: &mut [f64; BURST], grades: &BurstGrades<f64>) {
        let Some(numbers) = &grades.chains else { return };
        for (k, value) in values.iter_mut().enumerate() {
            let (losses, drives, g) = (&numbers.losses[k], &numbers.drives[k], *value);
            for j in 0..MAX_CHAINS {
                let x = self.state[j];
                self.state[j] = x + (f64::from(drives[j]) * g - f64::from(losses[j]) * x);
            }
            let u = total(&self.state);
            *value = self.scale * (grades.norm[k] * u + self.zeta);
            self.zeta -= grades.rise[k] * u;
            self.zeta -= self.loss * self.zeta;
        }
    }

    /// The numbers of the state: the chains, then ζ.
    pub(super) fn save(&self, out: &mut Vec<f64>) {
        out.extend(&self.state[..self.chains]);
        out.push(self.zeta);
    }

    /// Returns to the state before the first step.
    pub(super) fn clear(&mut self) {
        self.state.zeroize();
        self.zeta.zeroize();
    }

    /// Restores what `save` wrote.
    pub(super) fn restore(&mut self, saved: &[f64]) {
        self.clear();
        let (chains, zeta) = saved.split_at(self.chains);
        self.state[..self.chains].copy_from_slice(chains);
        self.zeta = zeta.first().copied().unwrap_or(0.0);
    }
}

impl Drop for SingleChains {
    fn drop(&mut self) {
        self.clear();
    }
}
