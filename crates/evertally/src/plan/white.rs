//! Which white noise belongs to a plan under a key.

use std::sync::Arc;

use super::{Lanes, Plan};
use crate::noise::{KeyedField, KeyedNoise, NoiseKey, StreamKey, VectorField, WhiteField, WhiteNoise};
use crate::privacy::NoiseKind;
use crate::{Error, Result};

impl Plan {
    /// The streams of white noise of this plan under a key. Another purpose has other noise: a noise file that leaks does not unmask a
    /// counter.
    ///
    /// # Errors
    /// [`Error::BadParameter`] where two declared keys would share their noise, and for open keys, whose lanes are not known.
    pub(crate) fn white_field(&self, key: &NoiseKey, purpose: &str) -> Result<Arc<dyn WhiteField>> {
        let white = |lane: &str| {
            let stream = self.stream(key, purpose, lane);
            match self.budget().noise() {
                NoiseKind::Gaussian => WhiteNoise::gaussian(stream),
                NoiseKind::Laplace => WhiteNoise::laplace(stream),
            }
        };
        Ok(match self.lanes() {
            Lanes::Scalar => Arc::new(VectorField::new(white("scalar"), 1)),
            // Draws are laid out by dimension, so vectors of another dimension must not read the same stream.
            Lanes::Vector { dimension } => {
                Arc::new(VectorField::new(white(&format!("vector {dimension}")), *dimension))
            }
            Lanes::Keyed { keys } => {
                let names = keys.iter().map(String::as_str);
                Arc::new(KeyedField::new(self.keyed_noise(key, purpose), names)?)
            }
            Lanes::OpenKeys => {
                return Err(Error::bad("plan", "for lanes that are declared", "one for open keys"));
            }
        })
    }

    /// The noise of all keys of this plan, declared or not: a key's is told by its name alone.
    pub(crate) fn keyed_noise(&self, key: &NoiseKey, purpose: &str) -> KeyedNoise {
        let stream = self.stream(key, purpose, "keys");
        match self.budget().noise() {
            NoiseKind::Gaussian => KeyedNoise::gaussian(stream),
            NoiseKind::Laplace => KeyedNoise::laplace(stream),
        }
    }

    pub(super) fn stream(&self, key: &NoiseKey, purpose: &str, lane: &str) -> StreamKey {
        key.stream(format!("{}|{purpose}{lane}", self.noise_label()).as_bytes())
    }
}
