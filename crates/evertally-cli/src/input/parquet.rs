//! Parquet, read by columns in batches. Only flat columns are read: a list or a group has no single
//! value per row.

use super::panic_guard::without_panic;
use super::{Cell, Row, RowReader, open_file, positions};
use crate::error::{CliError, Result, name_of, shown};
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;
use std::io::Read;
use std::path::Path;

const ROWS_PER_BATCH: usize = 4096;
const MICROS_PER_DAY: i64 = 86_400_000_000;

pub(crate) struct ParquetReader {
    name: String,
    file: Box<dyn FileReader>,
    columns: Vec<Column>,
    next_row_group: usize,
    rows_left_in_group: usize,
    at: usize,
    filled: usize,
    rows_read: u64,
    rows: u64,
}

struct Column {
    name: String,
    index: usize,
    descriptor: ColumnDescPtr,
    reader: Option<ColumnReader>,
    cells: Vec<Cell>,
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
        let file = open_file(path)?;
        if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
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
        let metadata = file.metadata().file_metadata();
        let schema = metadata.schema_descr();
        let present: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
        let columns = positions(&name, &present, columns, "")?
            .into_iter()
            .map(|index| Column::new(&name, index, schema.column(index)))
            .collect::<Result<_>>()?;
        let rows = u64::try_from(metadata.num_rows()).unwrap_or_default();
        Ok(Self {
            name,
            columns,
            next_row_group: 0,
            rows_left_in_group: 0,
            at: 0,
            filled: 0,
            rows_read: 0,
            rows,
            file,
        })
    }

    /// Reads the next batch of every column; `false` at the end.
    fn fill(&mut self) -> Result<bool> {
        without_panic(|| self.fill_columns()).unwrap_or_else(|| Err(damaged(&self.name)))
    }

    fn fill_columns(&mut self) -> Result<bool> {
        while self.rows_left_in_group == 0 {
            if self.next_row_group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group =
                self.file.get_row_group(self.next_row_group).map_err(|error| failure(&self.name, &error))?;
            let rows = group.metadata().num_rows();
            self.rows_left_in_group = usize::try_from(rows).map_err(|_| damaged(&self.name))?;
            for column in &mut self.columns {
                let reader =
                    group.get_column_reader(column.index).map_err(|error| failure(&self.name, &error))?;
                column.reader = Some(reader);
            }
            self.next_row_group += 1;
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

impl RowReader for ParquetReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        if self.at == self.filled && !self.fill()? {
            return Ok(false);
        }
        self.rows_read += 1;
        row.line = self.rows_read;
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
}

impl Column {
    fn new(source: &str, index: usize, descriptor: ColumnDescPtr) -> Result<Self> {
        let name = descriptor.path().string();
        let supported =
            descriptor.physical_type() != PhysicalType::FIXED_LEN_BYTE_ARRAY || is_decimal(&descriptor);
        if descriptor.max_rep_level() > 0 || !supported {
            let expected = "expected a flat column of text, numbers, dates or times";
            return Err(CliError::bad(format!("{source}, column {}: {expected}", shown(&name))));
        }
        Ok(Self { name, index, descriptor, reader: None, cells: Vec::new() })
    }

    fn fill(&mut self, source: &str, count: usize) -> Result<()> {
        use ColumnReader as C;
        let integer = integer_cell(&self.descriptor);
        let bytes = bytes_of(&self.descriptor);
        let cells = &mut self.cells;
        let nullable = self.descriptor.max_def_level();
        let Some(reader) = &mut self.reader else { return Err(damaged(source)) };
        let read = match reader {
            C::BoolColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| Some(Cell::Literal(value.to_string())))
            }
            C::Int32ColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| integer(i64::from(value)))
            }
            C::Int64ColumnReader(reader) => read_batch(reader, nullable, count, cells, integer),
            C::Int96ColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| Some(Cell::Time(value.to_micros())))
            }
            C::FloatColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| Some(Cell::Decimal(f64::from(value))))
            }
            C::DoubleColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| Some(Cell::Decimal(value)))
            }
            C::ByteArrayColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| bytes(value.data()))
            }
            C::FixedLenByteArrayColumnReader(reader) => {
                read_batch(reader, nullable, count, cells, |value| bytes(value.data()))
            }
        };
        match read {
            Ok(true) => Ok(()),
            Ok(false) => {
                let column = shown(&self.name);
                Err(CliError::bad(format!(
                    "{source}, column {column}: expected text in UTF-8, numbers, dates or times"
                )))
            }
            Err(error) => Err(failure(source, &error)),
        }
    }
}

