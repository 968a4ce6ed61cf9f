//! Comma-separated values with a header line.

use super::{BYTE_ORDER_MARK, Row, RowReader, Source, positions};
use crate::error::{CliError, Result, shown};
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

pub(crate) struct CsvReader {
    name: String,
    columns: Vec<String>,
    positions: Vec<usize>,
    reader: Reader<Source>,
    record: ByteRecord,
}

/// The names in the header line.
pub(crate) fn names(source: Source) -> Result<Vec<String>> {
    let name = source.name.clone();
    header(&name, &mut ReaderBuilder::new().from_reader(source))
}

fn header(name: &str, reader: &mut Reader<Source>) -> Result<Vec<String>> {
    let header = reader.byte_headers().map_err(|error| failure(name, &error))?;
    if header.is_empty() {
        return Err(CliError::bad(format!(
            "{name} is empty: expected a header line with the names of the columns"
        )));
    }
    Ok(header.iter().map(column_name).collect())
}

impl CsvReader {
    pub(crate) fn open(source: Source, columns: &[String]) -> Result<Self> {
        let name = source.name.clone();
        let mut reader = ReaderBuilder::new().from_reader(source);
        let present = header(&name, &mut reader)?;
        let positions =
            positions(&name, &present, columns, " in its first line, which must name the columns")?;
        Ok(Self { name, columns: columns.to_vec(), positions, reader, record: ByteRecord::new() })
    }
}

/// A column's name without surrounding spaces and without a byte order mark.
fn column_name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim_start_matches(BYTE_ORDER_MARK).trim().to_owned()
}

impl RowReader for CsvReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        if !self.reader.read_byte_record(&mut self.record).map_err(|error| failure(&self.name, &error))? {
            return Ok(false);
        }
        row.line = self.record.position().map_or(0, csv::Position::line);
        for ((&at, cell), column) in self.positions.iter().zip(&mut row.cells).zip(&self.columns) {
            let text = std::str::from_utf8(&self.record[at]).map_err(|_| {
                let place = format!("{}, line {}, column {}", self.name, row.line, shown(column));
                CliError::bad(format!("{place}: expected text in UTF-8"))
            })?;
            cell.set_text(text);
        }
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        self.reader.get_ref().fraction_read()
    }

    /// All cells are texts.
    fn holds_names(&self, _column: usize) -> bool {
        true
    }
}

fn failure(name: &str, error: &csv::Error) -> CliError {
    match error.kind() {
        ErrorKind::Io(error) => CliError::reading(std::path::Path::new(name), error),
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            CliError::bad(format!(
                "{name}, line {line}: expected {expected_len} columns as in the header, got {len}"
            ))
        }
        _ => CliError::bad(format!("{name}: {error}")),
    }
}
