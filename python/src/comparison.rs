//! All mechanisms, compared.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::errors::OrRaise;
use crate::plan::{Plan, read};

/// All mechanisms for the same choices, each with its plan or the reason why it has none. Made by
/// `compare`.
#[pyclass(frozen, module = "evertally", name = "Comparison")]
pub(crate) struct Comparison {
    inner: evertally::Comparison,
    bounds_persons: bool,
}

/// Plans for every mechanism, or only for a named one, with bounds on the error of any mechanism.
/// The choices are those of `plan`.
///
/// >>> import evertally
/// >>> comparison = evertally.compare(256, epsilon=1.0, delta=1e-6)
/// >>> comparison.best.mechanism
/// 'optimal'
/// >>> comparison.plans["binary"].rmse > 1.2 * comparison.best.rmse
/// True
/// >>> comparison.refused["laplace-tree"]
/// 'laplace-tree cannot be used here: it is calibrated to pure ε only: ask for δ = 0'
/// >>> lower, upper = comparison.optimal
/// >>> lower <= upper
/// True
#[pyfunction]
#[pyo3(
    signature = (horizon, epsilon=None, delta=None, **choices),
    text_signature = "(horizon, epsilon=None, delta=None, *, rho=None, sigma=None, calibration=None, mechanism=None, workload=None, neighbours=None, max_steps=None, min_gap=None, keys_per_person=None, max_flips=None, objective=None, contribution=None, norm=None, dimension=None, keys=None, open_keys=None, stream=None, arithmetic=None, grid=None, whole=None, memory_limit=None)"
)]
pub(crate) fn compare(
    py: Python<'_>,
    horizon: &Bound<'_, PyAny>,
    epsilon: Option<&Bound<'_, PyAny>>,
    delta: Option<&Bound<'_, PyAny>>,
    choices: Option<&Bound<'_, PyDict>>,
) -> PyResult<Comparison> {
    let (spec, bounds_persons) = read("compare", horizon, epsilon, delta, choices)?;
    let inner = py.detach(|| spec.compare(&())).or_raise()?;
    Ok(Comparison { inner, bounds_persons })
}

#[pymethods]
impl Comparison {
    /// The plans, by the names of their mechanisms.
    #[getter]
    fn plans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let entries =
            self.inner.entries.iter().filter_map(|(mechanism, plan)| {
                Some((mechanism.to_string(), self.plan(plan.as_ref().ok()?)))
            });
        entries.into_py_dict(py)
    }

    /// The reasons why other mechanisms have no plan.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let entries =
            self.inner.entries.iter().filter_map(|(mechanism, plan)| {
                Some((mechanism.to_string(), plan.as_ref().err()?.to_string()))
            });
        entries.into_py_dict(py)
    }

    /// The plan with the least error; None if every mechanism is refused.
    #[getter]
    fn best(&self) -> Option<Plan> {
        self.inner.best().map(|plan| self.plan(plan))
    }

    /// Proven bounds on the least mean error factor, a variance at σ = 1; None if the horizon is too
    /// long to find them in seconds.
    #[getter]
    fn optimal(&self) -> Option<(f64, f64)> {
        self.inner.optimal.map(|optimum| (optimum.lower, optimum.upper))
    }

    /// The same for the worst step.
    #[getter]
    fn optimal_worst(&self) -> Option<(f64, f64)> {
        self.inner.optimal_worst.map(|optimum| (optimum.lower, optimum.upper))
    }

    /// How many times the mean squared error of the releases of each plan is the least possible one, by
    /// mechanism: the noise with everything that exact numbers cost and the rounding to the grid, over
    /// the optimum without rounding. Empty if the optimum is not known.
    ///
    /// >>> import evertally
    /// >>> ratios = evertally.compare(64, epsilon=20.0, delta=1e-6).ratios
    /// >>> ratios["optimal"] <= 1.0001 and ratios["graded-square-root"] <= 1.002
    /// True
    #[getter]
    fn ratios<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.ratios_of(evertally::Objective::Mean).into_py_dict(py)
    }

    /// The same for the largest squared error of a step.
    #[getter]
    fn worst_ratios<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.ratios_of(evertally::Objective::Worst).into_py_dict(py)
    }

    fn __repr__(&self) -> String {
        let mut lines = vec![format!("{:<28} {:>12} {:>12}", "mechanism", "rmse", "worst step")];
        for (mechanism, plan) in &self.inner.entries {
            lines.push(match plan {
                Ok(plan) => {
                    let accuracy = plan.accuracy();
                    let (mean, worst) = (accuracy.rmse, accuracy.worst_rmse);
                    format!("{:<28} {mean:>12.4} {worst:>12.4}", plan.mechanism().to_string())
                }
                Err(error) => format!("{:<28} {error}", mechanism.to_string()),
            });
        }
        lines.join("\n")
    }
}

impl Comparison {
    fn ratios_of(&self, objective: evertally::Objective) -> Vec<(String, f64)> {
        let entries = self.inner.entries.iter();
        entries
            .filter_map(|(mechanism, plan)| {
                Some((mechanism.to_string(), self.inner.ratio(plan.as_ref().ok()?, objective)?))
            })
            .collect()
    }

    fn plan(&self, plan: &evertally::Plan) -> Plan {
        Plan::new(plan.clone(), self.bounds_persons)
    }
}
