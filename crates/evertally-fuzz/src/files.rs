//! Targets for the files that the command line reads.

use evertally_cli::fuzz::{self, InputFormat};

use crate::check_line;
use crate::choices::Choices;

/// The requested columns: those of the seeds, one of them twice.
const COLUMNS: [&str; 4] = ["time", "region", "amount", "region"];

/// A time, a value and a key, for counts.
const COUNTED: [&str; 3] = ["time", "amount", "region"];

/// Columns by their paths.
const NESTED: [&str; 3] = ["more.time", "a.b.c", "more"];

/// The columns of the Parquet seeds, of every type.
const TYPED: [&str; 14] = [
    "millis", "micros", "nanos", "old", "day", "seconds", "name", "decimal", "flag", "money", "unsigned",
    "raw", "single", "short",
];

/// Columns of the Arrow seeds: every way in which values are stored.
const STORED: [&str; 14] = [
    "seconds",
    "nanos",
    "midnight",
    "clock",
    "money",
    "wide",
    "single",
    "flag",
    "large",
    "view",
    "kind",
    "tags",
    "user.name.first",
    "last",
];

fn check<T>(outcome: fuzz::Outcome<T>) {
    if let Err(message) = outcome {
        check_line(&message);
        // Only the start of a cell is shown.
        assert!(message.chars().count() < 3000, "a message is short");
    }
}

/// Reads comma-separated values.
pub fn csv(bytes: &[u8]) {
    check(fuzz::rows(InputFormat::Csv, &COLUMNS, bytes));
    check(fuzz::rows(InputFormat::Tsv, &COLUMNS, bytes));
    fuzz::counted(InputFormat::Csv, COUNTED, bytes);
}

/// Reads JSON lines.
pub fn jsonl(bytes: &[u8]) {
    check(fuzz::rows(InputFormat::Jsonl, &COLUMNS, bytes));
    check(fuzz::rows(InputFormat::Json, &NESTED, bytes));
    check(fuzz::rows(InputFormat::Json, &COLUMNS, &[b"[", bytes, b"]"].concat()));
}

/// Reads a Parquet file, column by column.
pub fn parquet(bytes: &[u8]) {
    check(fuzz::rows(InputFormat::Parquet, &[], bytes));
    fuzz::counted(InputFormat::Parquet, ["micros", "money", "name"], bytes);
    fuzz::counted(InputFormat::Parquet, ["seconds", "short", "unsigned"], bytes);
    for column in TYPED {
        check(fuzz::rows(InputFormat::Parquet, &[column], bytes));
    }
}

/// Reads an Arrow file or stream, column by column.
pub fn arrow(bytes: &[u8]) {
    check(fuzz::rows(InputFormat::Arrow, &[], bytes));
    fuzz::counted(InputFormat::Arrow, ["micros", "small", "region"], bytes);
    for column in STORED {
        check(fuzz::rows(InputFormat::Arrow, &[column], bytes));
    }
}

/// Reads an `.npy` file.
pub fn npy(bytes: &[u8]) {
    check(fuzz::array(bytes));
}

/// Reads a matrix with commas.
pub fn matrix(bytes: &[u8]) {
    check(fuzz::csv_matrix(bytes));
}

/// Reads a ledger from raw bytes, or from these records with valid hashes. An accepted ledger is
/// written as it was read.
pub fn ledger(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check_ledger(&text);
    let records: Vec<&str> = text.split('\n').collect();
    match fuzz::sealed_budget_file(&records) {
        Ok(sealed) => check_ledger(&sealed),
        Err(message) => panic!("any records can be hashed: {message}"),
    }
}

fn check_ledger(text: &str) {
    match fuzz::budget_file(text) {
        Ok(written) => assert_eq!(written, text),
        Err(message) => check_line(&message),
    }
}

/// Reads the state of a training run from raw bytes, and with a valid hash. An accepted state is
/// written so that it reads back the same.
pub fn training(bytes: &[u8]) {
    for state in [bytes.to_vec(), fuzz::sealed_training_state(bytes)] {
        match fuzz::training_state(&state) {
            Ok(written) => assert_eq!(fuzz::training_state(&written), Ok(written.clone())),
            Err(message) => check_line(&message),
        }
    }
}

/// Reads a certificate from raw bytes, or from an archive with entries chosen by the bytes and
/// valid checksums.
pub fn certificate(bytes: &[u8]) {
    if bytes.starts_with(b"PK") {
        return check(fuzz::certificate(bytes));
    }
    let choices = &mut Choices::new(bytes);
    let horizon = choices.below(6);
    let subject = choices.one_of(&[
        "prefix-sum",
        "window:3",
        "decay:0.5",
        "decay:1e-300",
        "identity",
        "parity:2,1",
        "matrix",
    ]);
    let norm = choices.one_of(&["gamma_f", "gamma_2"]);
    let (rows, columns) = if subject.starts_with("parity") { (2, 4) } else { (horizon, horizon) };
    let mut list = |length: usize| npy_file(&format!("({length},)"), length, choices);
    let mut entries = vec![("bounds.npy", list(2)), ("columns.npy", list(columns)), ("rows.npy", list(rows))];
    let shape = format!("({rows}, {columns})");
    if subject == "matrix" {
        entries.push(("matrix.npy", npy_file(&shape, rows * columns, choices)));
    }
    if choices.flag() {
        entries.push(("L.npy", npy_file(&shape, rows * columns, choices)));
        entries.push(("R.npy", npy_file(&shape, rows * columns, choices)));
    }
    let horizon = if subject == "matrix" || subject.starts_with("parity") {
        "null".to_owned()
    } else {
        horizon.to_string()
    };
    let about = format!(
        r#"{{"format":"evertally certificate 1","norm":"{norm}","subject":"{subject}","horizon":{horizon},"iterations":1}}"#
    );
    entries.push(("certificate.json", about.into_bytes()));
    let entries: Vec<_> = entries.into_iter().map(|(name, contents)| (name.to_owned(), contents)).collect();
    match fuzz::archive(&entries) {
        Ok(archive) => check(fuzz::certificate(&archive)),
        Err(message) => panic!("an archive of a few bytes can be written: {message}"),
    }
}

/// An `.npy` file of doubles.
fn npy_file(shape: &str, count: usize, choices: &mut Choices<'_>) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..count).for_each(|_| bytes.extend(choices.real().to_le_bytes()));
    bytes
}
