//! Releases as Parquet, with the header in the file's key-value metadata under `evertally.…`.

use super::{Destination, Header, Period, ReleaseWriter, ReleasedRow, Shape};
use crate::error::{CliError, Result};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::BufWriter;
use std::sync::Arc;

/// Rows that are held before they are written as one group.
const ROWS_PER_GROUP: usize = 1 << 16;

pub(crate) struct ParquetReleases {
    name: String,
    writer: SerializedFileWriter<BufWriter<Destination>>,
    shape: Shape,
    held: Held,
}

#[derive(Default)]
struct Held {
    periods: Vec<ByteArray>,
    firsts: Vec<i64>,
    steps: Vec<i64>,
    starts: Vec<i64>,
    keys: Vec<ByteArray>,
    /// One list for each column of numbers.
    numbers: Vec<Vec<Option<f64>>>,
}

impl ParquetReleases {
    pub(crate) fn start(destination: Destination, header: &Header, shape: Shape) -> Result<Self> {
        let name = destination.name();
        let period = if shape.periods {
            let [kind, first] = Period::COLUMNS;
            format!("required binary {kind} (STRING); required int64 {first};")
        } else {
            String::new()
        };
        let start = if shape.timed { "required int64 start (TIMESTAMP(MICROS,true));" } else { "" };
        let key = if shape.keyed { "required binary key (STRING);" } else { "" };
        let number = |(column, may_be_empty): &(&str, bool)| {
            format!("{} double {column};", if *may_be_empty { "optional" } else { "required" })
        };
        let numbers: String = shape.measures.columns().iter().map(number).collect();
        let text = format!("message releases {{ {period} required int64 step; {start} {key} {numbers} }}");
        let failed = |error| failure(&name, &error);
        let schema = Arc::new(parse_message_type(&text).map_err(failed)?);
        let facts =
            header.as_text().map(|(fact, text)| KeyValue::new(format!("evertally.{fact}"), text)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("evertally {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(facts))
            .build();
        let writer = SerializedFileWriter::new(BufWriter::new(destination), schema, Arc::new(properties));
        let writer = writer.map_err(failed)?;
        Ok(Self { name, writer, shape, held: Held::of(shape) })
    }

    fn write_group(&mut self) -> std::result::Result<(), ParquetError> {
        if self.held.steps.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        if self.shape.periods {
            write_column::<ByteArrayType>(&mut group, &self.held.periods)?;
            write_column::<Int64Type>(&mut group, &self.held.firsts)?;
        }
        write_column::<Int64Type>(&mut group, &self.held.steps)?;
        if self.shape.timed {
            write_column::<Int64Type>(&mut group, &self.held.starts)?;
        }
        if self.shape.keyed {
            write_column::<ByteArrayType>(&mut group, &self.held.keys)?;
        }
        for (numbers, (_, may_be_empty)) in self.held.numbers.iter().zip(self.shape.measures.columns()) {
            write_numbers(&mut group, numbers, *may_be_empty)?;
        }
        group.close()?;
        self.held = Held::of(self.shape);
        Ok(())
    }
}

impl Held {
    fn of(shape: Shape) -> Self {
        Self { numbers: vec![Vec::new(); shape.measures.columns().len()], ..Self::default() }
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<Destination>>,
    values: &[T::T],
) -> std::result::Result<(), ParquetError> {
    write_levels::<T>(group, values, None)
}

/// A column of numbers. If its cells may be empty, the level 1 says that there is a number.
fn write_numbers(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<Destination>>,
    numbers: &[Option<f64>],
    may_be_empty: bool,
) -> std::result::Result<(), ParquetError> {
    let levels: Vec<i16> = numbers.iter().map(|number| i16::from(number.is_some())).collect();
    let values: Vec<f64> = numbers.iter().copied().flatten().collect();
    write_levels::<DoubleType>(group, &values, may_be_empty.then_some(&levels))
}

fn write_levels<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<Destination>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> std::result::Result<(), ParquetError> {
    let column = group.next_column()?;
    let mut column =
        column.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

impl ReleaseWriter for ParquetReleases {
    fn write(&mut self, row: &ReleasedRow<'_>) -> Result<()> {
        // Horizons end at 2^60, so every step fits the signed column that other programs read most
        // easily.
        let signed = |step: u64| i64::try_from(step).unwrap_or(i64::MAX);
        self.held.steps.push(signed(row.step));
        if let Some(period) = row.period {
            self.held.periods.push(ByteArray::from(period.kind));
            self.held.firsts.push(signed(period.first));
        }
        self.held.starts.push(row.start.map_or(0, |start| start.micros));
        self.held.keys.push(ByteArray::from(row.key.unwrap_or_default()));
        for (column, number) in self.held.numbers.iter_mut().zip(row.measured.numbers()) {
            column.push(number);
        }
        if self.held.steps.len() == ROWS_PER_GROUP {
            self.write_group().map_err(|error| failure(&self.name, &error))?;
        }
        Ok(())
    }

    /// Parquet is whole or nothing: there is nothing to hand over before the end.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Destination> {
        self.write_group().map_err(|error| failure(&self.name, &error))?;
        let name = self.name;
        let buffer = self.writer.into_inner().map_err(|error| failure(&name, &error))?;
        buffer.into_inner().map_err(|error| CliError::writing(&name, error.error()))
    }
}

fn failure(name: &str, error: &ParquetError) -> CliError {
    if let ParquetError::External(source) = error
        && let Some(error) = source.downcast_ref::<std::io::Error>()
    {
        return CliError::writing(name, error);
    }
    CliError::Failure(format!("{name} cannot be written: {error}"))
}
