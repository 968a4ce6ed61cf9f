//! A counter of one number a step for each declared key.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::bad;
use crate::noise_key::NoiseKey;
use crate::plan::Plan;
use crate::release::{Release, Releases, VectorRelease};
use crate::running::{Running, count};
use crate::vector_counter::{rows, run, step_into};

count!(evertally::KeyedCounter);

/// Private running totals for a public set of keys. An event counts for one key, so that all keys
/// together spend the budget once.
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
pub(crate) struct KeyedCounter(Running<evertally::KeyedCounter>);

#[pymethods]
impl KeyedCounter {
    #[new]
    #[pyo3(signature = (plan, key=None, *, remember=false))]
    fn new(plan: &Bound<'_, Plan>, key: Option<&Bound<'_, NoiseKey>>, remember: bool) -> PyResult<Self> {
        Running::new(plan, key, remember).map(Self)
    }

    /// Continues from a saved state; the state of another plan or key is refused, and so are other
    /// data than were counted after it.
    #[staticmethod]
    fn resume(plan: &Bound<'_, Plan>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        Running::resume(plan, key, state).map(Self)
    }

    /// Takes the inputs of the next step and releases the private answers of all keys in their
    /// order, in a new array or in `out`. Inputs are an array of float64 in the order of the keys,
    /// or a dictionary in which a key that is left out counts nothing. A refusal takes no step.
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
        let width = self.0.width();
        step_into(py, inputs, out, width, |x, out| {
            self.0.step_into(py, x, out, evertally::KeyedCounter::step_into)
        })
    }

    /// Takes one step for each row of an array of float64, with a column for each key. A refusal
    /// takes none of them.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Releases> {
        run(py, inputs, self.0.width(), |inputs, out, width| {
            self.0.all_or_nothing(py, inputs, |counter| {
                rows(inputs, out, width).map(|(x, out)| counter.step_into(x, out)).collect()
            })
        })
    }

    /// The total of a key over the steps first to last, both included, from the remembered
    /// releases, with its exact standard error.
    fn interval(&self, py: Python<'_>, key: &str, first: u64, last: u64) -> PyResult<Release> {
        self.0.with(py, |counter| counter.interval(key, first, last)).map(Release)
    }

    /// The declared keys, in the order in which inputs and releases stand.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.with(py, |counter| Ok(counter.keys().to_vec()))
    }

    /// The state as bytes, for `resume`. It holds true totals: guard it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.save(py)?))
    }

    /// The number of steps taken.
    #[getter]
    fn steps_taken(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.steps(py)
    }

    /// The plan that the counter follows.
    #[getter]
    fn plan(&self, py: Python<'_>) -> Py<Plan> {
        self.0.plan(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.description("KeyedCounter", self.steps_taken(py)?))
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
