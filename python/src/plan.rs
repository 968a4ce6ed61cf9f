//! Plans: everything that is decided before the first event.

use evertally::privacy::Unit;
use evertally::{PlanSpec, Shape};
use numpy::{Ix1, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{matrix, readable};
use crate::attributes::attributes;
use crate::choices;
use crate::errors::{OrRaise, bad};
use crate::spend::Spend;

/// The longest profile that is computed unless steps are given: half a gigabyte.
pub(crate) const MAX_PROFILE: u64 = 1 << 26;

/// A new array.
type DenseArray<'py> = Bound<'py, PyArray2<f64>>;

/// A finished plan: horizon, workload, budget, who is protected, the mechanism, and the error that
/// follows. Made by `evertally.plan`.
///
/// Plans are immutable, compare by content, can be shared by threads and can be pickled. A pickle
/// holds the choices, from which the plan is made again and compared with the original.
///
/// >>> import evertally
/// >>> plan = evertally.plan(1000, epsilon=1.0, delta=1e-6)
/// >>> plan.mechanism
/// 'markov'
/// >>> round(plan.rmse, 1), round(plan.worst_rmse, 1)
/// (12.5, 13.5)
/// >>> plan.error_profile().shape
/// (1000,)
#[pyclass(frozen, module = "evertally", name = "Plan")]
pub(crate) struct Plan {
    pub(crate) inner: evertally::Plan,
    /// The plan that this is a part of, if it is one.
    pub(crate) whole: Option<PlanSpec>,
    /// Whether `max_steps` was given. A person who is bounded to one step is still no event: if one
    /// of the person's events is removed, another one may count instead.
    pub(crate) bounds_persons: bool,
}

impl Plan {
    pub(crate) fn make(py: Python<'_>, spec: &PlanSpec, bounds_persons: bool) -> PyResult<Self> {
        Ok(Self::new(py.detach(|| spec.build()).or_raise()?, bounds_persons))
    }

    pub(crate) fn new(inner: evertally::Plan, bounds_persons: bool) -> Self {
        let bounds_persons = bounds_persons || inner.participation().max_steps() > 1;
        Self { inner, whole: None, bounds_persons }
    }

    /// What one entry of this plan in a budget protects, unless the caller names it.
    pub(crate) fn protected_unit(&self) -> Unit {
        let neighbours = self.inner.neighbours();
        if self.bounds_persons { Unit::person(neighbours) } else { Unit::event(neighbours) }
    }

    /// Whether the plan counts events and admits only some of a person's. The noise of vectors goes
    /// to examples whose steps are fixed beforehand, so that no event takes the place of another.
    pub(crate) fn admits_events_of_persons(&self) -> bool {
        self.bounds_persons && !matches!(self.inner.shape(), Shape::Vector { .. })
    }

    /// The spec of the whole plan.
    pub(crate) fn whole(&self) -> PlanSpec {
        self.whole.clone().unwrap_or_else(|| self.inner.spec())
    }
}

/// Makes a plan: all choices first, then one call that may take seconds, after which every step is cheap.
///
/// horizon: the number of steps, or None for an unbounded stream.
/// epsilon, delta: the budget, by default 1 and 1e-6; delta=0 asks for pure differential privacy by
///     Laplace noise.
/// rho, sigma: the budget as zCDP, or as the noise multiplier. There is never less noise than
///     requested.
/// mechanism: a name such as "square-root" or "banded-square-root:64"; None chooses the most
///     accurate one that fits in memory.
/// workload: "prefix-sum", ("window", width) or ("decay", factor).
/// neighbours: which change of the input is hidden, "add-remove" or "replace".
/// max_steps, min_gap: one person takes part in at most max_steps steps, at least min_gap apart. A
///     plan protects persons if max_steps is given, even as 1, and single events otherwise.
/// keys_per_person: instead, one person counts once in each of at most so many keys: different persons
///     by key. `Admission` enforces either.
/// max_flips: instead, one person comes and goes at most so often, over all keys together, and adds one
///     and takes it away in turn: persons who are present. `Presence` enforces it.
/// objective: the error to minimise, "mean" or "worst"; "anytime" for the mean over the steps so far of
///     an unbounded stream.
/// contribution, norm: the range (lo, hi) of one contribution to a step, by default (0, 1); for
///     vectors, the bound on its norm, by default 1.
/// dimension, keys, open_keys: vectors of a dimension, one number for each declared key, or for
///     every key that appears.
/// stream: a name for what is counted. Plans that differ in it, or in any other choice, have
///     independent noise under one key, and each spends a budget of its own.
/// arithmetic: "exact" or "float".
/// grid, whole: the grid to which exact releases are rounded, by default a power of two that adds at
///     most 0.01 % to the squared error; whole=True releases whole numbers, as grid=1 does.
/// calibration: "exact", "zcdp" or "paper".
/// memory_limit: the maximum memory of a counter in bytes, by default two gibibytes. If the most
///     accurate mechanism does not fit, one that fits is chosen.
///
/// >>> import evertally
/// >>> plan = evertally.plan(365, mechanism="square-root", max_steps=12, min_gap=28)
/// >>> plan.mechanism, round(plan.rmse, 4)
/// ('square-root', 75.0107)
/// >>> evertally.plan(365, sigma=2.0).noise_multiplier >= 2.0
/// True
#[pyfunction]
#[pyo3(
    signature = (horizon, epsilon=None, delta=None, **choices),
    text_signature = "(horizon, epsilon=None, delta=None, *, rho=None, sigma=None, calibration=None, mechanism=None, workload=None, neighbours=None, max_steps=None, min_gap=None, keys_per_person=None, max_flips=None, objective=None, contribution=None, norm=None, dimension=None, keys=None, open_keys=None, stream=None, arithmetic=None, grid=None, whole=None, memory_limit=None)"
)]
pub(crate) fn plan(
    py: Python<'_>,
    horizon: &Bound<'_, PyAny>,
    epsilon: Option<&Bound<'_, PyAny>>,
    delta: Option<&Bound<'_, PyAny>>,
    choices: Option<&Bound<'_, PyDict>>,
) -> PyResult<Plan> {
    let (spec, bounds_persons) = read("plan", horizon, epsilon, delta, choices)?;
    Plan::make(py, &spec, bounds_persons)
}

