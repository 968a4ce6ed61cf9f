//! Digests of the totals of some keys in some steps, which add up over shards of keys. Private to
//! the package.

use evertally_keys::InputChain;
use numpy::{Ix2, PyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::readable;
use crate::errors::bad;
use crate::noise_key::NoiseKey;

/// Digests tables of integer totals with a row for each step and a column for each name. The digest
/// of a step is a pair of words, computed with a secret derived from the key. The pairs of several
/// shards add up, modulo 2^64 each, to the pair of all keys together. A step without totals has
/// zeros.
///
/// >>> import evertally, numpy
/// >>> from evertally._native import _CellDigests
/// >>> key = evertally.NoiseKey.generate()
/// >>> whole = _CellDigests(key, ["a", "b"]).digest(numpy.array([[3, 4], [0, 0]])).reshape(2, 2)
/// >>> parts = [_CellDigests(key, [name]).digest(numpy.array([[total], [0]])).reshape(2, 2) for name, total in (("a", 3), ("b", 4))]
/// >>> bool((whole == sum(parts)).all()), whole[1].tolist()
/// (True, [0, 0])
#[pyclass(frozen, module = "evertally._native", name = "_CellDigests")]
pub(crate) struct CellDigests {
    chain: InputChain,
    names: Vec<String>,
}

#[pymethods]
impl CellDigests {
    #[new]
    fn new(key: &Bound<'_, NoiseKey>, names: Vec<String>) -> Self {
        Self { chain: InputChain::new(&key.get().copied()), names }
    }

    /// The pairs of words of all rows, in order.
    fn digest<'py>(&self, py: Python<'py>, cells: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let cells = readable::<i64, Ix2>("cells", cells)?;
        let (width, totals) = (cells.shape()[1], cells.as_slice()?);
        if width != self.names.len() {
            return Err(bad(
                "cells",
                &format!("rows of {} numbers", self.names.len()),
                format!("{width} a row"),
            ));
        }
        let words = py.detach(|| totals.chunks(width.max(1)).flat_map(|row| self.row(row)).collect());
        Ok(PyArray1::from_vec(py, words))
    }
}

impl CellDigests {
    fn row(&self, totals: &[i64]) -> [u64; 2] {
        let counted = self.names.iter().zip(totals).filter(|(_, total)| **total != 0);
        let lanes = counted.map(|(name, total)| self.chain.lane(name.as_bytes(), i128::from(*total)));
        lanes.fold([0_u64; 2], |[low, high], lane| {
            // Numpy can add two halves that wrap separately.
            [low.wrapping_add(lane as u64), high.wrapping_add((lane >> 64) as u64)]
        })
    }
}
