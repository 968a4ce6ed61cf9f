//! Writers: releases with their header as CSV, JSON lines or Parquet, to a file or standard output.

mod answers;
mod csv;
mod destination;
mod header;
mod json_line;
mod jsonl;
mod measured;
mod npy;
mod npy_stream;
#[cfg(feature = "columnar")]
mod parquet;

pub(crate) use answers::{AnswerRow, write_answers};
pub(crate) use destination::{
    Destination, Existing, ForceArgs, beside, check_growing, check_outputs, check_writable, commit_together,
    print, private_beside, temporary_beside, write_whole_file,
};
pub(crate) use header::Header;
pub(crate) use json_line::{JsonObject, json_line};
pub(crate) use measured::{MeanEstimate, Measured, Measures, QuantileEstimate};
pub(crate) use npy::{npy_complex, npy_list, npy_matrix, npz};
pub(crate) use npy_stream::{Element, NpyStream};

use crate::error::{CliError, Result};
use clap::ValueEnum;
use serde::{Serialize, Serializer};
use std::path::Path;

/// The formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Comma-separated values; the header is in lines that start with #
    Csv,
    /// One JSON object per line; the first one is the header
    Jsonl,
    /// Apache Parquet; the header is in the file's key-value metadata
    Parquet,
}

impl OutputFormat {
    /// The given format, or the one of the output, if this program can write it.
    pub(crate) fn chosen(given: Option<Self>, path: Option<&Path>) -> Result<Self> {
        let format = given.map_or_else(|| Self::of(path), Ok)?;
        #[cfg(not(feature = "columnar"))]
        if format == Self::Parquet {
            return Err(cannot_write_parquet());
        }
        Ok(format)
    }

    /// The format that an output's ending names. A name without an ending, a device and standard
    /// output mean CSV.
    fn of(path: Option<&Path>) -> Result<Self> {
        const KNOWN: [&str; 6] = ["csv", "jsonl", "ndjson", "json", "parquet", "pq"];
        Ok(match known_ending("--output", path, &KNOWN, ", or --format")?.as_deref() {
            Some("jsonl" | "ndjson" | "json") => Self::Jsonl,
            Some("parquet" | "pq") => Self::Parquet,
            _ => Self::Csv,
        })
    }
}

/// The ending of a file's name in lower case, if it has one. An ending that is not known is refused,
/// because the file would not hold what its name says. `instead` ends the list of what is expected.
pub(crate) fn known_ending(
    option: &str,
    path: Option<&Path>,
    known: &[&str],
    instead: &str,
) -> Result<Option<String>> {
    let Some((path, ending)) = path.and_then(|path| Some((path, path.extension()?))) else { return Ok(None) };
    let ending = ending.to_string_lossy().to_ascii_lowercase();
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file() || metadata.is_dir());
    if known.contains(&ending.as_str()) || !is_file {
        return Ok(Some(ending));
    }
    let (last, others) = known.split_last().unwrap_or((&"", &[]));
    let others = others.iter().map(|known| format!(".{known}")).collect::<Vec<_>>().join(", ");
    let listed = if others.is_empty() { format!(".{last}") } else { format!("{others} or .{last}") };
    Err(CliError::bad(format!(
        "{option}: expected a file that ends in {listed}{instead}, got {}",
        path.display()
    )))
}

/// Which of the optional columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Steps are buckets of time and have a start.
    pub(crate) timed: bool,
    /// Releases have a key.
    pub(crate) keyed: bool,
    /// Releases have a period.
    pub(crate) periods: bool,
    /// What the rows measure.
    pub(crate) measures: Measures,
}

/// One private estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Estimate {
    /// Its numbers, in the order of the columns.
    fn numbers(&self) -> [f64; 4] {
        [self.value, self.standard_error, self.lower, self.upper]
    }
}

/// One released row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct ReleasedRow<'a> {
    /// What it sums, in a report.
    #[serde(flatten)]
    pub(crate) period: Option<Period<'a>>,
    /// The step, counted from zero.
    pub(crate) step: u64,
    /// The start of its bucket, in a timed table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Start<'a>>,
    /// Its key, in a keyed table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) measured: Measured,
}

/// What a row of a report sums: the steps from the first to that of the row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Period<'a> {
    /// The kind of period, as in the option.
    #[serde(rename = "period")]
    pub(crate) kind: &'a str,
    #[serde(rename = "first_step")]
    pub(crate) first: u64,
}

impl Period<'_> {
    /// The names of its columns, in every format.
    const COLUMNS: [&'static str; 2] = ["period", "first_step"];
}

/// The start of a bucket. Parquet has times of its own, and all other formats have the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Start<'a> {
    /// In microseconds since 1970.
    pub(crate) micros: i64,
    /// As it is shown.
    pub(crate) text: &'a str,
}

impl Serialize for Start<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

/// A table of releases that is being written.
pub(crate) trait ReleaseWriter {
    fn write(&mut self, row: &ReleasedRow<'_>) -> Result<()>;

    /// Hands what was written so far to the system, if the format allows it.
    fn flush(&mut self) -> Result<()>;

    /// Completes the table, and returns the output that holds it. A file does not have its name yet.
    fn finish(self: Box<Self>) -> Result<Destination>;
}

/// Starts a table in the given format with its header.
pub(crate) fn start(
    format: OutputFormat,
    destination: Destination,
    header: &Header,
    shape: Shape,
) -> Result<Box<dyn ReleaseWriter>> {
    Ok(match format {
        OutputFormat::Csv => Box::new(csv::CsvReleases::start(destination, header, shape)?),
        OutputFormat::Jsonl => Box::new(jsonl::JsonReleases::start(destination, header)?),
        #[cfg(feature = "columnar")]
        OutputFormat::Parquet => Box::new(parquet::ParquetReleases::start(destination, header, shape)?),
        #[cfg(not(feature = "columnar"))]
        OutputFormat::Parquet => return Err(cannot_write_parquet()),
    })
}

#[cfg(not(feature = "columnar"))]
fn cannot_write_parquet() -> CliError {
    CliError::bad(format!("Parquet cannot be written: {}", crate::error::NO_COLUMNAR))
}

/// Goes on with a table that has its header and perhaps rows. Parquet files end with what describes
/// them, so they cannot go on.
pub(crate) fn go_on(format: OutputFormat, destination: Destination) -> Result<Box<dyn ReleaseWriter>> {
    Ok(match format {
        OutputFormat::Csv => Box::new(csv::CsvReleases::go_on(destination)),
        OutputFormat::Jsonl => Box::new(jsonl::JsonReleases::go_on(destination)),
        OutputFormat::Parquet => return Err(CliError::bad(PARQUET_ENDS)),
    })
}

/// Why a run of a state needs a Parquet file of its own.
pub(crate) const PARQUET_ENDS: &str =
    "a Parquet file cannot grow: name a new --output for each run of a state, or use csv or jsonl";
