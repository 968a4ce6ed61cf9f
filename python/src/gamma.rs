//! The least error of any factorization, with its certificate.

use evertally::research::gamma::{
    ComplexMatrix, Factors, Subject, Weights, gamma_2, gamma_f, price_of_unknown_end, verify,
};
use evertally::{Matrix, Objective};
use numpy::ndarray::Array2;
use numpy::{Complex64, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::arrays::{kind, matrix};
use crate::attributes::attributes;
use crate::choices::read_workload;
use crate::errors::{OrRaise, bad};

/// Proves bounds on the least error of any factorization of a matrix, or of a workload over a
/// horizon.
///
/// matrix: a real or complex matrix. Or a workload as in `plan` ("prefix-sum", ("window", width) or
///     ("decay", factor)) with a horizon, which may be long because its matrix is never written
///     out.
/// objective: "mean" bounds γ_F, the least ‖L‖_F·‖R‖₁→₂; "worst" bounds γ_2, the least product of
///     the largest row norm of L and ‖R‖₁→₂.
/// relative_gap: the target for the relative gap between the two bounds. They hold at any gap.
///
/// >>> import evertally, numpy
/// >>> certificate = evertally.gamma(numpy.tril(numpy.ones((16, 16))))
/// >>> certificate.lower <= certificate.upper <= certificate.lower * (1 + 1e-8)
/// True
/// >>> L, R = certificate.factors()
/// >>> numpy.allclose(L @ R, numpy.tril(numpy.ones((16, 16))))
/// True
/// >>> long = evertally.gamma("prefix-sum", horizon=4096, relative_gap=1e-6)
/// >>> [round(factor, 3) for factor in long.error_factor]
/// [11.491, 11.491]
#[pyfunction]
#[pyo3(signature = (matrix, horizon=None, *, objective="mean", relative_gap=1e-9))]
pub(crate) fn gamma(
    py: Python<'_>,
    matrix: &Bound<'_, PyAny>,
    horizon: Option<usize>,
    objective: &str,
    relative_gap: f64,
) -> PyResult<Certificate> {
    let objective: Objective = objective.parse().or_raise()?;
    let subject = subject(matrix, horizon)?;
    let found = py.detach(|| match objective {
        Objective::Worst => gamma_2(subject, relative_gap, &()),
        _ => gamma_f(subject, relative_gap, &()),
    });
    found.or_raise().map(Certificate)
}

/// Two bounds on the least error of any factorization, with everything needed to prove them again.
/// Made by `gamma`.
#[pyclass(frozen, module = "evertally", name = "Certificate")]
pub(crate) struct Certificate(pub(crate) evertally::research::gamma::Certificate);

attributes!(Certificate, self => {
    /// The lower bound on the norm.
    lower: f64 = self.0.lower;
    /// The upper bound on the norm. The factors attain it.
    upper: f64 = self.0.upper;
    /// upper / lower − 1.
    gap: f64 = self.0.gap();
    /// The number of queries and of inputs.
    shape: (usize, usize) = (self.0.subject.rows(), self.0.subject.columns());
    /// The number of iterations of the solver.
    iterations: usize = self.0.iterations;
    /// Bounds on the least error factor, a variance at σ = 1: the mean γ_F²/n, or that of the worst
    /// query γ_2².
    error_factor: (f64, f64) = self.0.error_factor();
});

#[pymethods]
impl Certificate {
    /// "mean" for γ_F, "worst" for γ_2.
    #[getter]
    fn objective(&self) -> &'static str {
        match self.0.weights {
            Weights::GammaF { .. } => "mean",
            Weights::Gamma2 { .. } => "worst",
        }
    }

    /// The weights of the columns, which prove the bounds.
    #[getter]
    fn column_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.weights.columns())
    }

    /// The weights of the rows if the objective is "worst", and None otherwise.
    #[getter]
    fn row_weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.weights.rows().map(|rows| PyArray1::from_slice(py, rows))
    }

    /// L and R of the factorization that attains the upper bound, as arrays. R is not triangular in
    /// general.
    fn factors<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        match py.detach(|| self.0.factors()).or_raise()? {
            Factors::Real { decoder, encoder } => {
                Ok((matrix(py, &decoder).into_any(), matrix(py, &encoder).into_any()))
            }
            Factors::Complex { decoder, encoder } => Ok((complex(py, &decoder), complex(py, &encoder))),
        }
    }

    /// Proves the bounds from the weights alone, and returns the proved lower and upper bound.
    fn verify(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let proof = py.detach(|| verify(&self.0)).or_raise()?;
        Ok((proof.lower, proof.upper))
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = self.shape();
        let evertally::research::gamma::Certificate { lower, upper, .. } = self.0;
        let objective = self.objective();
        format!("Certificate({rows} × {columns}, objective='{objective}', lower={lower}, upper={upper})")
    }
}

