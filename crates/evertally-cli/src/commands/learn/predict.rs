//! `evertally predict`: a model and rows in, predictions out.
//!
//! A model is private already, so predictions cost no further budget. They protect the rows that the
//! model was trained on, but are as sensitive as the rows that they are made for.

use super::model::{FORMAT, ModelFile};
use super::table::{Prepare, Scales};
use crate::error::{CliError, Result, name_of};
use crate::input::{self, EXPECTED_VALUE, InputFormat, each_row, expected};
use crate::output::{self, Destination, ForceArgs};
use clap::{Args, ValueEnum};
use evertally_learn::{Dataset, Losses};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  evertally demo --kind customers --output customers.csv
  evertally learn customers.csv --label returns --classes no,yes \\
    --loss logistic --feature-norm 1 --radius 10 \\
    --epsilon 2 --delta 1e-6 --model model.json
  evertally demo --kind customers --seed 2 --output new.csv
  evertally predict model.json new.csv --output predictions.csv";

/// Predict labels with a model of `evertally learn`
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    /// A model that `evertally learn` wrote
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The rows, with the features of the model: a .csv, .jsonl or .parquet file, or - for standard
    /// input
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// The format of the input [default: by the name of the file]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
    /// Use the average of the parameters over all steps instead of the last ones
    #[arg(long)]
    average: bool,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format of the output [default: by the name of --output, else csv]
    #[arg(long, value_name = "FORMAT")]
    format: Option<PredictionFormat>,
    /// An older spelling of --format jsonl
    #[arg(long, hide = true, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    force: ForceArgs,
}

/// The formats of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PredictionFormat {
    /// Comma-separated values
    Csv,
    /// One JSON object per row
    Jsonl,
}

/// A checked model.
struct Model {
    file: ModelFile,
    loss: Losses,
    scales: Option<Scales>,
    theta: Vec<f64>,
}

/// The prediction for one row.
struct Prediction {
    label: String,
    /// Its probability in the model, if the loss has probabilities.
    probability: Option<f64>,
}

pub(crate) fn run(args: &PredictArgs) -> Result<()> {
    let (path, existing) = (args.output.as_deref(), args.force.existing());
    output::check_outputs(&[Some(&args.model), Some(&args.data)], &[path], existing)?;
    let format = args.format()?;
    let model = Model::read(&args.model, args.average)?;
    let rows = model.rows(args)?;
    Destination::open(path, existing)?.write_with(|out| match format {
        PredictionFormat::Csv => model.write_csv(out, &rows),
        PredictionFormat::Jsonl => model.write_json(out, &rows),
    })
}

impl PredictArgs {
    /// The format that was asked for, or that the output's ending names.
    fn format(&self) -> Result<PredictionFormat> {
        if self.json {
            return Ok(PredictionFormat::Jsonl);
        }
        if let Some(format) = self.format {
            return Ok(format);
        }
        let known = ["csv", "jsonl", "ndjson", "json"];
        let ending = output::known_ending("--output", self.output.as_deref(), &known, ", or --format")?;
        Ok(match ending.as_deref() {
            None | Some("csv") => PredictionFormat::Csv,
            Some(_) => PredictionFormat::Jsonl,
        })
    }
}

impl Model {
    fn read(path: &Path, is_average: bool) -> Result<Self> {
        let refuse = |reason: &str| {
            CliError::bad(format!("{} is no model of evertally learn: {reason}", name_of(path)))
        };
        let bytes = std::fs::read(path).map_err(|error| CliError::reading(path, &error))?;
        let mut file: ModelFile = serde_json::from_slice(&bytes)
            .map_err(|error| refuse(&format!("it cannot be read at line {}", error.line())))?;
        if file.format != FORMAT {
            return Err(refuse("it has another format, or is of another version"));
        }
        let loss: Losses = file.loss.parse().map_err(|_| refuse("its loss is not known"))?;
        let width = file.features.len() + usize::from(file.intercept);
        let parameters = &file.parameters;
        let scores = if is_average { &parameters.average } else { &parameters.last };
        let is_whole = !file.features.is_empty()
            && scores.len() == loss.scores()
            && scores
                .iter()
                .all(|weights| weights.len() == width && weights.iter().all(|weight| weight.is_finite()));
        if !is_whole {
            return Err(refuse("its parameters do not fit its features and loss"));
        }
        if !file.classes.is_empty() && file.classes.len() != loss.scores().max(2) {
            return Err(refuse("its classes do not fit its loss"));
        }
        let theta = scores.concat();
        let scales = match (file.preparation.means.take(), file.preparation.scales.take()) {
            (None, None) => None,
            (Some(means), Some(scales)) if [means.len(), scales.len()] == [file.features.len(); 2] => {
                Some(Scales { means, scales })
            }
            _ => return Err(refuse("its means and scales do not fit its features")),
        };
        Ok(Self { file, loss, scales, theta })
    }

