//! Steps from arrays into arrays, with a row of numbers per step: one number for each coordinate of a
//! vector, or for each declared key. A single total is a row of one integer.

use evertally::Spread;
use evertally_stream::Amount;
use numpy::{Element, Ix1, Ix2, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::arrays::{readable, writable};
use crate::counter_core::{CounterCore, CounterInput, LibraryCounter};
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
        let inputs = self.rows::<f64>(inputs)?;
        self.run_each(py, inputs.as_slice()?, C::step_into)
    }
}

/// A counter of the library that takes a row of integers per step.
pub(crate) trait AmountCounter: LibraryCounter {
    fn step_amounts_into(&mut self, amounts: &[i128], out: &mut [f64]) -> evertally::Result<Spread>;
}

impl AmountCounter for evertally::Counter {
    fn step_amounts_into(&mut self, amounts: &[i128], out: &mut [f64]) -> evertally::Result<Spread> {
        let release = self.step_amount(amounts[0], Amount::GRID_EXPONENT)?;
        out[0] = release.value;
        Ok(release.spread())
    }
}

impl AmountCounter for evertally::KeyedCounter {
    fn step_amounts_into(&mut self, amounts: &[i128], out: &mut [f64]) -> evertally::Result<Spread> {
        self.step_amounts_into(amounts, Amount::GRID_EXPONENT, out)
    }
}

impl<C: AmountCounter> CounterCore<C> {
    /// Takes one step for each row of a two-dimensional array of integers, or none of them. A
    /// unit counts this number of steps of [`Amount`]'s grid.
    pub(crate) fn run_amounts(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        grid_steps: i64,
    ) -> PyResult<Releases> {
        let inputs = self.rows::<i64>(inputs)?;
        // Products of 64 bits fit in 128.
        let amounts = inputs.as_slice()?.iter().map(|input| i128::from(*input) * i128::from(grid_steps));
        let amounts = Zeroizing::new(amounts.collect::<Vec<_>>());
        self.run_each(py, &amounts, C::step_amounts_into)
    }
}

impl<C: LibraryCounter> CounterCore<C> {
    /// An array with a row for each step, whose rows have the width of the plan.
    fn rows<'py, T: Element>(&self, inputs: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray<'py, T, Ix2>> {
        let (width, inputs) = (self.width(), readable::<T, Ix2>("inputs", inputs)?);
        match inputs.shape()[1] {
            found if found == width => Ok(inputs),
            found => Err(bad("inputs", &format!("rows of {width} numbers"), format!("{found} per row"))),
        }
    }

    fn run_each<T: CounterInput>(
        &self,
        py: Python<'_>,
        inputs: &[T],
        step: fn(&mut C, &[T], &mut [f64]) -> evertally::Result<Spread>,
    ) -> PyResult<Releases> {
        let width = self.width();
        let values = PyArray2::<f64>::zeros(py, [inputs.len() / width, width], false);
        let mut borrowed = values.readwrite();
        let out = borrowed.as_slice_mut()?;
        let spreads = self.all_or_nothing(py, inputs, |counter| {
            let rows = inputs.chunks(width).zip(out.chunks_mut(width));
            rows.map(|(row, out)| step(counter, row, out)).collect()
        })?;
        drop(borrowed);
        Ok(Releases::of_steps(spreads, values.into_any()))
    }
}
