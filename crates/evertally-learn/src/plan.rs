//! The plan of a training run: all choices, checked, and their consequences.
//!
//! **Adaptivity.** Gradients depend on earlier releases, but the proof for counters is about streams
//! that do not. It still applies, because the noise is Gaussian. Its covariance L Lᵀ is that
//! of a lower triangular L̃, and with R̃ = L̃⁻¹A, also lower triangular, ‖R̃u‖ ≤ ‖Ru‖ for every u:
//! what is released is L̃ applied to R̃G + noise, one row after the other, and row t of R̃G depends
//! on gradients up to t only. Given what was released, the gradients of all other examples are the
//! same on both sides, so row t is shifted by the gradient of one example. The squared shifts of all
//! rows add up to at most Δ²κ², for any adaptive choices (Denisov, McMahan, Rush, Smith and
//! Thakurta, 2022; Choquette-Choo, McMahan, Rush and Thakurta, 2023, for several steps per person).
//! The paper's Algorithm 3 scales its noise by the first t rows. The correct scale, which is used
//! here, is that of all n rows.
//!
//! **Neighbours.** The steps in which an example takes part must not depend on the data: a removed
//! example leaves its place empty.

mod builder;
mod name;

use std::sync::Arc;

use evertally::{Budget, Error, Participation, Plan, Result, Spend};

use crate::schedule::Schedule;
use crate::segments::Segments;
use crate::set::Set;
pub use builder::LearningPlanBuilder;

/// The rule that turns noisy sums of gradients into parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// The regularised leader: θ_{t+1} minimises ⟨s_t, θ⟩ + (λ/2)‖θ − θ_1‖² over the set.
    Leader {
        /// λ.
        regularization: f64,
    },
    /// Descent: θ_{t+1} is θ_t − η_t (s_t − s_{t−1}), projected on the set.
    Descent {
        /// η_t.
        rate: Schedule,
    },
}

impl Update {
    fn check(self) -> Result<()> {
        match self {
            Self::Leader { regularization } if regularization.is_normal() && regularization > 0.0 => Ok(()),
            Self::Leader { regularization } => {
                Err(Error::bad("regularization", "positive and finite", regularization))
            }
            Self::Descent { rate } => rate.check().map(|_| ()),
        }
    }
}

/// The plan of a training run. Cloning it is cheap compared with a step.
///
/// ```
/// use evertally::{Budget, NoiseKey};
/// use evertally_learn::{Learner, LearningPlan, Set};
///
/// let budget = Budget::new(1.0, 1e-6)?;
/// let plan = LearningPlan::new(2, 1000).budget(budget).set(Set::ball(1.0)?).recommended(1.0).build()?;
/// let mut learner = Learner::new(&plan, NoiseKey::from_os()?)?;
/// for _ in 0..10 {
///     let gradient = [learner.theta()[0] - 0.5, 0.1]; // of the loss at the present parameters
///     learner.step([gradient])?;
/// }
/// println!("{:?} after ε = {:.3}", learner.theta(), learner.spend()?.epsilon(1e-6)?);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Clone)]
pub struct LearningPlan {
    segment: Plan,
    segments: Segments,
    budget: Budget,
    clip: f64,
    batch_size: usize,
    set: Set,
    update: Update,
    momentum: f64,
    start: Arc<[f64]>,
}

impl LearningPlan {
    /// A plan for this many parameters and steps.
    #[expect(clippy::new_ret_no_self, reason = "a plan is made by its builder")]
    pub fn new(dimension: usize, steps: u64) -> LearningPlanBuilder {
        LearningPlanBuilder::new(dimension, steps)
    }

