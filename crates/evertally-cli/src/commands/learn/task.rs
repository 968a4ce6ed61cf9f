//! The checked options. Only the number of rows is still unknown.

use super::labels::Labels;
use super::options::LearnArgs;
use crate::commands::shared::refusal;
use crate::error::{CliError, Result, shown};
use crate::input;
use crate::progress::with_progress;
use evertally::internals::noise_name::{Fields, Value};
use evertally::{Budget, BudgetSpec, Mechanism, Participation, PlanSpec};
use evertally_learn::{LearningPlan, Losses, Set, Update};

/// The δ at which ε is stated if only ρ is given.
const DEFAULT_DELTA: f64 = 1e-6;

/// When the noise is restarted.
#[derive(Clone, Copy)]
enum Restart {
    Never,
    Steps(u64),
    Epoch,
}

/// What determines the name of a run's noise. It differs whenever gradients could differ, so that one
/// key can be used for any number of runs.
#[derive(Clone, Copy)]
pub(super) enum Noise<'a> {
    /// The hash of the rows, in addition to all choices.
    Named(&'a [u8; 32]),
    /// The name that version 0.1 gave a run, for resuming it.
    First(&'a str),
}

pub(super) struct Task<'a> {
    pub(super) args: &'a LearnArgs,
    pub(super) loss: Losses,
    /// The columns to learn from, in the order of the parameters.
    pub(super) features: Vec<String>,
    pub(super) labels: Labels,
    pub(super) budget: Budget,
    /// The δ at which ε is stated.
    pub(super) delta: f64,
    set: Set,
    clip: f64,
    restart: Restart,
    mechanism: Option<Mechanism>,
}