/// Proves bounds on the least price of not knowing the horizon of running totals: the least worst
/// ratio, over all ends t up to `steps`, between the squared error at step t and the best mean
/// squared error for a stream that is known to end at t.
///
/// steps: the longest horizon, at most 2^20.
/// relative_gap: the target for the relative gap between the two bounds. They hold at any gap.
///
/// >>> import evertally
/// >>> price = evertally.unknown_end(256)
/// >>> 1.556 < price.lower <= price.upper < 1.559
/// True
#[pyfunction]
#[pyo3(signature = (steps, *, relative_gap=1e-3))]
pub(crate) fn unknown_end(py: Python<'_>, steps: usize, relative_gap: f64) -> PyResult<UnknownEnd> {
    py.detach(|| price_of_unknown_end(steps, relative_gap, &())).or_raise().map(UnknownEnd)
}

/// Two bounds on the least price of not knowing the horizon. Made by `unknown_end`.
#[pyclass(frozen, module = "evertally", name = "UnknownEnd")]
pub(crate) struct UnknownEnd(pub(crate) evertally::research::gamma::UnknownEnd);

attributes!(UnknownEnd, self => {
    /// The longest horizon.
    steps: usize = self.0.steps;
    /// The lower bound on the price: no mechanism has a smaller worst ratio.
    lower: f64 = self.0.lower;
    /// The upper bound on the price, which some mechanism attains.
    upper: f64 = self.0.upper;
    /// upper / lower − 1.
    gap: f64 = self.0.gap();
    /// The number of horizons at which the optimum was certified.
    certified_horizons: usize = self.0.certified_horizons();
});

#[pymethods]
impl UnknownEnd {
    /// Proven bounds on the best mean error factor for the known horizon `steps`.
    fn optimum(&self, steps: usize) -> PyResult<(f64, f64)> {
        let found =
            self.0.optimum(steps).ok_or_else(|| bad("steps", "from 1 to the longest horizon", steps))?;
        Ok((found.lower, found.upper))
    }

    fn __repr__(&self) -> String {
        let evertally::research::gamma::UnknownEnd { steps, lower, upper, .. } = self.0;
        format!("UnknownEnd(steps={steps}, lower={lower}, upper={upper})")
    }
}

/// A matrix, or a workload with its horizon.
fn subject(given: &Bound<'_, PyAny>, horizon: Option<usize>) -> PyResult<Subject> {
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyTuple>() {
        let horizon = horizon.ok_or_else(|| bad("horizon", "given with a workload", "nothing"))?;
        return Ok(Subject::workload(read_workload(given)?, horizon));
    }
    if let Some(horizon) = horizon {
        return Err(bad("horizon", "left out with a matrix", horizon));
    }
    if is_complex(given)? {
        let values = as_matrix::<Complex64>(given, "complex128")?;
        let values = values.as_array();
        let part = |of: fn(&Complex64) -> f64| {
            Matrix::from_fn(values.nrows(), values.ncols(), |i, j| of(&values[(i, j)]))
        };
        return ComplexMatrix::new(part(|z| z.re), part(|z| z.im)).or_raise().map(Subject::Complex);
    }
    real_matrix(given).map(Subject::Real)
}

fn is_complex(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    given.py().import("numpy")?.call_method1("iscomplexobj", (given,))?.extract()
}

/// A copy of a real matrix, from anything that numpy can convert.
pub(crate) fn real_matrix(given: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    // Numpy would drop the imaginary parts with only a warning.
    if is_complex(given)? {
        return Err(bad("matrix", "of real numbers", "complex ones"));
    }
    let values = as_matrix::<f64>(given, "float64")?;
    let values = values.as_array();
    Ok(Matrix::from_fn(values.nrows(), values.ncols(), |i, j| values[(i, j)]))
}

fn as_matrix<'py, T: numpy::Element>(
    given: &Bound<'py, PyAny>,
    dtype: &str,
) -> PyResult<PyReadonlyArray2<'py, T>> {
    let py = given.py();
    let refusal = || bad("matrix", "two-dimensional, of numbers", kind(given));
    let options = PyDict::new(py);
    options.set_item("dtype", dtype)?;
    let array =
        py.import("numpy")?.call_method("asarray", (given,), Some(&options)).map_err(|_| refusal())?;
    let array = array.cast::<PyArray2<T>>().map_err(|_| refusal())?;
    array.try_readonly().map_err(|_| bad("matrix", "free to read", "an array that another call is writing"))
}

fn complex<'py>(py: Python<'py>, given: &ComplexMatrix) -> Bound<'py, PyAny> {
    let entry = |(i, j)| Complex64::new(given.real().row(i)[j], given.imaginary().row(i)[j]);
    let shape = (given.rows(), given.columns());
    PyArray2::from_owned_array(py, Array2::from_shape_fn(shape, entry)).into_any()
}
