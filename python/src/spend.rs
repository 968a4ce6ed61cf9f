//! The privacy cost of plans for one protected unit.

use pyo3::prelude::*;

use crate::attributes::attributes;
use crate::errors::OrRaise;

/// The privacy cost of one or more mechanisms for one protected unit: μ² of Gaussian noise, ε of
/// pure noise.
///
/// Costs that were fixed in advance add up with `+`. For mechanisms that are chosen after seeing
/// releases, use an `Odometer`.
///
/// >>> import evertally
/// >>> day = evertally.plan(24, rho=0.01).spend()
/// >>> week = evertally.plan(168, rho=0.02).spend()
/// >>> round((day + week).rho, 6)
/// 0.03
/// >>> round((day + week).epsilon(delta=1e-6), 3)
/// 1.038
#[pyclass(frozen, eq, module = "evertally", name = "Spend")]
#[derive(Clone, Copy)]
pub(crate) struct Spend {
    pub(crate) inner: evertally::Spend,
    /// Whether a part of it is the cost of a plan that admits only some events of a person. Then it
    /// is not the cost of one event: without it, another event of the person may count.
    pub(crate) bounds_persons: bool,
}

impl From<evertally::Spend> for Spend {
    fn from(inner: evertally::Spend) -> Self {
        Self { inner, bounds_persons: false }
    }
}

impl PartialEq for Spend {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

attributes!(Spend, self => {
    /// μ = 1/σ: neighbours are no easier to distinguish than N(0, 1) and N(μ, 1).
    mu: f64 = self.inner.mu();
    /// μ², which adds up over mechanisms.
    mu_squared: f64 = self.inner.mu_squared();
    /// ε of the pure part.
    pure_epsilon: f64 = self.inner.pure_epsilon();
    /// The total variation between the noise in use and Gaussian noise.
    variation: f64 = self.inner.variation();
    /// The part of δ for keys that are found.
    key_delta: f64 = self.inner.key_delta();
    /// ρ of all parts together, as zCDP.
    rho: f64 = self.inner.rho();
});

#[pymethods]
impl Spend {
    /// A spend from its parts: μ² = 1/σ² for Gaussian noise, ε for pure noise, the total
    /// variation between the noise in use and Gaussian noise, and the part of δ for keys that are found.
    #[new]
    #[pyo3(signature = (mu_squared=0.0, pure_epsilon=0.0, variation=0.0, key_delta=0.0))]
    fn new(mu_squared: f64, pure_epsilon: f64, variation: f64, key_delta: f64) -> PyResult<Self> {
        let spend = evertally::Spend::new(mu_squared, pure_epsilon, variation);
        spend.and_then(|spend| spend.with_key_delta(key_delta)).or_raise().map(Self::from)
    }

    /// The smallest ε that is known to hold at δ, rounded up. Infinite if none is known.
    fn epsilon(&self, delta: f64) -> PyResult<f64> {
        self.inner.epsilon(delta).or_raise()
    }

    /// The smallest δ that is known to hold at ε, rounded up.
    fn delta(&self, epsilon: f64) -> PyResult<f64> {
        self.inner.delta_at(epsilon).or_raise()
    }

    fn __add__(&self, other: &Bound<'_, Self>) -> Self {
        let other = other.get();
        let bounds_persons = self.bounds_persons || other.bounds_persons;
        Self { inner: evertally::Spend::composed([self.inner, other.inner]), bounds_persons }
    }

    fn __repr__(&self) -> String {
        format!("Spend({})", self.inner)
    }
}