    /// The number of parameters d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.start.len()
    }

    /// The number of steps n.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.segments.steps
    }

    /// The plan of the noise: of the whole run, or of one segment if it is restarted.
    #[must_use]
    pub fn noise(&self) -> &Plan {
        &self.segment
    }

    /// The number of steps after which noise is restarted, or all steps if it is never restarted.
    #[must_use]
    pub fn segment_steps(&self) -> u64 {
        self.segments.length
    }

    /// The budget of the whole run.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The number of steps of the run in which one example takes part.
    #[must_use]
    pub fn participation(&self) -> Participation {
        self.segments.participation
    }

    /// κ.
    #[must_use]
    pub fn clip(&self) -> f64 {
        self.clip
    }

    /// The number of examples per step, by which sums are divided.
    #[must_use]
    pub fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// The set in which parameters lie.
    #[must_use]
    pub fn set(&self) -> Set {
        self.set
    }

    /// The rule that turns sums into parameters, with λ filled in.
    #[must_use]
    pub fn update(&self) -> Update {
        self.update
    }

    /// β.
    #[must_use]
    pub fn momentum(&self) -> f64 {
        self.momentum
    }

    /// θ_1.
    #[must_use]
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The privacy cost of the whole run for one example, computed from the noise that is run.
    ///
    /// # Errors
    /// None for a plan that `build` returned.
    pub fn spend(&self) -> Result<Spend> {
        self.spend_after(self.steps())
    }

    /// The privacy cost of the first `steps` steps for one example. It is less than that of the run
    /// if a person has taken part in fewer steps.
    ///
    /// It holds for a run whose end was fixed in advance. If the end is chosen after looking at the
    /// parameters, for example by stopping when they are good enough, the cost is that of the whole
    /// run: [`LearningPlan::spend`].
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] beyond the last step.
    pub fn spend_after(&self, steps: u64) -> Result<Spend> {
        self.check_step(steps.saturating_sub(1))?;
        self.segments.spend(&self.segment, steps)
    }

    /// The standard deviation of the noise in each coordinate of s_t, the sum after a step counted
    /// from zero, divided by the batch size.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] beyond the last step.
    pub fn standard_error(&self, step: u64) -> Result<f64> {
        self.check_step(step)?;
        let (finished, inside) = (step / self.segments.length, step % self.segments.length);
        let factorization = self.segment.factorization();
        let norm = finished as f64 * factorization.row_norm_squared(self.segments.length - 1)
            + factorization.row_norm_squared(inside);
        Ok(self.segment.noise_scale() * norm.sqrt() / self.batch_size as f64)
    }

    /// The mean over the steps of the standard error of the sum that gives their parameters. The
    /// first parameters have no noise.
    ///
    /// Beyond 2^16 steps it is bounded by the root of the mean square.
    #[must_use]
    pub fn mean_standard_error(&self) -> f64 {
        const SUMMED: u64 = 1 << 16;
        let sums = self.steps() - 1;
        let error = |step| self.standard_error(step).unwrap_or_default();
        if sums <= SUMMED {
            return (0..sums).map(error).sum::<f64>() / self.steps() as f64;
        }
        let factorization = self.segment.factorization();
        let (length, full) = (self.segments.length as f64, self.steps() / self.segments.length);
        let rest = self.steps() % self.segments.length;
        // The squares of all rows of a full segment, and of the rows of the shorter last segment.
        let all = length * factorization.mean_row_norm_squared();
        let some = if rest <= SUMMED {
            (0..rest).map(|step| factorization.row_norm_squared(step)).sum()
        } else {
            all.min(rest as f64 * factorization.max_row_norm_squared())
        };
        let (full, rest) = (full as f64, rest as f64);
        let last = factorization.row_norm_squared(self.segments.length - 1);
        let finished = (0.5 * length * (full - 1.0) + rest) * full * last;
        let norm = (full * all + some + finished) / self.steps() as f64;
        self.segment.noise_scale() * norm.sqrt() / self.batch_size as f64
    }

    /// The same run with another rule for the parameters. Under one key, the two runs have
    /// independent noise.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a regularization or rate that is not positive and finite.
    pub fn with_update(&self, update: Update) -> Result<Self> {
        update.check()?;
        Ok(Self { update, ..self.clone() })
    }

    fn check_step(&self, step: u64) -> Result<()> {
        if step < self.steps() { Ok(()) } else { Err(Error::HorizonSpent { horizon: self.steps() }) }
    }
}

/// Omits the start, which is as long as the model.
impl std::fmt::Debug for LearningPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LearningPlan")
            .field("dimension", &self.dimension())
            .field("noise", &self.segment)
            .field("segments", &self.segments)
            .field("budget", &self.budget)
            .field("clip", &self.clip)
            .field("batch_size", &self.batch_size)
            .field("set", &self.set)
            .field("update", &self.update)
            .field("momentum", &self.momentum)
            .finish_non_exhaustive()
    }
}
