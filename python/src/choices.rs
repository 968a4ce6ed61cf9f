//! The choices of a plan, read from keyword arguments and written back for pickling.
//!
//! One reader serves `plan`, `compare` and the shorthands of other classes, so that a choice means
//! the same everywhere.

use evertally::{Budget, Calibration, Contribution, Participation, Plan, PlanBuilder, Workload};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::arrays::kind;
use crate::errors::{BadParameter, OrRaise, bad};

/// The budget of a plan for which nothing is said.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

/// The ways to state a budget.
#[derive(Clone, Default)]
pub(crate) struct BudgetChoices {
    pub(crate) epsilon: Option<f64>,
    pub(crate) delta: Option<f64>,
    pub(crate) rho: Option<f64>,
    pub(crate) sigma: Option<f64>,
    pub(crate) calibration: Option<String>,
}

impl BudgetChoices {
    /// The budget that they make; (1, 10⁻⁶) where nothing is said.
    pub(crate) fn budget(&self) -> PyResult<Budget> {
        let budget = match (self.epsilon, self.delta, self.rho, self.sigma) {
            (None, None, Some(rho), None) => Budget::zcdp(rho).or_raise()?,
            (None, None, None, Some(sigma)) => noise_of_at_least(sigma)?,
            (epsilon, delta, None, None) => {
                let (epsilon, delta) = (epsilon.unwrap_or(EPSILON), delta.unwrap_or(DELTA));
                if delta == 0.0 { Budget::pure(epsilon) } else { Budget::new(epsilon, delta) }.or_raise()?
            }
            _ => {
                return Err(BadParameter::new_err(
                    "of epsilon with delta, rho and sigma only one can be given: each is a budget of its own",
                ));
            }
        };
        match &self.calibration {
            None => Ok(budget),
            Some(calibration) => {
                let calibration: Calibration = calibration.parse().or_raise()?;
                budget.with_calibration(calibration).or_raise()
            }
        }
    }
}

/// Everything that a plan is made of, as it was given.
#[derive(Clone, Default)]
pub(crate) struct Choices {
    pub(crate) horizon: Option<u64>,
    budget: BudgetChoices,
    mechanism: Option<String>,
    workload: Option<Workload>,
    neighbours: Option<String>,
    max_steps: Option<u64>,
    min_gap: Option<u64>,
    objective: Option<String>,
    contribution: Option<(f64, f64)>,
    norm: Option<f64>,
    pub(crate) dimension: Option<usize>,
    keys: Option<Vec<String>>,
    open_keys: Option<bool>,
    stream: Option<String>,
    arithmetic: Option<String>,
    grid: Option<f64>,
    memory_limit: Option<u64>,
    /// What was made of the plan afterwards, in this order; no keyword asks for it.
    definition: Option<Vec<u8>>,
    declared: Option<Vec<String>>,
    part: Option<Vec<String>>,
}

