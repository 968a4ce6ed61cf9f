//! Which white noise belongs to a plan under a key.

use std::sync::Arc;

use super::{Lanes, Plan};
use crate::noise::{KeyedField, NoiseKey, VectorField, WhiteField, WhiteNoise};
use crate::privacy::NoiseKind;

impl Plan {
    /// The streams of white noise of this plan under a key. Another purpose has other noise: a noise file that leaks does not unmask a
    /// counter.
    pub(crate) fn white_field(&self, key: &NoiseKey, purpose: &str) -> Arc<dyn WhiteField> {
        let label = self.noise_label();
        let white = |lane: &str| {
            let stream = key.stream(format!("{label}|{purpose}{lane}").as_bytes());
            match self.budget().noise() {
                NoiseKind::Gaussian => WhiteNoise::gaussian(stream),
                NoiseKind::Laplace => WhiteNoise::laplace(stream),
            }
        };
        match self.lanes() {
            Lanes::Scalar => Arc::new(VectorField::new(white("scalar"), 1)),
            // Draws are laid out by dimension, so vectors of another dimension must not read the same stream.
            Lanes::Vector { dimension } => {
                Arc::new(VectorField::new(white(&format!("vector {dimension}")), *dimension))
            }
            Lanes::Keyed { keys } => {
                Arc::new(KeyedField::new(keys.iter().map(|name| white(&format!("key:{name}"))).collect()))
            }
        }
    }
}
