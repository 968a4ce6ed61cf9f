//! Writers: releases with their header as CSV, JSON lines or Parquet, to a file or standard output.

mod answers;
mod csv;
mod destination;
mod header;
mod jsonl;
mod npy;
mod npy_stream;
mod parquet;

pub(crate) use answers::{AnswerRow, write_answers};
pub(crate) use destination::{
    Destination, check_growing, check_writable, refuse_overwriting, write_whole_file,
};
pub(crate) use header::Header;
pub(crate) use npy::{npy_complex, npy_list, npy_matrix, npz};
pub(crate) use npy_stream::{Element, NpyStream};

use crate::error::Result;
use clap::ValueEnum;
use std::path::Path;

/// The formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Comma-separated values; the header stands in lines that start with #
    Csv,
    /// One JSON object per line; the first one is the header
    Jsonl,
    /// Apache Parquet; the header stands in the file's key-value metadata
    Parquet,
}

impl OutputFormat {
    /// The format that an output's extension names; CSV where it names none.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" | "json" => Self::Jsonl,
            "parquet" | "pq" => Self::Parquet,
            _ => Self::Csv,
        }
    }
}

/// Which of the optional columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Steps are buckets of time and have a start.
    pub(crate) timed: bool,
    /// Releases have a key.
    pub(crate) keyed: bool,
}

/// One released total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReleasedRow<'a> {
    /// The step, counted from zero.
    pub(crate) step: u64,
    /// The start of its bucket in microseconds since 1970, in a timed table.
    pub(crate) start: Option<i64>,
    /// Its key, in a keyed table.
    pub(crate) key: Option<&'a str>,
    pub(crate) estimate: f64,
    pub(crate) standard_error: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// A table of releases that is being written.
pub(crate) trait ReleaseWriter {
    fn write(&mut self, row: &ReleasedRow<'_>) -> Result<()>;

    /// Hands what was written so far to the system, where the format allows it.
    fn flush(&mut self) -> Result<()>;

    /// Completes the table; only now does a file get its name.
    fn finish(self: Box<Self>) -> Result<()>;
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
        OutputFormat::Parquet => Box::new(parquet::ParquetReleases::start(destination, header, shape)?),
    })
}
