//! Any linear queries at once, on static data.

use evertally::Neighbours;
use numpy::{Ix1, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::{matrix, readable};
use crate::attributes::attributes;
use crate::choices::read_budget;
use crate::errors::{Failure, OrRaise};
use crate::gamma::{Certificate, real_matrix};
use crate::noise_key::{NoiseKey, given_or_fresh};
use crate::release::Releases;
use crate::spend::Spend;

/// The best factorization of a matrix of queries about a histogram, one query per row, and the
/// noise for a budget.
///
/// One person is one unit of one cell of the histogram.
///
/// >>> import evertally, numpy
/// >>> queries = numpy.array([[1, 1, 1], [1, 1, 0], [0, 1, 1]])  # everybody, the younger two groups, the older two
/// >>> plan = evertally.BatchPlan(queries, epsilon=1.0, delta=1e-6)
/// >>> answers = plan.answer(numpy.array([120.0, 340.0, 80.0]))
/// >>> answers.values.shape, bool((answers.standard_errors > 0).all())
/// ((3,), True)
/// >>> bool(plan.mean_squared_error < 1.0001 * plan.least_mean_squared_error)
/// True
#[pyclass(frozen, module = "evertally", name = "BatchPlan")]
pub(crate) struct BatchPlan(pub(crate) evertally::research::batch::BatchPlan);

attributes!(BatchPlan, self => {
    /// The certificate of the factorization's error.
    certificate: Certificate = Certificate(self.0.certificate().clone());
    /// The number of queries and of cells.
    shape: (usize, usize) = (self.0.queries(), self.0.cells());
    /// The budget that one set of answers spends, in words.
    budget: String = self.0.budget().to_string();
    /// The largest change of R x by one person, rounded up.
    sensitivity: f64 = self.0.sensitivity();
    /// The standard deviation of each white draw before L is applied.
    noise_scale: f64 = self.0.noise_scale();
    /// The mean over the queries of the squared standard error.
    mean_squared_error: f64 = self.0.mean_squared_error();
    /// A lower bound on the mean squared error of any factorization at this budget.
    least_mean_squared_error: f64 = self.0.least_mean_squared_error();
});

#[pymethods]
impl BatchPlan {
    #[new]
    #[pyo3(signature = (queries, epsilon=None, delta=None, *, rho=None, sigma=None, calibration=None, neighbours="add-remove"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        epsilon: Option<f64>,
        delta: Option<f64>,
        rho: Option<f64>,
        sigma: Option<f64>,
        calibration: Option<&str>,
        neighbours: &str,
    ) -> PyResult<Self> {
        let budget = read_budget(epsilon, delta, rho, sigma, calibration)?.budget().or_raise()?;
        let neighbours: Neighbours = neighbours.parse().or_raise()?;
        let queries = real_matrix(queries)?;
        py.detach(|| evertally::research::batch::BatchPlan::new(queries, budget, neighbours))
            .or_raise()
            .map(Self)
    }

    /// Private answers to all queries about a histogram, an array of float64 with one number per
    /// cell.
    ///
    /// key: the secret key of the noise, which serves one histogram: the same histogram has the
    ///     same answers again, and another histogram raises `KeyReused`. Defaults to a fresh key
    ///     from the operating system, which is not kept: each call then spends the budget again.
    #[pyo3(signature = (data, key=None))]
    fn answer(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, NoiseKey>>,
    ) -> PyResult<Releases> {
        let data = readable::<f64, Ix1>("data", data)?;
        let (data, (key, uses)) = (data.as_slice()?, given_or_fresh(key)?);
        let answers = py.detach(|| -> Result<_, Failure> {
            let Some(uses) = uses else { return Ok(self.0.answer(data, key)?) };
            uses.guard(&self.0.noise_name())?.admit_run(
                |chain| {
                    chain.step(data.iter().copied());
                },
                |_, _| Ok(self.0.answer(data, key)?),
            )
        });
        Ok(Releases::of_queries(py, &answers.map_err(Failure::raise)?))
    }

    /// L: the noise in the answers has covariance noise_scale² · L @ L.T.
    #[getter]
    fn decoder<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        matrix(py, self.0.decoder())
    }

    /// The standard deviations of the noise in the answers.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let errors = (0..self.0.queries()).map(|query| self.0.standard_error(query)).collect();
        PyArray1::from_vec(py, errors)
    }

    /// The privacy cost of one set of answers for one person.
    pub(crate) fn spend(&self) -> Spend {
        self.0.spend().into()
    }

    fn __repr__(&self) -> String {
        let (queries, cells) = self.shape();
        format!("BatchPlan({queries} queries, {cells} cells, budget='{}')", self.0.budget())
    }
}
