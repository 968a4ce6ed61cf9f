//! Proven bounds on the error of every mechanism.

use evertally::Workload;
use evertally::research::bounds::{Group, Interval};
use evertally::research::gamma::{Subject, Weights, verify};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::gamma::Certificate;

/// One bound on the mean squared error of private running totals. Made by `bounds`.
#[pyclass(frozen, get_all, module = "evertally", name = "Bound")]
pub(crate) struct Bound {
    /// A stable name, for programs.
    name: &'static str,
    /// The group of the bound: "any-mechanism", "oblivious", "matrix-mechanism", "attained" or
    /// "tree-ratio".
    group: &'static str,
    /// The formula, in the notation of the documentation.
    formula: &'static str,
    /// Whether the bound is a closed form from the paper.
    from_paper: bool,
    /// The value, rounded to the safe side. None if the bound does not apply.
    value: Option<f64>,
    /// Why there is no value.
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

/// Every bound on the mean squared error of a private running total of `horizon` steps at (ε, δ),
/// where each event counts as one.
///
/// certificate: the result of `gamma("prefix-sum", horizon)`, for the sharpest bound. It is proved
///     again first.
///
/// >>> import evertally
/// >>> certificate = evertally.gamma("prefix-sum", 1024)
/// >>> bounds = evertally.bounds(1024, epsilon=0.5, delta=1e-6, certificate=certificate)
/// >>> least = {(bound.group, bound.name): bound.value for bound in bounds}["matrix-mechanism", "certified"]
/// >>> plan = evertally.plan(1024, epsilon=0.5, delta=1e-6, arithmetic="float")
/// >>> least < plan.rmse**2 < 1.002 * least
/// True
#[pyfunction]
#[pyo3(signature = (horizon, epsilon=1.0, delta=1e-6, *, certificate=None))]
pub(crate) fn bounds(
    py: Python<'_>,
    horizon: u64,
    epsilon: f64,
    delta: f64,
    certificate: Option<&pyo3::Bound<'_, Certificate>>,
) -> PyResult<Vec<Bound>> {
    let certificate = certificate.map(|certificate| &certificate.get().0);
    let table = py.detach(|| {
        let certified = certificate.map(|certificate| optimum(certificate, horizon)).transpose()?;
        evertally::research::bounds::bounds(horizon, epsilon, delta, certified)
    });
    let table = table.or_raise()?;
    let bound = |bound: evertally::research::bounds::Bound| {
        let (value, reason) = match bound.value {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let evertally::research::bounds::Bound { name, formula, from_paper, .. } = bound;
        Bound { name, group: group(bound.group), formula, from_paper, value, reason }
    };
    Ok(table.into_iter().map(bound).collect())
}

/// The least mean error factor, from a certificate for running totals of this horizon.
fn optimum(
    certificate: &evertally::research::gamma::Certificate,
    horizon: u64,
) -> evertally::Result<Interval> {
    let is_about = match (&certificate.subject, &certificate.weights) {
        (Subject::Workload { workload: Workload::PrefixSum, horizon: of }, Weights::GammaF { .. }) => {
            *of as u64 == horizon
        }
        _ => false,
    };
    if !is_about {
        let expected = format!("about the mean error of running totals over {horizon} steps");
        return Err(evertally::Error::bad("certificate", expected, "another"));
    }
    verify(certificate)?;
    let (lower, upper) = certificate.error_factor();
    Ok(Interval { lower, upper })
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
