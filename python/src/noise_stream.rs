//! Correlated noise, for callers who add it themselves.

use std::ops::Range;

use evertally::internals::noise::Real;
use numpy::{Element, Ix1, Ix2, PyArray1, PyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{Precision, kind, writable};
use crate::choices;
use crate::errors::{OrRaise, bad};
use crate::noise_key::{NoiseKey, given_or_fresh};
use crate::plan::Plan;
use crate::process_lock::ProcessLock;

/// The noise of a plan, row by row: row t is noise_scale · (L g)[t] in every coordinate. Nothing
/// checks what it is added to: the record of a key never sees your data, so it is your
/// responsibility to use one key for one set of data. A counter does this for you.
///
/// The true answers of step t plus row t are the release of the plan. Private learning adds rows to
/// sums of clipped gradients. Raw noise is as sensitive as the data: anyone who holds it can
/// subtract it from the release.
///
/// plan: a Plan, or a dimension with the choices of a plan as keyword arguments.
/// key: the secret key of the noise. Defaults to a fresh key from the operating system, which is
///     not kept: the stream can be saved but not resumed. Two streams of equal plans and precision
///     under one key are the same noise; added to different data, it would reveal their exact
///     difference.
/// dtype: "float64" (the default) or "float32".
/// coordinates: a pair (first, last). Rows then have only the coordinates from first to before
///     last, with the same bits as in the whole stream. Several machines can so share the noise of
///     one vector, each with memory for its slice. Defaults to all coordinates.
///
/// >>> import evertally, numpy
/// >>> noise = evertally.NoiseStream(3, horizon=1000, epsilon=2.0, delta=1e-6, norm=1.0, dtype="float32")
/// >>> row = noise.next()
/// >>> row.shape, row.dtype.name, noise.steps_taken
/// ((3,), 'float32', 1)
/// >>> noise.next(out=row) is row
/// True
///
/// It saves and resumes bit for bit:
///
/// >>> plan = evertally.plan(100, dimension=2)
/// >>> key = evertally.NoiseKey.generate()
/// >>> noise = evertally.NoiseStream(plan, key)
/// >>> _ = noise.next()
/// >>> state = noise.save()
/// >>> again = evertally.NoiseStream.resume(plan, key, state)
/// >>> numpy.array_equal(noise.next(), again.next())
/// True
///
/// A slice is some columns of the whole:
///
/// >>> slice = evertally.NoiseStream(plan, key, coordinates=(1, 2))
/// >>> slice.seek(2)
/// >>> slice.dimension, float(slice.next()[0]) == float(noise.next()[1])
/// (1, True)
#[pyclass(frozen, module = "evertally", name = "NoiseStream")]
pub(crate) struct NoiseStream {
    /// The plan of the noise.
    #[pyo3(get)]
    plan: Py<Plan>,
    /// The number of coordinates of a row: those of the plan, or of the slice.
    #[pyo3(get)]
    dimension: usize,
    rows: Rows,
}

/// A stream of the library behind its lock.
type Stream<F> = ProcessLock<evertally::NoiseStream<F>>;

enum Rows {
    Singles(Stream<f32>),
    Doubles(Stream<f64>),
}

/// Does the same work in the precision of the stream.
macro_rules! in_precision {
    ($rows:expr, $stream:ident => $work:expr) => {
        match $rows {
            Rows::Singles($stream) => $work,
            Rows::Doubles($stream) => $work,
        }
    };
}

#[pymethods]
impl NoiseStream {
    #[new]
    #[pyo3(signature = (plan, key=None, dtype=None, coordinates=None, **choices))]
    fn new(
        plan: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, NoiseKey>>,
        dtype: Option<&Bound<'_, PyAny>>,
        coordinates: Option<&Bound<'_, PyAny>>,
        choices: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let plan = plan_or_dimension(plan, choices)?;
        let (key, _) = given_or_fresh(key)?;
        Self::build(&plan, key, None, dtype, coordinates)
    }

    /// Resumes from a saved state, bit for bit. The state of another plan, key, precision or slice
    /// of coordinates is refused.
    #[staticmethod]
    #[pyo3(signature = (plan, key, state, dtype=None, coordinates=None))]
    fn resume(
        plan: &Bound<'_, Plan>,
        key: &Bound<'_, NoiseKey>,
        state: &[u8],
        dtype: Option<&Bound<'_, PyAny>>,
        coordinates: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Self::build(plan, key.get().copied(), Some(state), dtype, coordinates)
    }

    /// The noise of the next step, in a new array or in `out`, which must be contiguous and of the
    /// stream's type.
    #[pyo3(signature = (out=None))]
    fn next<'py>(&self, py: Python<'py>, out: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        in_precision!(&self.rows, stream => next_row(py, stream, self.dimension, out))
    }

    /// Writes the noise of the next steps into the rows of `out`, one step per row. For a single
    /// coordinate, `out` may have one dimension. Faster than row by row.
    fn fill(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        in_precision!(&self.rows, stream => fill(py, stream, self.dimension, out))
    }

    /// The noise of the next steps as a new array, one row per step.
    fn rows<'py>(&self, py: Python<'py>, steps: usize) -> PyResult<Bound<'py, PyAny>> {
        // Rows beyond the horizon are refused before memory is allocated.
        let horizon = self.plan.get().inner.horizon();
        if steps as u64 > horizon - self.steps_taken(py)? {
            return Err(evertally::Error::HorizonSpent { horizon }).or_raise();
        }
        in_precision!(&self.rows, stream => new_rows(py, stream, self.dimension, steps))
    }

    /// Moves to a step, counted from zero, by computing the noise of the steps before it. Repeated
    /// rows are the same: added to other answers than before, they cancel in the difference of the
    /// two releases.
    fn seek(&self, py: Python<'_>, step: u64) -> PyResult<()> {
        in_precision!(&self.rows, stream => stream.with(py, |stream| stream.seek(step)))
    }

    /// The state as bytes, for `resume`. Raw noise can be computed from it.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = in_precision!(&self.rows, stream => stream.with(py, |stream| Ok(stream.save())))?;
        Ok(PyBytes::new(py, &state))
    }

    /// The number of rows handed out.
    #[getter]
    fn steps_taken(&self, py: Python<'_>) -> PyResult<u64> {
        in_precision!(&self.rows, stream => stream.with(py, |stream| Ok(stream.steps_taken())))
    }

    /// "float32" or "float64".
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.rows {
            Rows::Singles(_) => "float32",
            Rows::Doubles(_) => "float64",
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (dimension, dtype, steps) = (self.dimension, self.dtype(), self.steps_taken(py)?);
        let horizon = self.plan.get().inner.horizon();
        Ok(format!(
            "NoiseStream(dimension={dimension}, dtype='{dtype}', steps_taken={steps}, horizon={horizon})"
        ))
    }
}

