//! Choices first, then one expensive call.

use evertally::{Budget, Contribution, Error, Mechanism, Neighbours, Objective, Participation, Plan, Result};

use super::{LearningPlan, Update};
use crate::batch::{MAX_BATCH, check_clip};
use crate::bound::RegretBound;
use crate::segments::Segments;
use crate::set::Set;

/// Collects what a training run is made of. [`LearningPlanBuilder::build`] checks everything.
#[derive(Debug, Clone)]
#[must_use]
pub struct LearningPlanBuilder {
    dimension: usize,
    steps: u64,
    budget: Option<Budget>,
    mechanism: Option<Mechanism>,
    neighbours: Neighbours,
    participation: Participation,
    clip: f64,
    batch_size: usize,
    set: Set,
    rule: Option<Rule>,
    momentum: f64,
    restart: Option<u64>,
    start: Option<Vec<f64>>,
    stream: String,
    definition: Vec<u8>,
    memory_limit: Option<u64>,
}

/// What was said of the update, before λ is known.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Given(Update),
    Recommended { radius: f64 },
}

impl LearningPlanBuilder {
    pub(super) fn new(dimension: usize, steps: u64) -> Self {
        Self {
            dimension,
            steps,
            budget: None,
            mechanism: None,
            neighbours: Neighbours::AddRemove,
            participation: Participation::single(),
            clip: 1.0,
            batch_size: 1,
            set: Set::Everything,
            rule: None,
            momentum: 0.0,
            restart: None,
            start: None,
            stream: String::new(),
            definition: Vec::new(),
            memory_limit: None,
        }
    }

    /// The privacy budget of the whole run. Required.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// The mechanism behind the sums; when absent, the most accurate one for the participation.
    pub fn mechanism(mut self, mechanism: Mechanism) -> Self {
        self.mechanism = Some(mechanism);
        self
    }

    /// Which change of the data is hidden: by default, that an example is there or its place is empty.
    pub fn neighbours(mut self, neighbours: Neighbours) -> Self {
        self.neighbours = neighbours;
        self
    }

    /// In how many steps one example takes part, and how far apart: by default in one. E passes in
    /// the same order are at most E steps, as far apart as a pass has steps. A learner does not
    /// know which example a gradient is of: that none comes more often is on the caller.
    pub fn participation(mut self, participation: Participation) -> Self {
        self.participation = participation;
        self
    }

    /// κ, the norm at which each gradient is clipped. One unless said otherwise.
    pub fn clip(mut self, norm: f64) -> Self {
        self.clip = norm;
        self
    }

    /// The public number of examples a step, by which sums are divided: one unless said otherwise.
    /// A step may have fewer, or none.
    pub fn batch_size(mut self, examples: usize) -> Self {
        self.batch_size = examples;
        self
    }

    /// Where parameters may lie: everywhere unless said otherwise.
    pub fn set(mut self, set: Set) -> Self {
        self.set = set;
        self
    }

    /// How parameters follow from sums. This, or [`LearningPlanBuilder::recommended`], is required.
    pub fn update(mut self, update: Update) -> Self {
        self.rule = Some(Rule::Given(update));
        self
    }

    /// The regularised leader with the λ that the bound on regret recommends, for best parameters
    /// at this distance from the start.
    pub fn recommended(mut self, radius: f64) -> Self {
        self.rule = Some(Rule::Recommended { radius });
        self
    }

    /// β of heavy-ball momentum: v_t = βv_{t−1} + g_t takes the place of g_t. None unless said otherwise.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self
    }

    /// Restarts the noise after every so many steps. Never unless said otherwise.
    pub fn restart_every(mut self, steps: u64) -> Self {
        self.restart = Some(steps);
        self
    }

    /// θ_1, known without looking at the data: zero unless said otherwise.
    pub fn start(mut self, theta: Vec<f64>) -> Self {
        self.start = Some(theta);
        self
    }

    /// Names the run, so that equal plans may share a key.
    pub fn stream(mut self, name: impl Into<String>) -> Self {
        self.stream = name.into();
        self
    }

    /// What decides the gradients besides the plan, encoded: the examples, their order and the
    /// loss. Runs that differ in it have independent noise under one key.
    pub fn definition(mut self, definition: impl Into<Vec<u8>>) -> Self {
        self.definition = definition.into();
        self
    }

    /// The most memory, in bytes, that the noise may hold.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Checks everything and makes the plan.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a value outside its range, and all that
    /// [`evertally::PlanBuilder::build`] refuses.
    pub fn build(&self) -> Result<LearningPlan> {
        self.check()?;
        let budget = self.budget.ok_or_else(|| Error::bad("budget", "given", "nothing"))?;
        let segments = Segments {
            length: self.restart.unwrap_or(self.steps).min(self.steps),
            steps: self.steps,
            participation: self.participation,
        };
        let mut builder = Plan::prefix_sum(segments.length)
            .dimension(self.dimension)
            .contribution(Contribution::norm(self.clip)?)
            .neighbours(self.neighbours)
            .objective(Objective::Mean)
            .stream(&self.stream)
            .definition(self.definition.clone());
        if let Some(mechanism) = self.mechanism {
            builder = builder.mechanism(mechanism);
        }
        if let Some(bytes) = self.memory_limit {
            builder = builder.memory_limit(bytes);
        }
        let segment = segments.plan(builder, budget)?;
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
            Some(Rule::Given(update)) => update,
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

    /// Checks all that the plan of the noise does not.
    fn check(&self) -> Result<()> {
        if self.dimension == 0 {
            return Err(Error::bad("dimension", "at least 1", self.dimension));
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
            Some(Rule::Given(update)) => update.check()?,
            Some(Rule::Recommended { radius }) if !is_positive(radius) => {
                return Err(Error::bad("radius", "positive and finite", radius));
            }
            _ => {}
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

fn is_positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}
