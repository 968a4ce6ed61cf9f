//! The builder of a training plan.

use evertally::{BudgetSpec, Contribution, Error, Plan, PlanBuilder, PlanSpec, Result, Shape};

use super::{LearningPlan, Update};
use crate::batch::{MAX_BATCH, check_clip};
use crate::bound::RegretBound;
use crate::positive;
use crate::segments::Segments;
use crate::set::Set;

/// Collects the choices of a training run. [`LearningPlanBuilder::build`] checks all of them.
#[derive(Debug, Clone)]
#[must_use]
pub struct LearningPlanBuilder {
    dimension: usize,
    steps: u64,
    /// All choices about the noise except the bound on a gradient, which is the clip.
    noise: PlanBuilder,
    clip: f64,
    batch_size: usize,
    set: Set,
    rule: Option<Rule>,
    momentum: f64,
    restart: Option<u64>,
    start: Option<Vec<f64>>,
}

/// The chosen update, before λ is known.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Explicit(Update),
    Recommended { radius: f64 },
}

impl LearningPlanBuilder {
    pub(super) fn new(dimension: usize, steps: u64) -> Self {
        Self {
            dimension,
            steps,
            noise: Plan::prefix_sum(steps).dimension(dimension),
            clip: 1.0,
            batch_size: 1,
            set: Set::Everything,
            rule: None,
            momentum: 0.0,
            restart: None,
            start: None,
        }
    }

    /// The privacy budget of the whole run. Required.
    pub fn budget(self, budget: impl Into<BudgetSpec>) -> Self {
        self.noise(|noise| noise.budget(budget))
    }

    /// All other choices about the noise, with the setters of [`PlanBuilder`]: the mechanism, which
    /// change of the data is hidden, the participation, the name of the run, the memory limit.
    ///
    /// By default one example takes part in one step. E passes in the same order are at most E
    /// steps, as far apart as a pass has steps. A learner does not know which example a gradient
    /// belongs to: the caller must ensure that none takes part more often.
    ///
    /// The definition of the run encodes what decides the gradients besides the plan: the examples,
    /// their order and the loss. Dimension and contribution follow from the run, and cannot be
    /// chosen here.
    ///
    /// ```
    /// use evertally::{Budget, Mechanism, Participation};
    /// use evertally_learn::LearningPlan;
    ///
    /// let passes = Participation::at_most(4, 250)?;
    /// let plan = LearningPlan::new(2, 1000)
    ///     .budget(Budget::new(1.0, 1e-6)?)
    ///     .noise(|noise| noise.mechanism(Mechanism::SquareRoot).participation(passes))
    ///     .recommended(1.0)
    ///     .build()?;
    /// assert_eq!(plan.noise().mechanism(), Mechanism::SquareRoot);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn noise(mut self, choose: impl FnOnce(PlanBuilder) -> PlanBuilder) -> Self {
        self.noise = choose(self.noise);
        self
    }

    /// κ, the norm at which each gradient is clipped. By default, one.
    pub fn clip(mut self, norm: f64) -> Self {
        self.clip = norm;
        self
    }

    /// The public number of examples per step, by which sums are divided. By default, one. A step may
    /// have fewer, or none.
    pub fn batch_size(mut self, examples: usize) -> Self {
        self.batch_size = examples;
        self
    }

    /// The set in which parameters lie. By default, the whole space.
    pub fn set(mut self, set: Set) -> Self {
        self.set = set;
        self
    }

    /// The rule that turns sums into parameters. This, or [`LearningPlanBuilder::recommended`], is required.
    pub fn update(mut self, update: Update) -> Self {
        self.rule = Some(Rule::Explicit(update));
        self
    }

    /// The regularised leader with the λ that the bound on regret recommends, for best parameters
    /// at this distance from the start.
    pub fn recommended(mut self, radius: f64) -> Self {
        self.rule = Some(Rule::Recommended { radius });
        self
    }

    /// β of heavy-ball momentum: v_t = βv_{t−1} + g_t takes the place of g_t. By default, zero.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self
    }

    /// Restarts the noise after this many steps. By default, never.
    pub fn restart_every(mut self, steps: u64) -> Self {
        self.restart = Some(steps);
        self
    }

    /// θ_1, chosen without looking at the data. By default, zero.
    pub fn start(mut self, theta: Vec<f64>) -> Self {
        self.start = Some(theta);
        self
    }

    /// Checks everything and makes the plan.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a value outside its range, and everything that
    /// [`PlanBuilder::build`] refuses.
    pub fn build(&self) -> Result<LearningPlan> {
        self.check()?;
        let noise = self.noise.spec();
        let budget = noise.budget.budget()?;
        let segments = Segments {
            length: self.restart.unwrap_or(self.steps).min(self.steps),
            steps: self.steps,
            participation: noise.participation,
        };
        let contribution = Contribution::norm(self.clip)?;
        let spec = PlanSpec { horizon: segments.length.into(), contribution, ..noise.clone() };
        let segment = segments.plan(spec, budget)?;
        let mut plan = LearningPlan {
            segment,
            segments,
            budget,
            clip: self.clip,
            batch_size: self.batch_size,
            set: self.set,
            update: Update::Leader { regularization: 1.0 },
            momentum: self.momentum,
            start: self.start.as_deref().unwrap_or(&vec![0.0; self.dimension]).into(),
        };
        plan.update = match self.rule {
            Some(Rule::Explicit(update)) => update,
            Some(Rule::Recommended { radius }) => {
                // Momentum makes every gradient count 1/(1 − β) times.
                let lambda = RegretBound::of_leader(&plan)?.recommended_lambda(radius)?;
                Update::Leader { regularization: lambda / (1.0 - self.momentum) }
            }
            None => {
                return Err(Error::bad("update", "given: a regularization or a learning rate", "nothing"));
            }
        };
        Ok(plan)
    }

    /// Checks what the plan of the noise does not check.
    fn check(&self) -> Result<()> {
        if self.dimension == 0 {
            return Err(Error::bad("dimension", "at least 1", self.dimension));
        }
        let spec = self.noise.spec();
        if spec.shape != (Shape::Vector { dimension: self.dimension }) {
            return Err(Error::bad("shape", "left to the run: vectors of its dimension", "another"));
        }
        if spec.contribution != Contribution::default() {
            return Err(Error::bad("contribution", "left to the run: its clip", spec.contribution));
        }
        check_clip(self.clip)?;
        self.set.checked()?;
        if !(1..=MAX_BATCH).contains(&self.batch_size) {
            return Err(Error::bad("batch size", format!("from 1 to {MAX_BATCH}"), self.batch_size));
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(Error::bad("momentum", "at least 0 and below 1", self.momentum));
        }
        if self.restart == Some(0) {
            return Err(Error::bad("restart", "at least 1 step", 0));
        }
        match self.rule {
            Some(Rule::Explicit(update)) => update.check()?,
            Some(Rule::Recommended { radius }) => positive("radius", radius).map(|_| ())?,
            None => {}
        }
        let Some(start) = &self.start else { return self.check_origin() };
        if start.len() != self.dimension {
            return Err(Error::bad("start", format!("{} numbers", self.dimension), start.len()));
        }
        if !self.set.contains(start) {
            let expected = match self.set {
                Set::Everything => "finite".to_owned(),
                set => format!("a point of the {set}"),
            };
            return Err(Error::bad("start", expected, "one that is not"));
        }
        Ok(())
    }

    fn check_origin(&self) -> Result<()> {
        if self.set.contains(&[0.0]) {
            return Ok(());
        }
        Err(Error::bad("start", format!("given: the origin does not lie in the {}", self.set), "nothing"))
    }
}
