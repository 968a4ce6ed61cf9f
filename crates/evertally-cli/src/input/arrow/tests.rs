//! Arrow as other programs write it. The seeds were written by pyarrow: two batches of three rows with every
//! kind of value, as a file and as a stream, and compressed with lz4 and zstd.

use super::*;
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    TimestampMillisecondArray, types::Int8Type,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use evertally_stream::time::TimeReader;
use polars_arrow_format::ipc::planus::{self, ReadAsRoot as _};
use polars_arrow_format::ipc::{Block, Footer, MessageRef, MetadataVersion, Schema};
use proptest::prelude::*;
use std::sync::Arc;

/// One second after 5 January 2026, midnight.
const MOMENT: i64 = 1_767_571_201;

/// The most rows that a damaged file is read for.
const MAX_ROWS: usize = 100;

fn seed(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/arrow/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

fn rows(bytes: Vec<u8>, names: &[&str]) -> Result<Vec<Vec<Cell>>> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut reader = ArrowReader::held("events.arrow", bytes, &names)?;
    let (mut row, mut rows) = (Row::for_columns(&names), Vec::new());
    while rows.len() < MAX_ROWS && reader.read(&mut row)? {
        assert_eq!(row.line as usize, rows.len() + 1);
        assert!(reader.fraction_read().is_some_and(|read| (0.0..=1.0).contains(&read)));
        rows.push(row.cells.clone());
    }
    Ok(rows)
}

/// The cells of a column as errors show them, with `-` for a missing one.
fn texts(bytes: Vec<u8>, name: &str) -> Vec<String> {
    let show = |cells: &Vec<Cell>| cells[0].as_shown().map_or("-".to_owned(), std::borrow::Cow::into_owned);
    rows(bytes, &[name]).unwrap().iter().map(show).collect()
}

#[test]
fn every_kind_of_time_is_the_same_moment() {
    for name in ["file", "stream", "lz4", "zstd"] {
        let names = ["seconds", "millis", "micros", "nanos", "day", "midnight", "clock"];
        let rows = rows(seed(name), &names).unwrap();
        assert_eq!(rows.len(), 6, "{name}");
        for row in rows {
            let times = row.iter().map(|cell| cell.as_time(&TimeReader::default()));
            let times: Vec<_> = times.map(|time| time.map(|micros| micros / 1_000_000 - MOMENT)).collect();
            assert_eq!(times[..6], [Some(0), Some(0), Some(0), Some(0), Some(-1), Some(-1)], "{name}");
            assert_eq!((times[6], row[6].as_shown().as_deref()), (None, Some("08:31:01")));
            // Without a zone, and dates, are local times.
            let is_local = row.iter().map(|cell| matches!(cell, Cell::LocalTime(_)));
            assert_eq!(is_local.collect::<Vec<_>>(), [false, false, false, true, true, true, false]);
        }
    }
}

#[test]
fn every_kind_of_value_is_read_or_missing() {
    for name in ["file", "stream", "lz4", "zstd"] {
        for (column, expected) in [
            ("money", ["-1.25", "-", "3"]),
            ("amount", ["1", "-2", "-"]),
            ("small", ["7", "255", "0"]),
            ("wide", ["7", "18446744073709551615", "0"]),
            ("single", ["1.5", "inf", "-"]),
            ("flag", ["true", "-", "false"]),
            ("nothing", ["-", "-", "-"]),
            ("region", ["north", "-", "south and north"]),
            ("large", ["north", "-", "süd"]),
            ("view", ["north", "-", "a text longer than twelve bytes"]),
            ("kind", ["b", "a", "-"]),
            ("user.id", ["1", "-", "3"]),
            ("user.name.first", ["Ada", "-", "-"]),
            // It stands behind fields with any number of buffers.
            ("last", ["x", "y", "z"]),
        ] {
            assert_eq!(texts(seed(name), column), expected.repeat(2), "{name} {column}");
        }
        let doubles = rows(seed(name), &["double"]).unwrap();
        let values: Vec<_> = doubles[..3].iter().map(|row| row[0].as_value()).collect();
        assert_eq!(values, [Some(2.5), None, Some(-1e300)]);
    }
}

