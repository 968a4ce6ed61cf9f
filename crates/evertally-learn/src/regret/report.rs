//! The report of a run's regret.

use std::fmt;

use evertally::internals::sums::CompensatedSum;
use evertally::privacy::paper_sigma;
use evertally::{Error, Participation, Result};

use super::RegretMeter;
use crate::bound::{RegretBound, printed};
use crate::data::Dataset;
use crate::hindsight::{Hindsight, best_fixed};
use crate::loss::Losses;
use crate::plan::{LearningPlan, Update};
use crate::set::norm;

/// A mean with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Risk {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the mean, for independent rows.
    pub standard_error: f64,
}

impl Risk {
    /// The mean and standard error of these numbers.
    fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let count = values.len() as f64;
        let mut sum = CompensatedSum::default();
        values.clone().for_each(|value| sum.add(value));
        let mean = sum.value() / count;
        let mut squares = CompensatedSum::default();
        values.for_each(|value| squares.add((value - mean).powi(2)));
        Self { mean, standard_error: (squares.value() / (count - 1.0).max(1.0) / count).sqrt() }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ± {:.6}", self.mean, self.standard_error)
    }
}

/// The average of the iterates as a model.
#[derive(Clone, PartialEq)]
pub struct OnlineToBatch {
    /// The mean of θ_1, …, θ_n.
    pub theta: Vec<f64>,
    /// Its mean loss on the training data, less that of the best fixed parameters.
    pub excess: f64,
    /// Its loss on the training data.
    pub risk: Risk,
    /// Its loss on the held-out data.
    pub held_out_risk: Option<Risk>,
    /// On the held-out data, its loss less that of the best fixed parameters for the training data,
    /// row by row.
    pub held_out_excess: Option<Risk>,
}

/// Shows the number of parameters, and nothing computed from the data.
impl fmt::Debug for OnlineToBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnlineToBatch").field("parameters", &self.theta.len()).finish_non_exhaustive()
    }
}

/// The regret of a run. Computed from the data: **not private**.
#[derive(Clone, PartialEq)]
pub struct RegretReport {
    /// The number of examples, with repetitions.
    pub examples: u64,
    /// The mean loss during the run.
    pub average_loss: f64,
    /// The best fixed parameters.
    pub hindsight: Hindsight,
    /// Their mean loss.
    pub hindsight_loss: f64,
    /// The average regret against the best fixed parameters found.
    pub regret: f64,
    /// The average regret against any fixed parameters is at most this.
    pub regret_at_most: f64,
    /// ‖θ* − θ_1‖.
    pub distance: f64,
    /// The bound for the mechanism and λ of the run. `None` for updates that it does not cover.
    pub exact_bound: Option<f64>,
    /// The bound at the best λ for this distance.
    pub exact_bound_at_best: Option<f64>,
    /// The paper's bound, corrected, at its best λ and the noise of the plan, including several
    /// passes and replaced neighbours. `None` with restarted noise, which it does not cover.
    pub corrected_bound: Option<f64>,
    /// The paper's bound as printed, with its own C(ε, δ), for one pass. `None` where C is
    /// undefined (ε ≥ 1).
    pub printed_bound: Option<f64>,
    /// The average of the iterates as a model.
    pub online_to_batch: OnlineToBatch,
}

