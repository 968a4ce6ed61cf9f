//! Which events of persons count, and where persons are new.

use evertally::{DiscoveringCounter, Participation, Shape};
use evertally_stream::{Arrival, KeySet, Newcomers, given_name};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::discovery::Discovery;
use crate::errors::{BadParameter, bad, refused};
use crate::names::{read_names, read_names_beside, read_steps};
use crate::noise_key::NoiseKey;
use crate::plan::Plan;
use crate::process_lock::ProcessLock;

/// A new array with a flag for each event.
type Flags<'py> = Bound<'py, PyArray1<bool>>;

/// How the events of a person are bounded.
#[derive(Clone, Copy)]
enum Limits {
    /// At most so many steps, at least so far apart, with one event in each.
    Steps(Participation),
    /// Once in each of the first so many keys.
    Keys(u64),
}

/// What the keys of events are.
enum Keys {
    /// All events are of one total.
    None,
    /// Any names. An event without one, or with one that no counter takes, does not count.
    Open,
    /// An event of any other key is one of `other`.
    Declared(KeySet),
}

impl Keys {
    /// The key that an event is of; `None` if it is of none.
    fn of<'a>(&'a self, given: Option<&'a str>) -> Option<&'a str> {
        match self {
            Self::None => Some(""),
            Self::Open => given_name(given).filter(|key| key.len() <= DiscoveringCounter::MAX_KEY_BYTES),
            Self::Declared(keys) => {
                keys.names().get(keys.position(given.unwrap_or_default())).map(String::as_str)
            }
        }
    }
}

/// What a plan says about persons and events.
struct Rule {
    limits: Limits,
    keys: Keys,
    horizon: u64,
}

/// Decides which events of each person count, and in which keys the person is new. The bounds are those of
/// the plan, so what counts is what its noise covers.
///
/// plan: a plan by `evertally.discover`, or one by `evertally.plan` with `max_steps` or `keys_per_person`.
/// key: a secret key under which persons are remembered as hashes.
///
/// Events are decided in the order in which they come. Hand them over by time: then they count as in
/// `evertally count`. What is decided about a person depends on their own events alone. With `max_steps`, a
/// person counts with one event in a step; with `keys_per_person`, once in each of their first keys.
///
/// >>> import evertally
/// >>> discovery = evertally.discover(10, epsilon=1.0, delta=1e-6, max_steps=2)
/// >>> admission = evertally.Admission(discovery, evertally.NoiseKey.generate())
/// >>> counts, new = admission.admit(["ann", "ann", "bob"], 0, keys=["/", "/about", "/"])
/// >>> counts.tolist(), new.tolist()
/// ([True, False, True], [True, False, True])
/// >>> counts, new = admission.admit(["ann", "ann"], 1, keys=["/", "/about"])
/// >>> counts.tolist(), new.tolist()
/// ([True, False], [False, False])
///
/// Distinct persons: each counts once.
///
/// >>> plan = evertally.plan(10, epsilon=1.0, delta=1e-6, max_steps=1)
/// >>> admission = evertally.Admission(plan, evertally.NoiseKey.generate())
/// >>> [int(admission.admit(who, day)[0].sum()) for day, who in enumerate([["ann", "bob"], ["ann", "eve"]])]
/// [2, 1]
#[pyclass(frozen, module = "evertally", name = "Admission")]
pub(crate) struct Admission {
    newcomers: ProcessLock<Newcomers>,
    rule: Rule,
}

#[pymethods]
impl Admission {
    #[new]
    fn new(plan: &Bound<'_, PyAny>, key: &Bound<'_, NoiseKey>) -> PyResult<Self> {
        let key = key.get().copied();
        Self::under(plan, |bound| match bound {
            Limits::Steps(limits) => Newcomers::new(limits, &key),
            Limits::Keys(keys) => Newcomers::once_per_key(keys, &key),
        })
    }

    /// Resumes from a saved state. A state of other bounds or another key is refused.
    #[staticmethod]
    fn resume(plan: &Bound<'_, PyAny>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        let key = key.get().copied();
        Self::under(plan, |bound| match bound {
            Limits::Steps(limits) => Newcomers::resume(limits, &key, state),
            Limits::Keys(keys) => Newcomers::resume_once_per_key(keys, &key, state),
        })
    }

