//! Every reader of the program, on bytes in memory. The crate `evertally-fuzz` calls them with
//! arbitrary input.
//!
//! Each returns what it read, or the line that the operator would see.

use crate::budget_file::{BudgetFile, sealed};
use crate::commands::certificate_file;
use crate::commands::count::{Filter, key_set, keys_by_line, parse_clamp};
use crate::commands::gamma::named;
use crate::commands::learn::Checkpoint;
use crate::commands::shared::parse_bytes;
use crate::error::{CliError, one_line};
use crate::input::matrix::{csv_array, parse_list, parse_matrix};
use crate::input::npz::Archive;
use crate::input::{Bulk, Drops, Roles, Row, RowReader, held};
use crate::{Cli, output};
use evertally::research::gamma::{Certificate, Subject, verify};
use evertally_stream::time::TimeReader;
use evertally_stream::{Amount, Buckets, Event, Gather, Rules, Zone};

pub use crate::input::InputFormat;

/// What was read, or the line that the operator would see.
pub type Outcome<T> = std::result::Result<T, String>;

/// The most rows to read. A few bytes of Parquet can stand for any number of rows.
const MAX_ROWS: usize = 1 << 14;

/// The most entries of a matrix, or steps of a workload, for which a certificate is verified.
const MAX_PROVED_ENTRIES: usize = 1 << 12;

/// Reads rows, and converts every cell to each type. Returns the number of rows.
pub fn rows(format: InputFormat, columns: &[&str], bytes: &[u8]) -> Outcome<usize> {
    let columns: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
    let mut reader = held(bytes.to_vec(), format, &columns).map_err(line)?;
    let mut row = Row::for_columns(&columns);
    let mut count = 0;
    let times =
        [TimeReader::default(), TimeReader::new(Zone::named("Europe/Zurich"), None).unwrap_or_default()];
    while count < MAX_ROWS && reader.read(&mut row).map_err(line)? {
        count += 1;
        assert!(
            reader.fraction_read().is_none_or(|read| (0.0..=1.0).contains(&read)),
            "a share of the input"
        );
        for cell in &mut row.cells {
            assert!(cell.as_value().is_none_or(f64::is_finite), "a value is finite");
            for times in &times {
                cell.as_time(times);
            }
            cell.make_name();
        }
    }
    Ok(count)
}

/// Counts the rows of an input, by rows alone and with what its reader adds by itself. Both must say the
/// same. The columns are a time, a value and a key.
pub fn counted(format: InputFormat, columns: [&str; 3], bytes: &[u8]) {
    let columns = columns.map(str::to_owned);
    let [by_rows, in_bulk] = [false, true].map(|in_bulk| {
        let mut reader = held(bytes.to_vec(), format, &columns).map_err(line)?;
        totals(reader.as_mut(), &columns, in_bulk).map_err(line)
    });
    assert!(by_rows == in_bulk, "by rows {:?}, in bulk {:?}", by_rows.err(), in_bulk.err());
}

/// The totals of ten days from 5 January 2026.
fn totals(reader: &mut dyn RowReader, columns: &[String], in_bulk: bool) -> Result<Vec<Amount>, CliError> {
    let buckets = Buckets::new(1_767_571_200_000_000, "1h".parse()?, 240)?;
    let rules = Rules { keys: Some(key_set(["north", "south", "7"].into_iter())?), ..Rules::default() };
    let mut gather = Gather::new(buckets, rules, 1 << 20)?;
    let times = TimeReader::default();
    let (mut row, mut count) = (Row::for_columns(columns), 0);
    loop {
        let roles = Roles { time: 0, value: Some(1), key: Some(2), ..Roles::default() };
        let mut bulk = Bulk::new(roles, &times, &mut gather, Drops::default());
        while in_bulk && reader.add_in_bulk(&mut bulk)? {}
        if !reader.read(&mut row)? || count == MAX_ROWS {
            return Ok(gather.finish()?.flat_map(|step| step.totals).collect());
        }
        count += 1;
        let [time, value, key] = &row.cells[..] else { unreachable!("there are three columns") };
        let bad = || CliError::bad(format!("row {}", row.line));
        let (time, value) = (time.as_time(&times).ok_or_else(bad)?, Some(value.as_value().ok_or_else(bad)?));
        let key = key.as_name();
        gather.push(&Event { time, value, key: key.as_deref(), ..Event::default() }).map_err(|_| bad())?;
    }
}

/// Parses a condition. Returns its canonical form, which means the same.
pub fn condition(text: &str) -> Outcome<String> {
    Filter::parse(text).map(|filter| filter.canonical().to_owned())
}