impl Choices {
    /// Reads keyword arguments; whatever stays in the dictionary is unknown.
    pub(crate) fn read(function: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::default()) };
        let mut rest = Rest(given.copy()?);
        let choices = Self {
            horizon: rest.take("horizon", "a number of steps, or None for a stream without an end")?,
            budget: BudgetChoices {
                epsilon: rest.take("epsilon", "a number")?,
                delta: rest.take("delta", "a number")?,
                rho: rest.take("rho", "a number")?,
                sigma: rest.take("sigma", "a number")?,
                calibration: rest.take("calibration", "exact, zcdp or paper")?,
            },
            mechanism: rest.take("mechanism", "the name of a mechanism")?,
            workload: rest.workload()?,
            neighbours: rest.take("neighbours", "add-remove or replace")?,
            max_steps: rest.take("max_steps", "a number of steps from 1")?,
            min_gap: rest.take("min_gap", "a number of steps from 1")?,
            objective: rest.take("objective", "mean or worst")?,
            contribution: rest.take("contribution", "a pair of numbers (lo, hi)")?,
            norm: rest.take("norm", "a number")?,
            dimension: rest.take("dimension", "a number of coordinates from 1")?,
            keys: rest.take("keys", "a list of names")?,
            open_keys: rest.take("open_keys", "True or False")?,
            stream: rest.take("stream", "a name")?,
            arithmetic: rest.take("arithmetic", "exact or float")?,
            grid: rest.take("grid", "a number")?,
            memory_limit: rest.take("memory_limit", "a number of bytes")?,
            ..Self::default()
        };
        if let Some((name, _)) = rest.0.iter().next() {
            return Err(PyTypeError::new_err(format!(
                "{function}() got an unexpected keyword argument '{name}'"
            )));
        }
        Ok(choices)
    }

    /// Reads what `to_dict` has written.
    pub(crate) fn read_again(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut rest = Rest(given.copy()?);
        let definition = rest.take("_definition", "bytes")?;
        let declared = rest.take("_declared", "a list of names")?;
        let part = rest.take("_part", "a list of names")?;
        Ok(Self { definition, declared, part, ..Self::read("plan", Some(&rest.0))? })
    }

    /// The keyword arguments again, and what was made of the plan afterwards.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let given = PyDict::new(py);
        given.set_item("horizon", self.horizon)?;
        given.set_item("epsilon", self.budget.epsilon)?;
        given.set_item("delta", self.budget.delta)?;
        given.set_item("rho", self.budget.rho)?;
        given.set_item("sigma", self.budget.sigma)?;
        given.set_item("calibration", &self.budget.calibration)?;
        given.set_item("mechanism", &self.mechanism)?;
        match self.workload {
            Some(Workload::SlidingWindow { width }) => given.set_item("workload", ("window", width))?,
            Some(Workload::Decay { factor }) => given.set_item("workload", ("decay", factor))?,
            _ => {}
        }
        given.set_item("neighbours", &self.neighbours)?;
        given.set_item("max_steps", self.max_steps)?;
        given.set_item("min_gap", self.min_gap)?;
        given.set_item("objective", &self.objective)?;
        given.set_item("contribution", self.contribution)?;
        given.set_item("norm", self.norm)?;
        given.set_item("dimension", self.dimension)?;
        given.set_item("keys", self.keys.as_ref())?;
        given.set_item("open_keys", self.open_keys)?;
        given.set_item("stream", &self.stream)?;
        given.set_item("arithmetic", &self.arithmetic)?;
        given.set_item("grid", self.grid)?;
        given.set_item("memory_limit", self.memory_limit)?;
        given.set_item("_definition", self.definition.as_ref().map(|bytes| PyBytes::new(py, bytes)))?;
        given.set_item("_declared", self.declared.as_ref())?;
        given.set_item("_part", self.part.as_ref())?;
        Ok(given)
    }

    /// The same choices with a mechanism named.
    pub(crate) fn with_mechanism(&self, mechanism: String) -> Self {
        Self { mechanism: Some(mechanism), ..self.clone() }
    }

    /// The same choices for a stream of this name.
    pub(crate) fn with_stream(&self, name: String) -> Self {
        Self { stream: Some(name), ..self.clone() }
    }

    /// The same choices for a count of this definition.
    pub(crate) fn with_definition(&self, definition: Vec<u8>) -> Self {
        Self { definition: Some(definition), ..self.clone() }
    }

    /// The choices of a part of the plan.
    pub(crate) fn with_part(&self, keys: Vec<String>, mechanism: String) -> Self {
        Self { part: Some(keys), ..self.keeping(mechanism) }
    }

    /// The choices of the plan that declares these keys.
    pub(crate) fn declaring(&self, keys: Vec<String>, mechanism: String) -> Self {
        Self { declared: Some(keys), part: None, ..self.keeping(mechanism) }
    }

    /// The same choices, of a plan that took this mechanism: which one fits in memory depends on
    /// how many keys there are, and must not be chosen again. A stream without an end always takes
    /// the same one, and its cap comes with it only where none is named.
    fn keeping(&self, mechanism: String) -> Self {
        let chosen = self.horizon.is_some().then_some(mechanism);
        Self { mechanism: self.mechanism.clone().or(chosen), ..self.clone() }
    }

    /// What was made of a plan after it was built.
    pub(crate) fn finish(&self, mut plan: Plan) -> evertally::Result<Plan> {
        if let Some(definition) = &self.definition {
            plan = plan.with_definition(definition.as_slice());
        }
        if let Some(keys) = &self.declared {
            plan = plan.declaring_keys(keys.iter().cloned())?;
        }
        if let Some(keys) = &self.part {
            plan = plan.with_keys(keys.iter().cloned())?;
        }
        Ok(plan)
    }

    /// The choices as the library takes them.
    pub(crate) fn builder(&self) -> PyResult<PlanBuilder> {
        let workload = self.workload.unwrap_or(Workload::PrefixSum);
        let mut builder = match self.horizon {
            Some(horizon) => Plan::for_workload(horizon, workload),
            None => Plan::unbounded(workload),
        };
        builder = builder.budget(self.budget.budget()?);
        if let Some(mechanism) = &self.mechanism {
            builder = builder.mechanism(mechanism.parse().or_raise()?);
        }
        if let Some(neighbours) = &self.neighbours {
            builder = builder.neighbours(neighbours.parse().or_raise()?);
        }
        let (max_steps, min_gap) = (self.max_steps.unwrap_or(1), self.min_gap.unwrap_or(1));
        builder = builder.participation(Participation::at_most(max_steps, min_gap).or_raise()?);
        if let Some(objective) = &self.objective {
            builder = builder.objective(objective.parse().or_raise()?);
        }
        if let Some(contribution) = self.contribution()? {
            builder = builder.contribution(contribution);
        }
        builder = match (self.dimension, &self.keys, self.open_keys.unwrap_or(false)) {
            (None, None, false) => builder,
            (Some(dimension), None, false) => builder.dimension(dimension),
            (None, Some(keys), false) => builder.keys(keys.iter().cloned()),
            (None, None, true) => builder.open_keys(),
            _ => return Err(BadParameter::new_err("of dimension, keys and open_keys only one can be given")),
        };
        if let Some(stream) = &self.stream {
            builder = builder.stream(stream.clone());
        }
        if let Some(arithmetic) = &self.arithmetic {
            builder = builder.arithmetic(arithmetic.parse().or_raise()?);
        }
        if let Some(grid) = self.grid {
            builder = builder.grid(grid);
        }
        if let Some(bytes) = self.memory_limit {
            builder = builder.memory_limit(bytes);
        }
        Ok(builder)
    }

    /// Vectors are bounded in norm, by one unless said otherwise; numbers lie between zero and one
    /// unless said otherwise.
    fn contribution(&self) -> PyResult<Option<Contribution>> {
        match (self.contribution, self.norm) {
            (Some(_), Some(_)) => {
                Err(BadParameter::new_err("of contribution and norm only one can be given"))
            }
            (Some((lo, hi)), None) => Contribution::range(lo, hi).or_raise().map(Some),
            (None, Some(bound)) => Contribution::norm(bound).or_raise().map(Some),
            (None, None) if self.dimension.is_some() => Contribution::norm(1.0).or_raise().map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// The budget whose noise multiplier is the least that is no less than this one.
fn noise_of_at_least(sigma: f64) -> PyResult<Budget> {
    if !(sigma.is_finite() && sigma > 0.0) {
        return Err(bad("sigma", "a positive number", sigma));
    }
    let mut rho = 0.5 / (sigma * sigma);
    loop {
        let budget = Budget::zcdp(rho).or_raise()?;
        if budget.noise_multiplier() >= sigma {
            return Ok(budget);
        }
        // The formula rounds: a few units in the last place are all that this takes.
        rho = rho.next_down();
    }
}

/// Arguments that nobody has asked for yet.
struct Rest<'py>(Bound<'py, PyDict>);

impl<'py> Rest<'py> {
    /// Takes an argument out; `None` where it was not given, or given as `None`.
    fn take<T>(&mut self, name: &str, expected: &str) -> PyResult<Option<T>>
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

    fn workload(&mut self) -> PyResult<Option<Workload>> {
        self.remove("workload")?.map(|value| read_workload(&value)).transpose()
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

/// Numbers and names are shown as they are; of anything else only the type, because it may be a
/// secret in the wrong place.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let may_be_shown = value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyString>();
    match value.repr() {
        Ok(text) if may_be_shown => text.to_string(),
        _ => kind(value),
    }
}
