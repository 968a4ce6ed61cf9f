//! Readers: rows of named columns from CSV, JSON, Parquet or Arrow, from files or standard input; and arrays
//! of numbers.
//!
//! A reader yields only the requested columns, one row at a time, into a buffer that is reused. It
//! does not know what the columns mean. A reader may also add rows to totals by itself ([`bulk`]).
//!
//! # Missing cells
//! A cell is missing if it is absent, null, or a text of nothing but whitespace. Words such as `NA` are
//! texts. What a missing cell means is decided by the role of its column (`docs/files.md`).

#[cfg(feature = "columnar")]
mod arrow;
mod bulk;
mod cell;
mod columns;
mod csv;
mod followed;
mod json;
mod layout;
mod many;
pub(crate) mod matrix;
#[cfg(feature = "columnar")]
mod meaning;
#[cfg(not(feature = "columnar"))]
mod no_columnar;
pub(crate) mod npy;
pub(crate) mod npz;
#[cfg(feature = "columnar")]
mod parquet;
mod piped;
#[cfg(feature = "columnar")]
mod shared_file;
mod source;
mod tail;
mod waiting;
mod whole_lines;

pub(crate) use bulk::{Bulk, Drops, Roles};
pub(crate) use cell::{Cell, EXPECTED_VALUE};
pub use layout::InputFormat;
pub(crate) use layout::{Layout, parse_delimiter};
pub(crate) use many::Inputs;
pub(crate) use source::Source;
pub(crate) use waiting::{NextRow, WaitingReader};

use crate::error::{CliError, Result, shown};
use crate::progress::Progress;
#[cfg(feature = "columnar")]
use arrow::ArrowReader;
#[cfg(not(feature = "columnar"))]
use no_columnar::{ArrowReader, ParquetReader};
#[cfg(feature = "columnar")]
use parquet::ParquetReader;
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a line, a record or an element. A small compressed file may hold a line that no
/// memory does.
const MAX_LINE_BYTES: usize = 64 << 20;

fn too_long(what: std::fmt::Arguments<'_>) -> std::io::Error {
    let message = format!("{what} is longer than {} MiB", MAX_LINE_BYTES >> 20);
    std::io::Error::new(std::io::ErrorKind::InvalidData, message)
}

/// An invisible mark that some programs write at the start of a text file.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// One row: the requested columns in the order in which they were requested.
pub(crate) struct Row {
    /// The number of the line, or of the row if the format has no lines, counted from 1.
    pub(crate) line: u64,
    pub(crate) cells: Vec<Cell>,
    /// Which of several files it is from, if there are several.
    pub(crate) file: Option<Arc<FileOfRow>>,
}

/// A file among several: its name, and what its rows are called.
pub(crate) struct FileOfRow {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
}

impl Row {
    pub(crate) fn for_columns(columns: &[String]) -> Self {
        Self { line: 0, cells: vec![Cell::default(); columns.len()], file: None }
    }

    /// The place of a cell, for errors. The name and the unit are those of a single input.
    pub(crate) fn place(&self, source: &str, unit: &str, column: &str) -> String {
        match &self.file {
            Some(file) => place(&file.name, file.unit, self.line, column),
            None => place(source, unit, self.line, column),
        }
    }
}

/// A source of rows.
pub(crate) trait RowReader: Send {
    /// Fills the row, or returns `false` at the end of the input. After [`CliError::BadRow`], the next
    /// call reads the next row.
    fn read(&mut self, row: &mut Row) -> Result<bool>;

    /// The share of the input that has been read, from 0 to 1, if it is known.
    fn fraction_read(&self) -> Option<f64>;

    /// Whether the cells of a requested column can be names: texts or integers.
    fn holds_names(&self, column: usize) -> bool;

    /// What `Row::line` counts: a "line" or a "row".
    fn unit(&self) -> &'static str {
        "line"
    }

    /// Adds some of the next rows to totals, if that is faster. The rows that it takes are read.
    /// Returns whether another call may take more.
    fn add_in_bulk(&mut self, _bulk: &mut Bulk<'_>) -> Result<bool> {
        Ok(false)
    }
}