impl NoiseStream {
    /// A stream from its first step, or from a saved state.
    fn build(
        plan: &Bound<'_, Plan>,
        key: evertally::NoiseKey,
        state: Option<&[u8]>,
        dtype: Option<&Bound<'_, PyAny>>,
        coordinates: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (py, inner) = (plan.py(), &plan.get().inner);
        let slice = coordinates.map(read_slice).transpose()?;
        let dimension = slice.as_ref().map_or(inner.shape().width(), ExactSizeIterator::len);
        let precision = dtype.map_or(Ok(Precision::Double), |dtype| Precision::read(py, dtype))?;
        let rows = py.detach(|| match precision {
            Precision::Single => library_stream(inner, key, slice, state).map(Rows::Singles),
            Precision::Double => library_stream(inner, key, slice, state).map(Rows::Doubles),
        });
        Ok(Self { dimension, plan: plan.clone().unbind(), rows: rows.or_raise()? })
    }
}

fn library_stream<F: Real>(
    plan: &evertally::Plan,
    key: evertally::NoiseKey,
    slice: Option<Range<usize>>,
    state: Option<&[u8]>,
) -> evertally::Result<Stream<F>> {
    let stream = match (slice, state) {
        (None, None) => evertally::NoiseStream::new(plan, key),
        (None, Some(state)) => evertally::NoiseStream::resume(plan, key, state),
        (Some(slice), None) => evertally::NoiseStream::slice(plan, key, slice),
        (Some(slice), Some(state)) => evertally::NoiseStream::resume_slice(plan, key, slice, state),
    };
    stream.map(ProcessLock::new)
}

