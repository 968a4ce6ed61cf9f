//! Parquet as other programs write it: every kind of time, text, number and absence.

use super::*;
use crate::input::{Cell, Drops, Roles};
use evertally_stream::Zone;
use evertally_stream::time::TimeReader;

/// One second after 5 January 2026, midnight.
const MOMENT: i64 = 1_767_571_201;

/// Two row groups of two rows each, as `crates/evertally-fuzz/examples/seeds.rs` writes them.
fn bytes() -> Vec<u8> {
    include_bytes!("../../../../../fuzz/seeds/parquet/two-groups").to_vec()
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

/// Written by pyarrow.
#[test]
fn brotli_is_read() {
    let bytes = include_bytes!("../../../../../fuzz/seeds/parquet/brotli").to_vec();
    let rows = rows_of(bytes, &["micros", "name", "money"]).unwrap();
    assert_eq!(rows.len(), 40);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row.cells[0].as_time(&TimeReader::default()), Some(MOMENT * 1_000_000));
        let name = if number % 20 == 19 { "south" } else { "north" };
        assert_eq!(row.cells[1].as_name().as_deref(), Some(name));
        assert_eq!(row.cells[2].as_value(), Some(number as f64));
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

/// A file with texts in dictionaries and without, missing keys, and several row groups.
fn keyed(
    version: parquet::file::properties::WriterVersion,
    has_dictionary: bool,
    missing_time: bool,
) -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message events {
        optional int64 time (TIMESTAMP(MILLIS,true)); required int64 n; optional binary key (STRING); }";
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(has_dictionary)
        .set_data_page_row_count_limit(700)
        .set_write_batch_size(100)
        .build();
    let mut bytes = Vec::new();
    let schema = parse_message_type(schema).unwrap().into();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties.into()).unwrap();
    for group in 0..3_i64 {
        let rows = 5_000;
        let mut out = writer.next_row_group().unwrap();
        let is_missing = |row: i64| missing_time && group == 1 && row == 4_321;
        let times: Vec<i64> = (0..rows)
            .filter(|row| !is_missing(*row))
            .map(|row| (MOMENT + row * 131 + group) * 1_000)
            .collect();
        let levels: Vec<i16> = (0..rows).map(|row| i16::from(!is_missing(row))).collect();
        let mut column = out.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&times, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = out.next_column().unwrap().unwrap();
        let values: Vec<i64> = (0..rows).map(|row| row % 17 - 3).collect();
        column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        let names = ["north", " south ", "é", "", "7"];
        // Runs of one key, and keys that change with every row.
        let key = |row: i64| if row < 2_000 { row / 300 % 5 } else { row * 7 % 11 % 5 };
        let levels: Vec<i16> = (0..rows).map(|row| i16::from(row % 13 != 5)).collect();
        let keys: Vec<ByteArray> =
            (0..rows).filter(|row| row % 13 != 5).map(|row| names[key(row) as usize].into()).collect();
        let mut column = out.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&keys, Some(&levels), None).unwrap();
        column.close().unwrap();
        out.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// The reading by rows is the oracle, and nearly nothing is left to it.
#[test]
fn columns_give_what_rows_give() {
    use evertally_stream::{Buckets, Event, Gather, KeySet, Rules};
    use parquet::file::properties::WriterVersion::{PARQUET_1_0, PARQUET_2_0};
    let columns = ["time", "n", "key"].map(str::to_owned);
    let times = TimeReader::default();
    for (version, has_dictionary) in
        [(PARQUET_1_0, true), (PARQUET_1_0, false), (PARQUET_2_0, true), (PARQUET_2_0, false)]
    {
        // New writers pack texts without a dictionary in a way that is left to the rows.
        let is_left = version == PARQUET_2_0 && !has_dictionary;
        for missing_time in [false, true] {
            let bytes = keyed(version, has_dictionary, missing_time);
            let totals = |in_bulk: bool| {
                let mut reader = ParquetReader::held("memory", bytes.clone(), &columns).unwrap();
                let buckets = Buckets::new(MOMENT * 1_000_000, "1h".parse().unwrap(), 150).unwrap();
                let keys = Some(KeySet::new(["north", "south", "é"]).unwrap());
                let rules = Rules { keys, ..Rules::default() };
                let mut gather = Gather::new(buckets, rules, 1 << 24).unwrap();
                let mut row = Row::for_columns(&columns);
                let (mut by_rows, mut missing) = (0, Vec::new());
                loop {
                    let roles = Roles { time: 0, value: Some(1), key: Some(2), ..Roles::default() };
                    let drops = Drops { outside: true, unnamed: true };
                    let mut bulk = Bulk::new(roles, &times, &mut gather, drops);
                    while in_bulk && reader.add_in_bulk(&mut bulk).unwrap() {}
                    assert_eq!(bulk.left_out.outside, in_bulk && !is_left && by_rows == 0);
                    if !reader.read(&mut row).unwrap() {
                        break;
                    }
                    by_rows += 1;
                    let Some(time) = row.cells[0].as_time(&times) else {
                        missing.push(row.line);
                        continue;
                    };
                    let (value, key) = (row.cells[1].as_value(), row.cells[2].as_name());
                    let _ = gather.push(&Event { time, value, key: key.as_deref(), ..Event::default() });
                }
                assert_eq!(missing.len(), usize::from(missing_time));
                assert!(missing.iter().all(|line| *line == 9_322), "{missing:?}");
                (gather.finish().unwrap().flat_map(|step| step.totals).collect::<Vec<_>>(), by_rows)
            };
            let ((by_rows, all), (in_bulk, left)) = (totals(false), totals(true));
            assert!(by_rows == in_bulk, "{version:?} {has_dictionary} {missing_time}");
            let expected = if is_left {
                all
            } else if missing_time {
                5_000
            } else {
                0
            };
            assert_eq!((all, left), (15_000, expected), "{version:?} {has_dictionary} {missing_time}");
        }
    }
}

#[test]
fn times_of_day_and_short_floats_are_no_times() {
    use parquet::data_type::{FloatType, Int32Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message events { required int32 clock (TIME(MILLIS,true)); required float short; }";
    let mut bytes = Vec::new();
    let schema = parse_message_type(schema).unwrap().into();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[30_661_000], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<FloatType>().write_batch(&[MOMENT as f32], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let row = &rows_of(bytes, &["clock", "short"]).unwrap()[0];
    let times = TimeReader::default();
    assert_eq!(row.cells.iter().map(|cell| cell.as_time(&times)).collect::<Vec<_>>(), [None, None]);
    assert_eq!(row.cells[0].as_shown().as_deref(), Some("08:31:01"));
    assert_eq!((row.cells[0].as_value(), row.cells[1].as_value()), (None, Some(f64::from(MOMENT as f32))));
}
