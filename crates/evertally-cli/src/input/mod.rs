//! Readers: rows of named columns from CSV, JSON lines or Parquet, from a file or standard input;
//! and arrays of numbers.
//!
//! A reader yields only the requested columns, one row at a time, into a buffer that is reused. It
//! does not know what the columns mean.

mod cell;
mod csv;
mod jsonl;
pub(crate) mod matrix;
pub(crate) mod npy;
pub(crate) mod npz;
mod panic_guard;
mod parquet;
mod tail;
mod waiting;

pub(crate) use cell::{Cell, EXPECTED_VALUE};
pub(crate) use waiting::{NextRow, WaitingReader};

use crate::error::{CliError, Result, name_of, shown};
use crate::progress::Progress;
use clap::ValueEnum;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An invisible mark that some programs write at the start of a text file.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Jsonl,
    /// Apache Parquet
    Parquet,
}

impl InputFormat {
    /// The format for a file's extension. Standard input is CSV by default.
    fn of(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Csv);
        }
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson" | "json") => Ok(Self::Jsonl),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            _ => Err(CliError::bad(format!(
                "the format of {} cannot be recognised from its name: expected .csv, .jsonl or .parquet, or --input-format",
                path.display()
            ))),
        }
    }
}

/// One row: the requested columns in the order in which they were requested.
pub(crate) struct Row {
    /// The number of the line, or of the row if the format has no lines, counted from 1.
    pub(crate) line: u64,
    pub(crate) cells: Vec<Cell>,
}

impl Row {
    pub(crate) fn for_columns(columns: &[String]) -> Self {
        Self { line: 0, cells: vec![Cell::default(); columns.len()] }
    }
}

/// A source of rows.
pub(crate) trait RowReader: Send {
    /// Fills the row, or returns `false` at the end of the input.
    fn read(&mut self, row: &mut Row) -> Result<bool>;

    /// The share of the input that has been read, from 0 to 1, if it is known.
    fn fraction_read(&self) -> Option<f64>;

    /// Whether the cells of a requested column can be names: texts or integers.
    fn holds_names(&self, column: usize) -> bool;

    /// What `Row::line` counts: a "line" or a "row".
    fn unit(&self) -> &'static str {
        "line"
    }
}

/// Opens an input. With `follow`, the reader waits at the end of a file for rows that are appended.
pub(crate) fn open(
    path: &Path,
    format: Option<InputFormat>,
    columns: &[String],
    follow: bool,
) -> Result<Box<dyn RowReader>> {
    let format = format.map_or_else(|| InputFormat::of(path), Ok)?;
    if format == InputFormat::Parquet {
        if follow {
            return Err(CliError::bad(
                "a Parquet file cannot be followed: it is readable only once it is complete",
            ));
        }
        return Ok(Box::new(parquet::ParquetReader::open(path, columns)?));
    }
    let source = Source::open(path, follow)?;
    Ok(match format {
        InputFormat::Jsonl => Box::new(jsonl::JsonLinesReader::new(source, columns)),
        _ => Box::new(csv::CsvReader::open(source, columns)?),
    })
}

/// The names of all columns of a file, in order, without reading a row. `None` for a format without
/// a header, and for standard input, which cannot be read twice.
pub(crate) fn column_names(path: &Path, format: Option<InputFormat>) -> Result<Option<Vec<String>>> {
    let format = format.map_or_else(|| InputFormat::of(path), Ok)?;
    match format {
        _ if path.as_os_str() == "-" => Ok(None),
        InputFormat::Csv => csv::names(Source::open(path, false)?).map(Some),
        InputFormat::Parquet => parquet::ParquetReader::names(path).map(Some),
        InputFormat::Jsonl => Ok(None),
    }
}

/// Reads an input in memory, for fuzzing.
pub(crate) fn held(bytes: Vec<u8>, format: InputFormat, columns: &[String]) -> Result<Box<dyn RowReader>> {
    let name = "memory";
    Ok(match format {
        InputFormat::Parquet => Box::new(parquet::ParquetReader::held(name, bytes, columns)?),
        InputFormat::Jsonl => Box::new(jsonl::JsonLinesReader::new(Source::held(name, bytes), columns)),
        InputFormat::Csv => Box::new(csv::CsvReader::open(Source::held(name, bytes), columns)?),
    })
}

