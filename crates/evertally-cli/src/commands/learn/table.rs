//! Reads files into rows that are ready for training.
//!
//! Everything here maps each row on its own, with public numbers, or depends on the position of a row.
//! Files that differ in one row therefore still differ in one row.

use super::task::Task;
use crate::draws::Draws;
use crate::error::{CliError, Result, name_of, shown};
use crate::input::{self, EXPECTED_VALUE, InputFormat, each_row, expected};
use evertally_learn::Dataset;
use std::path::Path;

/// Rows to learn from and rows to test on.
pub(super) struct Data {
    /// In the order of the steps.
    pub(super) train: Dataset,
    pub(super) held_out: Option<Dataset>,
    /// Of every feature, if there were any.
    pub(super) scales: Option<Scales>,
}

/// Public means and scales, one per feature.
pub(super) struct Scales {
    pub(super) means: Vec<f64>,
    pub(super) scales: Vec<f64>,
}

impl Data {
    pub(super) fn read(task: &Task<'_>) -> Result<Self> {
        let args = task.args;
        let scales = args.scale.as_deref().map(|path| read_scales(path, &task.features)).transpose()?;
        let all = read_rows(task, &args.data, args.input_format)?;
        let (train, held_out) = match (args.holdout, &args.test) {
            (Some(every), _) => {
                let (train, held_out) = all.split(every)?;
                if held_out.is_empty() {
                    return Err(CliError::bad(format!(
                        "--holdout {every}: {} has fewer rows than that",
                        name_of(&args.data)
                    )));
                }
                (train, Some(held_out))
            }
            (None, Some(path)) => (all, Some(read_rows(task, path, None)?)),
            (None, None) => (all, None),
        };
        let public =
            Prepare { scales: scales.as_ref(), feature_norm: args.feature_norm, intercept: args.intercept };
        let prepare = |data: Dataset, path: &Path| {
            public.apply(data).map_err(|error| CliError::from(error).in_file(path))
        };
        let mut train = prepare(train, &args.data)?;
        if let Some(seed) = args.shuffle {
            train = shuffled(&train, seed)?;
        }
        let held_out =
            held_out.map(|data| prepare(data, args.test.as_deref().unwrap_or(&args.data))).transpose()?;
        Ok(Self { train, held_out, scales })
    }

    /// A hash that identifies these rows.
    pub(super) fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("evertally learn rows 1");
        for data in [Some(&self.train), self.held_out.as_ref()].into_iter().flatten() {
            hasher.update(&(data.len() as u64).to_le_bytes());
            hasher.update(&(data.width() as u64).to_le_bytes());
            for value in data.features().iter().chain(data.labels()) {
                hasher.update(&value.to_le_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }
}

/// The preparation of a single row, with public numbers.
pub(super) struct Prepare<'a> {
    pub(super) scales: Option<&'a Scales>,
    pub(super) feature_norm: Option<f64>,
    pub(super) intercept: bool,
}

impl Prepare<'_> {
    /// Standardises a row, scales it into the ball, and adds the intercept.
    pub(super) fn apply(&self, mut data: Dataset) -> evertally::Result<Dataset> {
        if let Some(Scales { means, scales }) = self.scales {
            data = data.standardised(means, scales)?;
        }
        if let Some(norm) = self.feature_norm {
            data = data.within_ball(norm)?;
        }
        if self.intercept {
            data = data.with_intercept(1.0)?;
        }
        Ok(data)
    }
}

/// The rows in an order that depends only on the seed.
fn shuffled(data: &Dataset, seed: u64) -> Result<Dataset> {
    let mut order: Vec<usize> = (0..data.len()).collect();
    Draws::new(seed).shuffle(&mut order);
    let features = order.iter().flat_map(|&row| data.example(row).features).copied().collect();
    let labels = order.iter().map(|&row| data.labels()[row]).collect();
    Ok(Dataset::new(data.width(), features, labels)?)
}

/// Reads the label and the features of every row.
fn read_rows(task: &Task<'_>, path: &Path, format: Option<InputFormat>) -> Result<Dataset> {
    let columns = task.columns();
    let mut reader = input::open(path, format, &columns, false)?;
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    each_row(&columns, reader.as_mut(), Some("reading"), |unit, row| {
        let place = |at: usize| input::place(&name_of(path), unit, row.line, &columns[at]);
        let (label, values) = row.cells.split_first().ok_or_else(|| CliError::bad("no columns"))?;
        labels.push(task.labels.read(label).map_err(|wanted| expected(&place(0), &wanted, label))?);
        for (at, cell) in values.iter().enumerate() {
            let value = cell.as_value().ok_or_else(|| expected(&place(at + 1), EXPECTED_VALUE, cell))?;
            features.push(value);
        }
        Ok(())
    })?;
    if labels.is_empty() {
        return Err(CliError::bad(format!("{} has no rows: expected at least one", name_of(path))));
    }
    Dataset::new(task.features.len(), features, labels).map_err(|error| CliError::from(error).in_file(path))
}

/// Reads a public file of means and scales, with one row per feature.
fn read_scales(path: &Path, features: &[String]) -> Result<Scales> {
    let columns = ["feature", "mean", "scale"].map(str::to_owned);
    let mut reader = input::open(path, None, &columns, false)?;
    let mut found: Vec<Option<(f64, f64)>> = vec![None; features.len()];
    each_row(&columns, reader.as_mut(), None, |unit, row| {
        let place = |at: usize| input::place(&name_of(path), unit, row.line, &columns[at]);
        let [name, mean, scale] = row.cells.as_slice() else { return Ok(()) };
        let mean = mean.as_value().ok_or_else(|| expected(&place(1), EXPECTED_VALUE, mean))?;
        let above_zero = scale.as_value().filter(|scale| *scale > 0.0);
        let scale = above_zero.ok_or_else(|| expected(&place(2), "a positive number", scale))?;
        // The file may have more columns than are used.
        let Some(at) = name.as_name().and_then(|name| features.iter().position(|known| *known == name))
        else {
            return Ok(());
        };
        if found[at].replace((mean, scale)).is_some() {
            return Err(CliError::bad(format!("{}: {} is there twice", place(0), shown(&features[at]))));
        }
        Ok(())
    })?;
    let missing = features.iter().zip(&found).find(|(_, found)| found.is_none());
    if let Some((feature, _)) = missing {
        let name = name_of(path);
        return Err(CliError::bad(format!("{name} has no mean and scale for {}", shown(feature))));
    }
    let (means, scales) = found.into_iter().flatten().unzip();
    Ok(Scales { means, scales })
}
