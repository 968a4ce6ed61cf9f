//! A counter for open keys: keys that are not declared in advance.

use evertally_keys::InputChain;
use numpy::{Ix1, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::readable;
use crate::counter_core::{CounterCore, counter_methods};
use crate::errors::bad;
use crate::noise_key::NoiseKey;
use crate::plan::Plan;
use crate::release::{Release, VectorRelease};

/// Private running totals for keys that are not declared in advance. A step takes amounts for any
/// key until it is closed; then any key may be released, once. A key without amounts has a total of
/// zero and is released like any other. Do not choose the keys to release from the data.
///
/// plan: a plan with open keys.
/// key: the secret key of the noise, which remembers what was counted under it. Defaults to a fresh
///     key from the operating system, which is not kept: the counter can be saved but not resumed.
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
pub(crate) struct SparseCounter(CounterCore<evertally::SparseCounter>);

counter_methods!(SparseCounter, steps_closed, |plan, key, _| Self::new(plan, key));

#[pymethods]
impl SparseCounter {
    #[new]
    #[pyo3(signature = (plan, key=None))]
    fn new(plan: &Bound<'_, Plan>, key: Option<&Bound<'_, NoiseKey>>) -> PyResult<Self> {
        CounterCore::new(plan, key, false).map(Self)
    }

    /// Adds an amount to a key in the open step.
    fn add(&self, py: Python<'_>, key: &str, amount: f64) -> PyResult<()> {
        self.0.counter.with(py, |counter| counter.add(key, amount))
    }

    /// Adds to several keys; `amounts` is an array of float64. If an amount is refused, those before
    /// it have been added.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn add_each(&self, py: Python<'_>, keys: Vec<String>, amounts: &Bound<'_, PyAny>) -> PyResult<()> {
        let amounts = readable::<f64, Ix1>("amounts", amounts)?;
        let amounts = amounts.as_slice()?;
        if amounts.len() != keys.len() {
            return Err(bad("amounts", &format!("one for each of {} keys", keys.len()), amounts.len()));
        }
        self.0.counter.with(py, |counter| {
            keys.iter().zip(amounts).try_for_each(|(key, amount)| counter.add(key, *amount))
        })
    }

    /// Closes the open step and returns its number. Its totals can be released until the next step
    /// is closed. If the key was used for this step with other amounts, `KeyReused` is raised and
    /// the step stays open: more amounts can be added, including negative ones.
    fn close_step(&self, py: Python<'_>) -> PyResult<u64> {
        let digests = |counter: &evertally::SparseCounter| {
            let amounts: Vec<_> = counter.open_inputs().collect();
            move |chain: &mut InputChain| {
                vec![chain.step_of_named(amounts.iter().map(|(tag, units)| (&tag[..], *units)))]
            }
        };
        self.0.counter.with_state(py, |state| state.admit(digests, evertally::SparseCounter::close_step))
    }

    /// Releases the total of a key as of the last closed step.
    fn release(&self, py: Python<'_>, key: &str) -> PyResult<Release> {
        self.0.counter.with(py, |counter| counter.release(key)).map(Release)
    }

    /// Releases the totals of several keys as of the last closed step, in the order of `keys`.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn release_each(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<VectorRelease> {
        let values = PyArray1::<f64>::zeros(py, [keys.len()], false);
        let mut borrowed = values.readwrite();
        let out = borrowed.as_slice_mut()?;
        let spread = self.0.counter.with(py, |counter| counter.release_into(&keys, out))?;
        drop(borrowed);
        Ok(VectorRelease::new(spread, values))
    }

    /// The number of closed steps, which is also the number of the open step.
    #[getter]
    fn steps_closed(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.steps(py)
    }

    /// The number of keys that use memory. It depends on the data: do not publish it.
    fn keys_held(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.counter.with(py, |counter| Ok(counter.keys_held()))
    }
}
