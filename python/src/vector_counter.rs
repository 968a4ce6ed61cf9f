//! A counter of one vector a step.

use evertally::Spread;
use numpy::{Ix1, Ix2, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{readable, writable};
use crate::errors::bad;
use crate::noise_key::NoiseKey;
use crate::plan::Plan;
use crate::release::{Releases, VectorRelease};
use crate::running::{Running, count};

count!(evertally::VectorCounter);

/// A private running total of vectors whose contributions are bounded in Euclidean norm.
///
/// Whoever adds gradients up elsewhere takes the noise alone: see `NoiseStream`.
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
pub(crate) struct VectorCounter(Running<evertally::VectorCounter>);

#[pymethods]
impl VectorCounter {
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

    /// Takes the vector of the next step, an array of float64, and releases its private answer in a
    /// new array or in `out`. A refusal takes no step.
    #[pyo3(signature = (x, out=None))]
    fn step(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<VectorRelease> {
        let width = self.0.width();
        step_into(py, x, out, width, |x, out| {
            self.0.step_into(py, x, out, evertally::VectorCounter::step_into)
        })
    }

    /// Takes one step for each row of an array of float64. A refusal takes none of them.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Releases> {
        run(py, inputs, self.0.width(), |inputs, out, width| {
            self.0.all_or_nothing(py, inputs, |counter| {
                rows(inputs, out, width).map(|(x, out)| counter.step_into(x, out)).collect()
            })
        })
    }

    /// The total over the steps first to last, both included, from the remembered releases, with
    /// the exact standard error of each coordinate.
    fn interval(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<VectorRelease> {
        let found = self.0.with(py, |counter| counter.interval(first, last))?;
        let evertally::VectorRelease { step, values, standard_error, tail, .. } = found;
        let spread = evertally::Release { step, value: 0.0, standard_error, tail }.spread();
        VectorRelease::new(spread, &PyArray1::from_vec(py, values))
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
        Ok(self.0.description("VectorCounter", self.steps_taken(py)?))
    }
}

/// One step from an array into another, for vectors and for declared keys.
pub(crate) fn step_into(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    out: Option<&Bound<'_, PyAny>>,
    width: usize,
    step: impl FnOnce(&[f64], &mut [f64]) -> PyResult<Spread>,
) -> PyResult<VectorRelease> {
    let inputs = readable::<f64, Ix1>("inputs", x)?;
    if inputs.len() != width {
        return Err(bad("inputs", &format!("{width} numbers"), inputs.len()));
    }
    let values = match out {
        Some(out) => {
            // Checked here for its layout; an array that is being read as the input is refused when
            // it is borrowed below.
            drop(writable::<f64, Ix1>("out", out)?);
            out.cast::<PyArray1<f64>>()?.clone()
        }
        None => PyArray1::<f64>::zeros(py, [width], false),
    };
    let mut borrowed = writable::<f64, Ix1>("out", &values)?;
    let spread = step(inputs.as_slice()?, borrowed.as_slice_mut()?)?;
    drop(borrowed);
    VectorRelease::new(spread, &values)
}

/// Several steps, one for each row of an array.
pub(crate) fn run(
    py: Python<'_>,
    inputs: &Bound<'_, PyAny>,
    width: usize,
    steps: impl FnOnce(&[f64], &mut [f64], usize) -> PyResult<Vec<Spread>>,
) -> PyResult<Releases> {
    let inputs = readable::<f64, Ix2>("inputs", inputs)?;
    let [count, found] = [inputs.shape()[0], inputs.shape()[1]];
    if found != width {
        return Err(bad("inputs", &format!("rows of {width} numbers"), format!("{found} a row")));
    }
    let values = PyArray2::<f64>::zeros(py, [count, width], false);
    let mut borrowed = values.readwrite();
    let spreads = steps(inputs.as_slice()?, borrowed.as_slice_mut()?, width)?;
    drop(borrowed);
    Ok(Releases::of_steps(spreads, values.into_any()))
}

/// The rows of inputs and outputs, side by side.
pub(crate) fn rows<'a>(
    inputs: &'a [f64],
    out: &'a mut [f64],
    width: usize,
) -> impl Iterator<Item = (&'a [f64], &'a mut [f64])> {
    inputs.chunks(width).zip(out.chunks_mut(width))
}
