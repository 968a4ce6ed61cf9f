//! The steps of a run: gradients in, parameters out, and a checkpoint from time to time.
//!
//! Row i is used in step ⌊i/B⌋ of every epoch, independent of the data. How often and how far apart a
//! row is used is therefore known before the first step. Nothing is released during training. A
//! resumed run repeats the steps after its last checkpoint with the same gradients and the same
//! noise, so they give the same parameters and cost nothing.

use super::checkpoint::{Checkpoint, Description, KeptKey, Measured, Score};
use super::store::Store;
use super::table::Data;
use crate::error::Result;
use crate::progress::{Progress, with_progress};
use evertally::NoiseKey;
use evertally_learn::regret::{RegretMeter, RegretReport};
use evertally_learn::{Batch, Dataset, Learner, Losses};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The default time between checkpoints.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(10);

/// How often the model is tested during training.
const MEASUREMENTS: u64 = 100;

/// A run in training.
pub(super) struct Training<'a> {
    loss: Losses,
    data: &'a Data,
    batch_size: usize,
    steps_an_epoch: u64,
    learner: Learner,
    batch: Batch,
    gradient: Zeroizing<Vec<f64>>,
    description: Description,
    /// Steps that were in the checkpoint.
    saved: u64,
    /// Records the losses, if the user asked for regret, which is not private.
    meter: Option<RegretMeter>,
}

/// Where and when checkpoints are saved.
pub(super) struct Saving<'a> {
    pub(super) store: &'a Store,
    /// The number of steps between checkpoints. `None` saves by time.
    pub(super) every: Option<u64>,
    /// The key, or its tag if it has a file of its own.
    pub(super) key: &'a KeptKey,
}

impl<'a> Training<'a> {
    pub(super) fn new(
        loss: Losses,
        data: &'a Data,
        steps_an_epoch: u64,
        learner: Learner,
        description: Description,
    ) -> Result<Self> {
        let plan = learner.plan();
        let (batch_size, dimension) = (plan.batch_size(), plan.dimension());
        Ok(Self {
            loss,
            data,
            batch_size,
            steps_an_epoch,
            batch: learner.batch()?,
            gradient: Zeroizing::new(vec![0.0; dimension]),
            saved: 0,
            meter: None,
            learner,
            description,
        })
    }

    /// Marks this many steps as done before the run was resumed.
    pub(super) fn after(mut self, saved: u64) -> Self {
        self.saved = saved;
        self
    }

    /// Whether nothing was left to do when it was resumed.
    pub(super) fn was_finished(&self) -> bool {
        self.saved == self.learner.plan().steps()
    }

    /// Records what regret is computed from. Call it before the first step.
    pub(super) fn with_meter_not_private(mut self) -> Result<Self> {
        self.meter = Some(RegretMeter::new(self.learner.plan().dimension())?);
        Ok(self)
    }

    /// The regret against the best fixed parameters, if it was recorded. It is not private.
    pub(super) fn regret_not_private(&self) -> Result<Option<RegretReport>> {
        let Some(meter) = &self.meter else { return Ok(None) };
        let (plan, held_out) = (self.learner.plan(), self.data.held_out.as_ref());
        let look_back = |_: &dyn evertally::Progress| {
            RegretReport::new(meter, plan, &self.loss, &self.data.train, held_out)
        };
        Ok(Some(with_progress("looking back", look_back)?))
    }

    pub(super) fn learner(&self) -> &Learner {
        &self.learner
    }

    /// The performance on the held-out rows.
    pub(super) fn curve(&self) -> &[Measured] {
        &self.description.curve
    }

    /// Takes all remaining steps and saves the last one.
    pub(super) fn run(&mut self, saving: Option<&Saving<'_>>) -> Result<()> {
        let steps = self.learner.plan().steps();
        let mut progress = Progress::new("training");
        let mut saved = Instant::now();
        self.measure();
        while self.learner.steps_taken() < steps {
            self.step()?;
            self.measure();
            let taken = self.learner.steps_taken();
            progress.update(Some(taken as f64 / steps as f64));
            let Some(saving) = saving else { continue };
            let is_due = match saving.every {
                Some(every) => taken.is_multiple_of(every),
                None => saved.elapsed() >= BETWEEN_CHECKPOINTS,
            };
            // A run that is repeated from the start keeps its checkpoint.
            if (is_due || taken == steps) && taken > self.saved {
                self.save(saving)?;
                saved = Instant::now();
            }
        }
        Ok(())
    }

    /// Saves the run.
    pub(super) fn save(&self, saving: &Saving<'_>) -> Result<()> {
        let key = match saving.key {
            KeptKey::Tag(tag) => KeptKey::Tag(*tag),
            KeptKey::Whole(key) => KeptKey::Whole(NoiseKey::from_bytes(*key.expose_bytes())),
        };
        saving.store.save(&Checkpoint {
            key,
            description: self.description.clone(),
            learner: Zeroizing::new(self.learner.save()),
        })
    }

    fn step(&mut self) -> Result<()> {
        let first = (self.learner.steps_taken() % self.steps_an_epoch) as usize * self.batch_size;
        let train = &self.data.train;
        for row in first..(first + self.batch_size).min(train.len()) {
            let (theta, example) = (self.learner.theta(), train.example(row));
            self.loss.gradient(theta, example, &mut self.gradient);
            self.batch.add(&self.gradient)?;
            if let Some(meter) = &mut self.meter {
                meter.record(theta, self.loss.value(theta, example), &self.gradient)?;
            }
        }
        self.learner.step_batch(&mut self.batch)?;
        Ok(())
    }

    /// Tests the model if it is due and was not done before the run was interrupted.
    fn measure(&mut self) {
        let Some(rows) = &self.data.held_out else { return };
        let (taken, steps) = (self.learner.steps_taken(), self.learner.plan().steps());
        if !is_measured(taken, steps) || self.curve().last().is_some_and(|point| point.steps >= taken) {
            return;
        }
        let last = score(&self.loss, self.learner.theta(), rows);
        let average = score(&self.loss, self.learner.average(), rows);
        // Neither a picture nor a checkpoint can hold numbers that are not finite.
        if last.loss.is_finite() && average.loss.is_finite() {
            self.description.curve.push(Measured { steps: taken, last, average });
        }
    }
}

/// Whether the model is tested after this many steps: before the first, after the last, and evenly
/// in between.
fn is_measured(taken: u64, steps: u64) -> bool {
    let share = |taken: u64| u128::from(taken) * u128::from(MEASUREMENTS) / u128::from(steps);
    taken == 0 || taken == steps || share(taken) > share(taken - 1)
}

/// The performance of parameters on some rows. It is exact: these rows are not protected.
fn score(loss: &Losses, theta: &[f64], rows: &Dataset) -> Score {
    let count = rows.len() as f64;
    let mean = rows.iter().map(|example| loss.value(theta, example)).sum::<f64>() / count;
    let is_right =
        |example: &evertally_learn::Example<'_>| loss.prediction(theta, example.features) == example.label;
    let accuracy = loss.is_classification().then(|| rows.iter().filter(is_right).count() as f64 / count);
    Score { loss: mean, accuracy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_few_and_have_both_ends() {
        for steps in [1_u64, 7, 99, 100, 101, 1000, 12_345] {
            let measured: Vec<u64> = (0..=steps).filter(|&taken| is_measured(taken, steps)).collect();
            assert_eq!((measured.first(), measured.last()), (Some(&0), Some(&steps)));
            assert_eq!(measured.len() as u64, steps.min(MEASUREMENTS) + 1, "{steps}");
        }
    }
}
