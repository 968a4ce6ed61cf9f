//! A counter of one vector per step.

use numpy::PyArray1;
use pyo3::prelude::*;

use crate::counter_core::{CounterCore, counter_methods};
use crate::release::{Releases, VectorRelease};

/// A private running total of vectors whose contributions are bounded in Euclidean norm.
///
/// If you sum gradients elsewhere and need only the noise, use `NoiseStream`.
///
/// plan: a plan with a dimension.
/// key: the secret key of the noise, which remembers what was counted under it. Defaults to a fresh
///     key from the operating system, which is not kept: the counter can be saved but not resumed.
/// remember: whether to keep every release, for `interval`. Memory then grows with the steps.
///
/// >>> import evertally, numpy
/// >>> plan = evertally.plan(1000, epsilon=2.0, delta=1e-6, dimension=3, norm=1.0)
/// >>> counter = evertally.VectorCounter(plan)
/// >>> out = numpy.empty(3)
/// >>> release = counter.step(numpy.array([0.6, 0.0, -0.8]), out=out)
/// >>> release.values is out
/// True
/// >>> counter.run(numpy.zeros((10, 3))).values.shape
/// (10, 3)
#[pyclass(frozen, module = "evertally", name = "VectorCounter")]
pub(crate) struct VectorCounter(CounterCore<evertally::VectorCounter>);

counter_methods!(VectorCounter, remembering);

#[pymethods]
impl VectorCounter {
    /// Takes the vector of the next step, an array of float64, and releases its private answer into
    /// a new array or into `out`. Refused input takes no step.
    #[pyo3(signature = (x, out=None))]
    fn step(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<VectorRelease> {
        self.0.step_row(py, x, out, evertally::VectorCounter::step_into)
    }

    /// Takes one step for each row of an array of float64. If a row is refused, no step is taken.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Releases> {
        self.0.run_rows(py, inputs, evertally::VectorCounter::step_into)
    }

    /// The total over the steps `first` to `last`, both included, from the remembered releases, with
    /// the exact standard error of each coordinate.
    fn interval(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<VectorRelease> {
        let found = self.0.counter.with(py, |counter| counter.interval(first, last))?;
        Ok(VectorRelease::new(found.spread(), PyArray1::from_vec(py, found.values)))
    }
}
