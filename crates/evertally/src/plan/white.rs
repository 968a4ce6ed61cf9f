//! Which white noise belongs to a plan under a key.

use std::sync::Arc;

use super::Plan;
use crate::noise::{KeyedField, KeyedNoise, NoiseKey, StreamKey, VectorField, WhiteField, WhiteNoise};
use crate::noise_name::{Layout, Purpose};
use crate::privacy::NoiseKind;
use crate::spec::Shape;
use crate::{Error, Result};

impl Plan {
    /// The streams of white noise of this plan under a key. Each purpose has independent noise, so a
    /// leaked noise file does not reveal the noise of a counter.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if two declared keys would share their noise, and for open keys, whose
    /// lanes are not known in advance.
    pub(crate) fn white_field(&self, key: &NoiseKey, purpose: Purpose) -> Result<Arc<dyn WhiteField>> {
        let white = |layout| {
            let stream = self.stream(key, purpose, layout);
            match self.budget().noise() {
                NoiseKind::Gaussian => WhiteNoise::gaussian(stream),
                NoiseKind::Laplace => WhiteNoise::laplace(stream),
            }
        };
        Ok(match self.shape() {
            Shape::Scalar => Arc::new(VectorField::new(white(Layout::Scalar), 1)),
            Shape::Vector { dimension } => {
                Arc::new(VectorField::new(white(Layout::Vector(*dimension)), *dimension))
            }
            Shape::Keyed { keys } => {
                let names = keys.iter().map(String::as_str);
                Arc::new(KeyedField::new(self.keyed_noise(key, purpose), names)?)
            }
            Shape::OpenKeys => {
                return Err(Error::bad("plan", "for lanes that are declared", "one for open keys"));
            }
        })
    }

    /// The noise of all keys of this plan. Within the plan and its parts, a key's noise is derived
    /// from its name.
    pub(crate) fn keyed_noise(&self, key: &NoiseKey, purpose: Purpose) -> KeyedNoise {
        let stream = self.stream(key, purpose, Layout::Keys);
        match self.budget().noise() {
            NoiseKind::Gaussian => KeyedNoise::gaussian(stream),
            NoiseKind::Laplace => KeyedNoise::laplace(stream),
        }
    }

    pub(super) fn stream(&self, key: &NoiseKey, purpose: Purpose, layout: Layout) -> StreamKey {
        key.stream(&self.stream_label(purpose, layout))
    }
}