/// Positional and named choices together, and whether `max_steps` is among them.
pub(crate) fn read(
    function: &str,
    horizon: &Bound<'_, PyAny>,
    epsilon: Option<&Bound<'_, PyAny>>,
    delta: Option<&Bound<'_, PyAny>>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<(PlanSpec, bool)> {
    choices::read(function, &all_choices(horizon, epsilon, delta, named)?)
}

/// Positional and named choices together.
pub(crate) fn all_choices<'py>(
    horizon: &Bound<'py, PyAny>,
    epsilon: Option<&Bound<'py, PyAny>>,
    delta: Option<&Bound<'py, PyAny>>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = match named {
        Some(named) => named.copy()?,
        None => PyDict::new(horizon.py()),
    };
    all.set_item("horizon", horizon)?;
    all.set_item("epsilon", epsilon)?;
    all.set_item("delta", delta)?;
    Ok(all)
}

attributes!(Plan, self => {
    /// The number of steps. For an unbounded stream, its cap.
    horizon: u64 = self.inner.horizon();
    /// Whether the stream is unbounded, so that the horizon is a cap.
    is_unbounded: bool = self.inner.is_unbounded();
    /// The mechanism that was named or chosen, with its parameters.
    mechanism: String = self.inner.mechanism().to_string();
    /// What is released at each step.
    workload: String = self.inner.workload().to_string();
    /// Which change of the input is hidden.
    neighbours: String = self.inner.neighbours().to_string();
    /// The maximum number of steps per person.
    max_steps: u64 = self.inner.participation().max_steps();
    /// The minimum distance between two steps of one person.
    min_gap: u64 = self.inner.participation().min_gap();
    /// In how many keys one person counts, once in each; 1 for plans that bound the steps of a person.
    keys_per_person: u64 = self.inner.keys_per_step();
    /// How often one person may come or go; None for persons who count and stay.
    max_flips: Option<u64> = {
        let participation = self.inner.participation();
        participation.is_in_turn().then(|| participation.max_steps())
    };
    /// What is protected: "person" if `max_steps`, `keys_per_person` or `max_flips` was given, and "event"
    /// otherwise.
    ///
    /// >>> import evertally
    /// >>> evertally.plan(24).unit, evertally.plan(24, max_steps=1).unit
    /// ('event', 'person')
    unit: String = self.protected_unit().name().to_owned();
    /// The error that is minimised: "mean" or "worst".
    objective: String = self.inner.objective().to_string();
    /// The largest magnitude of one contribution to a step. For vectors, the largest norm.
    largest_contribution: f64 = self.inner.contribution().magnitude();
    /// The range of one contribution to a step. For vectors, the range of the norm, from zero.
    contribution: (f64, f64) = (self.inner.contribution().lo(), self.inner.contribution().hi());
    /// Whether the plan is for keys that are not declared.
    has_open_keys: bool = *self.inner.shape() == Shape::OpenKeys;
    /// The name of the stream that is counted; empty by default.
    stream: &str = self.inner.stream_name();
    /// The budget in words.
    budget: String = self.inner.budget().to_string();
    /// ε of the budget; None for a zCDP budget, which has one for each δ: see `spend().epsilon(delta)`.
    epsilon: Option<f64> = self.inner.budget().epsilon();
    /// δ of the budget; zero for pure differential privacy, None for a zCDP budget.
    delta: Option<f64> = self.inner.budget().delta();
    /// ρ of the budget if it is zCDP or was calibrated through zCDP; None otherwise.
    /// Every plan has `spend().rho`.
    rho: Option<f64> = self.inner.budget().rho();
    /// σ: the standard deviation of the noise for sensitivity one, rounded up.
    noise_multiplier: f64 = self.inner.noise_multiplier();
    /// Δ: the sensitivity of the mechanism for contributions of magnitude one, rounded up.
    sensitivity: f64 = self.inner.sensitivity();
    /// The standard deviation of each white draw before L is applied: σ·Δ times the largest
    /// contribution and the factor for replacement.
    noise_scale: f64 = self.inner.noise_scale();
    /// The root of the mean squared error over all steps.
    rmse: f64 = self.inner.accuracy().rmse;
    /// The largest standard error of a step.
    worst_rmse: f64 = self.inner.accuracy().worst_rmse;
    /// An upper bound on the mean squared error of the releases, with their rounding, divided by the
    /// least that any mechanism can have. None if no bound is known.
    ratio_to_lower_bound: Option<f64> = self.inner.accuracy().ratio_to_lower_bound();
    /// The arithmetic of releases: "exact" or "float".
    arithmetic: String = self.inner.arithmetic().to_string();
    /// The public grid on which exact releases lie; None in floating point.
    grid: Option<f64> = self.inner.grid();
    /// The memory of a counter in bytes per coordinate or key.
    bytes_per_coordinate: u64 = self.inner.cost().bytes_per_coordinate;
    /// 32 bytes that identify the plan in saved states. Equal plans have equal fingerprints.
    fingerprint: [u8; 32] = self.inner.fingerprint();
});

