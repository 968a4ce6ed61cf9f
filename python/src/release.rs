//! Published values with their errors.

use evertally::{Rounding, Spread, Tail};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::attributes::attributes;
use crate::errors::bad;

/// Levels are checked here, because the library treats a wrong level as a bug of its caller.
fn checked(level: f64) -> PyResult<f64> {
    if level > 0.0 && level < 1.0 { Ok(level) } else { Err(bad("level", "strictly between 0 and 1", level)) }
}

/// One private answer, with the error caused by its noise.
///
/// >>> import evertally
/// >>> plan = evertally.plan(100, epsilon=1.0, delta=1e-6)
/// >>> release = evertally.Counter(plan).step(5.0)
/// >>> release.step, round(release.standard_error, 2)
/// (0, 8.28)
/// >>> low, high = release.interval(0.95)
/// >>> low < release.value < high
/// True
#[pyclass(frozen, eq, module = "evertally", name = "Release")]
#[derive(Clone, PartialEq)]
pub(crate) struct Release(pub(crate) evertally::Release);

attributes!(Release, self => {
    /// The step, counted from zero.
    step: u64 = self.0.step;
    /// The private value.
    value: f64 = self.0.value;
    /// The standard deviation of its noise.
    standard_error: f64 = self.0.standard_error;
});

#[pymethods]
impl Release {
    /// Half the width of the interval that holds the true value with probability `level`.
    #[pyo3(signature = (level=0.95))]
    fn margin(&self, level: f64) -> PyResult<f64> {
        Ok(self.0.margin(checked(level)?))
    }

    /// The interval around the value that holds the true one with probability `level`.
    #[pyo3(signature = (level=0.95))]
    fn interval(&self, level: f64) -> PyResult<(f64, f64)> {
        Ok(self.0.interval(checked(level)?))
    }

    pub(crate) fn __repr__(&self) -> String {
        let evertally::Release { step, value, standard_error, .. } = self.0;
        format!("Release(step={step}, value={value:?}, standard_error={standard_error:?})")
    }
}

/// The private answers of one step, for coordinates or keys. All have the same error.
///
/// >>> import evertally, numpy
/// >>> plan = evertally.plan(10, dimension=3)
/// >>> release = evertally.VectorCounter(plan).step(numpy.array([0.6, 0.0, -0.8]))
/// >>> release.values.shape, len(release), release.step
/// ((3,), 3, 0)
/// >>> release[2].value == float(release.values[2])
/// True
#[pyclass(frozen, module = "evertally", name = "VectorRelease")]
pub(crate) struct VectorRelease {
    spread: Spread,
    /// The private values.
    #[pyo3(get)]
    values: Py<PyArray1<f64>>,
}

impl VectorRelease {
    pub(crate) fn new(spread: Spread, values: Bound<'_, PyArray1<f64>>) -> Self {
        Self { spread, values: values.unbind() }
    }
}

attributes!(VectorRelease, self => {
    /// The step, counted from zero.
    step: u64 = self.spread.step;
    /// The standard deviation of the noise in each value.
    standard_error: f64 = self.spread.standard_error;
});

#[pymethods]
impl VectorRelease {
    /// Half the width of the interval around a value that holds the true one with probability
    /// `level`.
    #[pyo3(signature = (level=0.95))]
    fn margin(&self, level: f64) -> PyResult<f64> {
        Ok(self.spread.margin(checked(level)?))
    }

