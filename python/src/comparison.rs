//! Every mechanism side by side.

use evertally::PlanSpec;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::plan::{Plan, function_of_choices};

/// Every mechanism for the same choices, each with its plan or the reason why it has none. Made by `compare`.
#[pyclass(frozen, module = "evertally", name = "Comparison")]
pub(crate) struct Comparison {
    inner: evertally::Comparison,
}

impl Comparison {
    fn make(py: Python<'_>, spec: &PlanSpec) -> PyResult<Self> {
        py.detach(|| spec.compare(&())).or_raise().map(|inner| Self { inner })
    }
}

function_of_choices! {
    /// Plans for every mechanism, or for the named one alone, and bounds on what any mechanism could do
    /// beside them. The choices are those of `plan`.
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
    compare -> Comparison, Comparison::make
}

#[pymethods]
impl Comparison {
    /// The plans, by the names of their mechanisms.
    #[getter]
    fn plans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let plans = PyDict::new(py);
        for (mechanism, plan) in &self.inner.entries {
            if let Ok(plan) = plan {
                plans.set_item(mechanism.to_string(), Bound::new(py, Plan::from(plan.clone()))?)?;
            }
        }
        Ok(plans)
    }

    /// Why other mechanisms have no plan.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let refused = PyDict::new(py);
        for (mechanism, plan) in &self.inner.entries {
            if let Err(error) = plan {
                refused.set_item(mechanism.to_string(), error.to_string())?;
            }
        }
        Ok(refused)
    }

    /// The plan of least error; None if every mechanism is refused.
    #[getter]
    fn best(&self) -> Option<Plan> {
        self.inner.best().cloned().map(Plan::from)
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