    /// The rows of the file, prepared like those that the model was trained on.
    fn rows(&self, args: &PredictArgs) -> Result<Dataset> {
        let path = &args.data;
        let mut reader = input::open(path, args.input_format, &self.file.features, false)?;
        let mut values = Vec::new();
        let mut count = 0;
        each_row(&self.file.features, reader.as_mut(), Some("reading"), |unit, row| {
            count += 1;
            for (cell, column) in row.cells.iter().zip(&self.file.features) {
                let place = || input::place(&name_of(path), unit, row.line, column);
                values.push(cell.as_value().ok_or_else(|| expected(&place(), EXPECTED_VALUE, cell))?);
            }
            Ok(())
        })?;
        if count == 0 {
            return Err(CliError::bad(format!("{} has no rows: expected at least one", name_of(path))));
        }
        let prepare = Prepare {
            scales: self.scales.as_ref(),
            feature_norm: self.file.preparation.feature_norm,
            intercept: self.file.intercept,
        };
        // There are no labels yet; zero is a placeholder.
        Dataset::new(self.file.features.len(), values, vec![0.0; count])
            .and_then(|data| prepare.apply(data))
            .map_err(|error| CliError::from(error).in_file(path))
    }

    fn has_probabilities(&self) -> bool {
        matches!(self.loss, Losses::Logistic(_) | Losses::Softmax(_))
    }

    /// The predicted label and its probability.
    fn predict(&self, features: &[f64]) -> Prediction {
        let mut scores = vec![0.0; self.loss.scores()];
        self.loss.score(&self.theta, features, &mut scores);
        let predicted = self.loss.predicted(&scores);
        let class = match self.loss {
            Losses::Squared(_) => None,
            Losses::Softmax(_) => Some(predicted as usize),
            _ => Some(usize::from(predicted > 0.0)),
        };
        let label = class
            .and_then(|class| self.file.classes.get(class))
            .cloned()
            .unwrap_or_else(|| predicted.to_string());
        // The loss of a label is minus the logarithm of its probability.
        let probability = self.has_probabilities().then(|| (-self.loss.at(&scores, predicted)).exp());
        Prediction { label, probability }
    }

    fn write_csv(&self, out: &mut impl Write, rows: &Dataset) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let probability = self.has_probabilities().then_some("probability");
        writer.write_record(["row", &self.file.label].into_iter().chain(probability))?;
        for (row, example) in rows.iter().enumerate() {
            let Prediction { label, probability } = self.predict(example.features);
            let probability = probability.map(|probability| format!("{probability:.6}"));
            writer.write_record([(row + 1).to_string(), label].into_iter().chain(probability))?;
        }
        writer.flush()
    }

    /// One object per row. Labels that are numbers stay numbers.
    fn write_json(&self, out: &mut impl Write, rows: &Dataset) -> io::Result<()> {
        for (row, example) in rows.iter().enumerate() {
            let Prediction { label, probability } = self.predict(example.features);
            let number = label.parse::<f64>().ok().filter(|_| self.file.classes.is_empty());
            let mut line = serde_json::Map::new();
            line.insert("row".to_owned(), (row + 1).into());
            line.insert(self.file.label.clone(), number.map_or_else(|| label.into(), Into::into));
            if let Some(probability) = probability {
                line.insert("probability".to_owned(), probability.into());
            }
            writeln!(out, "{}", serde_json::Value::from(line))?;
        }
        Ok(())
    }
}
