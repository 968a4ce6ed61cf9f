//! An array that is written to an `.npy` file while it is made, so that it never has to fit into memory.

use super::Destination;
use super::npy::npy_header;
use crate::error::{CliError, Result};
use std::io::Write;
use zeroize::Zeroizing;

/// Numbers that are turned into bytes together.
const BLOCK: usize = 1 << 14;

/// A number as NumPy stores it.
pub(crate) trait Element: evertally::internals::noise::Real {
    /// NumPy's name of the type.
    const DESCR: &'static str;

    fn extend(bytes: &mut Vec<u8>, values: &[Self]);
}

impl Element for f32 {
    const DESCR: &'static str = "<f4";

    fn extend(bytes: &mut Vec<u8>, values: &[Self]) {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

impl Element for f64 {
    const DESCR: &'static str = "<f8";

    fn extend(bytes: &mut Vec<u8>, values: &[Self]) {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

/// The array so far.
pub(crate) struct NpyStream {
    name: String,
    out: Destination,
    /// Wiped when it goes, because what passes through it may be a secret.
    block: Zeroizing<Vec<u8>>,
    written: u64,
}

impl NpyStream {
    /// Writes the header of an array of this shape.
    pub(crate) fn start<F: Element>(mut out: Destination, shape: &[u64]) -> Result<Self> {
        let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
        // A tuple of one has a comma behind it.
        let shape = if let [size] = sizes.as_slice() {
            format!("({size},)")
        } else {
            format!("({})", sizes.join(", "))
        };
        let header = npy_header(F::DESCR, &shape);
        let name = out.name();
        out.write_all(&header).map_err(|error| CliError::writing(&name, &error))?;
        let block = Zeroizing::new(Vec::with_capacity(BLOCK * size_of::<F>()));
        Ok(Self { name, out, block, written: header.len() as u64 })
    }

    /// The next numbers, row by row.
    pub(crate) fn write<F: Element>(&mut self, values: &[F]) -> Result<()> {
        for values in values.chunks(BLOCK) {
            if self.block.len() + size_of_val(values) > self.block.capacity() {
                self.flush()?;
            }
            F::extend(&mut self.block, values);
        }
        Ok(())
    }

    /// The array is whole: a file gets its name. Answers with the number of bytes.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        self.out.commit()?;
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.block).map_err(|error| CliError::writing(&self.name, &error))?;
        self.written += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Existing;
    use super::*;
    use crate::input::matrix::parse_matrix;
    use evertally::Matrix;
    use evertally::research::gamma::Subject;

    #[test]
    fn blocks_of_any_length_make_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let (rows, columns) = (50_u64, 1000_u64);
        let values: Vec<f32> = (0..rows * columns).map(|i| i as f32 / 7.0).collect();
        let whole = Matrix::from_fn(50, 1000, |i, j| f64::from(values[i * 1000 + j]));
        for length in [1, 999, 1000, BLOCK - 1, BLOCK, BLOCK + 1, values.len()] {
            let path = directory.path().join(length.to_string());
            let out = Destination::open_private(&path, Existing::Kept).unwrap();
            let mut stream = NpyStream::start::<f32>(out, &[rows, columns]).unwrap();
            values.chunks(length).for_each(|values| stream.write(values).unwrap());
            assert!(!path.exists());
            let bytes = stream.finish().unwrap();
            let file = std::fs::read(&path).unwrap();
            assert_eq!(file.len() as u64, bytes);
            assert_eq!(parse_matrix("a", &file).unwrap(), Subject::Real(whole.clone()), "{length}");
        }
    }
}
