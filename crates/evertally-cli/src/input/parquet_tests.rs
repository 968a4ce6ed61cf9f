//! Parquet as other programs write it: every kind of time, text, number and absence.

use super::*;
use evertally_stream::Zone;
use evertally_stream::time::TimeReader;

/// One second after 5 January 2026, midnight.
const MOMENT: i64 = 1_767_571_201;

/// Two row groups of two rows each, as `crates/evertally-fuzz/examples/seeds.rs` writes them.
fn bytes() -> Vec<u8> {
    include_bytes!("../../../../fuzz/seeds/parquet/two-groups").to_vec()
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
    let times = TimeReader::default();
    for row in &rows {
        for cell in &row.cells[..5] {
            assert_eq!(cell.as_time(&times), Some(MOMENT * 1_000_000));
        }
        assert_eq!(row.cells[5].as_time(&times), Some((MOMENT - 1) * 1_000_000));
    }
}

/// Pandas writes times without a zone with this flag.
#[test]
fn times_without_a_zone_are_local_ones_and_floats_are_unix_times() {
    use parquet::data_type::{DoubleType, Int32Type, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message events {
        required int64 local (TIMESTAMP(MILLIS,false)); required int64 instant (TIMESTAMP(NANOS,true));
        required int32 day (DATE); required double seconds; required int64 millis; }";
    let mut bytes = Vec::new();
    let schema = parse_message_type(schema).unwrap().into();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let long = |group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, _>, value: i64| {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
    };
    long(&mut group, (MOMENT + 3600) * 1_000);
    long(&mut group, MOMENT * 1_000_000_000);
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[20_458], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[MOMENT as f64 + 0.1], None, None).unwrap();
    column.close().unwrap();
    long(&mut group, MOMENT * 1_000);
    group.close().unwrap();
    writer.close().unwrap();
    let row = &rows_of(bytes, &["local", "instant", "day", "seconds", "millis"]).unwrap()[0];
    let read = |times: &TimeReader| row.cells.iter().map(|cell| cell.as_time(times)).collect::<Vec<_>>();
    let [moment, hour] = [MOMENT * 1_000_000, 3_600_000_000];
    let zurich = TimeReader::new(Zone::named("Europe/Zurich"), None).unwrap();
    let common = [Some(moment + 100_000), Some(moment)];
    let midnight = moment - 1_000_000;
    assert_eq!(read(&zurich)[..3], [Some(moment), Some(moment), Some(midnight - hour)]);
    assert_eq!(read(&zurich)[3..], common);
    assert_eq!(read(&TimeReader::default())[..3], [Some(moment + hour), Some(moment), Some(midnight)]);
    assert_eq!(read(&TimeReader::default())[3..], common);
    assert_eq!(row.cells[0].as_shown().as_deref(), Some("2026-01-05T01:00:01"));
}

#[test]
fn text_numbers_and_absence() {
    let rows = rows(&["name", "decimal", "flag", "money", "unsigned"]).unwrap();
    let [first, second] = [&rows[2].cells, &rows[3].cells];
    assert_eq!(first[0].as_name().as_deref(), Some("north"));
    assert!(matches!(second[0], Cell::Missing));
    assert_eq!([first[1].as_value(), second[1].as_value()], [Some(2.5), None]);
    assert_eq!(second[2].as_shown().as_deref(), Some("false"));
    assert_eq!(first[3].as_value(), Some(-1.0));
    // The largest unsigned number lies outside i64 and must not wrap around to -1.
    assert_eq!([first[4].as_value(), second[4].as_value()], [Some(7.0), None]);
}

/// Every NaN was one person, and ids above 2^53 were rounded to their neighbours.
#[test]
fn floats_decimals_and_times_are_no_names() {
    let names = ["name", "unsigned", "seconds"];
    let others = ["flag", "decimal", "money", "millis", "nanos", "old", "day"];
    for (columns, holds_names) in [(&names[..], true), (&others, false)] {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        let mut reader = ParquetReader::held("events.parquet", bytes(), &columns).unwrap();
        let mut row = Row::for_columns(&columns);
        assert!(reader.read(&mut row).unwrap());
        for (index, cell) in row.cells.iter().enumerate() {
            assert_eq!(reader.holds_names(index), holds_names, "{}", columns[index]);
            assert_eq!(cell.as_name().is_some(), holds_names, "{}", columns[index]);
        }
    }
}

/// An id of 2^53 displaced one of 2^53 + 1 where the column was a decimal.
#[test]
fn integers_are_exact_and_decimals_are_refused_as_ids() {
    use parquet::data_type::Int64Type;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message events { required int64 number; required int64 decimal (DECIMAL(18, 0)); }";
    let (mut bytes, ids) = (Vec::new(), [1 << 53, (1 << 53) + 1]);
    let schema = parse_message_type(schema).unwrap().into();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for _ in 0..2 {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let names = ["number", "decimal"];
    let columns = names.map(str::to_owned);
    let reader = ParquetReader::held("events.parquet", bytes.clone(), &columns).unwrap();
    assert_eq!([0, 1].map(|column| reader.holds_names(column)), [true, false]);
    for (row, id) in rows_of(bytes, &names).unwrap().iter().zip(ids) {
        assert_eq!(row.cells[0].as_name().as_deref(), Some(&*id.to_string()));
        assert!(row.cells[1].as_name().is_none());
    }
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