#[test]
fn types_without_one_value_per_row_are_refused_by_name() {
    for (column, named) in [
        ("tags", "lists"),
        ("pair", "lists"),
        ("bytes", "bytes"),
        ("took", "durations"),
        ("user.name.tags", "lists"),
        ("user", "no column"),
    ] {
        let error = rows(seed("file"), &[column]).err().unwrap().to_string();
        assert!(error.contains(&format!("{column:?}")) && error.contains(named), "{error}");
    }
    let names = ["region", "view", "kind", "small", "wide", "nothing"];
    let others = ["money", "single", "double", "flag", "seconds", "day", "clock"];
    for (columns, holds_names) in [(&names[..], true), (&others, false)] {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        let reader = ArrowReader::held("events.arrow", seed("file"), &columns).unwrap();
        assert!((0..columns.len()).all(|column| reader.holds_names(column) == holds_names), "{columns:?}");
    }
}

#[test]
fn dictionaries_grow_and_are_replaced() {
    let grown = ["north", "south", "-", "west", "south", "north"];
    assert_eq!(texts(seed("deltas"), "kind"), grown);
    assert_eq!(texts(seed("replaced"), "kind"), [&grown[..], &["east"; 3]].concat());
}

/// The messages of a stream as a file, in which dictionaries come before all batches.
fn as_file(stream: &[u8]) -> Vec<u8> {
    let mut bytes = [b"ARROW1\0\0", stream].concat();
    let mut schema = None;
    let mut blocks: [Vec<Block>; 2] = [Vec::new(), Vec::new()];
    let mut at = 8;
    loop {
        let length = i32::from_le_bytes(*bytes[at + 4..].first_chunk().unwrap());
        if length == 0 {
            break;
        }
        let start = at + 8;
        let message = MessageRef::read_as_root(&bytes[start..]).unwrap();
        let body_length = message.body_length().unwrap();
        let block = Block { offset: at as i64, meta_data_length: length + 8, body_length };
        match message.header().unwrap().unwrap() {
            MessageHeaderRef::Schema(fields) => schema = Some(Box::new(Schema::try_from(fields).unwrap())),
            MessageHeaderRef::DictionaryBatch(_) => blocks[0].push(block),
            _ => blocks[1].push(block),
        }
        at = start + length as usize + body_length as usize;
    }
    let [dictionaries, record_batches] = blocks.map(Some);
    let version = MetadataVersion::V5;
    let footer = Footer { version, schema, dictionaries, record_batches, custom_metadata: None };
    let footer = planus::Builder::new().finish(footer, None).to_vec();
    bytes.extend(&footer);
    bytes.extend((footer.len() as i32).to_le_bytes());
    bytes.extend(b"ARROW1");
    bytes
}

/// In a file, all dictionaries stand before the batches: codes of the first one would be read as values
/// of the second.
#[test]
fn a_file_whose_dictionary_is_replaced_is_refused() {
    assert_eq!(texts(as_file(&seed("stream")), "kind"), ["b", "a", "-"].repeat(2));
    let refused = rows(as_file(&seed("replaced")), &["kind"]).err().unwrap();
    assert!(refused.to_string().contains("not a complete Arrow file"), "{refused}");
}

#[test]
fn files_of_other_kinds_are_named() {
    let error = |bytes: &[u8]| rows(bytes.to_vec(), &[]).err().unwrap().to_string();
    assert!(error(b"FEA1\0\0\0\0\0\0").contains("first version of Feather"));
    for bytes in [&b""[..], b"ARROW1", b"ARROW1\0\0", b"time,n\n1,2\n", &[0xff; 8], &[0xff; 3]] {
        assert!(error(bytes).contains("not a complete Arrow file"), "{bytes:?}");
    }
    let longer = [seed("stream"), seed("stream")].concat();
    assert!(rows(longer, &["last"]).is_err_and(|error| error.to_string().contains("behind the end")));
}

/// A stream that ends between two messages was an end, and the last events were left out.
#[test]
fn a_file_that_is_cut_short_anywhere_is_refused() {
    for name in ["file", "stream", "lz4", "zstd", "deltas"] {
        let (whole, column) = (seed(name), if name == "deltas" { "kind" } else { "last" });
        assert!(rows(whole.clone(), &[column]).is_ok());
        for length in 0..whole.len() {
            let error = rows(whole[..length].to_vec(), &[column]).err();
            assert!(error.is_some_and(|error| error.exit_code() == 2), "{name}, {length} bytes");
        }
    }
}

