//! The choices of a plan, read from keyword arguments.
//!
//! One reader serves `plan`, `compare` and the shorthands of other classes, so that a choice means
//! the same everywhere. It gives a `PlanSpec`, from which the library makes the plan.

use std::str::FromStr;

use evertally::{BudgetSpec, Contribution, Horizon, Participation, PlanSpec, Shape, Workload};
use evertally_stream::Share;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::arrays::kind;
use crate::errors::{BadParameter, OrRaise, bad, refused};

/// The default budget.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

/// The budget of the keyword arguments. Defaults to (1, 10⁻⁶).
pub(crate) fn read_budget(
    epsilon: Option<f64>,
    delta: Option<f64>,
    rho: Option<f64>,
    sigma: Option<f64>,
    calibration: Option<&str>,
) -> PyResult<BudgetSpec> {
    let is_left_out = rho.is_none() && sigma.is_none();
    let calibration = calibration.map(str::parse).transpose().or_raise()?;
    Ok(BudgetSpec {
        epsilon: epsilon.or(is_left_out.then_some(EPSILON)),
        delta: delta.or(is_left_out.then_some(DELTA)),
        calibration,
        rho,
        sigma,
    })
}

/// Reads keyword arguments, and refuses unknown ones. Also says whether persons are bounded.
pub(crate) fn read(function: &str, given: &Bound<'_, PyDict>) -> PyResult<(PlanSpec, bool)> {
    let mut rest = Rest(given.copy()?);
    let horizon: Option<u64> = rest.take("horizon", "a number of steps, or None for an unbounded stream")?;
    let budget = read_budget(
        rest.take("epsilon", "a number")?,
        rest.take("delta", "a number")?,
        rest.take("rho", "a number")?,
        rest.take("sigma", "a number")?,
        rest.take::<String>("calibration", "exact, zcdp or paper")?.as_deref(),
    )?;
    let defaults = PlanSpec::new(Horizon::from(horizon), budget);
    let shape = rest.shape()?;
    let has_range = rest.is_given("contribution")? || rest.is_given("norm")?;
    let workload = rest.remove("workload")?.map(|value| read_workload(&value)).transpose()?;
    let persons = rest.persons()?;
    let mut spec = PlanSpec {
        mechanism: rest.choice("mechanism", "the name of a mechanism")?,
        workload: workload.unwrap_or(defaults.workload),
        neighbours: rest.choice("neighbours", "add-remove or replace")?.unwrap_or_default(),
        participation: persons.participation()?,
        objective: rest.choice("objective", "mean, worst or anytime")?.unwrap_or_default(),
        contribution: rest.contribution(&shape)?,
        shape,
        stream: rest.take("stream", "a name")?.unwrap_or_default(),
        arithmetic: rest.choice("arithmetic", "exact or float")?,
        grid: rest.grid()?,
        memory_limit: rest.take("memory_limit", "a number of bytes")?,
        ..defaults
    };
    persons.shape(&mut spec, has_range)?;
    match rest.0.iter().next() {
        None => Ok((spec, persons.are_bounded())),
        Some((name, _)) => {
            let reason = format!("{function}() got an unexpected keyword argument '{name}'");
            Err(PyTypeError::new_err(reason))
        }
    }
}

/// How the events of one person are bounded.
struct Persons {
    max_steps: Option<u64>,
    min_gap: Option<u64>,
    keys: Option<u64>,
    max_flips: Option<u64>,
}

impl Persons {
    fn are_bounded(&self) -> bool {
        self.max_steps.is_some() || self.keys.is_some() || self.max_flips.is_some()
    }

    fn participation(&self) -> PyResult<Participation> {
        let is_bounded_in_steps = self.max_steps.is_some() || self.min_gap.is_some();
        match (self.max_flips, self.keys) {
            (Some(_), Some(_)) => Err(one_of_three()),
            (Some(_), None) | (None, Some(_)) if is_bounded_in_steps => Err(one_of_three()),
            (Some(flips), None) if flips == 0 || flips % 2 == 1 => {
                Err(bad("max_flips", "an even number of at least 2, because who comes can leave", flips))
            }
            (Some(flips), None) => Participation::in_turn(flips).or_raise(),
            (None, Some(_)) => Ok(Participation::single()),
            (None, None) => {
                Participation::at_most(self.max_steps.unwrap_or(1), self.min_gap.unwrap_or(1)).or_raise()
            }
        }
    }

    /// Sets what a person changes who counts once per key, or who comes and goes.
    fn shape(&self, spec: &mut PlanSpec, has_range: bool) -> PyResult<()> {
        if (self.keys.is_some() || self.max_flips.is_some()) && has_range {
            let reason =
                "contribution must be left out with keys_per_person and max_flips: a person counts as one";
            return Err(BadParameter::new_err(reason));
        }
        if self.max_flips.is_some() {
            spec.contribution = Contribution::range(-1.0, 1.0).or_raise()?;
        }
        if let Some(keys) = self.keys {
            // Nobody can count in more keys than there are.
            let declared = if let Shape::Keyed { keys } = &spec.shape { keys.len() as u64 } else { u64::MAX };
            let keys = keys.min(declared.max(1));
            let share = Share::once_per_key(keys).map_err(refused)?;
            let is_pure = spec.budget.delta == Some(0.0);
            spec.contribution = share.contribution(Some((0.0, 1.0)), is_pure).map_err(refused)?;
            spec.keys_per_step = share.keys();
        }
        Ok(())
    }
}

