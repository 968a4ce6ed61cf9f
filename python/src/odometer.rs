//! The remaining budget of one population.

use evertally::privacy::{Neighbours, Unit};
use pyo3::prelude::*;

use crate::arrays::kind;
use crate::batch_plan::BatchPlan;
use crate::choices::read_budget;
use crate::discovery::Discovery;
use crate::errors::{OrRaise, bad};
use crate::plan::Plan;
use crate::process_lock::ProcessLock;
use crate::spend::Spend;

/// The account of one population: a total that is fixed first, and what mechanisms have spent of
/// it.
///
/// Later mechanisms, and questions to the odometer, may depend on earlier releases: the total still
/// holds. `pure_part` of ε is set aside for mechanisms without δ, and `key_part` of δ for keys that are
/// found (`Discovery.key_delta`).
///
/// >>> import evertally
/// >>> odometer = evertally.Odometer("visitors", epsilon=2.0, delta=1e-6)
/// >>> plan = evertally.plan(24, epsilon=1.0, delta=1e-6)
/// >>> for day in range(1, 4):
/// ...     odometer.spend(f"day {day}", plan)
/// >>> odometer.spent.epsilon(1e-6) < 1.82
/// True
/// >>> odometer.can_afford(plan)
/// False
/// >>> odometer.spend("day 4", plan)
/// Traceback (most recent call last):
///     ...
/// evertally.BudgetSpent: the budget of visitors does not allow ...
#[pyclass(frozen, module = "evertally", name = "Odometer")]
pub(crate) struct Odometer {
    account: ProcessLock<evertally::Odometer>,
    unit: Unit,
}

#[pymethods]
impl Odometer {
    #[new]
    #[pyo3(signature = (population, epsilon=None, delta=None, *, rho=None, calibration=None, unit="event", neighbours="add-remove", pure_part=0.0, key_part=0.0))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        population: String,
        epsilon: Option<f64>,
        delta: Option<f64>,
        rho: Option<f64>,
        calibration: Option<&str>,
        unit: &str,
        neighbours: &str,
        pure_part: f64,
        key_part: f64,
    ) -> PyResult<Self> {
        let total = read_budget(epsilon, delta, rho, None, calibration)?.budget().or_raise()?;
        let neighbours: Neighbours = neighbours.parse().or_raise()?;
        let unit = Unit::named(unit, neighbours).or_raise()?;
        let mut odometer = evertally::Odometer::new(population, unit.clone(), total).or_raise()?;
        if pure_part != 0.0 {
            odometer = odometer.with_pure_part(pure_part).or_raise()?;
        }
        if key_part != 0.0 {
            odometer = odometer.with_key_part(key_part).or_raise()?;
        }
        Ok(Self { account: ProcessLock::new(odometer), unit })
    }

    /// Records a mechanism that is about to run: a Plan, a Discovery, a BatchPlan, or a Spend. A plan
    /// protects its `unit`, or the one that is named here. A plan for totals that bounds persons
    /// (`max_steps`) never protects an event at its cost: without one event of a person, another one may
    /// count. A mechanism that exceeds the total is refused, and nothing changes.
    #[pyo3(signature = (name, mechanism, *, unit=None))]
    fn spend(
        &self,
        py: Python<'_>,
        name: String,
        mechanism: &Bound<'_, PyAny>,
        unit: Option<&str>,
    ) -> PyResult<()> {
        let (spend, unit) = self.cost(mechanism, unit)?;
        self.account.with(py, |odometer| odometer.spend(name, &unit, spend))
    }

    /// Whether the total allows another mechanism of this cost. A mechanism that protects another
    /// unit is refused, as by `spend`.
    #[pyo3(signature = (mechanism, *, unit=None))]
    fn can_afford(&self, py: Python<'_>, mechanism: &Bound<'_, PyAny>, unit: Option<&str>) -> PyResult<bool> {
        let (spend, unit) = self.cost(mechanism, unit)?;
        self.account.with(py, |odometer| match odometer.check(&unit, &spend) {
            Err(error @ evertally::Error::BadParameter { .. }) => Err(error),
            answer => Ok(answer.is_ok()),
        })
    }

    /// The ε of the largest mechanism that would still be admitted at δ, rounded down. Zero if
    /// there is none.
    fn room(&self, py: Python<'_>, delta: f64) -> PyResult<f64> {
        self.account.with(py, |odometer| odometer.room(delta))
    }

    /// The total spend so far.
    #[getter]
    fn spent(&self, py: Python<'_>) -> PyResult<Spend> {
        self.account.with(py, |odometer| Ok(odometer.spent().into()))
    }

    /// The largest spend that is still admitted, rounded down.
    #[getter]
    fn remaining(&self, py: Python<'_>) -> PyResult<Spend> {
        self.account.with(py, |odometer| Ok(odometer.remaining().into()))
    }

    /// The recorded mechanisms in order, each with its cost.
    #[getter]
    fn entries(&self, py: Python<'_>) -> PyResult<Vec<(String, Spend)>> {
        self.account.with(py, |odometer| {
            let entries = odometer.entries().iter();
            Ok(entries.map(|entry| (entry.name().to_owned(), entry.spend().into())).collect())
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.account.with(py, |odometer| {
            let (population, unit) = (odometer.population(), odometer.unit());
            let (total, spent) = (odometer.total(), odometer.spent());
            Ok(format!("Odometer('{population}', {unit}, total='{total}', spent='{spent}')"))
        })
    }
}

impl Odometer {
    /// The cost of a mechanism, and the unit that it protects: its own, or the one that the caller
    /// names. A `Spend` has none, and protects the unit of the account.
    fn cost(&self, mechanism: &Bound<'_, PyAny>, named: Option<&str>) -> PyResult<(evertally::Spend, Unit)> {
        let (spend, own) = if let Ok(plan) = mechanism.cast::<Plan>() {
            let plan = plan.get();
            (plan.spend(), Some(plan.protected_unit()))
        } else if let Ok(plan) = mechanism.cast::<BatchPlan>() {
            let plan = plan.get();
            (plan.spend(), Some(plan.0.unit()))
        } else if let Ok(discovery) = mechanism.cast::<Discovery>() {
            let discovery = discovery.get();
            (discovery.spend(), Some(Unit::person(discovery.inner.totals().neighbours())))
        } else if let Ok(spend) = mechanism.cast::<Spend>() {
            (*spend.get(), None)
        } else {
            return Err(bad("mechanism", "a Plan, a Discovery, a BatchPlan or a Spend", kind(mechanism)));
        };
        let unit = match (named, own) {
            (None, own) => own.unwrap_or_else(|| self.unit.clone()),
            (Some(named), Some(own)) => Unit::named(named, own.neighbours()).or_raise()?,
            (Some(_), None) => return Err(bad("unit", "left out with a Spend, which has none", "one")),
        };
        if spend.bounds_persons && unit == Unit::event(unit.neighbours()) {
            return Err(bad(
                "unit",
                "a person, or another unit that may have several events, for a plan with max_steps",
                unit.name(),
            ));
        }
        Ok((spend.inner, unit))
    }
}