/// Opens an input. With `follow`, the reader waits at the end of a file for rows that are appended.
pub(crate) fn open(
    path: &Path,
    layout: impl Into<Layout>,
    columns: &[String],
    follow: bool,
) -> Result<Box<dyn RowReader>> {
    let layout = layout.into();
    let format = layout.format_of(path)?;
    let binary = match format {
        InputFormat::Parquet => Some("a Parquet"),
        InputFormat::Arrow => Some("an Arrow"),
        InputFormat::Csv | InputFormat::Tsv | InputFormat::Jsonl | InputFormat::Json => None,
    };
    if let Some(kind) = binary.filter(|_| follow) {
        let why = "it is readable only once it is complete";
        return Err(CliError::bad(format!("{kind} file cannot be followed: {why}")));
    }
    match format {
        InputFormat::Parquet => return Ok(Box::new(ParquetReader::open(path, columns)?)),
        InputFormat::Arrow => return Ok(Box::new(ArrowReader::open(path, columns)?)),
        _ => {}
    }
    let delimiter = layout.delimiter_of(format)?;
    if !follow {
        return text_reader(Source::open(path)?, format, delimiter, columns);
    }
    if path.as_os_str() == "-" {
        let input = piped::Piped::start().map_err(|error| CliError::reading(path, &error))?;
        return text_reader(Source::growing(path, Box::new(input)), format, delimiter, columns);
    }
    Ok(Box::new(followed::Followed::open(path, format, delimiter, columns)?))
}

fn text_reader(
    source: Source,
    format: InputFormat,
    delimiter: u8,
    columns: &[String],
) -> Result<Box<dyn RowReader>> {
    Ok(match format {
        InputFormat::Json => json::open(source, columns)?,
        InputFormat::Jsonl => Box::new(json::JsonLinesReader::new(json::buffered(source), columns)),
        InputFormat::Csv | InputFormat::Tsv | InputFormat::Parquet | InputFormat::Arrow => {
            Box::new(csv::CsvReader::open(source, delimiter, columns)?)
        }
    })
}

/// The names of all columns of a file, in order, without reading a row. `None` for a format without
/// a header, and for standard input, which cannot be read twice.
pub(crate) fn column_names(path: &Path, layout: impl Into<Layout>) -> Result<Option<Vec<String>>> {
    let layout = layout.into();
    let format = layout.format_of(path)?;
    match format {
        _ if path.as_os_str() == "-" => Ok(None),
        InputFormat::Csv | InputFormat::Tsv => {
            csv::names(Source::open(path)?, layout.delimiter_of(format)?).map(Some)
        }
        InputFormat::Parquet => ParquetReader::names(path).map(Some),
        InputFormat::Arrow => ArrowReader::names(path).map(Some),
        InputFormat::Json | InputFormat::Jsonl => Ok(None),
    }
}

/// Reads an input in memory, for fuzzing.
pub(crate) fn held(bytes: Vec<u8>, format: InputFormat, columns: &[String]) -> Result<Box<dyn RowReader>> {
    let name = "memory";
    match format {
        InputFormat::Parquet => Ok(Box::new(ParquetReader::held(name, bytes, columns)?)),
        InputFormat::Arrow => Ok(Box::new(ArrowReader::held(name, bytes, columns)?)),
        _ => {
            let delimiter = Layout::default().delimiter_of(format)?;
            text_reader(Source::held(name, bytes), format, delimiter, columns)
        }
    }
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
    CliError::BadRow(format!("{place}: expected {expected}, got {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small compressed file with one line of hundreds of megabytes once ended the program, because no
    /// memory could hold it.
    #[test]
    fn what_is_too_long_is_named() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let cases = [
            (InputFormat::Csv, format!("n\n{long}\n"), "line 2 is longer than 64 MiB"),
            (InputFormat::Csv, format!("n\n\"{long}\n"), "line 2 is longer than 64 MiB"),
            (
                InputFormat::Jsonl,
                format!("{{\"n\":1}}\n{{\"n\":\"{long}\"}}\n"),
                "line 2 is longer than 64 MiB",
            ),
            (InputFormat::Json, format!("[{{\"n\":\"{long}\"}}]"), "element 1 of its array is longer"),
        ];
        for (format, text, expected) in cases {
            let source = Source::held("memory", text.into_bytes());
            let mut reader = text_reader(source, format, b',', &["n".to_owned()]).unwrap();
            let mut row = Row::for_columns(&["n".to_owned()]);
            let error = loop {
                match reader.read(&mut row) {
                    Ok(true) => {}
                    Ok(false) => panic!("{expected}"),
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains(expected), "{error}");
        }
        // A record of many short lines is as long.
        let text = format!("n\n\"{}", "xxxxxxx\n".repeat(MAX_LINE_BYTES / 8 + 1));
        let opened =
            text_reader(Source::held("memory", text.into()), InputFormat::Csv, b',', &["n".to_owned()]);
        let error = opened.unwrap().read(&mut Row::for_columns(&["n".to_owned()])).unwrap_err().to_string();
        assert!(error.contains("the record from line 2 is longer"), "{error}");
    }
}
