//! Matrices and lists of numbers from `.npy` and CSV files.

use super::npy::{self, Array};
use super::{BYTE_ORDER_MARK, Source};
use crate::error::{CliError, Result, name_of};
use csv::ReaderBuilder;
use evertally::Matrix;
use evertally::research::gamma::{ComplexMatrix, Subject};
use std::io::Read;
use std::path::Path;

/// A real or complex matrix that is finite and not empty, from a file.
pub(crate) fn read_matrix(path: &Path) -> Result<Subject> {
    subject_of(&name_of(path), &read(path)?)
}

/// A matrix from the contents of an `.npy` file.
pub(crate) fn parse_matrix(name: &str, bytes: &[u8]) -> Result<Subject> {
    subject_of(name, &npy::parse(name, bytes)?)
}

/// A list of real numbers from the contents of an `.npy` file.
pub(crate) fn parse_list(name: &str, bytes: &[u8]) -> Result<Vec<f64>> {
    list_of(name, npy::parse(name, bytes)?)
}

/// A list of real, finite numbers from a file: one dimension, one row or one column.
pub(crate) fn read_list(path: &Path) -> Result<Vec<f64>> {
    list_of(&name_of(path), read(path)?)
}

fn list_of(name: &str, array: Array) -> Result<Vec<f64>> {
    check_finite(name, &array)?;
    if array.imaginary.is_some() {
        return Err(CliError::bad(format!("{name} holds complex numbers: expected real ones")));
    }
    if array.rows != 1 && array.columns != 1 {
        let shape = format!("{} × {}", array.rows, array.columns);
        return Err(CliError::bad(format!("{name}: expected one row or one column of numbers, got {shape}")));
    }
    Ok(array.real)
}

fn subject_of(name: &str, array: &Array) -> Result<Subject> {
    if array.dimensions != 2 {
        return Err(CliError::bad(format!("{name}: expected a matrix of two dimensions, got a list")));
    }
    check_finite(name, array)?;
    let matrix =
        |values: &[f64]| Matrix::from_fn(array.rows, array.columns, |i, j| values[i * array.columns + j]);
    Ok(match &array.imaginary {
        None => Subject::Real(matrix(&array.real)),
        Some(imaginary) => Subject::Complex(ComplexMatrix::new(matrix(&array.real), matrix(imaginary))?),
    })
}

/// The error says where a number is and does not show it, because the array may be data.
fn check_finite(name: &str, array: &Array) -> Result<()> {
    if array.real.is_empty() {
        return Err(CliError::bad(format!("{name} is empty: expected at least one number")));
    }
    let bad = [Some(&array.real), array.imaginary.as_ref()];
    match bad.into_iter().flatten().find_map(|part| part.iter().position(|x| !x.is_finite())) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = (at / array.columns + 1, at % array.columns + 1);
            Err(CliError::bad(format!("{name}, row {row}, column {column}: expected a finite number")))
        }
    }
}

/// The array in a file, by the file's extension.
pub(crate) fn read(path: &Path) -> Result<Array> {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let mut source = Source::open(path)?;
    match ending.as_deref() {
        Some("npy") => {
            let mut bytes = Vec::new();
            source.read_to_end(&mut bytes).map_err(|error| CliError::reading(path, &error))?;
            npy::parse(&name_of(path), &bytes)
        }
        Some("csv") => csv_array(&name_of(path), source),
        _ if path.as_os_str() == "-" => csv_array(&name_of(path), source),
        _ => Err(CliError::bad(format!(
            "the format of {} cannot be recognised from its name: expected .npy or .csv",
            path.display()
        ))),
    }
}

/// CSV of numbers. The first line may be a header if none of its cells is a number.
pub(crate) fn csv_array(name: &str, source: impl Read) -> Result<Array> {
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(source);
    let mut array = Array { rows: 0, columns: 0, dimensions: 2, real: Vec::new(), imaginary: None };
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| CliError::bad(csv_complaint(name, &error)))?;
        let cells: Vec<&str> =
            record.iter().map(|cell| cell.trim_start_matches(BYTE_ORDER_MARK).trim()).collect();
        // "inf" and "nan" count as numbers here, or a row of them would be taken for a header.
        if index == 0 && cells.iter().all(|cell| cell.parse::<f64>().is_err() && !cell.is_empty()) {
            continue;
        }
        for (column, cell) in cells.iter().enumerate() {
            let value = cell.parse().ok().filter(|value: &f64| value.is_finite());
            let line = record.position().map_or(index as u64 + 1, csv::Position::line);
            array.real.push(value.ok_or_else(|| {
                CliError::bad(format!("{name}, line {line}, column {}: expected a finite number", column + 1))
            })?);
        }
        array.rows += 1;
        array.columns = cells.len();
    }
    Ok(array)
}

fn csv_complaint(name: &str, error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("{name}, line {line}: expected {expected_len} numbers as in the first line, got {len}")
        }
        csv::ErrorKind::Utf8 { .. } => format!("{name}: expected text in UTF-8"),
        _ => format!("{name}: {error}"),
    }
}

/// The names in the first line of a CSV file.
pub(crate) fn csv_column_names(path: &Path) -> Result<Vec<String>> {
    let name = name_of(path);
    let mut reader = ReaderBuilder::new().from_reader(Source::open(path)?);
    let header = reader.headers().map_err(|error| CliError::bad(csv_complaint(&name, &error)))?;
    let names: Vec<String> =
        header.iter().map(|cell| cell.trim_start_matches(BYTE_ORDER_MARK).trim().to_owned()).collect();
    if names.is_empty() {
        return Err(CliError::bad(format!(
            "{name} is empty: expected a header line with the names of the columns"
        )));
    }
    // Without a header the first row, and its person, would be left out.
    match names.iter().position(|name| name.parse::<f64>().is_ok()) {
        // Only the position is shown: the number may be private.
        Some(at) => Err(CliError::bad(format!(
            "{name} has no header line: column {} of its first line is a number and not a name",
            at + 1
        ))),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> Result<(usize, usize, Vec<f64>)> {
        csv_array("a.csv", text.as_bytes()).map(|array| (array.rows, array.columns, array.real))
    }

    #[test]
    fn csv_with_and_without_a_header() {
        let expected = (2, 2, vec![1.0, -2.5, 0.0, 1e3]);
        assert_eq!(csv("1,-2.5\n0,1e3\n").ok(), Some(expected.clone()));
        assert_eq!(csv("\u{feff}a, b\n1,-2.5\r\n0 , 1e3").ok(), Some(expected));
        assert_eq!(csv("").ok(), Some((0, 0, vec![])));
    }

    #[test]
    fn what_is_not_a_finite_number_is_refused() {
        let refusals = [
            ("nan,inf\n1,2\n", "line 1, column 1"),
            ("1,2\n3,x\n", "line 2, column 2"),
            ("a,1\n", "column 1"),
        ];
        for (text, part) in
            refusals.into_iter().chain([("1,2\n3\n", "expected 2 numbers"), ("1,\n", "column 2")])
        {
            let error = csv(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