    /// Decides on events in the given order. Returns two arrays of bool: which of them count, and which of
    /// these are the first of their person in their key.
    ///
    /// persons, keys, ids: lists or arrays of names. An event without a person never counts. Where the plan
    /// declares keys, an event of any other is one of `other`; where it does not, one without a key, or with
    /// one of more than 4,096 bytes, does not count. A second event of a person with the same id does not
    /// count; ids are not part of a saved state.
    /// steps: one step for all events, or an array of int64. An event of a step after the last never counts.
    #[pyo3(signature = (persons, steps, keys=None, ids=None))]
    fn admit<'py>(
        &self,
        py: Python<'py>,
        persons: &Bound<'py, PyAny>,
        steps: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
        ids: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Flags<'py>, Flags<'py>)> {
        let persons = read_names("persons", persons)?;
        let steps = read_steps(steps, persons.len())?;
        let keys = read_names_beside("keys", keys, persons.len())?;
        let ids = read_names_beside("ids", ids, persons.len())?;
        let rule = &self.rule;
        if keys.is_none() && !matches!(rule.keys, Keys::None) {
            return Err(bad("keys", "given, because the plan has keys", "nothing"));
        }
        let arrivals = self.newcomers.with(py, |newcomers| {
            let decide = |(row, (person, step)): (usize, (&Option<String>, &u64))| {
                let key = rule.keys.of(at(keys.as_deref(), row)).filter(|_| *step < rule.horizon)?;
                Some(newcomers.decide(person.as_deref(), Some(key), at(ids.as_deref(), row), *step))
            };
            Ok(persons.iter().zip(&steps).enumerate().map(decide).collect::<Vec<Option<Arrival>>>())
        })?;
        let flags = |which: fn(&Arrival) -> bool| {
            PyArray1::from_vec(
                py,
                arrivals.iter().map(|arrival| arrival.as_ref().is_some_and(which)).collect(),
            )
        };
        Ok((flags(|arrival| arrival.outcome.is_counted()), flags(|arrival| arrival.is_new)))
    }

    /// The state as bytes, for `resume`. It names nobody, and shows in which steps persons counted: guard
    /// it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.newcomers.with(py, |newcomers| Ok(newcomers.save()))?))
    }

    fn __repr__(&self) -> String {
        match self.rule.limits {
            Limits::Steps(limits) => {
                format!("Admission(max_steps={}, min_gap={})", limits.max_steps(), limits.min_gap())
            }
            Limits::Keys(keys) => format!("Admission(keys_per_person={keys})"),
        }
    }
}

impl Admission {
    fn under(
        plan: &Bound<'_, PyAny>,
        make: impl FnOnce(Limits) -> evertally_stream::Result<Newcomers> + Send,
    ) -> PyResult<Self> {
        let rule = rule_of(plan)?;
        let limits = rule.limits;
        let newcomers = plan.py().detach(|| make(limits)).map_err(refused)?;
        Ok(Self { newcomers: ProcessLock::new(newcomers), rule })
    }
}

/// The name in a row of a column, if there is one.
fn at(column: Option<&[Option<String>]>, row: usize) -> Option<&str> {
    column?.get(row)?.as_deref()
}

fn rule_of(plan: &Bound<'_, PyAny>) -> PyResult<Rule> {
    if let Ok(discovery) = plan.cast::<Discovery>() {
        let discovery = discovery.get();
        if discovery.keys_per_step() > 1 {
            let expected = "one with one key of a person in a step, because one event of a step counts";
            return Err(bad("plan", expected, "several"));
        }
        let limits = Limits::Steps(discovery.inner.totals().participation());
        return Ok(Rule { limits, keys: Keys::Open, horizon: discovery.horizon() });
    }
    let neither = |_| BadParameter::new_err("plan must be a Plan or a Discovery");
    let plan = plan.cast::<Plan>().map_err(neither)?.get();
    let participation = plan.inner.participation();
    if participation.is_in_turn() {
        let expected = "one for persons who count and stay; Presence is for those who come and go";
        return Err(bad("plan", expected, "max_flips"));
    }
    if !plan.admits_events_of_persons() {
        return Err(bad(
            "plan",
            "one that bounds persons, by max_steps or keys_per_person",
            "one that does not",
        ));
    }
    let limits = match plan.inner.keys_per_step() {
        1 => Limits::Steps(participation),
        keys => Limits::Keys(keys),
    };
    let keys = match plan.inner.shape() {
        // The keys of a part were looked up among those of the whole plan.
        Shape::Keyed { keys } if plan.whole.is_none() => {
            Keys::Declared(KeySet::new(keys.iter().map(String::as_str)).map_err(refused)?)
        }
        Shape::Scalar => Keys::None,
        _ => Keys::Open,
    };
    Ok(Rule { limits, keys, horizon: plan.inner.horizon() })
}