/// Every length and offset is forged in turn.
#[test]
fn a_damaged_file_gives_rows_or_an_error() {
    let columns = ["money", "region", "view", "kind", "user.name.first", "last", "flag"];
    let mut refused = 0;
    for name in ["file", "stream", "lz4", "zstd"] {
        let whole = seed(name);
        for at in (0..whole.len() - 8).step_by(4) {
            for forged in [&[0x7f_u8; 8][..], &[0xff; 4], &[0, 0, 0, 0x7f], &[0; 8], &[whole[at] ^ 1]] {
                let mut bent = whole.clone();
                bent[at..at + forged.len()].copy_from_slice(forged);
                if let Err(error) = rows(bent, &columns) {
                    assert_eq!(error.exit_code(), 2, "{name}, byte {at}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// A batch states its number of rows, and so does each column. Forged ones are noticed.
#[test]
fn columns_with_another_number_of_rows_are_refused() {
    let columns = ["money", "region", "view", "kind", "flag", "last"];
    let whole = seed("file");
    assert!(rows(whole.clone(), &columns).is_ok());
    let number = |at: usize| i64::from_le_bytes(*whole[at..].first_chunk().unwrap());
    // The length of a column stands before its number of missing values.
    let is_node = |at: &usize| number(*at) == 3 && (0..=3).contains(&number(at + 8));
    let refused = |at: &usize| {
        let mut bent = whole.clone();
        bent[*at] = 2;
        rows(bent, &columns).is_err()
    };
    let count = (0..whole.len() - 16).step_by(8).filter(is_node).filter(refused).count();
    // Two batches.
    assert!(count >= 2 * columns.len(), "{count}");
}

/// Writes batches as a file or as a stream, with the reference implementation.
fn written(batches: &[RecordBatch], is_stream: bool) -> Vec<u8> {
    let (mut bytes, schema) = (Vec::new(), batches[0].schema());
    if is_stream {
        let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
    bytes
}

type Event = (i64, Option<i64>, Option<String>);

fn batch(events: &[Event]) -> RecordBatch {
    let texts = || events.iter().map(|event| event.2.as_deref());
    let keys: DictionaryArray<Int8Type> =
        events.iter().map(|event| ["a", "b"][event.0 as usize % 2]).collect();
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        (
            "time",
            Arc::new(TimestampMillisecondArray::from_iter_values(events.iter().map(|event| event.0))),
            false,
        ),
        ("amount", Arc::new(events.iter().map(|event| event.1).collect::<Int64Array>()), true),
        ("text", Arc::new(texts().collect::<StringArray>()), true),
        ("large", Arc::new(texts().collect::<LargeStringArray>()), true),
        ("view", Arc::new(texts().collect::<StringViewArray>()), true),
        ("key", Arc::new(keys), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

proptest! {
    #[test]
    fn what_the_reference_writes_is_read(
        events in prop::collection::vec(
            (0_i64..4_000_000_000_000, any::<Option<i64>>(), prop::option::of("[a-zäß ]{0,20}")), 1..40,
        ),
        parts in 1_usize..5,
        (start, is_stream) in (0_usize..40, any::<bool>()),
    ) {
        // A slice starts in the middle of its buffers.
        let whole = batch(&events);
        let start = start % events.len();
        let events = &events[start..];
        let size = events.len().div_ceil(parts);
        let slices: Vec<_> = (0..events.len())
            .step_by(size)
            .map(|at| whole.slice(start + at, size.min(events.len() - at)))
            .collect();
        // In a file a dictionary may not be replaced, and all batches have the same one.
        let columns = ["time", "amount", "text", "large", "view", "key"];
        let rows = rows(written(&slices, is_stream), &columns).unwrap();
        prop_assert_eq!(rows.len(), events.len());
        for (cells, (time, amount, text)) in rows.iter().zip(events) {
            prop_assert!(matches!(cells[0], Cell::LocalTime(micros) if micros == time * 1_000));
            prop_assert_eq!(cells[1].as_shown().map(std::borrow::Cow::into_owned), amount.map(|n| n.to_string()));
            let name = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            for cell in &cells[2..5] {
                prop_assert!(cell.as_name().as_deref() == name);
            }
            prop_assert!(cells[5].as_name().as_deref() == Some(["a", "b"][*time as usize % 2]));
        }
    }
}
