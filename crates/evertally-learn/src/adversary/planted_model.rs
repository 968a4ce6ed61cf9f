//! Examples of a planted model, drawn independently.

use evertally::internals::noise::WhiteNoise;
use evertally::{Error, NoiseKey, Result};

use super::{Adversary, Move};
use crate::data::Example;
use crate::loss::dot;
use crate::set::{norm, shorten};

/// The distribution of labels.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Label {
    /// The score with Gaussian noise of this standard deviation, clamped to [−1, 1].
    Number { noise: f64 },
    /// +1 with probability 1/(1 + e^{−score}), and −1.
    Sign,
}

/// A distribution of examples with a planted θ. Features have uniform direction and norm at most
/// one. Labels follow a linear or logistic model. The examples do not depend on the player's
/// parameters.
///
/// ```
/// use evertally_learn::adversary::{Adversary, Move, PlantedModel};
/// let mut source = PlantedModel::logistic(vec![3.0, -3.0], 7)?;
/// let Move::Example(example) = source.next(&[]) else { panic!("examples, not gradients") };
/// assert!(example.label.abs() == 1.0 && evertally_learn::norm(example.features) <= 1.0);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Clone)]
pub struct PlantedModel {
    theta: Vec<f64>,
    label: Label,
    white: WhiteNoise,
    coin: WhiteNoise,
    step: u64,
    features: Vec<f64>,
}

impl PlantedModel {
    /// Labels ⟨θ, x⟩ with Gaussian noise of this standard deviation, clamped to [−1, 1]. Anyone can
    /// guess the seed.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if `theta` is empty or a number is not finite.
    pub fn linear(theta: Vec<f64>, noise: f64, insecure_seed: u64) -> Result<Self> {
        if !(noise >= 0.0 && noise.is_finite()) {
            return Err(Error::bad("noise", "a nonnegative number", noise));
        }
        Self::new(theta, Label::Number { noise }, insecure_seed)
    }

    /// Labels +1 with probability 1/(1 + e^{−⟨θ, x⟩}) and −1 otherwise. Anyone can guess the seed.
    ///
    /// # Errors
    /// As [`PlantedModel::linear`].
    pub fn logistic(theta: Vec<f64>, insecure_seed: u64) -> Result<Self> {
        Self::new(theta, Label::Sign, insecure_seed)
    }

    fn new(theta: Vec<f64>, label: Label, seed: u64) -> Result<Self> {
        if theta.is_empty() || !norm(&theta).is_finite() {
            return Err(Error::bad(
                "theta",
                "finite numbers, at least one",
                format!("{} of them", theta.len()),
            ));
        }
        let key = NoiseKey::insecure_from_seed(seed);
        let features = vec![0.0; theta.len()];
        let (white, coin) = (
            WhiteNoise::gaussian(key.stream(b"planted features")),
            WhiteNoise::laplace(key.stream(b"planted coins")),
        );
        Ok(Self { theta, label, white, coin, step: 0, features })
    }
}

impl Adversary for PlantedModel {
    fn next(&mut self, _theta: &[f64]) -> Move<'_> {
        let width = self.features.len() as u64;
        let first = self.step * (width + 1);
        self.white.fill(first, &mut self.features);
        let length = (width as f64).sqrt();
        self.features.iter_mut().for_each(|value| *value /= length);
        shorten(&mut self.features, 1.0);
        let score = dot(&self.theta, &self.features);
        let label = match self.label {
            Label::Number { noise } => (score + noise * self.white.draw(first + width)).clamp(-1.0, 1.0),
            Label::Sign => {
                // The magnitude of a Laplace draw of variance one is exponential with mean 1/√2, so
                // this is uniform.
                let uniform = (-std::f64::consts::SQRT_2 * self.coin.draw(self.step).abs()).exp();
                if uniform * (1.0 + (-score).exp()) < 1.0 { 1.0 } else { -1.0 }
            }
        };
        self.step += 1;
        Move::Example(Example { features: &self.features, label })
    }
}