impl<'a> Task<'a> {
    /// Checks the options. Reads the header of the data if it must tell the columns.
    pub(super) fn from_args(args: &'a LearnArgs) -> Result<Self> {
        if args.epochs == 0 {
            return Err(CliError::bad("--epochs: expected at least 1, got 0"));
        }
        if args.batch_size == 0 {
            return Err(CliError::bad("--batch-size: expected at least 1, got 0"));
        }
        if args.holdout.is_some_and(|every| every < 2) {
            return Err(CliError::bad("--holdout: expected at least 2, or nothing would be learned from"));
        }
        if args.plot.is_some() && args.holdout.is_none() && args.test.is_none() {
            return Err(CliError::bad(
                "--plot needs --holdout N or --test FILE: on the rows that were learned from, what it shows would not be private",
            ));
        }
        let (budget, delta) = budget(args)?;
        let set = set(args)?;
        let labels = Labels::new(args.loss, args.classes.as_deref())?;
        let restart = restart(args.restart_every.as_deref())?;
        let mechanism = args.mechanism.as_deref().map(str::parse::<Mechanism>).transpose()?;
        for (option, value) in [
            ("--feature-norm", args.feature_norm),
            ("--expected-norm", args.expected_norm),
            ("--lambda", args.lambda),
        ] {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(CliError::bad(format!("{option}: expected a positive number, got {value}")));
            }
        }
        let features = features(args)?;
        let mut task = Self {
            args,
            loss: args.loss,
            features,
            labels,
            budget,
            delta,
            set,
            clip: args.clip.unwrap_or(1.0),
            restart,
            mechanism,
        };
        if args.clip.is_none() {
            task.clip = task.longest_gradient().unwrap_or(1.0);
        }
        Ok(task)
    }

    /// The number of features, including the intercept if there is one.
    fn width(&self) -> usize {
        self.features.len() + usize::from(self.args.intercept)
    }

    fn dimension(&self) -> usize {
        self.loss.parameters(self.width())
    }

    /// A bound on the gradients that does not depend on the data, if there is one.
    fn longest_gradient(&self) -> Option<f64> {
        let intercept = if self.args.intercept { 1.0 } else { 0.0 };
        let row = self.args.feature_norm?.hypot(intercept);
        self.loss.lipschitz(row, self.set.radius(self.dimension()))
    }

    /// The columns to read: the label, then the features.
    pub(super) fn columns(&self) -> Vec<String> {
        std::iter::once(&self.args.label).chain(&self.features).cloned().collect()
    }

    /// The number of steps in which every row is used once.
    pub(super) fn steps_per_epoch(&self, rows: usize) -> u64 {
        rows.div_ceil(self.args.batch_size) as u64
    }

    /// Everything except the data that determines the model, by option. A run resumes only if all
    /// of it is the same. The names stand in saved states, so they stay those of version 0.1;
    /// [`option_of`] translates them.
    pub(super) fn settings(&self, account: Option<String>) -> Vec<(String, String)> {
        let args = self.args;
        let maybe = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
        let real = |value: Option<f64>| maybe(value.map(|value| value.to_string()));
        let settings = [
            ("--label", args.label.clone()),
            ("--features", self.features.join(",")),
            ("--classes", maybe(args.classes.clone())),
            ("--intercept", args.intercept.to_string()),
            ("--feature-norm", real(args.feature_norm)),
            ("--holdout", maybe(args.holdout.map(|every| every.to_string()))),
            ("--shuffle", maybe(args.shuffle.map(|seed| seed.to_string()))),
            ("--loss", self.loss.to_string()),
            ("--batch-size", args.batch_size.to_string()),
            ("--epochs", args.epochs.to_string()),
            ("--radius or --box", self.set.to_string()),
            ("--lambda", real(args.lambda)),
            ("--norm", real(args.expected_norm)),
            ("--rate", maybe(args.learning_rate.map(|rate| rate.to_string()))),
            ("--momentum", args.momentum.to_string()),
            ("--restart-every", maybe(args.restart_every.clone())),
            ("--mechanism", maybe(args.mechanism.clone())),
            ("--memory-limit", maybe(args.memory_limit.map(|bytes| bytes.to_string()))),
            ("--epsilon", real(args.epsilon)),
            ("--delta", self.delta.to_string()),
            ("--rho", real(args.rho)),
            ("--calibration", maybe(args.calibration.map(|calibration| calibration.to_string()))),
            ("--neighbours", args.neighbours.to_string()),
            ("--clip", self.clip.to_string()),
            ("--ledger", maybe(account)),
        ];
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The plan for this many rows.
    pub(super) fn plan(&self, rows: usize, noise: Noise<'_>) -> Result<LearningPlan> {
        let args = self.args;
        if args.batch_size > rows {
            return Err(CliError::bad(format!(
                "--batch-size: expected at most the {rows} rows to learn from, got {}",
                args.batch_size
            )));
        }
        let epoch = self.steps_per_epoch(rows);
        let steps = epoch.checked_mul(args.epochs).ok_or_else(|| {
            CliError::bad(format!("--epochs: {} times {epoch} steps are too many", args.epochs))
        })?;
        let participation = match args.epochs {
            1 => Participation::single(),
            epochs => Participation::at_most(epochs, epoch)?,
        };
        let (definition, stream) = match noise {
            Noise::Named(data) => (self.definition(data), String::new()),
            Noise::First(stream) => (Vec::new(), stream.to_owned()),
        };
        let choices = |spec: &PlanSpec| PlanSpec {
            mechanism: self.mechanism,
            neighbours: args.neighbours,
            participation,
            definition,
            stream,
            memory_limit: args.memory_limit,
            ..spec.clone()
        };
        let mut builder = LearningPlan::new(self.dimension(), steps)
            .budget(self.budget)
            .noise(|noise| choices(noise.spec()).into())
            .clip(self.clip)
            .batch_size(args.batch_size)
            .set(self.set)
            .momentum(args.momentum);
        builder = match (args.lambda, args.learning_rate) {
            (Some(regularization), _) => builder.update(Update::Leader { regularization }),
            (None, Some(rate)) => builder.update(Update::Descent { rate }),
            (None, None) => {
                let farthest = self.set.radius(self.dimension());
                builder.recommended(args.expected_norm.or(farthest).unwrap_or(1.0))
            }
        };
        builder = match self.restart {
            Restart::Never => builder,
            Restart::Steps(steps) => builder.restart_every(steps),
            Restart::Epoch => builder.restart_every(epoch),
        };
        let plan = with_progress("planning", |_| builder.build())?;
        Ok(match noise {
            Noise::Named(_) => plan,
            Noise::First(_) => plan.with_first_noise_name(),
        })
    }

    /// What determines the gradients besides the plan: the prepared rows in order, and the loss.
    fn definition(&self, data: &[u8; 32]) -> Vec<u8> {
        let mut fields = Fields::new(*b"EVNR", 2);
        fields.put(1, Value::new().raw(data));
        fields.put(2, self.loss.name_value());
        fields.into_bytes()
    }
}

