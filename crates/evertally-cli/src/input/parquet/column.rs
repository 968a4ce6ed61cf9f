//! One column of a Parquet file, and what its values mean.

use super::{damaged, failure};
use crate::error::{CliError, Result, shown};
use crate::input::Cell;
use crate::input::meaning::Meaning;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

pub(super) struct Column {
    pub(super) name: String,
    pub(super) index: usize,
    pub(super) descriptor: ColumnDescPtr,
    pub(super) reader: Option<ColumnReader>,
    pub(super) cells: Vec<Cell>,
}

impl Column {
    pub(super) fn new(source: &str, index: usize, descriptor: ColumnDescPtr) -> Result<Self> {
        let name = descriptor.path().string();
        let supported =
            descriptor.physical_type() != PhysicalType::FIXED_LEN_BYTE_ARRAY || is_decimal(&descriptor);
        if descriptor.max_rep_level() > 0 || !supported {
            let expected = "expected a flat column of text, numbers, dates or times";
            return Err(CliError::bad(format!("{source}, column {}: {expected}", shown(&name))));
        }
        Ok(Self { name, index, descriptor, reader: None, cells: Vec::new() })
    }

    pub(super) fn fill(&mut self, source: &str, count: usize) -> Result<()> {
        use ColumnReader as C;
        let meaning = meaning_of(&self.descriptor);
        let integer = |value| meaning.cell(value);
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
                read_batch(reader, nullable, count, cells, |value| Some(Cell::Single(value)))
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

/// What the integers of a column mean.
pub(super) fn meaning_of(descriptor: &ColumnDescPtr) -> Meaning {
    let time = |multiply, divide, is_local| Meaning::Time { multiply, divide, is_local };
    match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::Timestamp(kind)), _) => {
            let (multiply, divide) = match kind.unit {
                TimeUnit::MILLIS => (1_000, 1),
                TimeUnit::MICROS => (1, 1),
                TimeUnit::NANOS => (1, 1_000),
            };
            time(multiply, divide, !kind.is_adjusted_to_u_t_c)
        }
        (Some(LogicalType::Time(kind)), _) => Meaning::Clock {
            per_second: match kind.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            },
        },
        (_, ConvertedType::TIMESTAMP_MILLIS) => time(1_000, 1, false),
        (_, ConvertedType::TIMESTAMP_MICROS) => time(1, 1, false),
        (_, ConvertedType::TIME_MILLIS) => Meaning::Clock { per_second: 1_000 },
        (_, ConvertedType::TIME_MICROS) => Meaning::Clock { per_second: 1_000_000 },
        (_, ConvertedType::DATE) => Meaning::Day,
        (_, ConvertedType::DECIMAL) => Meaning::Decimal { scale: descriptor.type_scale() },
        (_, ConvertedType::UINT_32) => Meaning::Unsigned32,
        (_, ConvertedType::UINT_64) => Meaning::Unsigned64,
        _ => Meaning::Number,
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
pub(super) fn holds_names(descriptor: &ColumnDescPtr) -> bool {
    match descriptor.physical_type() {
        PhysicalType::BOOLEAN | PhysicalType::FLOAT | PhysicalType::DOUBLE | PhysicalType::INT96 => false,
        PhysicalType::INT32 | PhysicalType::INT64 => meaning_of(descriptor).holds_names(),
        _ => !is_decimal(descriptor),
    }
}

pub(super) fn is_decimal(descriptor: &ColumnDescPtr) -> bool {
    descriptor.converted_type() == ConvertedType::DECIMAL
}

/// A signed number of up to 16 bytes, the first of which carries the sign.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let (&first, _) = bytes.split_first().filter(|_| bytes.len() <= 16)?;
    let sign = if first >= 0x80 { -1 } else { 0 };
    Some(bytes.iter().fold(sign, |number, &byte| (number << 8) | i128::from(byte)))
}