/// The bytes of an input, with its name for errors and a count for the progress bar.
pub(crate) struct Source {
    name: String,
    bytes: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
    length: Option<u64>,
}

impl Source {
    fn open(path: &Path, follow: bool) -> Result<Self> {
        let name = name_of(path);
        let read = Arc::new(AtomicU64::new(0));
        if path.as_os_str() == "-" {
            return Ok(Self { name, bytes: Box::new(std::io::stdin()), read, length: None });
        }
        let file = open_file(path)?;
        let length = file.metadata().ok().filter(|_| !follow).map(|metadata| metadata.len());
        let bytes: Box<dyn Read + Send> =
            if follow { Box::new(tail::Tail::new(file)) } else { Box::new(file) };
        Ok(Self { name, bytes, read, length })
    }

    fn held(name: &str, bytes: Vec<u8>) -> Self {
        let length = Some(bytes.len() as u64);
        Self {
            name: name.to_owned(),
            bytes: Box::new(std::io::Cursor::new(bytes)),
            read: Arc::default(),
            length,
        }
    }

    fn fraction_read(&self) -> Option<f64> {
        let length = self.length.filter(|&length| length > 0)?;
        Some((self.read.load(Ordering::Relaxed) as f64 / length as f64).min(1.0))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|error| CliError::reading(path, &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(CliError::bad(format!("{} is a directory: expected a file", path.display())));
    }
    Ok(file)
}

/// How many rows are read between two updates of the progress.
pub(crate) const ROWS_BETWEEN_UPDATES: u64 = 4096;

/// Calls a function for every row, with the unit of its number. Progress is shown under the label.
pub(crate) fn each_row(
    columns: &[String],
    reader: &mut dyn RowReader,
    label: Option<&'static str>,
    mut take: impl FnMut(&'static str, &Row) -> Result<()>,
) -> Result<()> {
    let mut progress = label.map(Progress::new);
    let mut row = Row::for_columns(columns);
    let mut count: u64 = 0;
    while reader.read(&mut row)? {
        count += 1;
        if let Some(progress) = progress.as_mut().filter(|_| count.is_multiple_of(ROWS_BETWEEN_UPDATES)) {
            progress.update(reader.fraction_read());
        }
        take(reader.unit(), &row)?;
    }
    Ok(())
}

/// The place of a cell, for errors.
pub(crate) fn place(source: &str, unit: &str, line: u64, column: &str) -> String {
    format!("{source}, {unit} {line}, column {}", shown(column))
}

/// The error for a cell of the wrong type.
pub(crate) fn expected(place: &str, expected: &str, cell: &Cell) -> CliError {
    let got = cell.as_shown().map_or_else(|| "nothing".to_owned(), |text| shown(&text));
    CliError::bad(format!("{place}: expected {expected}, got {got}"))
}

/// A column's name as an error may show it. A number is not shown: without a header it is data.
fn shown_name(name: &str) -> String {
    if name.parse::<f64>().is_ok() { "(a number)".to_owned() } else { shown(name) }
}

/// The index of each requested column among the names in the input. The hint says where the names
/// come from.
fn positions(source: &str, present: &[String], requested: &[String], hint: &str) -> Result<Vec<usize>> {
    let find = |wanted: &String| {
        let mut matching = present.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(at, _)| at);
        match (matching.next(), matching.next()) {
            (Some(at), None) => Ok(at),
            (Some(_), Some(_)) => {
                Err(CliError::bad(format!("{source} has more than one column {}", shown(wanted))))
            }
            (None, _) => {
                let names =
                    present.iter().take(20).map(|name| shown_name(name)).collect::<Vec<_>>().join(", ");
                let more = if present.len() > 20 { ", …" } else { "" };
                let wanted = shown(wanted);
                Err(CliError::bad(format!("{source} has no column {wanted}{hint}: it has {names}{more}")))
            }
        }
    };
    requested.iter().map(find).collect()
}