/// The option that a name in a saved state stands for today.
pub(super) fn option_of(setting: &str) -> &str {
    match setting {
        "--norm" => "--expected-norm",
        "--rate" => "--learning-rate",
        "--ledger" => "--budget-file",
        unchanged => unchanged,
    }
}

fn budget(args: &LearnArgs) -> Result<(Budget, f64)> {
    let LearnArgs { epsilon, delta, rho, calibration, .. } = *args;
    let given = BudgetSpec { epsilon, calibration, rho, ..BudgetSpec::default() };
    match (epsilon, delta, rho) {
        (_, Some(0.0), _) => Err(CliError::bad(
            "--delta: expected more than 0, since gradients are bounded in Euclidean norm and call for Gaussian noise",
        )),
        (Some(_), Some(delta), None) => {
            Ok((BudgetSpec { delta: Some(delta), ..given }.budget().map_err(refusal)?, delta))
        }
        (None, delta, Some(_)) => {
            let (budget, delta) = (given.budget().map_err(refusal)?, delta.unwrap_or(DEFAULT_DELTA));
            budget.spend().epsilon(delta)?;
            Ok((budget, delta))
        }
        _ => Err(CliError::bad("expected --epsilon with --delta, or --rho: what the whole run may spend")),
    }
}

fn set(args: &LearnArgs) -> Result<Set> {
    if let Some(radius) = args.radius {
        return Set::ball(radius).map_err(|error| CliError::bad(format!("--radius: {error}")));
    }
    let Some(text) = &args.cube else { return Ok(Set::Everything) };
    let number = |part: &str| part.trim().parse::<f64>().ok();
    let ends = text.split_once(',').and_then(|(lo, hi)| Some((number(lo)?, number(hi)?)));
    let (lo, hi) = ends.ok_or_else(|| {
        CliError::bad(format!("--box: expected two numbers LO,HI such as -1,1, got {}", shown(text)))
    })?;
    let set = Set::cube(lo, hi).map_err(|error| CliError::bad(format!("--box: {error}")))?;
    if !set.contains(&[0.0]) {
        return Err(CliError::bad(format!(
            "--box: expected a range that holds 0, where training starts, got {text}"
        )));
    }
    Ok(set)
}

fn restart(text: Option<&str>) -> Result<Restart> {
    match text {
        None => Ok(Restart::Never),
        Some("epoch") => Ok(Restart::Epoch),
        Some(text) => match text.parse() {
            Ok(steps) if steps > 0 => Ok(Restart::Steps(steps)),
            _ => Err(CliError::bad(format!(
                "--restart-every: expected a number of steps or epoch, got {}",
                shown(text)
            ))),
        },
    }
}

/// The columns to learn from: the named ones, or all except the label.
fn features(args: &LearnArgs) -> Result<Vec<String>> {
    let Some(list) = &args.features else { return other_columns(args) };
    let features: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    for (at, name) in features.iter().enumerate() {
        let reason = match name {
            name if name.is_empty() => "expected names between the commas, got nothing".to_owned(),
            name if *name == args.label => format!("{} is the label", shown(name)),
            name if features[..at].contains(name) => format!("{} is named twice", shown(name)),
            _ => continue,
        };
        return Err(CliError::bad(format!("--features: {reason}")));
    }
    Ok(features)
}

/// All columns except the label, from the header alone. Which of them hold numbers is private.
fn other_columns(args: &LearnArgs) -> Result<Vec<String>> {
    let name = crate::error::name_of(&args.data);
    let names = input::column_names(&args.data, args.input_format)?.ok_or_else(|| {
        CliError::bad(format!(
            "{name} has no header that could be read first: name the columns with --features"
        ))
    })?;
    let others: Vec<String> = names.into_iter().filter(|column| *column != args.label).collect();
    if others.is_empty() {
        return Err(CliError::bad(format!("{name} has no column to learn from besides the label")));
    }
    Ok(others)
}
