//! One column of a Parquet file, and what its values mean.

use super::{damaged, failure};
use crate::error::{CliError, Result, shown};
use crate::input::Cell;
use evertally_stream::time::TimeReader;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

const MICROS_PER_DAY: i64 = 86_400_000_000;

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
        let meaning = Meaning::of(&self.descriptor);
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
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Number,
    Unsigned32,
    Unsigned64,
    Day,
    Time {
        multiply: i64,
        divide: i64,
        is_local: bool,
    },
    /// A time of day, which is not the time of an event.
    Clock {
        per_second: i64,
    },
    Decimal {
        scale: i32,
    },
}

impl Meaning {
    pub(super) fn of(descriptor: &ColumnDescPtr) -> Self {
        let time = |multiply, divide, is_local| Self::Time { multiply, divide, is_local };
        match (descriptor.logical_type_ref(), descriptor.converted_type()) {
            (Some(LogicalType::Timestamp(kind)), _) => {
                let (multiply, divide) = match kind.unit {
                    TimeUnit::MILLIS => (1_000, 1),
                    TimeUnit::MICROS => (1, 1),
                    TimeUnit::NANOS => (1, 1_000),
                };
                time(multiply, divide, !kind.is_adjusted_to_u_t_c)
            }
            (Some(LogicalType::Time(kind)), _) => Self::Clock {
                per_second: match kind.unit {
                    TimeUnit::MILLIS => 1_000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                },
            },
            (_, ConvertedType::TIMESTAMP_MILLIS) => time(1_000, 1, false),
            (_, ConvertedType::TIMESTAMP_MICROS) => time(1, 1, false),
            (_, ConvertedType::TIME_MILLIS) => Self::Clock { per_second: 1_000 },
            (_, ConvertedType::TIME_MICROS) => Self::Clock { per_second: 1_000_000 },
            (_, ConvertedType::DATE) => Self::Day,
            (_, ConvertedType::DECIMAL) => Self::Decimal { scale: descriptor.type_scale() },
            (_, ConvertedType::UINT_32) => Self::Unsigned32,
            (_, ConvertedType::UINT_64) => Self::Unsigned64,
            _ => Self::Number,
        }
    }

    pub(super) fn cell(self, value: i64) -> Option<Cell> {
        match self {
            Self::Number => Some(Cell::Integer(value)),
            Self::Unsigned32 => Some(Cell::Integer(i64::from(value as u32))),
            // A number outside i64 keeps its digits, so that the check of values sees and refuses it.
            Self::Unsigned64 => Some(Cell::Text((value as u64).to_string())),
            Self::Day => value.checked_mul(MICROS_PER_DAY).map(Cell::LocalTime),
            Self::Time { multiply, divide, is_local } => {
                let micros = value.checked_mul(multiply)?.div_euclid(divide);
                Some(if is_local { Cell::LocalTime(micros) } else { Cell::Time(micros) })
            }
            Self::Clock { per_second } => {
                let seconds = value.div_euclid(per_second);
                let [hours, minutes] = [seconds / 3_600, seconds / 60 % 60];
                Some(Cell::Literal(format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)))
            }
            Self::Decimal { scale } => Some(Cell::Decimal(value as f64 / 10_f64.powi(scale))),
        }
    }

    /// The time of a value: what its cell gives, without the cell.
    #[inline]
    pub(super) fn time(self, value: i64, times: &TimeReader) -> Option<i64> {
        match self {
            Self::Time { multiply, divide: 1, is_local: false } => value.checked_mul(multiply),
            _ => self.cell(value)?.as_time(times),
        }
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
        PhysicalType::INT32 | PhysicalType::INT64 => {
            matches!(Meaning::of(descriptor).cell(0), Some(Cell::Integer(_) | Cell::Text(_)))
        }
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
