//! One lane of either kind: with the same decays at every step, or chains.

use super::BURST;
use super::grades::BurstGrades;
use super::recipe::Recipe;
use super::single_chains::SingleChains;
use super::single_lane::SingleLane;

/// The state of one lane.
pub(super) enum Single {
    Steady(Box<SingleLane>),
    Chains(Box<SingleChains>),
}

impl Single {
    pub(super) fn new(recipe: &Recipe, scale: f64) -> Self {
        match recipe.chains {
            None => Self::Steady(Box::new(SingleLane::new(recipe, scale))),
            Some(_) => Self::Chains(Box::new(SingleChains::new(recipe, scale))),
        }
    }

    /// Takes eight steps with this white noise and replaces it by their output.
    pub(super) fn burst(&mut self, grades: &BurstGrades<f64>, values: &mut [f64; BURST]) {
        self.bursts(std::iter::once((values, grades)));
    }

    /// The same for burst after burst.
    pub(super) fn bursts<'a>(
        &mut self,
        bursts: impl Iterator<Item = (&'a mut [f64; BURST], &'a BurstGrades<f64>)>,
    ) {
        match self {
            Self::Steady(lane) => lane.bursts(bursts),
            Self::Chains(lane) => lane.bursts(bursts),
        }
    }

    pub(super) fn save(&self, out: &mut Vec<f64>) {
        match self {
            Self::Steady(lane) => lane.save(out),
            Self::Chains(lane) => lane.save(out),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Steady(lane) => lane.clear(),
            Self::Chains(lane) => lane.clear(),
        }
    }

    pub(super) fn restore(&mut self, saved: &[f64]) {
        match self {
            Self::Steady(lane) => lane.restore(saved),
            Self::Chains(lane) => lane.restore(saved),
        }
    }
}