impl RegretReport {
    /// Measures a run of a plan over a dataset, and optionally on held-out rows. Every row of the
    /// dataset must occur equally often.
    ///
    /// The bounds are on expected regret over the noise. They hold if no gradient was shortened and
    /// every batch was full.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if dimensions differ or the meter has not seen the rows equally
    /// often; the errors of [`best_fixed`].
    pub fn new(
        meter: &RegretMeter,
        plan: &LearningPlan,
        loss: &Losses,
        data: &Dataset,
        held_out: Option<&Dataset>,
    ) -> Result<Self> {
        let parameters = loss.parameters(data.width());
        for (name, dimension) in [("meter", meter.points.len()), ("plan", plan.dimension())] {
            if dimension != parameters {
                return Err(Error::bad(name, format!("made for {parameters} parameters"), dimension));
            }
        }
        let rows = data.len() as u64;
        if rows == 0 || meter.examples() == 0 || !meter.examples().is_multiple_of(rows) {
            let expected = format!("{rows} examples or a multiple of that");
            return Err(Error::bad("meter", expected, meter.examples()));
        }
        if let Some(held_out) = held_out {
            if held_out.width() != data.width() {
                return Err(Error::bad(
                    "held-out data",
                    format!("{} features", data.width()),
                    held_out.width(),
                ));
            }
            loss.check(held_out)?;
        }
        let hindsight = best_fixed(loss, data, plan.set())?;
        let average_loss = meter.total_loss() / meter.examples() as f64;
        let hindsight_loss = hindsight.total_loss / rows as f64;
        let way: Vec<f64> =
            hindsight.theta.iter().zip(plan.start()).map(|(best, start)| best - start).collect();
        let distance = norm(&way);
        let exact = RegretBound::of_plan(plan).ok();
        let exact_bound = match (exact, plan.update()) {
            (Some(bound), Update::Leader { regularization }) => Some(bound.at(regularization, distance)?),
            _ => None,
        };
        let budget = plan.budget();
        let batch = plan.batch_size() as f64;
        let corrected_bound = if plan.segment_steps() == plan.steps() {
            // The noise of the run, as a multiple of the largest contribution of one example in one
            // step.
            let once = plan.noise().factorization().sensitivity(Participation::single());
            let multiplier = plan.noise().noise_scale() / (once * plan.clip());
            let corrected =
                RegretBound::corrected(plan.steps(), parameters, plan.clip(), multiplier / batch)?;
            Some(corrected.least(distance)?)
        } else {
            None
        };
        let c = budget
            .epsilon()
            .zip(budget.delta())
            .and_then(|(epsilon, delta)| paper_sigma(epsilon, delta).ok());
        let printed_bound = match c {
            Some(c) => Some(printed(plan.steps(), parameters, plan.clip(), c / batch, distance)?),
            None => None,
        };
        Ok(Self {
            examples: meter.examples(),
            average_loss,
            hindsight_loss,
            regret: average_loss - hindsight_loss,
            regret_at_most: average_loss - hindsight.lower_bound / rows as f64,
            distance,
            exact_bound,
            exact_bound_at_best: exact.map(|bound| bound.least(distance)).transpose()?,
            corrected_bound,
            printed_bound,
            online_to_batch: online_to_batch(meter, loss, data, held_out, &hindsight),
            hindsight,
        })
    }
}

fn online_to_batch(
    meter: &RegretMeter,
    loss: &Losses,
    data: &Dataset,
    held_out: Option<&Dataset>,
    hindsight: &Hindsight,
) -> OnlineToBatch {
    let theta = meter.average();
    let losses = |data: &Dataset, theta: &[f64]| -> Vec<f64> {
        data.iter().map(|example| loss.value(theta, example)).collect()
    };
    let risk = Risk::of(losses(data, &theta).into_iter());
    let held_out = held_out.filter(|rows| !rows.is_empty()).map(|rows| {
        let (own, best) = (losses(rows, &theta), losses(rows, &hindsight.theta));
        let difference = own.iter().zip(&best).map(|(own, best)| own - best);
        (Risk::of(own.iter().copied()), Risk::of(difference))
    });
    OnlineToBatch {
        excess: risk.mean - hindsight.total_loss / data.len() as f64,
        theta,
        risk,
        held_out_risk: held_out.map(|(risk, _)| risk),
        held_out_excess: held_out.map(|(_, excess)| excess),
    }
}

impl fmt::Display for RegretReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure =
            |value: Option<f64>| value.map_or_else(|| "not defined here".to_owned(), |x| format!("{x:.6}"));
        let risk =
            |value: Option<Risk>| value.map_or_else(|| "nothing held out".to_owned(), |x| x.to_string());
        let model = &self.online_to_batch;
        writeln!(f, "not private: computed from the data without noise")?;
        writeln!(f, "examples                     {}", self.examples)?;
        writeln!(f, "mean loss during the run     {:.6}", self.average_loss)?;
        writeln!(
            f,
            "best fixed parameters        {:.6} (within the {})",
            self.hindsight_loss, self.hindsight.within
        )?;
        writeln!(f, "average regret               {:.6} (at most {:.6})", self.regret, self.regret_at_most)?;
        writeln!(f, "bound on expected regret     {}", figure(self.exact_bound))?;
        writeln!(f, "  at the best λ              {}", figure(self.exact_bound_at_best))?;
        writeln!(f, "paper's bound, corrected     {}", figure(self.corrected_bound))?;
        writeln!(f, "paper's bound, as printed    {}", figure(self.printed_bound))?;
        writeln!(f, "loss of the average          {}, {:.6} above the best", model.risk, model.excess)?;
        writeln!(f, "  on held-out rows           {}", risk(model.held_out_risk))?;
        write!(f, "  above the best on those    {}", risk(model.held_out_excess))
    }
}

/// Shows the number of examples, and nothing computed from them.
impl fmt::Debug for RegretReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegretReport").field("examples", &self.examples).finish_non_exhaustive()
    }
}
