//! The model as a file: everything needed to score a row, and what it cost.
//!
//! It holds only what is private or public. The performance on held-out rows is not in it.

use super::table::Data;
use super::task::Task;
use crate::budget_file::BudgetReceipt;
use crate::commands::shared::delta_in_words;
use crate::error::{CliError, Result};
use evertally::Neighbours;
use evertally_learn::{Learner, Update};
use serde::{Deserialize, Serialize};

/// The name of the format and its version.
pub(super) const FORMAT: &str = "evertally model 1";

/// The part of a model file that scoring needs.
#[derive(Serialize, Deserialize)]
pub(super) struct ModelFile {
    pub(super) format: String,
    #[serde(default)]
    version: String,
    pub(super) loss: String,
    pub(super) label: String,
    /// In the order of the scores, or of −1 and +1. Empty if labels are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) classes: Vec<String>,
    pub(super) features: Vec<String>,
    pub(super) intercept: bool,
    pub(super) preparation: Preparation,
    pub(super) parameters: Parameters,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Preparation {
    pub(super) means: Option<Vec<f64>>,
    pub(super) scales: Option<Vec<f64>>,
    pub(super) feature_norm: Option<f64>,
}

/// One list per score, with one number per feature and the intercept last.
#[derive(Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) last: Vec<Vec<f64>>,
    pub(super) average: Vec<Vec<f64>>,
}

/// The whole file.
#[derive(Serialize)]
struct WholeFile<'a> {
    #[serde(flatten)]
    model: ModelFile,
    training: &'a Trained,
    privacy: &'a Privacy,
}

/// How the model was trained.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Trained {
    pub(super) rows: usize,
    pub(super) order: String,
    pub(super) batch_size: usize,
    pub(super) epochs: u64,
    pub(super) steps: u64,
    pub(super) set: String,
    pub(super) update: String,
    pub(super) momentum: f64,
    pub(super) restart_every: Option<u64>,
}

/// What was spent, and on what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Privacy {
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) rho: f64,
    pub(super) budget: String,
    pub(super) unit: &'static str,
    pub(super) neighbours: String,
    pub(super) participation: String,
    pub(super) clip: f64,
    pub(super) mechanism: String,
    pub(super) arithmetic: String,
    /// The standard deviation of the noise in each coordinate of the last sum of gradients, divided
    /// by the batch size.
    pub(super) last_standard_error: f64,
    pub(super) public: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ledger: Option<BudgetFilePlace>,
}

/// The entry of a run in a budget file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BudgetFilePlace {
    population: String,
    entry: usize,
}

impl Trained {
    pub(super) fn of(task: &Task<'_>, data: &Data, learner: &Learner) -> Self {
        let (args, plan) = (task.args, learner.plan());
        let update = match plan.update() {
            Update::Leader { regularization } => format!("regularised leader, λ = {regularization}"),
            Update::Descent { rate } => format!("descent, rate {rate}"),
            other => format!("{other:?}"),
        };
        Self {
            rows: data.train.len(),
            order: args.shuffle.map_or_else(|| "that of the file".to_owned(), |seed| format!("seed {seed}")),
            batch_size: plan.batch_size(),
            epochs: args.epochs,
            steps: learner.steps_taken(),
            set: plan.set().to_string(),
            update,
            momentum: plan.momentum(),
            restart_every: (plan.segment_steps() < plan.steps()).then(|| plan.segment_steps()),
        }
    }
}

impl Privacy {
    pub(super) fn of(task: &Task<'_>, learner: &Learner, receipt: Option<&BudgetReceipt>) -> Result<Self> {
        let (plan, spend) = (learner.plan(), learner.spend()?);
        let noise = plan.noise();
        Ok(Self {
            epsilon: spend.epsilon(task.delta)?,
            delta: task.delta,
            rho: spend.rho(),
            budget: plan.budget().to_string(),
            unit: match noise.neighbours() {
                Neighbours::Replace => "one row: whether it is itself or any other",
                _ => "one row: whether it is there, or its place is empty",
            },
            neighbours: noise.neighbours().to_string(),
            participation: plan.participation().to_string(),
            clip: plan.clip(),
            mechanism: noise.mechanism().to_string(),
            arithmetic: noise.arithmetic().to_string(),
            last_standard_error: plan.standard_error(plan.steps() - 1)?,
            public: "the options, the names of the columns, the number of rows and their order",
            ledger: receipt.map(|receipt| {
                let (population, entry) = receipt.place();
                BudgetFilePlace { population: population.to_owned(), entry }
            }),
        })
    }

    /// (ε, δ) for people.
    pub(super) fn in_words(&self) -> String {
        let (epsilon, delta) = (rounded_up(self.epsilon), delta_in_words(self.delta));
        format!("ε = {epsilon} at δ = {delta} (ρ = {})", rounded_up(self.rho))
    }
}

/// Six digits, rounded up. A relative excess of 10⁻⁹ over a number of six digits is ignored.
fn rounded_up(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return value;
    }
    let unit = 10_f64.powi(value.log10().floor() as i32 - 5);
    let digits = (value / unit * (1.0 - 1e-9)).ceil();
    format!("{:.5e}", digits * unit).parse().unwrap_or(value)
}

/// The file of a trained model.
pub(super) fn bytes(
    task: &Task<'_>,
    data: &Data,
    learner: &Learner,
    training: &Trained,
    privacy: &Privacy,
) -> Result<Vec<u8>> {
    let by_score = |theta: &[f64]| theta.chunks(data.train.width()).map(<[f64]>::to_vec).collect();
    let model = ModelFile {
        format: FORMAT.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        loss: task.loss.to_string(),
        label: task.args.label.clone(),
        classes: task.labels.classes().to_vec(),
        features: task.features.clone(),
        intercept: task.args.intercept,
        preparation: Preparation {
            means: data.scales.as_ref().map(|scales| scales.means.clone()),
            scales: data.scales.as_ref().map(|scales| scales.scales.clone()),
            feature_norm: task.args.feature_norm,
        },
        parameters: Parameters { last: by_score(learner.theta()), average: by_score(learner.average()) },
    };
    let mut bytes = serde_json::to_vec_pretty(&WholeFile { model, training, privacy })
        .map_err(|error| CliError::Failure(format!("the model cannot be written: {error}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_never_less() {
        for value in [2.0, 1.999_999_999_9, 0.123_456_789, 17.000_000_1, 1e-7, 123_456.7] {
            let shown = rounded_up(value);
            assert!(shown >= value * (1.0 - 1e-9) && shown <= value * (1.0 + 1e-5), "{value}: {shown}");
            assert!(shown.to_string().len() <= 12, "{shown}");
        }
        assert_eq!((rounded_up(2.0), rounded_up(0.0)), (2.0, 0.0));
        assert_eq!(rounded_up(0.123_456_789), 0.123_457);
    }
}
