//! The learner: gradients in, parameters out, one step at a time.
//!
//! **Definition.** With s_t the private sum of the clipped gradients of steps 1 to t, divided by
//! the batch size, and v_t = βv_{t−1} + s_t:
//!
//! - *leader*: θ_{t+1} = Π_K(θ_1 − v_t/λ). Without momentum v_t = s_t, and this is the minimiser
//!   over K of ⟨s_t, θ⟩ + (λ/2)‖θ − θ_1‖²: the paper's Algorithm 3, with clipping by the norm and
//!   noise scaled for all n steps. With momentum it is accumulated heavy-ball descent at rate 1/λ:
//!   if u_t = βu_{t−1} + g_t, then Σu_i = v_t.
//! - *descent*: u_t = βu_{t−1} + (s_t − s_{t−1}), θ_{t+1} = Π_K(θ_t − η_t u_t).
//!
//! Up to rounding, both are the same on all of ℝᵈ at a constant rate. Everything after s_t is
//! post-processing: the parameters, their average, and anything computed from them are as private
//! as the sums.
//!
//! **Cost.** Several vectors of d numbers in addition to the noise, and a few passes over them per
//! step.
//!
//! **Source.** Kairouz, McMahan, Song, Thakkar, Thakurta and Xu, "Practical and Private (Deep)
//! Learning without Sampling or Shuffling" (2021).

use evertally::internals::noise::copy_of;
use evertally::{Error, NoiseKey, Result, Spend, VectorCounter};
use zeroize::{Zeroize, Zeroizing};

use crate::batch::Batch;
use crate::data::Example;
use crate::loss::Loss;
use crate::plan::{LearningPlan, Update};

/// Learns privately, one step at a time.
pub struct Learner {
    pub(crate) plan: LearningPlan,
    pub(crate) key: NoiseKey,
    pub(crate) step: u64,
    /// The mechanism of the current segment.
    pub(crate) counter: VectorCounter,
    pub(crate) vectors: Vectors,
    /// The batch in which `step` collects its gradients.
    batch: Batch,
    /// The true sum of a step, as input of the counter.
    sum: Zeroizing<Vec<f64>>,
    /// The counter's release.
    fresh: Vec<f64>,
}

/// The vectors of a learner apart from its noise: releases and values derived from them. None of
/// them is secret.
#[derive(Clone, PartialEq)]
pub(crate) struct Vectors {
    /// θ_{t+1}.
    pub(crate) theta: Vec<f64>,
    /// The mean of θ_1 to θ_t.
    pub(crate) average: Vec<f64>,
    /// v_t or u_t.
    pub(crate) velocity: Vec<f64>,
    /// The sum of the releases at the end of every finished segment.
    pub(crate) finished: Vec<f64>,
    /// s_t as released, not divided by the batch size.
    pub(crate) released: Vec<f64>,
}

impl Learner {
    /// A learner before its first step.
    ///
    /// The key must be fresh: two learners of equal plans under one key share their noise.
    ///
    /// # Errors
    /// As [`VectorCounter::new`].
    pub fn new(plan: &LearningPlan, key: NoiseKey) -> Result<Self> {
        let zero = vec![0.0; plan.dimension()];
        let vectors = Vectors {
            theta: plan.start().to_vec(),
            average: zero.clone(),
            velocity: zero.clone(),
            finished: zero.clone(),
            released: zero,
        };
        // One key is used for every segment of a run. Each segment has its own stream.
        let counter = VectorCounter::new(&plan.segment(0), copy_of(&key))?;
        Self::assemble(plan, key, 0, counter, vectors)
    }

    pub(crate) fn assemble(
        plan: &LearningPlan,
        key: NoiseKey,
        step: u64,
        counter: VectorCounter,
        vectors: Vectors,
    ) -> Result<Self> {
        let batch = Batch::new(plan.dimension(), plan.clip())?;
        let (sum, fresh) = (vec![0.0; plan.dimension()].into(), vec![0.0; plan.dimension()]);
        Ok(Self { plan: plan.clone(), key, step, counter, vectors, batch, sum, fresh })
    }

