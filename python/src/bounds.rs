//! What is proven of every mechanism.

use evertally::bounds::Group;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// One bound on the mean squared error of private running totals. Made by `bounds`.
#[pyclass(frozen, get_all, module = "evertally", name = "Bound")]
pub(crate) struct Bound {
    /// A stable name for programs.
    name: &'static str,
    /// What it is about: "any-mechanism", "oblivious", "matrix-mechanism", "attained" or "tree-ratio".
    group: &'static str,
    /// The formula.
    formula: &'static str,
    /// Whether it is a closed form of the paper.
    from_paper: bool,
    /// The figure, rounded to the safe side; None where it does not hold.
    value: Option<f64>,
    /// Why there is none.
    reason: Option<String>,
}

#[pymethods]
impl Bound {
    fn __repr__(&self) -> String {
        let figure = match (self.value, &self.reason) {
            (Some(value), _) => format!("value={value}"),
            (None, reason) => format!("reason='{}'", reason.as_deref().unwrap_or_default()),
        };
        format!("Bound('{}', group='{}', {figure})", self.name, self.group)
    }
}

/// Every bound on the mean squared error of a private running total of `horizon` steps at (ε, δ), one event counting as one.
///
/// >>> import evertally
/// >>> bounds = evertally.bounds(1024, epsilon=0.5, delta=1e-6)
/// >>> least = max(bound.value for bound in bounds if bound.group == "matrix-mechanism" and bound.value)
/// >>> plan = evertally.plan(1024, epsilon=0.5, delta=1e-6, arithmetic="float")
/// >>> least < plan.rmse**2 < 1.05 * least
/// True
#[pyfunction]
#[pyo3(signature = (horizon, epsilon=1.0, delta=1e-6))]
pub(crate) fn bounds(py: Python<'_>, horizon: u64, epsilon: f64, delta: f64) -> PyResult<Vec<Bound>> {
    let table = py.detach(|| evertally::bounds::bounds(horizon, epsilon, delta, None)).or_raise()?;
    let bound = |bound: evertally::bounds::Bound| {
        let (value, reason) = match bound.value {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let evertally::bounds::Bound { name, formula, from_paper, .. } = bound;
        Bound { name, group: group(bound.group), formula, from_paper, value, reason }
    };
    Ok(table.into_iter().map(bound).collect())
}

fn group(group: Group) -> &'static str {
    match group {
        Group::AnyMechanism => "any-mechanism",
        Group::Oblivious => "oblivious",
        Group::MatrixMechanism => "matrix-mechanism",
        Group::Attained => "attained",
        Group::TreeRatio => "tree-ratio",
    }
}
