//! Steps from arrays into arrays, for counters that take a row of numbers per step: one number for
//! each coordinate of a vector, or for each declared key.

use evertally::Spread;
use numpy::{Ix1, Ix2, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{readable, writable};
use crate::counter_core::{CounterCore, LibraryCounter};
use crate::errors::bad;
use crate::release::{Releases, VectorRelease};

/// A counter of the library that takes a row of numbers per step.
pub(crate) trait RowCounter: LibraryCounter {
    fn step_into(&mut self, inputs: &[f64], out: &mut [f64]) -> evertally::Result<Spread>;
}

impl RowCounter for evertally::VectorCounter {
    fn step_into(&mut self, inputs: &[f64], out: &mut [f64]) -> evertally::Result<Spread> {
        self.step_into(inputs, out)
    }
}

impl RowCounter for evertally::KeyedCounter {
    fn step_into(&mut self, inputs: &[f64], out: &mut [f64]) -> evertally::Result<Spread> {
        self.step_into(inputs, out)
    }
}

impl<C: RowCounter> CounterCore<C> {
    /// Takes one step with a one-dimensional array and releases into a new array or into `out`.
    pub(crate) fn step_row(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<VectorRelease> {
        let width = self.width();
        let inputs = readable::<f64, Ix1>("inputs", inputs)?;
        if inputs.len() != width {
            return Err(bad("inputs", &format!("{width} numbers"), inputs.len()));
        }
        let values = match out {
            Some(out) => {
                // This checks the layout. The borrow below refuses an array that is also the input.
                drop(writable::<f64, Ix1>("out", out)?);
                out.cast::<PyArray1<f64>>()?.clone()
            }
            None => PyArray1::<f64>::zeros(py, [width], false),
        };
        let mut borrowed = writable::<f64, Ix1>("out", &values)?;
        let spread = self.step_into(py, inputs.as_slice()?, borrowed.as_slice_mut()?, C::step_into)?;
        drop(borrowed);
        VectorRelease::new(spread, &values)
    }

    /// Takes one step for each row of a two-dimensional array, or none of them.
    pub(crate) fn run_rows(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Releases> {
        let width = self.width();
        let inputs = readable::<f64, Ix2>("inputs", inputs)?;
        let [count, found] = [inputs.shape()[0], inputs.shape()[1]];
        if found != width {
            return Err(bad("inputs", &format!("rows of {width} numbers"), format!("{found} per row")));
        }
        let values = PyArray2::<f64>::zeros(py, [count, width], false);
        let mut borrowed = values.readwrite();
        let (inputs, out) = (inputs.as_slice()?, borrowed.as_slice_mut()?);
        let spreads = self.all_or_nothing(py, inputs, |counter| {
            let rows = inputs.chunks(width).zip(out.chunks_mut(width));
            rows.map(|(row, out)| counter.step_into(row, out)).collect()
        })?;
        drop(borrowed);
        Ok(Releases::of_steps(spreads, values.into_any()))
    }
}