    /// The learner's plan.
    #[must_use]
    pub fn plan(&self) -> &LearningPlan {
        &self.plan
    }

    /// The number of steps taken.
    #[must_use]
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// The parameters at which to compute the next gradients.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.vectors.theta
    }

    /// The mean of the parameters at which gradients were taken. This is the model of
    /// online-to-batch conversion. Before the first step it is θ_1.
    #[must_use]
    pub fn average(&self) -> &[f64] {
        if self.step == 0 { &self.vectors.theta } else { &self.vectors.average }
    }

    /// The private sum of all clipped gradients so far, not divided by the batch size: everything
    /// that was learned from the data.
    #[must_use]
    pub fn released(&self) -> &[f64] {
        &self.vectors.released
    }

    /// The cost of the steps so far for one example. It holds only if the decision to stop here did
    /// not depend on the parameters: see [`LearningPlan::spend_after`].
    ///
    /// # Errors
    /// None for an existing learner.
    pub fn spend(&self) -> Result<Spend> {
        self.plan.spend_after(self.step)
    }

    /// An empty batch for [`Learner::step_batch`].
    ///
    /// # Errors
    /// None for an existing learner.
    pub fn batch(&self) -> Result<Batch> {
        Batch::new(self.plan.dimension(), self.plan.clip())
    }

    /// Takes the gradients of one step, one per example, at [`Learner::theta`], and clips each.
    /// Returns the next parameters.
    ///
    /// A refusal depends on the data, and no noise hides it: an observer who sees that a run
    /// stopped learns that a gradient was not finite, or that a batch was too large. If others can
    /// observe the run, leave such an example out beforehand. Its place in the step may stay empty.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step, [`Error::BadParameter`] for gradients of
    /// another dimension, gradients that are not finite, and more gradients than the batch size.
    /// The learner is then unchanged.
    pub fn step<G: AsRef<[f64]>>(&mut self, gradients: impl IntoIterator<Item = G>) -> Result<&[f64]> {
        self.step_of(gradients, |batch, _, gradient| batch.add(gradient.as_ref()))
    }

    /// Takes a step with the gradients of a loss, on one example or several, at [`Learner::theta`].
    ///
    /// ```
    /// use evertally::{Budget, NoiseKey};
    /// use evertally_learn::{Example, Learner, LearningPlan, loss::Logistic};
    ///
    /// let plan = LearningPlan::new(2, 100).budget(Budget::new(1.0, 1e-6)?).recommended(1.0).build()?;
    /// let mut learner = Learner::new(&plan, NoiseKey::from_os()?)?;
    /// let theta = learner.step_on(&Logistic, [Example { features: &[0.6, -0.8], label: 1.0 }])?;
    /// assert_eq!(theta.len(), 2);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::step`], and [`Error::BadParameter`] for features whose number does not match
    /// the parameters, or a label that the loss does not accept.
    pub fn step_on<'a>(
        &mut self,
        loss: &dyn Loss,
        examples: impl IntoIterator<Item = Example<'a>>,
    ) -> Result<&[f64]> {
        let dimension = self.plan.dimension();
        let mut gradient = Zeroizing::new(vec![0.0; dimension]);
        self.step_of(examples, |batch, theta, example| {
            let parameters = loss.parameters(example.features.len());
            if parameters != dimension {
                let expected = format!("a number that gives {dimension} parameters");
                return Err(Error::bad("features", expected, parameters));
            }
            loss.check_label(example.label)?;
            loss.gradient(theta, example, &mut gradient);
            batch.add(&gradient)
        })
    }

    /// Takes a step with the batch that `add` fills from each item, at the current parameters.
    fn step_of<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut add: impl FnMut(&mut Batch, &[f64], T) -> Result<()>,
    ) -> Result<&[f64]> {
        // Clears what a panic in the caller's iterator may have left.
        self.batch.clear();
        let added = items
            .into_iter()
            .try_for_each(|item| add(&mut self.batch, &self.vectors.theta, item))
            .and_then(|()| self.check(&self.batch));
        if added.is_ok() {
            self.batch.write_sum(&mut self.sum);
        }
        self.batch.clear();
        added?;
        self.advance()?;
        Ok(self.theta())
    }

    /// Takes a step with gradients that were collected in a batch, and empties it.
    ///
    /// # Errors
    /// As [`Learner::step`], and [`Error::BadParameter`] for a batch of another dimension or
    /// clipping norm. The batch is then unchanged.
    pub fn step_batch(&mut self, batch: &mut Batch) -> Result<&[f64]> {
        self.check(batch)?;
        batch.write_sum(&mut self.sum);
        self.advance()?;
        batch.clear();
        Ok(self.theta())
    }

    /// Refuses a batch that the next step cannot take.
    fn check(&self, batch: &Batch) -> Result<()> {
        let steps = self.plan.steps();
        if self.step == steps {
            return Err(Error::HorizonSpent { horizon: steps });
        }
        if (batch.dimension(), batch.clip()) != (self.plan.dimension(), self.plan.clip()) {
            let expected = format!("of {} numbers clipped at {}", self.plan.dimension(), self.plan.clip());
            let got = format!("{} numbers clipped at {}", batch.dimension(), batch.clip());
            return Err(Error::bad("batch", expected, got));
        }
        if batch.examples() > self.plan.batch_size() {
            // The number of examples may be private if examples come and go, so the error omits it.
            let expected = format!("at most the planned {} examples", self.plan.batch_size());
            return Err(Error::bad("batch", expected, "more"));
        }
        Ok(())
    }

    /// Takes a step with the stored sum, and wipes it.
    fn advance(&mut self) -> Result<()> {
        if self.counter.steps_taken() == self.plan.segment_steps() {
            self.restart()?;
        }
        let taken = self.counter.step_into(&self.sum, &mut self.fresh);
        self.sum.as_mut_slice().zeroize();
        taken?;
        self.vectors.follow(&self.plan, self.step, &self.fresh);
        self.step += 1;
        Ok(())
    }

    /// Starts a segment with fresh noise, from the last release.
    fn restart(&mut self) -> Result<()> {
        let segment = self.plan.segment(self.step / self.plan.segment_steps());
        self.counter = VectorCounter::new(&segment, copy_of(&self.key))?;
        self.vectors.finished.copy_from_slice(&self.vectors.released);
        Ok(())
    }
}

impl Vectors {
    /// Updates the vectors with the release of a step.
    fn follow(&mut self, plan: &LearningPlan, step: u64, release: &[f64]) {
        let (momentum, scale) = (plan.momentum(), 1.0 / plan.batch_size() as f64);
        let share = 1.0 / (step + 1) as f64;
        for (average, theta) in self.average.iter_mut().zip(&self.theta) {
            *average += (theta - *average) * share;
        }
        let rate = match plan.update() {
            Update::Leader { regularization } => scale / regularization,
            Update::Descent { rate } => scale * rate.rate(step, plan.steps()),
        };
        let is_leader = matches!(plan.update(), Update::Leader { .. });
        for (place, fresh) in release.iter().enumerate() {
            let sum = self.finished[place] + fresh;
            let taken = if is_leader { sum } else { sum - self.released[place] };
            self.velocity[place] = momentum * self.velocity[place] + taken;
            let from = if is_leader { plan.start()[place] } else { self.theta[place] };
            self.theta[place] = from - rate * self.velocity[place];
            self.released[place] = sum;
        }
        plan.set().project(&mut self.theta);
    }
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learner")
            .field("plan", &self.plan)
            .field("steps_taken", &self.step)
            .finish_non_exhaustive()
    }
}
