//! A counter for keys that nobody declares.

use evertally_keys::InputChain;
use numpy::{Ix1, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::readable;
use crate::errors::bad;
use crate::noise_key::NoiseKey;
use crate::plan::Plan;
use crate::release::{Release, VectorRelease};
use crate::running::{Count, Running};

impl Count for evertally::SparseCounter {
    fn new(plan: &evertally::Plan, key: evertally::NoiseKey, _remember: bool) -> evertally::Result<Self> {
        Self::new(plan, key)
    }

    fn resume(plan: &evertally::Plan, key: evertally::NoiseKey, state: &[u8]) -> evertally::Result<Self> {
        Self::resume(plan, key, state)
    }

    fn save(&self) -> Vec<u8> {
        Self::save(self)
    }

    fn plan(&self) -> &evertally::Plan {
        self.plan()
    }

    fn steps(&self) -> u64 {
        self.steps_closed()
    }
}

/// Private running totals for keys that come as they come. A step takes what is added to any key
/// until it is closed; then any key may be released, once. A key that was never added to has a
/// total of zero, and is released like any other: which keys are asked for must not be taken from
/// the data.
///
/// >>> import evertally
/// >>> plan = evertally.plan(365, epsilon=1.0, delta=1e-6, open_keys=True)
/// >>> counter = evertally.SparseCounter(plan)
/// >>> counter.add("/about", 3.0)
/// >>> counter.close_step()
/// 0
/// >>> counter.release_each(["/", "/about"]).values.shape
/// (2,)
#[pyclass(frozen, module = "evertally", name = "SparseCounter")]
pub(crate) struct SparseCounter(Running<evertally::SparseCounter>);

#[pymethods]
impl SparseCounter {
    #[new]
    #[pyo3(signature = (plan, key=None))]
    fn new(plan: &Bound<'_, Plan>, key: Option<&Bound<'_, NoiseKey>>) -> PyResult<Self> {
        Running::new(plan, key, false).map(Self)
    }

    /// Continues from a saved state; the state of another plan or key is refused, and so are other
    /// data than were counted after it.
    #[staticmethod]
    fn resume(plan: &Bound<'_, Plan>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        Running::resume(plan, key, state).map(Self)
    }

    /// Adds to what the open step has for a key.
    fn add(&self, py: Python<'_>, key: &str, amount: f64) -> PyResult<()> {
        self.0.with(py, |counter| counter.add(key, amount))
    }

    /// Adds to several keys, amounts being an array of float64. Where one is refused, those before
    /// it have been added.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn add_each(&self, py: Python<'_>, keys: Vec<String>, amounts: &Bound<'_, PyAny>) -> PyResult<()> {
        let amounts = readable::<f64, Ix1>("amounts", amounts)?;
        let amounts = amounts.as_slice()?;
        if amounts.len() != keys.len() {
            return Err(bad("amounts", &format!("one for each of {} keys", keys.len()), amounts.len()));
        }
        self.0.with(py, |counter| {
            keys.iter().zip(amounts).try_for_each(|(key, amount)| counter.add(key, *amount))
        })
    }

    /// Ends the open step, and returns its number. Its totals can be released from now on, until
    /// the next step is closed. Where the key was used for this step with other amounts,
    /// `KeyReused` is raised and the step stays open: amounts can still be added, negative ones
    /// too.
    fn close_step(&self, py: Python<'_>) -> PyResult<u64> {
        let digests = |counter: &evertally::SparseCounter| {
            let amounts: Vec<_> = counter.open_inputs().collect();
            move |chain: &mut InputChain| {
                vec![chain.step_of_named(amounts.iter().map(|(tag, units)| (&tag[..], *units)))]
            }
        };
        self.0.admit(py, digests, evertally::SparseCounter::close_step)
    }

    /// Releases the total of a key as of the step closed last.
    fn release(&self, py: Python<'_>, key: &str) -> PyResult<Release> {
        self.0.with(py, |counter| counter.release(key)).map(Release)
    }

    /// Releases the totals of several keys as of the step closed last, in their order.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn release_each(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<VectorRelease> {
        let values = PyArray1::<f64>::zeros(py, [keys.len()], false);
        let mut borrowed = values.readwrite();
        let out = borrowed.as_slice_mut()?;
        let spread = self.0.with(py, |counter| counter.release_into(&keys, out))?;
        drop(borrowed);
        VectorRelease::new(spread, &values)
    }

    /// The number of steps closed. The step that is open has this number.
    #[getter]
    fn steps_closed(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.steps(py)
    }

    /// The number of keys that hold memory. It tells how many keys the data has, so that it is not
    /// for publication.
    fn keys_held(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.with(py, |counter| Ok(counter.keys_held()))
    }

    /// The state as bytes, for `resume`. It holds true totals: guard it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.save(py)?))
    }

    /// The plan that the counter follows.
    #[getter]
    fn plan(&self, py: Python<'_>) -> Py<Plan> {
        self.0.plan(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.description("SparseCounter", self.steps_closed(py)?))
    }
}