#[pymethods]
impl Plan {
    /// The dimension of vectors; None for other plans.
    #[getter]
    fn dimension(&self) -> Option<usize> {
        match self.inner.shape() {
            Shape::Vector { dimension } => Some(*dimension),
            _ => None,
        }
    }

    /// The declared keys in their order; None for other plans.
    #[getter]
    pub(crate) fn keys(&self) -> Option<Vec<String>> {
        match self.inner.shape() {
            Shape::Keyed { keys } => Some(keys.clone()),
            _ => None,
        }
    }

    /// The standard error of the release of a step, counted from zero.
    fn standard_error(&self, step: u64) -> PyResult<f64> {
        self.inner.standard_error(step).or_raise()
    }

    /// The standard errors of all steps, or of those in an array of int64, as an array.
    ///
    /// >>> import evertally, numpy
    /// >>> plan = evertally.plan(2**40)
    /// >>> steps = numpy.array([0, 2**20, 2**40 - 1])
    /// >>> profile = plan.error_profile(steps)
    /// >>> bool(profile[1] == plan.standard_error(2**20))
    /// True
    #[pyo3(signature = (steps=None))]
    fn error_profile<'py>(
        &self,
        py: Python<'py>,
        steps: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let plan = &self.inner;
        let errors: evertally::Result<Vec<f64>> = match steps {
            Some(given) => {
                let given = readable::<i64, Ix1>("steps", given)?;
                let steps = given.as_slice()?;
                if let Some(negative) = steps.iter().find(|step| **step < 0) {
                    return Err(bad("steps", "counted from zero", negative));
                }
                py.detach(|| steps.iter().map(|step| plan.standard_error(*step as u64)).collect())
            }
            None if plan.horizon() > MAX_PROFILE => {
                let expected = "given for a horizon beyond 2^26, as an array of int64";
                return Err(bad("steps", expected, format!("nothing at {} steps", plan.horizon())));
            }
            None => py.detach(|| (0..plan.horizon()).map(|step| plan.standard_error(step)).collect()),
        };
        Ok(PyArray1::from_vec(py, errors.or_raise()?))
    }

    /// L and R as arrays, for small horizons: the workload is L @ R, and the noise is noise_scale · L @ g.
    fn dense<'py>(&self, py: Python<'py>) -> PyResult<(DenseArray<'py>, DenseArray<'py>)> {
        let dense = py.detach(|| self.inner.dense()).or_raise()?;
        Ok((matrix(py, &dense.decoder), matrix(py, &dense.encoder)))
    }

    /// The same plan for a stream of this name, without planning again: its noise under the same
    /// key is independent.
    fn with_stream(&self, name: String) -> Self {
        let whole = self.whole.clone().map(|whole| PlanSpec { stream: name.clone(), ..whole });
        Self { inner: self.inner.with_stream(name), whole, ..*self }
    }

    /// The same plan for other declared keys, without planning again. Its noise is independent of
    /// that of this plan: what `other` means, for one, depends on the keys beside it.
    ///
    /// >>> import evertally
    /// >>> plan = evertally.plan(24, keys=["north", "other"])
    /// >>> plan.with_keys(["north", "south", "other"]).keys
    /// ['north', 'south', 'other']
    fn with_keys(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<Self> {
        let inner = py.detach(|| self.inner.with_keys(keys.iter().cloned())).or_raise()?;
        Ok(Self::new(inner, self.bounds_persons))
    }

    /// A part of the plan: the same plan for some of its keys, without planning again. The noise of
    /// a key is what it is in the whole plan, bit for bit, so that counters of several parts
    /// release together what one counter of all keys would, and spend the budget once. Private to
    /// the package: no key may be in two parts, and no record sees whether one is.
    pub(crate) fn _part(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<Self> {
        let inner = py.detach(|| self.inner.part(keys.iter().cloned())).or_raise()?;
        Ok(Self { inner, whole: Some(self.whole()), ..*self })
    }

    /// The same plan for a count of this definition, which names its noise. Private to the package.
    fn _with_definition(&self, definition: &[u8]) -> Self {
        let whole = self.whole.clone().map(|whole| PlanSpec { definition: definition.to_vec(), ..whole });
        Self { inner: self.inner.with_definition(definition), whole, ..*self }
    }

    /// What all releases together cost one protected unit, computed from the actual noise.
    pub(crate) fn spend(&self) -> Spend {
        Spend { inner: self.inner.spend(), bounds_persons: self.admits_events_of_persons() }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().inner.fingerprint() == self.inner.fingerprint())
    }

    fn __hash__(&self) -> u64 {
        let fingerprint = self.inner.fingerprint();
        let (head, _) = fingerprint.split_at(8);
        head.try_into().map_or(0, u64::from_le_bytes)
    }

    fn __repr__(&self) -> String {
        format!(
            "Plan(horizon={}, workload='{}', mechanism='{}', budget='{}', rmse={:.4})",
            self.horizon(),
            self.workload(),
            self.mechanism(),
            self.budget(),
            self.rmse()
        )
    }
}