/// A pair of the first coordinate and the coordinate after the last.
fn read_slice(given: &Bound<'_, PyAny>) -> PyResult<Range<usize>> {
    let pair = given.extract::<(usize, usize)>();
    let expected = "a pair (first, last) of integers from 0";
    pair.map(|(first, last)| first..last).map_err(|_| bad("coordinates", expected, kind(given)))
}

/// The given plan, or a plan for vectors of the given dimension.
fn plan_or_dimension<'py>(
    given: &Bound<'py, PyAny>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Plan>> {
    if let Ok(plan) = given.cast::<Plan>() {
        return match named {
            Some(named) if !named.is_empty() => {
                Err(PyTypeError::new_err("the choices of a plan are given with a dimension, not with a plan"))
            }
            _ => Ok(plan.clone()),
        };
    }
    let Ok(dimension) = given.extract::<usize>() else {
        return Err(bad("plan", "a Plan or a dimension", kind(given)));
    };
    let Some(named) = named.filter(|named| named.contains("horizon").unwrap_or(false)) else {
        return Err(PyTypeError::new_err(
            "NoiseStream() of a dimension needs the keyword argument 'horizon'",
        ));
    };
    let all = named.copy()?;
    if all.get_item("dimension")?.is_some_and(|dimension| !dimension.is_none()) {
        return Err(PyTypeError::new_err("NoiseStream() got the dimension twice"));
    }
    all.set_item("dimension", dimension)?;
    let (spec, bounds_persons) = choices::read("NoiseStream", &all)?;
    Bound::new(given.py(), Plan::make(given.py(), &spec, bounds_persons)?)
}

fn next_row<'py, F: Real + Element>(
    py: Python<'py>,
    stream: &Stream<F>,
    width: usize,
    out: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let out = out.unwrap_or_else(|| PyArray1::<F>::zeros(py, [width], false).into_any());
    let mut row = writable::<F, Ix1>("out", &out)?;
    if row.len() != width {
        return Err(bad("out", &format!("as long as a row, {width} numbers"), row.len()));
    }
    let slice = row.as_slice_mut()?;
    stream.with(py, |stream| stream.fill(slice))?;
    drop(row);
    Ok(out)
}

fn new_rows<'py, F: Real + Element>(
    py: Python<'py>,
    stream: &Stream<F>,
    width: usize,
    steps: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let out = PyArray2::<F>::zeros(py, [steps, width], false).into_any();
    fill(py, stream, width, &out)?;
    Ok(out)
}

fn fill<F: Real + Element>(
    py: Python<'_>,
    stream: &Stream<F>,
    width: usize,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let dimensions = out.cast::<PyUntypedArray>().map_or(2, PyUntypedArrayMethods::ndim);
    if width == 1 && dimensions == 1 {
        let mut row = writable::<F, Ix1>("out", out)?;
        let slice = row.as_slice_mut()?;
        return stream.with(py, |stream| stream.fill(slice));
    }
    let mut rows = writable::<F, Ix2>("out", out)?;
    if rows.shape()[1] != width {
        return Err(bad("out", &format!("rows of {width} numbers"), rows.shape()[1]));
    }
    let slice = rows.as_slice_mut()?;
    stream.with(py, |stream| stream.fill(slice))
}