/// Reads exactly `count` rows into cells. Returns `false` if a value does not convert, and an error
/// if rows are missing.
fn read_batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    defined_level: i16,
    count: usize,
    cells: &mut Vec<Cell>,
    convert: impl Fn(T::T) -> Option<Cell>,
) -> std::result::Result<bool, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut records = 0;
    while records < count {
        let (read, _, _) = reader.read_records(count - records, Some(&mut levels), None, &mut values)?;
        if read == 0 {
            return Err(ParquetError::EOF("a column ends before its row group".to_owned()));
        }
        records += read;
    }
    // A column that cannot be null has no levels.
    levels.resize(count, defined_level);
    let mut values = values.into_iter();
    cells.clear();
    for level in levels {
        let cell = match (level == defined_level).then(|| values.next()).flatten() {
            Some(value) => convert(value),
            None => Some(Cell::Missing),
        };
        let Some(cell) = cell else { return Ok(false) };
        cells.push(cell);
    }
    Ok(true)
}

/// What the integers of a column mean: times, dates, decimals or integers.
fn integer_cell(descriptor: &ColumnDescPtr) -> impl Fn(i64) -> Option<Cell> + use<> {
    enum Meaning {
        Number,
        Unsigned32,
        Unsigned64,
        Day,
        Time { multiply: i64, divide: i64, is_local: bool },
        Decimal { scale: i32 },
    }
    let meaning = match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::Timestamp(kind)), _) => {
            let (multiply, divide) = match kind.unit {
                TimeUnit::MILLIS => (1_000, 1),
                TimeUnit::MICROS => (1, 1),
                TimeUnit::NANOS => (1, 1_000),
            };
            Meaning::Time { multiply, divide, is_local: !kind.is_adjusted_to_u_t_c }
        }
        (_, ConvertedType::TIMESTAMP_MILLIS) => Meaning::Time { multiply: 1_000, divide: 1, is_local: false },
        (_, ConvertedType::TIMESTAMP_MICROS) => Meaning::Time { multiply: 1, divide: 1, is_local: false },
        (_, ConvertedType::DATE) => Meaning::Day,
        (_, ConvertedType::DECIMAL) => Meaning::Decimal { scale: descriptor.type_scale() },
        (_, ConvertedType::UINT_32) => Meaning::Unsigned32,
        (_, ConvertedType::UINT_64) => Meaning::Unsigned64,
        _ => Meaning::Number,
    };
    move |value| match meaning {
        Meaning::Number => Some(Cell::Integer(value)),
        Meaning::Unsigned32 => Some(Cell::Integer(i64::from(value as u32))),
        // A number outside i64 keeps its digits, so that the check of values sees and refuses it.
        Meaning::Unsigned64 => Some(Cell::Text((value as u64).to_string())),
        Meaning::Day => value.checked_mul(MICROS_PER_DAY).map(Cell::LocalTime),
        Meaning::Time { multiply, divide, is_local } => {
            let micros = value.checked_mul(multiply)?.div_euclid(divide);
            Some(if is_local { Cell::LocalTime(micros) } else { Cell::Time(micros) })
        }
        Meaning::Decimal { scale } => Some(Cell::Decimal(value as f64 / 10_f64.powi(scale))),
    }
}

/// What the bytes of a column mean: decimals or text.
fn bytes_of(descriptor: &ColumnDescPtr) -> impl Fn(&[u8]) -> Option<Cell> + use<> {
    let scale = is_decimal(descriptor).then(|| descriptor.type_scale());
    move |bytes| {
        if let Some(scale) = scale {
            return Some(Cell::Decimal(big_endian(bytes)? as f64 / 10_f64.powi(scale)));
        }
        let mut cell = Cell::Missing;
        cell.set_text(std::str::from_utf8(bytes).ok()?);
        Some(cell)
    }
}

/// Whether a column holds texts or integers. Floats, decimals and times are rounded when they are
/// read, so two different ones may be equal, and every NaN is. A boolean names no one either.
fn holds_names(descriptor: &ColumnDescPtr) -> bool {
    match descriptor.physical_type() {
        PhysicalType::BOOLEAN | PhysicalType::FLOAT | PhysicalType::DOUBLE | PhysicalType::INT96 => false,
        PhysicalType::INT32 | PhysicalType::INT64 => {
            matches!(integer_cell(descriptor)(0), Some(Cell::Integer(_) | Cell::Text(_)))
        }
        _ => !is_decimal(descriptor),
    }
}

fn is_decimal(descriptor: &ColumnDescPtr) -> bool {
    descriptor.converted_type() == ConvertedType::DECIMAL
}

/// A signed number of up to 16 bytes, the first of which carries the sign.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let (&first, _) = bytes.split_first().filter(|_| bytes.len() <= 16)?;
    let sign = if first >= 0x80 { -1 } else { 0 };
    Some(bytes.iter().fold(sign, |number, &byte| (number << 8) | i128::from(byte)))
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
        ParquetError::General(what) if what.contains("Disabled feature") => {
            CliError::bad(format!("{name} uses a compression that is not read here: {what}"))
        }
        ParquetError::External(source) => match source.downcast_ref::<std::io::Error>() {
            Some(error) => CliError::reading(Path::new(name), error),
            None => damaged(name),
        },
        _ => damaged(name),
    }
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
