//! One cell of the table: a mechanism at a budget, over all seeds.

use evertally::{Budget, Error, Mechanism, NoiseKey, Participation};
use evertally_learn::bound::RegretBound;
use evertally_learn::hindsight::best_fixed;
use evertally_learn::{Learner, LearningPlan, Set, Update};
use rayon::prelude::*;
use serde_json::json;

use crate::data::{Split, Table, accuracy};
use crate::statistics::mean_and_error;

/// The approximate number of steps of a run.
const STEPS: usize = 256;

/// The smallest rate. Rates are powers of two.
const FIRST_RATE: f64 = 0.0625;

/// The first of the seeds that choose a rate. They differ from the reported seeds.
const CHOOSING_SEEDS: u64 = 1 << 32;

/// The norm of the comparison parameters in hindsight.
const RADIUS: f64 = 30.0;

#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) rates: i32,
    pub(crate) choosing: u64,
    pub(crate) seeds: u64,
}

/// The number of passes over the rows, and the batch size.
pub(crate) struct Regime {
    pub(crate) epochs: u64,
    pub(crate) batch_size: usize,
    pub(crate) steps_a_pass: usize,
}

impl Regime {
    pub(crate) fn one_pass(table: &Table) -> Self {
        Self::new(table, 1, STEPS)
    }

    pub(crate) fn passes(table: &Table, epochs: u64) -> Self {
        Self::new(table, epochs, STEPS / epochs as usize)
    }

    fn new(table: &Table, epochs: u64, steps: usize) -> Self {
        let rows = table.training_rows();
        let batch_size = (rows / steps).max(1);
        Self { epochs, batch_size, steps_a_pass: rows / batch_size }
    }

    pub(crate) fn name(&self) -> String {
        if self.epochs == 1 { "one pass".to_owned() } else { format!("{} passes", self.epochs) }
    }

    /// The number of rows in complete batches.
    fn rows(&self) -> usize {
        self.steps_a_pass * self.batch_size
    }

    fn steps(&self) -> u64 {
        self.epochs * self.steps_a_pass as u64
    }
}

/// The result of one run.
#[derive(Clone, Copy)]
struct Run {
    validation: f64,
    test: f64,
    /// The mean loss of the parameters on the following rows.
    online_loss: f64,
}

/// A finished cell.
pub(crate) struct Cell<'a> {
    table: &'a Table,
    regime: &'a Regime,
    name: String,
    /// The standard error of a coordinate of the sums: its mean over the steps, and its last value.
    noise: (f64, f64),
    accuracy: (f64, Vec<f64>),
    regret: (f64, Vec<f64>),
    /// Regret and its bound at the λ that the bound recommends. The bound applies if no gradient is
    /// shortened.
    recommended: (Vec<f64>, f64),
}

/// The mean loss of the best parameters in hindsight, for every seed.
pub(crate) fn hindsight(table: &Table, regime: &Regime, settings: Settings) -> Result<Vec<f64>, Error> {
    let set = Set::ball(RADIUS)?;
    (0..settings.seeds)
        .into_par_iter()
        .map(|seed| {
            let train = table.split(seed, regime.rows())?.train;
            Ok(best_fixed(&table.loss, &train, set)?.total_loss / regime.rows() as f64)
        })
        .collect()
}