fn one_of_three() -> PyErr {
    BadParameter::new_err("only one of max_steps (with min_gap), keys_per_person and max_flips can be given")
}

/// Arguments that no choice has taken yet.
pub(crate) struct Rest<'py>(pub(crate) Bound<'py, PyDict>);

impl<'py> Rest<'py> {
    /// Whether an argument is given, and not as `None`.
    pub(crate) fn is_given(&self, name: &str) -> PyResult<bool> {
        Ok(self.0.get_item(name)?.is_some_and(|value| !value.is_none()))
    }

    fn persons(&mut self) -> PyResult<Persons> {
        Ok(Persons {
            max_steps: self.take("max_steps", "a number of steps from 1")?,
            min_gap: self.take("min_gap", "a number of steps from 1")?,
            keys: self.take("keys_per_person", "a number of keys from 1")?,
            max_flips: self.take("max_flips", "an even number of changes")?,
        })
    }

    /// Takes an argument out; `None` if it was not given, or given as `None`.
    pub(crate) fn take<T>(&mut self, name: &str, expected: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        match self.remove(name)? {
            None => Ok(None),
            Some(value) => match value.extract::<T>() {
                Ok(read) => Ok(Some(read)),
                Err(_) => Err(bad(name, expected, shown(&value))),
            },
        }
    }

    fn remove(&mut self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.0.get_item(name)?;
        if value.is_some() {
            self.0.del_item(name)?;
        }
        Ok(value.filter(|value| !value.is_none()))
    }

    /// The grid, which is one for whole numbers.
    pub(crate) fn grid(&mut self) -> PyResult<Option<f64>> {
        let grid = self.take("grid", "a number")?;
        let is_whole = self.take("whole", "True or False")?.unwrap_or(false);
        match grid {
            Some(_) if is_whole => {
                Err(BadParameter::new_err("only one of grid and whole can be given: whole=True is grid=1"))
            }
            None if is_whole => Ok(Some(1.0)),
            grid => Ok(grid),
        }
    }

    /// A choice by its name.
    fn choice<T: FromStr<Err = evertally::Error>>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> PyResult<Option<T>> {
        let given: Option<String> = self.take(name, expected)?;
        given.map(|name| name.parse()).transpose().or_raise()
    }

    fn shape(&mut self) -> PyResult<Shape> {
        let dimension = self.take("dimension", "a number of coordinates from 1")?;
        let keys = self.take("keys", "a list of names")?;
        let is_open = self.take("open_keys", "True or False")?.unwrap_or(false);
        match (dimension, keys, is_open) {
            (None, None, false) => Ok(Shape::Scalar),
            (Some(dimension), None, false) => Ok(Shape::Vector { dimension }),
            (None, Some(keys), false) => Ok(Shape::Keyed { keys }),
            (None, None, true) => Ok(Shape::OpenKeys),
            _ => Err(BadParameter::new_err("only one of dimension, keys and open_keys can be given")),
        }
    }

    /// By default, numbers lie between zero and one, and vectors have norm at most one.
    fn contribution(&mut self, shape: &Shape) -> PyResult<Contribution> {
        let range: Option<(f64, f64)> = self.take("contribution", "a pair of numbers (lo, hi)")?;
        let norm: Option<f64> = self.take("norm", "a number")?;
        match (range, norm, shape) {
            (Some(_), Some(_), _) => {
                Err(BadParameter::new_err("only one of contribution and norm can be given"))
            }
            (Some((lo, hi)), None, _) => Contribution::range(lo, hi).or_raise(),
            (None, Some(bound), _) => Contribution::norm(bound).or_raise(),
            (None, None, Shape::Vector { .. }) => Contribution::norm(1.0).or_raise(),
            (None, None, _) => Ok(Contribution::default()),
        }
    }
}

/// A workload: its name, or a pair of its name and its parameter.
pub(crate) fn read_workload(value: &Bound<'_, PyAny>) -> PyResult<Workload> {
    let expected = "\"prefix-sum\", (\"window\", width) or (\"decay\", factor)";
    let refusal = || bad("workload", expected, shown(value));
    if let Ok(name) = value.cast::<PyString>() {
        return if name == "prefix-sum" { Ok(Workload::PrefixSum) } else { Err(refusal()) };
    }
    let pair = value.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(refusal)?;
    let (name, parameter) = (pair.get_item(0)?, pair.get_item(1)?);
    let name = name.cast::<PyString>().map_err(|_| refusal())?;
    let workload = match name.to_cow()?.as_ref() {
        "window" => parameter.extract().ok().map(|width| Workload::SlidingWindow { width }),
        "decay" => parameter.extract().ok().map(|factor| Workload::Decay { factor }),
        _ => None,
    };
    workload.ok_or_else(refusal)
}

/// Numbers and names as they are. For anything else only the type, because it may be a misplaced
/// secret.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let may_be_shown = value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyString>();
    match value.repr() {
        Ok(text) if may_be_shown => text.to_string(),
        _ => kind(value),
    }
}
