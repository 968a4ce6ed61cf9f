//! Our reader beside that of the `csv` crate.

use super::*;
use proptest::prelude::*;

type Cells = Vec<Vec<Vec<u8>>>;

/// All records, and where the first bad one is.
fn ours(bytes: &[u8], delimiter: u8) -> (Cells, Option<usize>) {
    let mut records = Records::new(Source::held("memory", bytes.to_vec()), delimiter);
    let (mut cells, mut bad) = (Vec::new(), None);
    while records.next().unwrap() {
        if records.width.is_none() {
            records.width = Some(records.spans.len());
        }
        if records.check_width().is_err() && bad.is_none() {
            bad = Some(cells.len());
        }
        cells.push((0..records.spans.len()).map(|at| records.field(at).to_vec()).collect());
    }
    (cells, bad)
}

fn theirs(bytes: &[u8], delimiter: u8) -> (Cells, Option<usize>) {
    let mut reader = csv::ReaderBuilder::new();
    reader.delimiter(delimiter).has_headers(false);
    let cells = reader.flexible(true).from_reader(bytes).into_byte_records();
    let cells = cells.map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect()).collect();
    let bad =
        reader.flexible(false).from_reader(bytes).into_byte_records().position(|record| record.is_err());
    (cells, bad)
}

proptest! {
    #[test]
    fn records_are_those_of_the_csv_crate(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["a", "b c", ",", ",", "\n", "\n", "\r\n", "\r", "\"", "\"x\ny\"", "\"\"", ";", "\u{feff}", "é", ""]),
            0..40,
        ),
        delimiter in prop::sample::select(vec![b',', b';', b'\t']),
    ) {
        let text = pieces.concat();
        prop_assert_eq!(ours(text.as_bytes(), delimiter), theirs(text.as_bytes(), delimiter), "{:?}", text);
    }
}

#[test]
fn lines_are_numbered_and_longer_than_any_buffer() {
    let long = "x".repeat(1 << 19);
    let text = format!("n,m\n1,2\n\n\"a\nb\",{long}\r\n{long},4\n\n\n5,\"6\"\n7,8");
    let mut reader =
        CsvReader::open(Source::held("memory", text.into_bytes()), b',', &["m".to_owned()]).unwrap();
    let mut row = Row::for_columns(&["m".to_owned()]);
    let mut seen = Vec::new();
    while reader.read(&mut row).unwrap() {
        seen.push((row.line, row.cells[0].as_name().map(|name| name.len())));
    }
    assert_eq!(seen, [(2, Some(1)), (4, Some(1 << 19)), (6, Some(1)), (9, Some(1)), (10, Some(1))]);
}

/// A quote that is never closed swallows the rows of others, so it is no bad row by itself.
#[test]
fn a_bad_record_of_one_line_can_be_left_out_and_others_cannot() {
    let text = "n,m\n1\n2,3\n\"4\n5,6\n";
    let columns = ["m".to_owned()];
    let mut reader = CsvReader::open(Source::held("memory", text.into()), b',', &columns).unwrap();
    let mut row = Row::for_columns(&columns);
    assert!(matches!(reader.read(&mut row), Err(CliError::BadRow(_))));
    assert!(reader.read(&mut row).unwrap());
    assert!(matches!(reader.read(&mut row), Err(CliError::BadInput(_))));
}
