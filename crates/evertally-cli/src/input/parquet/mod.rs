//! Parquet, read by columns in batches. Only flat columns are read: a list or a group has no single
//! value per row. A member of a group is named by its path.
//!
//! **Two ways.** [`ParquetReader::read`](RowReader::read) turns every value into a cell. [`bulk`] adds
//! row groups to totals on all cores, without cells, and leaves what it is not sure of to the first way.

mod bulk;
mod column;
mod hybrid;

use super::columns::positions;
use super::shared_file::SharedFile;
use super::source::open_file;
use super::{Bulk, Row, RowReader};
use crate::error::{CliError, Result, name_of, shown};
use crate::panic_guard::without_panic;
use bytes::Bytes;
use column::{Column, holds_names};
use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;

const ROWS_PER_BATCH: usize = 4096;

pub(crate) struct ParquetReader {
    name: String,
    file: Box<dyn FileReader>,
    columns: Vec<Column>,
    /// The row groups that are not read yet, in order.
    groups: VecDeque<Group>,
    rows_left_in_group: usize,
    at: usize,
    filled: usize,
    /// The number of the row that comes next, from 0, and of rows that were read.
    next_row: u64,
    rows_read: u64,
    rows: u64,
}

/// A row group, or the rest of one.
#[derive(Clone, Copy)]
struct Group {
    index: usize,
    /// The number of its first row in the file, from 0.
    first_row: u64,
    rows: usize,
    /// How many of its rows are read already.
    skip: usize,
}

impl ParquetReader {
    /// The names of all columns.
    pub(crate) fn names(path: &Path) -> Result<Vec<String>> {
        let reader = Self::open(path, &[])?;
        let schema = reader.file.metadata().file_metadata().schema_descr();
        Ok(schema.columns().iter().map(|column| column.path().string()).collect())
    }

    pub(crate) fn open(path: &Path, columns: &[String]) -> Result<Self> {
        let name = name_of(path);
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(|error| CliError::reading(path, &error))?;
            return Self::held(&name, bytes, columns);
        }
        let file = SharedFile::new(open_file(path)?).map_err(|error| CliError::reading(path, &error))?;
        if file.is_empty() {
            return Err(CliError::bad(format!("{name} is empty: expected a Parquet file")));
        }
        Self::new(name, file, columns)
    }

    /// The same for a file in memory.
    pub(crate) fn held(name: &str, bytes: Vec<u8>, columns: &[String]) -> Result<Self> {
        Self::new(name.to_owned(), Bytes::from(bytes), columns)
    }

    fn new(name: String, bytes: impl ChunkReader + 'static, columns: &[String]) -> Result<Self> {
        let file = without_panic(|| SerializedFileReader::new(bytes)).ok_or_else(|| damaged(&name))?;
        let file: Box<dyn FileReader> = Box::new(file.map_err(|error| failure(&name, &error))?);
        let metadata = file.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let present: Vec<&[String]> = schema.columns().iter().map(|column| column.path().parts()).collect();
        let columns = positions(&name, &present, columns, "")?
            .into_iter()
            .map(|index| Column::new(&name, index, schema.column(index)))
            .collect::<Result<Vec<_>>>()?;
        let (mut groups, mut first_row) = (VecDeque::new(), 0);
        for (index, group) in metadata.row_groups().iter().enumerate() {
            let rows = usize::try_from(group.num_rows()).map_err(|_| damaged(&name))?;
            groups.push_back(Group { index, first_row, rows, skip: 0 });
            first_row = first_row.saturating_add(rows as u64);
            for column in &columns {
                let chunk = group.columns().get(column.index).ok_or_else(|| damaged(&name))?;
                check_compression(&name, column, chunk.compression())?;
            }
        }
        Ok(Self {
            name,
            columns,
            groups,
            rows_left_in_group: 0,
            at: 0,
            filled: 0,
            next_row: 0,
            rows_read: 0,
            rows: first_row,
            file,
        })
    }

    /// Reads the next batch of every column; `false` at the end.
    fn fill(&mut self) -> Result<bool> {
        without_panic(|| self.fill_columns()).unwrap_or_else(|| Err(damaged(&self.name)))
    }

    fn fill_columns(&mut self) -> Result<bool> {
        while self.rows_left_in_group == 0 {
            let Some(next) = self.groups.pop_front() else { return Ok(false) };
            let fail = |error| failure(&self.name, &error);
            let group = self.file.get_row_group(next.index).map_err(fail)?;
            for column in &mut self.columns {
                let mut reader = group.get_column_reader(column.index).map_err(fail)?;
                skip(&mut reader, next.skip).map_err(fail)?;
                column.reader = Some(reader);
            }
            self.rows_left_in_group = next.rows - next.skip;
            self.next_row = next.first_row + next.skip as u64;
        }
        let count = self.rows_left_in_group.min(ROWS_PER_BATCH);
        for column in &mut self.columns {
            column.fill(&self.name, count)?;
        }
        self.rows_left_in_group -= count;
        (self.at, self.filled) = (0, count);
        Ok(true)
    }
}