    /// The ends of these intervals, as two arrays.
    #[pyo3(signature = (level=0.95))]
    fn interval<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (values, margin) = (self.values.bind(py), self.margin(level)?);
        Ok((values.sub(margin)?, values.add(margin)?))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.values.bind(py).len()
    }

    fn __getitem__(&self, py: Python<'_>, place: usize) -> PyResult<Release> {
        let value = self.values.bind(py).readonly().get(place).copied();
        let value = value.ok_or_else(|| PyIndexError::new_err("there is no such value"))?;
        Ok(Release(self.spread.around(value)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (Spread { step, standard_error, .. }, length) = (self.spread, self.__len__(py));
        format!("VectorRelease(step={step}, {length} values, standard_error={standard_error:?})")
    }
}

/// Many private answers as arrays: of a run of steps, or of a batch of queries.
///
/// >>> import evertally, numpy
/// >>> plan = evertally.plan(365, epsilon=1.0, delta=1e-6)
/// >>> visits = numpy.full(365, 20.0)
/// >>> releases = evertally.Counter(plan).run(visits)
/// >>> releases.values.shape, releases.standard_errors.shape
/// ((365,), (365,))
/// >>> low, high = releases.interval(0.999)
/// >>> bool(numpy.mean((low < numpy.cumsum(visits)) & (numpy.cumsum(visits) < high)) > 0.5)
/// True
#[pyclass(frozen, module = "evertally", name = "Releases")]
pub(crate) struct Releases {
    spreads: Vec<Spread>,
    /// The private values: one value or one row per step.
    #[pyo3(get)]
    values: Py<PyAny>,
    is_stream: bool,
}

impl Releases {
    /// The releases of consecutive steps.
    pub(crate) fn of_steps(spreads: Vec<Spread>, values: Bound<'_, PyAny>) -> Self {
        Self { spreads, values: values.unbind(), is_stream: true }
    }

    /// The answers to queries, in their order.
    pub(crate) fn of_queries(py: Python<'_>, answers: &[evertally::research::batch::Answer]) -> Self {
        let unit = |answer: &evertally::research::batch::Answer| {
            let evertally::research::batch::Answer { query, value, standard_error } = *answer;
            let (tail, rounding) = (Tail::Gaussian, Rounding::NONE);
            evertally::Release { step: query as u64, value, standard_error, tail, rounding }.spread()
        };
        let values: Vec<f64> = answers.iter().map(|answer| answer.value).collect();
        Self {
            spreads: answers.iter().map(unit).collect(),
            values: values.into_pyarray(py).into_any().unbind(),
            is_stream: false,
        }
    }

    /// Margins at a level. The quantile takes longest, so it is computed once for consecutive
    /// answers with the same kind of noise.
    fn margins(&self, level: f64) -> Vec<f64> {
        let runs = self.spreads.chunk_by(|one, next| one.tail == next.tail);
        let margins = runs.flat_map(|run| {
            let quantile = run[0].tail.quantile(level);
            run.iter().map(move |spread| spread.margin_at(quantile))
        });
        margins.collect()
    }
}

#[pymethods]
impl Releases {
    /// The steps, counted from zero. None for the answers of a batch.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u64>>> {
        let steps: Vec<u64> = self.spreads.iter().map(|spread| spread.step).collect();
        self.is_stream.then(|| steps.into_pyarray(py))
    }

    /// The standard deviation of the noise, step by step.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let errors: Vec<f64> = self.spreads.iter().map(|spread| spread.standard_error).collect();
        errors.into_pyarray(py)
    }

    /// Half the widths of the intervals around the values that hold the true ones with probability
    /// `level` each.
    #[pyo3(signature = (level=0.95))]
    fn margin<'py>(&self, py: Python<'py>, level: f64) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let level = checked(level)?;
        Ok(py.detach(|| self.margins(level)).into_pyarray(py))
    }

    /// The ends of these intervals, as two arrays of the shape of the values.
    #[pyo3(signature = (level=0.95))]
    fn interval<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let values = self.values.bind(py);
        let mut margin = self.margin(py, level)?.into_any();
        if values.getattr("ndim")?.extract::<usize>()? == 2 {
            margin = margin.call_method1("reshape", ((-1, 1),))?;
        }
        Ok((values.sub(&margin)?, values.add(&margin)?))
    }

    fn __len__(&self) -> usize {
        self.spreads.len()
    }

    fn __repr__(&self) -> String {
        format!("Releases({})", self.spreads.len())
    }
}
