//! Steps from arrays into arrays, with a row of numbers per step: one number for each coordinate of a
//! vector, or for each declared key. A single total is a row of one integer.

use evertally::Spread;
use numpy::ndarray::Dimension;
use numpy::{
    Element, Ix1, Ix2, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::arrays::{readable, writable};
use crate::counter_core::{CounterCore, CounterInput, LibraryCounter};
use crate::errors::bad;
use crate::release::{Releases, VectorRelease};

/// How a counter of the library takes the row of a step and writes its release.
pub(crate) type Step<C, T> = fn(&mut C, &[T], &mut [f64]) -> evertally::Result<Spread>;

impl<C: LibraryCounter> CounterCore<C> {
    /// Takes one step with a one-dimensional array and releases into a new array or into `out`.
    pub(crate) fn step_row(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        step: Step<C, f64>,
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
        let spread = self.step_into(py, inputs.as_slice()?, borrowed.as_slice_mut()?, step)?;
        drop(borrowed);
        Ok(VectorRelease::new(spread, values))
    }

    /// Takes one step for each row of a two-dimensional array, or none of them.
    pub(crate) fn run_rows(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        step: Step<C, f64>,
    ) -> PyResult<Releases> {
        let inputs = self.rows::<f64>(inputs)?;
        self.run_each(&PyArray2::zeros(py, inputs.dims(), false), inputs.as_slice()?, step)
    }

    /// Takes one step for each row of a two-dimensional array of integers, or none of them. A
    /// unit counts this number of steps of [`Amount`](evertally_stream::Amount)'s grid.
    pub(crate) fn run_amounts(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        grid_steps: i64,
        step: Step<C, i128>,
    ) -> PyResult<Releases> {
        let inputs = self.rows::<i64>(inputs)?;
        // Products of 64 bits fit in 128.
        let amounts = inputs.as_slice()?.iter().map(|input| i128::from(*input) * i128::from(grid_steps));
        let amounts = Zeroizing::new(amounts.collect::<Vec<_>>());
        self.run_each(&PyArray2::zeros(py, inputs.dims(), false), &amounts, step)
    }

    /// An array with a row for each step, whose rows have the width of the plan.
    fn rows<'py, T: Element>(&self, inputs: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray<'py, T, Ix2>> {
        let (width, inputs) = (self.width(), readable::<T, Ix2>("inputs", inputs)?);
        match inputs.shape()[1] {
            found if found == width => Ok(inputs),
            found => Err(bad("inputs", &format!("rows of {width} numbers"), format!("{found} per row"))),
        }
    }

    /// Takes one step for each row of inputs, or none of them, and releases into the array.
    pub(crate) fn run_each<T: CounterInput, D: Dimension>(
        &self,
        values: &Bound<'_, PyArray<f64, D>>,
        inputs: &[T],
        step: Step<C, T>,
    ) -> PyResult<Releases> {
        let width = self.width();
        let mut borrowed = values.readwrite();
        let out = borrowed.as_slice_mut()?;
        let spreads = self.all_or_nothing(values.py(), inputs, |counter| {
            let rows = inputs.chunks(width).zip(out.chunks_mut(width));
            rows.map(|(row, out)| step(counter, row, out)).collect()
        })?;
        drop(borrowed);
        Ok(Releases::of_steps(spreads, values.as_any().clone()))
    }
}
