//! A counter of one number per step for each declared key.

use evertally_stream::Amount;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::counter_core::{CounterCore, counter_methods};
use crate::errors::bad;
use crate::release::{Release, Releases, VectorRelease};

/// Private running totals for a public set of keys. An event counts for one key, so all keys
/// together spend the budget once.
///
/// plan: a plan with declared keys.
/// key: the secret key of the noise, which remembers what was counted under it. Defaults to a fresh
///     key from the operating system, which is not kept: the counter can be saved but not resumed.
/// remember: whether to keep every release, for `interval`. Memory then grows with the steps.
///
/// >>> import evertally, numpy
/// >>> plan = evertally.plan(24, epsilon=1.0, delta=1e-6, keys=["north", "south"])
/// >>> counter = evertally.KeyedCounter(plan, remember=True)
/// >>> release = counter.step({"south": 7.0})
/// >>> release.values.shape
/// (2,)
/// >>> release = counter.step(numpy.array([12.0, 7.0]))
/// >>> south = counter.interval("south", 0, 1)
/// >>> abs(south.value - 14) < 10 * south.standard_error
/// True
#[pyclass(frozen, module = "evertally", name = "KeyedCounter")]
pub(crate) struct KeyedCounter(CounterCore<evertally::KeyedCounter>);

counter_methods!(KeyedCounter, remembering);

#[pymethods]
impl KeyedCounter {
    /// Takes the inputs of the next step and releases the private answers of all keys, in the order
    /// of the keys, into a new array or into `out`. Inputs are an array of float64 in this order, or
    /// a dictionary; a key that the dictionary leaves out counts zero. Refused input takes no step.
    #[pyo3(signature = (inputs, out=None))]
    fn step(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<VectorRelease> {
        let gathered;
        let inputs = match inputs.cast::<PyDict>() {
            Ok(named) => {
                gathered = self.gather(named)?.into_any();
                &gathered
            }
            Err(_) => inputs,
        };
        self.0.step_row(py, inputs, out, evertally::KeyedCounter::step_into)
    }

    /// Takes one step for each row of an array of float64, which has a column for each key. If a row
    /// is refused, no step is taken.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Releases> {
        self.0.run_rows(py, inputs, evertally::KeyedCounter::step_into)
    }

    /// Takes one step for each row of an array of int64, which has a column for each key. A unit
    /// counts `grid_steps` steps of the grid of 2^-20. Totals that no double holds count exactly. If a row
    /// is refused, no step is taken. Private to the package.
    fn _run_amounts(
        &self,
        py: Python<'_>,
        amounts: &Bound<'_, PyAny>,
        grid_steps: i64,
    ) -> PyResult<Releases> {
        self.0.run_amounts(py, amounts, grid_steps, |counter, amounts, out| {
            counter.step_amounts_into(amounts, Amount::GRID_EXPONENT, out)
        })
    }

    /// The total of a key over the steps `first` to `last`, both included, from the remembered
    /// releases, with its exact standard error.
    fn interval(&self, py: Python<'_>, key: &str, first: u64, last: u64) -> PyResult<Release> {
        self.0.counter.with(py, |counter| counter.interval(key, first, last)).map(Release)
    }

    /// The declared keys, in the order of inputs and releases.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.counter.with(py, |counter| Ok(counter.keys().to_vec()))
    }
}

impl KeyedCounter {
    /// Inputs by name, in the order of the keys.
    fn gather<'py>(&self, named: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = named.py();
        let keys = self.keys(py)?;
        let inputs = PyArray1::<f64>::zeros(py, [keys.len()], false);
        let mut borrowed = inputs.readwrite();
        let mut found = 0;
        for (key, x) in keys.iter().zip(borrowed.as_slice_mut()?) {
            if let Some(given) = named.get_item(key)? {
                *x = given.extract().map_err(|_| bad("inputs", "numbers", "something else"))?;
                found += 1;
            }
        }
        drop(borrowed);
        if found == named.len() { Ok(inputs) } else { Err(bad("inputs", "for declared keys", "another key")) }
    }
}