/// Reads an `.npy` file as a matrix and as a list. Returns the rows and columns of the matrix.
pub fn array(bytes: &[u8]) -> Outcome<(usize, usize)> {
    if let Ok(list) = parse_list("memory", bytes) {
        assert!(!list.is_empty() && list.iter().all(|x| x.is_finite()), "a list is finite and not empty");
    }
    let subject = parse_matrix("memory", bytes).map_err(line)?;
    Ok((subject.rows(), subject.columns()))
}

/// Reads a matrix from CSV. Returns the numbers of rows and columns.
pub fn csv_matrix(bytes: &[u8]) -> Outcome<(usize, usize)> {
    let array = csv_array("memory", bytes).map_err(line)?;
    assert_eq!(array.real.len(), array.rows * array.columns, "a matrix is full");
    Ok((array.rows, array.columns))
}

/// Reads an `.npz` file as a certificate, and verifies it if that is quick.
pub fn certificate(bytes: &[u8]) -> Outcome<()> {
    let archive = Archive::parse("memory".to_owned(), bytes).map_err(line)?;
    let certificate = certificate_file::read(&archive).map_err(line)?;
    if !is_small(&certificate.subject) {
        return Ok(());
    }
    let proof = verify(&certificate).map_err(|error| error.to_string())?;
    assert!(proof.lower <= proof.upper, "the least error lies between its bounds");
    certificate_file::check_factors(&archive, &certificate).map_err(line)
}

fn is_small(subject: &Subject) -> bool {
    let entries = match subject {
        Subject::Workload { .. } => subject.rows(),
        _ => subject.rows().saturating_mul(subject.columns()),
    };
    entries <= MAX_PROVED_ENTRIES
}

/// The file for a certificate. It must be possible to compute the factors from it.
pub fn certificate_bytes(certificate: &Certificate) -> Outcome<Vec<u8>> {
    certificate_file::bytes(certificate).map_err(line)
}

/// An archive of these entries, with correct checksums.
pub fn archive(entries: &[(String, Vec<u8>)]) -> Outcome<Vec<u8>> {
    output::npz(entries).map_err(line)
}

/// Reads a budget file. Returns the file that it would be written as.
pub fn budget_file(text: &str) -> Outcome<String> {
    BudgetFile::from_text(text)?.to_text().map_err(line)
}

/// A budget file of these records, with correct hashes.
pub fn sealed_budget_file(records: &[&str]) -> Outcome<String> {
    sealed(records).map_err(line)
}

/// Reads the state of a training run. Returns the file that it would be written as.
pub fn training_state(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let checkpoint = Checkpoint::from_bytes(bytes)?;
    checkpoint.to_bytes().map(|bytes| bytes.to_vec()).ok_or_else(|| "it cannot be written".to_owned())
}

/// The state of a training run, with a correct hash.
#[must_use]
pub fn sealed_training_state(content: &[u8]) -> Vec<u8> {
    [content, blake3::hash(content).as_bytes()].concat()
}

/// Makes the matrix of a workload from its name. Returns the numbers of rows and columns.
pub fn workload(name: &str, horizon: Option<usize>) -> Outcome<(usize, usize)> {
    named(name, horizon).map(|subject| (subject.rows(), subject.columns())).map_err(line)
}

/// Whether a text is a noise key.
#[must_use]
pub fn is_key(text: &str) -> bool {
    evertally_keys::key_file::parse(text.trim().as_bytes()).is_some()
}

/// Declared keys, from the lines of a file.
pub fn keys_of_file(text: &str) -> Outcome<Vec<String>> {
    keys_by_line(text).map(|keys| keys.names().to_vec()).map_err(line)
}

/// Declared keys between commas.
pub fn keys_of_list(text: &str) -> Outcome<Vec<String>> {
    key_set(text.split(',')).map(|keys| keys.names().to_vec()).map_err(line)
}

/// The two ends of a clamp.
pub fn clamp(text: &str) -> Outcome<(f64, f64)> {
    parse_clamp(text).map(|clamp| (clamp.lo(), clamp.hi())).map_err(line)
}

/// A number of bytes.
pub fn memory(text: &str) -> Outcome<u64> {
    parse_bytes(text)
}

/// Parses the words after the program's name, without running the command.
pub fn command_line(words: &[&str]) -> Outcome<()> {
    match Cli::parse_words(crate::help::program(), std::iter::once("evertally").chain(words.iter().copied()))
    {
        Err(error) if error.use_stderr() => Err(one_line(&error)),
        // Help and version are not failures.
        _ => Ok(()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn line(error: CliError) -> String {
    error.to_string()
}
