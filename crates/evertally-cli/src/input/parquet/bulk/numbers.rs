//! Columns of numbers, a batch at a time.

use super::Shape;
use crate::input::meaning::Meaning;
use evertally_stream::time::TimeReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::RowGroupReader;

/// A column of numbers.
pub(super) struct Numbers {
    pub(super) reader: ColumnReader,
    pub(super) integers: Vec<i64>,
    pub(super) shorts: Vec<i32>,
    doubles: Vec<f64>,
    singles: Vec<f32>,
}

impl Numbers {
    pub(super) fn open(group: &dyn RowGroupReader, column: &Shape) -> Option<Self> {
        let reader = group.get_column_reader(column.index).ok()?;
        Some(Self {
            reader,
            integers: Vec::new(),
            shorts: Vec::new(),
            doubles: Vec::new(),
            singles: Vec::new(),
        })
    }

    pub(super) fn read_times(
        &mut self,
        count: usize,
        meaning: Meaning,
        times: &TimeReader,
        out: &mut Vec<i64>,
    ) -> Option<()> {
        out.clear();
        match &mut self.reader {
            ColumnReader::Int64ColumnReader(reader) => {
                read_all(reader, count, &mut self.integers)?;
                extend(out, &self.integers, |value| meaning.time(value, times))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read_all(reader, count, &mut self.shorts)?;
                extend(out, &self.shorts, |value| meaning.time(i64::from(value), times))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read_all(reader, count, &mut self.doubles)?;
                extend(out, &self.doubles, |value| times.parse_decimal(value))
            }
            _ => None,
        }
    }

    pub(super) fn read_values(&mut self, count: usize, meaning: Meaning, out: &mut Vec<f64>) -> Option<()> {
        let integer = |value: i64| meaning.cell(value)?.as_value();
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        out.clear();
        match &mut self.reader {
            ColumnReader::Int64ColumnReader(reader) => {
                read_all(reader, count, &mut self.integers)?;
                extend(out, &self.integers, integer)
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read_all(reader, count, &mut self.shorts)?;
                extend(out, &self.shorts, |value| integer(i64::from(value)))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read_all(reader, count, &mut self.doubles)?;
                extend(out, &self.doubles, finite)
            }
            ColumnReader::FloatColumnReader(reader) => {
                read_all(reader, count, &mut self.singles)?;
                extend(out, &self.singles, |value| finite(f64::from(value)))
            }
            _ => None,
        }
    }
}

/// Reads exactly `count` rows, none of which is missing.
fn read_all<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    values: &mut Vec<T::T>,
) -> Option<()> {
    values.clear();
    let mut levels = Vec::new();
    while values.len() < count {
        levels.clear();
        let (rows, read, _) =
            reader.read_records(count - values.len(), Some(&mut levels), None, values).ok()?;
        if rows == 0 || rows != read {
            return None;
        }
    }
    Some(())
}

/// Converts all values, or stops at one that does not convert.
fn extend<T: Copy, U>(out: &mut Vec<U>, values: &[T], convert: impl Fn(T) -> Option<U>) -> Option<()> {
    out.reserve(values.len());
    for &value in values {
        out.push(convert(value)?);
    }
    Some(())
}

/// Reads exactly `count` rows. Rows with a value have the highest level.
pub(super) fn read_present<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    max_level: i16,
    values: &mut Vec<T::T>,
    levels: &mut Vec<i16>,
) -> Option<()> {
    values.clear();
    levels.clear();
    let mut rows = 0;
    while rows < count {
        let (read, _, _) = reader.read_records(count - rows, Some(levels), None, values).ok()?;
        if read == 0 {
            return None;
        }
        rows += read;
    }
    // A column that cannot be null has no levels.
    levels.resize(count, max_level);
    Some(())
}
