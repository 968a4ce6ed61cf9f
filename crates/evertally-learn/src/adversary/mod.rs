//! Sources of data: adversaries that have seen the parameters, and fixed distributions.
//!
//! **Definition.** In step t an [`Adversary`] sees θ_t and answers with an example or a linear
//! loss; a [`Player`] then takes the gradient. [`play`] runs the game and measures regret.
//!
//! | adversary | what it does |
//! |---|---|
//! | [`Greedy`] | a gradient along θ_t: the largest possible loss in this step alone |
//! | [`RandomWalk`] | random signs along each coordinate in turn: no learner has lower expected regret than their sum implies |
//! | [`Exploiter`] | knows λ, so it sees the noise in θ_t: gradients along the noise, then a push until the sum has length λB |
//! | [`PlantedModel`] | examples of a linear or logistic model, drawn independently |
//!
//! The exploiter makes every inequality in the proof of [`crate::bound`] nearly tight. The tests of
//! the bound use it.
//!
//! **Randomness.** Adversaries are for experiments. Their randomness comes from seeds that anyone
//! can guess, and their constructors' names say so.

mod linear;
mod planted_model;
#[cfg(test)]
mod tests;

pub use linear::{Exploiter, Greedy, RandomWalk};
pub use planted_model::PlantedModel;

use evertally::{Error, Result};

use crate::data::{Dataset, Example};
use crate::learner::Learner;
use crate::loss::{Losses, dot};
use crate::regret::RegretMeter;

/// The answer of an adversary.
#[derive(Clone, Copy, PartialEq)]
pub enum Move<'a> {
    /// The loss ⟨g, θ⟩.
    Linear(&'a [f64]),
    /// The loss of an example.
    Example(Example<'a>),
}

/// Chooses the data of a step after seeing its parameters.
pub trait Adversary {
    /// The answer to θ_t.
    fn next(&mut self, theta: &[f64]) -> Move<'_>;
}

/// A learner that plays parameters and takes gradients.
pub trait Player {
    /// θ_t.
    fn theta(&self) -> &[f64];

    /// Takes the gradient of the loss at θ_t and moves to θ_{t+1}.
    ///
    /// # Errors
    /// The player's own errors.
    fn take(&mut self, gradient: &[f64]) -> Result<()>;
}

impl Player for Learner {
    fn theta(&self) -> &[f64] {
        Learner::theta(self)
    }

    fn take(&mut self, gradient: &[f64]) -> Result<()> {
        self.step([gradient]).map(|_| ())
    }
}

/// The result of a game: its losses, and the examples, if any. Not private.
pub struct Game {
    /// The losses.
    pub meter: RegretMeter,
    /// The examples in order, or `None` if all losses were linear.
    pub data: Option<Dataset>,
}

/// Plays `steps` steps of a player against an adversary. `loss` is the loss of examples.
///
/// ```
/// use evertally::{Budget, NoiseKey};
/// use evertally_learn::adversary::{Greedy, play};
/// use evertally_learn::{Learner, LearningPlan, Set, bound::RegretBound};
///
/// let set = Set::ball(1.0)?;
/// let plan = LearningPlan::new(3, 200).budget(Budget::new(1.0, 1e-6)?).set(set).recommended(1.0).build()?;
/// let mut learner = Learner::new(&plan, NoiseKey::from_os()?)?;
/// let game = play(&mut learner, &mut Greedy::new(1.0)?, &"logistic".parse()?, 200)?;
/// let regret = game.meter.linear_regret(set).expect("a ball has a best point");
/// println!("{regret:.3}, of which {:.3} is the bound", RegretBound::of_plan(&plan)?.least(1.0)?);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// The player's own errors, and [`Error::BadParameter`] for answers whose dimension is not the
/// player's.
pub fn play(
    player: &mut impl Player,
    adversary: &mut (impl Adversary + ?Sized),
    loss: &Losses,
    steps: u64,
) -> Result<Game> {
    let dimension = player.theta().len();
    let mut meter = RegretMeter::new(dimension)?;
    let mut gradient = vec![0.0; dimension];
    let (mut features, mut labels, mut width) = (Vec::new(), Vec::new(), 0);
    for _ in 0..steps {
        let theta = player.theta();
        let value = match adversary.next(theta) {
            Move::Linear(slope) => {
                check("gradient", slope.len(), dimension)?;
                gradient.copy_from_slice(slope);
                dot(slope, theta)
            }
            Move::Example(example) => {
                check("example", loss.parameters(example.features.len()), dimension)?;
                loss.check_label(example.label)?;
                loss.gradient(theta, example, &mut gradient);
                features.extend_from_slice(example.features);
                labels.push(example.label);
                width = example.features.len();
                loss.value(theta, example)
            }
        };
        meter.record(theta, value, &gradient)?;
        player.take(&gradient)?;
    }
    let data = if width > 0 { Some(Dataset::new(width, features, labels)?) } else { None };
    Ok(Game { meter, data })
}

fn check(name: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::bad(name, format!("for {expected} parameters"), got)) }
}
