//! Parquet as other programs write it: every kind of time, text, number and absence.

use super::*;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::sync::Arc;

/// One second after 5 January 2026, midnight.
const MOMENT: i64 = 1_767_571_201;

const SCHEMA: &str = "message events {
    required int64 millis (TIMESTAMP(MILLIS,true));
    required int64 micros (TIMESTAMP(MICROS,true));
    required int64 nanos (TIMESTAMP(NANOS,true));
    required int96 old;
    required int32 day (DATE);
    required int64 seconds;
    optional binary name (STRING);
    required double decimal;
    required boolean flag;
    required fixed_len_byte_array(4) money (DECIMAL(8,2));
    required int64 unsigned (INTEGER(64,false));
    required binary raw;
}";

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

/// Two row groups of two rows each.
fn write(path: &Path) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        for scale in [1_000, 1_000_000, 1_000_000_000] {
            column::<Int64Type>(&mut group, &[MOMENT * scale; 2], None);
        }
        // Julian day 2,461,046 is 5 January 2026; the first two words are the nanoseconds of the day.
        let old = Int96::from(vec![1_000_000_000, 0, 2_461_046]);
        column::<Int96Type>(&mut group, &[old, old], None);
        column::<Int32Type>(&mut group, &[20_458; 2], None);
        column::<Int64Type>(&mut group, &[MOMENT; 2], None);
        column::<ByteArrayType>(&mut group, &[ByteArray::from("north")], Some(&[1, 0]));
        column::<DoubleType>(&mut group, &[2.5, f64::NAN], None);
        column::<BoolType>(&mut group, &[true, false], None);
        let money = FixedLenByteArray::from(vec![0xFF, 0xFF, 0xFF, 0x9C]);
        column::<FixedLenByteArrayType>(&mut group, &[money.clone(), money], None);
        column::<Int64Type>(&mut group, &[7, -1], None);
        column::<ByteArrayType>(&mut group, &[ByteArray::from("ok"), ByteArray::from(vec![0xFF])], None);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn bytes() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.parquet");
    write(&path);
    std::fs::read(path).unwrap()
}

fn rows(names: &[&str]) -> Result<Vec<Row>> {
    rows_of(bytes(), names)
}

fn rows_of(bytes: Vec<u8>, names: &[&str]) -> Result<Vec<Row>> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut reader = ParquetReader::held("events.parquet", bytes, &names)?;
    let mut rows = Vec::new();
    loop {
        let mut row = Row::for_columns(&names);
        if !reader.read(&mut row)? {
            return Ok(rows);
        }
        rows.push(row);
    }
}

#[test]
fn every_kind_of_time_is_the_same_moment() {
    let rows = rows(&["millis", "micros", "nanos", "old", "seconds", "day"]).unwrap();
    assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for row in &rows {
        for cell in &row.cells[..5] {
            assert_eq!(cell.as_time(), Some(MOMENT * 1_000_000));
        }
        assert_eq!(row.cells[5].as_time(), Some((MOMENT - 1) * 1_000_000));
    }
}

#[test]
fn text_numbers_and_absence() {
    let rows = rows(&["name", "decimal", "flag", "money", "unsigned"]).unwrap();
    let [first, second] = [&rows[2].cells, &rows[3].cells];
    assert_eq!(first[0].as_name().as_deref(), Some("north"));
    assert!(matches!(second[0], Cell::Missing));
    assert_eq!([first[1].as_value(), second[1].as_value()], [Some(2.5), None]);
    assert_eq!(second[2].as_name().as_deref(), Some("false"));
    assert_eq!(first[3].as_value(), Some(-1.0));
    // The largest unsigned number lies outside i64 and must not wrap around to -1.
    assert_eq!([first[4].as_value(), second[4].as_value()], [Some(7.0), None]);
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let refusal = rows(&["raw"]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refusal.contains("\"raw\"") && refusal.contains("UTF-8"), "{refusal}");
}

/// Found by fuzzing: the reader panics on some damaged files, where a page has lost the dictionary
/// that it refers to for example.
#[test]
fn a_reader_that_panics_says_that_the_file_is_damaged() {
    let (bytes, mut refused) = (bytes(), 0);
    for at in (0..bytes.len()).step_by(3) {
        for mask in [0x01, 0x08, 0xFF] {
            let mut bent = bytes.clone();
            bent[at] ^= mask;
            // Some bytes carry no checked meaning, and then the file is simply read.
            if let Err(error) = rows_of(bent, &["millis", "name", "money", "old"]) {
                assert_eq!(error.exit_code(), 2, "byte {at}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100);
}