pub(crate) fn cell<'a>(
    table: &'a Table,
    regime: &'a Regime,
    mechanism: Mechanism,
    restarted: bool,
    budget: Budget,
    settings: Settings,
    hindsight: &[f64],
) -> Result<Cell<'a>, Error> {
    let steps_a_pass = regime.steps_a_pass as u64;
    let participation = Participation::at_most(regime.epochs, steps_a_pass)?;
    let mut builder = LearningPlan::new(table.parameters(), regime.steps())
        .budget(budget)
        .noise(|noise| noise.mechanism(mechanism).participation(participation))
        .batch_size(regime.batch_size)
        .recommended(RADIUS);
    if restarted {
        builder = builder.restart_every(steps_a_pass);
    }
    let recommended = builder.build()?;
    let rates: Vec<f64> = (0..settings.rates).map(|power| FIRST_RATE * 2.0_f64.powi(power)).collect();
    let plans: Vec<LearningPlan> = rates
        .iter()
        .map(|rate| recommended.with_update(Update::Leader { regularization: 1.0 / rate }))
        .collect::<Result<_, Error>>()?;
    let trained = |plan: &LearningPlan, first: u64, seeds: u64| -> Result<Vec<Run>, Error> {
        (first..first + seeds).into_par_iter().map(|seed| run(table, regime, plan, seed)).collect()
    };
    let choosing: Vec<Vec<Run>> = plans
        .par_iter()
        .map(|plan| trained(plan, CHOOSING_SEEDS, settings.choosing))
        .collect::<Result<_, Error>>()?;
    let best = |score: fn(&Run) -> f64| {
        let scores = choosing.iter().map(|runs| runs.iter().map(score).sum::<f64>());
        scores.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(place, _)| place)
    };
    let (accurate, calm) = (best(|run| run.validation), best(|run| -run.online_loss));
    let regrets = |plan: &LearningPlan| -> Result<Vec<f64>, Error> {
        let runs = trained(plan, 0, settings.seeds)?;
        Ok(runs.iter().zip(hindsight).map(|(run, best)| run.online_loss - best).collect())
    };
    let accuracies = trained(&plans[accurate], 0, settings.seeds)?.iter().map(|run| run.test).collect();
    let lambda = match recommended.update() {
        Update::Leader { regularization } => regularization,
        _ => unreachable!("the recommended update is the leader's"),
    };
    let bound = RegretBound::of_plan(&recommended)?.at(lambda, RADIUS)?;
    Ok(Cell {
        table,
        regime,
        name: if restarted {
            format!("{}, restarted", mechanism.name())
        } else {
            mechanism.name().to_owned()
        },
        noise: (recommended.mean_standard_error(), recommended.standard_error(regime.steps() - 1)?),
        accuracy: (rates[accurate], accuracies),
        regret: (rates[calm], regrets(&plans[calm])?),
        recommended: (regrets(&recommended)?, bound),
    })
}

fn run(table: &Table, regime: &Regime, plan: &LearningPlan, seed: u64) -> Result<Run, Error> {
    let Split { train, validation, test } = table.split(seed, regime.rows())?;
    let mut learner = Learner::new(plan, NoiseKey::insecure_from_seed(seed))?;
    let mut batch = learner.batch()?;
    let mut gradient = vec![0.0; plan.dimension()];
    let mut online_loss = 0.0;
    for step in 0..plan.steps() as usize {
        let first = step % regime.steps_a_pass * regime.batch_size;
        for row in first..first + regime.batch_size {
            let example = train.example(row);
            online_loss += table.loss.value(learner.theta(), example);
            table.loss.gradient(learner.theta(), example, &mut gradient);
            batch.add(&gradient)?;
        }
        learner.step_batch(&mut batch)?;
    }
    let rows = plan.steps() as f64 * regime.batch_size as f64;
    Ok(Run {
        validation: accuracy(&table.loss, learner.theta(), &validation),
        test: accuracy(&table.loss, learner.theta(), &test),
        online_loss: online_loss / rows,
    })
}

impl Cell<'_> {
    pub(crate) fn line(&self, epsilon: Option<f64>) -> String {
        let (accuracy, accuracy_error) = mean_and_error(&self.accuracy.1);
        let (regret, regret_error) = mean_and_error(&self.regret.1);
        let (recommended, recommended_error) = mean_and_error(&self.recommended.0);
        json!({
            "data": self.table.name,
            "regime": self.regime.name(),
            "rows": self.regime.rows(),
            "parameters": self.table.parameters(),
            "steps": self.regime.steps(),
            "batch_size": self.regime.batch_size,
            "mechanism": self.name,
            "epsilon": epsilon,
            "noise": self.noise.0,
            "last_noise": self.noise.1,
            "rate": self.accuracy.0,
            "accuracy": accuracy,
            "accuracy_error": accuracy_error,
            "accuracies": self.accuracy.1,
            "regret_rate": self.regret.0,
            "regret": regret,
            "regret_error": regret_error,
            "recommended_regret": recommended,
            "recommended_regret_error": recommended_error,
            "regret_bound": self.recommended.1,
        })
        .to_string()
    }
}
