//! NumPy's `.npy` and `.npz` files.

use crate::error::{CliError, Result};
use evertally::Matrix;
use evertally::research::gamma::ComplexMatrix;

/// A list of doubles as an `.npy` file.
pub(crate) fn npy_list(values: &[f64]) -> Vec<u8> {
    file("<f8", &format!("({},)", values.len()), values.iter().copied())
}

/// A real matrix as an `.npy` file.
pub(crate) fn npy_matrix(matrix: &Matrix) -> Vec<u8> {
    file("<f8", &shape(matrix), (0..matrix.rows()).flat_map(|i| matrix.row(i)).copied())
}

/// A complex matrix as an `.npy` file.
pub(crate) fn npy_complex(matrix: &ComplexMatrix) -> Vec<u8> {
    let row = |i: usize| matrix.real().row(i).iter().zip(matrix.imaginary().row(i));
    let parts = (0..matrix.rows()).flat_map(row).flat_map(|(real, imaginary)| [*real, *imaginary]);
    file("<c16", &shape(matrix.real()), parts)
}

fn shape(matrix: &Matrix) -> String {
    format!("({}, {})", matrix.rows(), matrix.columns())
}

fn file(descr: &str, shape: &str, values: impl Iterator<Item = f64>) -> Vec<u8> {
    let mut bytes = npy_header(descr, shape);
    values.for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

/// What stands before the numbers. Version 1: padded with spaces, so that the numbers start at a
/// multiple of 64 bytes.
pub(super) fn npy_header(descr: &str, shape: &str) -> Vec<u8> {
    const BEFORE_HEADER: usize = 10;
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (BEFORE_HEADER + header.len() + 1).next_multiple_of(64) - BEFORE_HEADER;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // Two sizes of at most twenty digits fit into far less than 65,535 bytes.
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).as_bytes());
    bytes
}

/// An archive of named files, stored as they are. It has no dates, so that equal contents give equal bytes.
pub(crate) fn npz(entries: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let too_large =
        |_| CliError::Failure("an .npz file of four gigabytes or more cannot be written".to_owned());
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, contents) in entries {
        let place = u32::try_from(bytes.len()).map_err(too_large)?;
        let size = u32::try_from(contents.len()).map_err(too_large)?.to_le_bytes();
        // Version 2.0, no flags, stored, midnight of 1 January 1980.
        let mut common = b"\x14\0\0\0\0\0\0\0\x21\0".to_vec();
        common.extend(crc32fast::hash(contents).to_le_bytes());
        common.extend(size);
        common.extend(size);
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(contents);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(place.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let place = u32::try_from(bytes.len()).map_err(too_large)?;
    let count = (entries.len() as u16).to_le_bytes();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes()].concat();
    bytes.extend(directory);
    bytes.extend(end);
    bytes.extend(place.to_le_bytes());
    bytes.extend([0, 0]);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::matrix::{parse_list, parse_matrix};
    use evertally::research::gamma::Subject;

    #[test]
    fn what_is_written_is_read_bit_for_bit() {
        let list = [0.1, -0.0, 1e-310, f64::MAX];
        let read = parse_list("a", &npy_list(&list)).unwrap();
        assert!(list.iter().zip(&read).all(|(a, b)| a.to_bits() == b.to_bits()));
        let real = Matrix::from_fn(2, 3, |i, j| (i as f64 + 0.1) / (j as f64 + 3.0));
        assert_eq!(parse_matrix("a", &npy_matrix(&real)).unwrap(), Subject::Real(real.clone()));
        let complex = ComplexMatrix::new(real.clone(), Matrix::zeros(2, 3)).unwrap();
        assert_eq!(parse_matrix("a", &npy_complex(&complex)).unwrap(), Subject::Complex(complex));
    }

    /// The bytes that numpy.save gives for numpy.array([1.0, 2.0]).
    #[test]
    fn the_bytes_are_numpys_own() {
        let mut expected =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }".to_vec();
        expected.extend([b' '; 60]);
        expected.push(b'\n');
        expected.extend([0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40]);
        assert_eq!(npy_list(&[1.0, 2.0]), expected);
        assert_eq!((expected.len() - 16) % 64, 0);
    }
}