/// Goes past rows of a row group.
fn skip(reader: &mut ColumnReader, count: usize) -> std::result::Result<(), ParquetError> {
    use ColumnReader as C;
    if count == 0 {
        return Ok(());
    }
    let skipped = match reader {
        C::BoolColumnReader(reader) => reader.skip_records(count),
        C::Int32ColumnReader(reader) => reader.skip_records(count),
        C::Int64ColumnReader(reader) => reader.skip_records(count),
        C::Int96ColumnReader(reader) => reader.skip_records(count),
        C::FloatColumnReader(reader) => reader.skip_records(count),
        C::DoubleColumnReader(reader) => reader.skip_records(count),
        C::ByteArrayColumnReader(reader) => reader.skip_records(count),
        C::FixedLenByteArrayColumnReader(reader) => reader.skip_records(count),
    }?;
    if skipped == count {
        Ok(())
    } else {
        Err(ParquetError::EOF("a column ends before its row group".to_owned()))
    }
}

/// Refuses a compression that this program is built without, before anything is read.
fn check_compression(name: &str, column: &Column, compression: Compression) -> Result<()> {
    if compression != Compression::LZO {
        return Ok(());
    }
    let column = shown(&column.name);
    Err(CliError::bad(format!(
        "{name}, column {column} is compressed with LZO, which is not read here; write the file again with zstd, snappy, gzip, lz4 or brotli"
    )))
}

impl RowReader for ParquetReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        if self.at == self.filled && !self.fill()? {
            return Ok(false);
        }
        self.rows_read += 1;
        self.next_row += 1;
        row.line = self.next_row;
        for (column, cell) in self.columns.iter_mut().zip(&mut row.cells) {
            *cell = std::mem::take(&mut column.cells[self.at]);
        }
        self.at += 1;
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        // A damaged file may have more rows than it says.
        (self.rows > 0).then(|| (self.rows_read as f64 / self.rows as f64).min(1.0))
    }

    fn holds_names(&self, column: usize) -> bool {
        self.columns.get(column).is_none_or(|column| holds_names(&column.descriptor))
    }

    fn unit(&self) -> &'static str {
        "row"
    }

    fn add_in_bulk(&mut self, bulk: &mut Bulk<'_>) -> Result<bool> {
        self.add_groups(bulk)
    }
}

fn damaged(name: &str) -> CliError {
    CliError::bad(format!("{name} is not a complete Parquet file: it was cut short or damaged"))
}

/// A message of the library may repeat data. Only errors that name a missing feature are passed on.
fn failure(name: &str, error: &ParquetError) -> CliError {
    match error {
        ParquetError::NYI(what) => {
            CliError::bad(format!("{name} uses a part of Parquet that is not read here: {what}"))
        }
        ParquetError::External(source) => match source.downcast_ref::<std::io::Error>() {
            Some(error) => CliError::reading(Path::new(name), error),
            None => damaged(name),
        },
        _ => damaged(name),
    }
}

#[cfg(test)]
mod tests;
