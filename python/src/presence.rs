//! Persons who come and go, as changes of one up and one down.

use std::mem::take;

use evertally_stream::{
    Amount, BucketLength, Buckets, ClosedStep, Error, Event, KeySet, Operation, Present, given_name, time,
};
use numpy::{Ix1, PyArray1};
use pyo3::prelude::*;

use crate::arrays::readable;
use crate::errors::{BadState, bad, refused};
use crate::event_forms::_bucket_micros;
use crate::names::{other_length, read_names, read_names_beside};
use crate::plan::Plan;
use crate::process_lock::ProcessLock;

/// The most bytes of persons and totals.
const MEMORY_LIMIT: u64 = 4 << 30;

/// Who is present at each step: persons with an event in the last steps, or from an insertion to a deletion.
///
/// plan: a plan by `evertally.plan` with `max_flips`, for one total or for declared keys. Whoever has used
///     up their flips leaves as usual, and does not count when they come back.
/// start, every: the start of the first step, and the length of a step such as "1d" or "1 hour".
/// window: the number of steps in which a person is present after an event, its own included. None if
///     events say who comes and who goes.
///
/// `add` takes events in any order, and `changes` decides on all of them. What changes depends on each
/// person's own events alone.
///
/// >>> import evertally, numpy
/// >>> plan = evertally.plan(6, epsilon=1.0, delta=1e-6, max_flips=2)
/// >>> active = evertally.Presence(plan, start="2026-01-05", every="1d", window=2)
/// >>> days = numpy.array(["2026-01-06", "2026-01-07"], dtype="datetime64[us]")
/// >>> active.add(["ann", "ann"], days)
/// >>> changes = active.changes()
/// >>> changes.tolist()
/// [0.0, 1.0, 0.0, 0.0, -1.0, 0.0]
/// >>> len(evertally.Counter(plan).run(changes))
/// 6
#[pyclass(frozen, module = "evertally", name = "Presence")]
pub(crate) struct Presence {
    present: ProcessLock<Option<Present>>,
    presence: evertally_stream::Presence,
    max_flips: u64,
    keys: Option<usize>,
}

#[pymethods]
impl Presence {
    #[new]
    #[pyo3(signature = (plan, start, every, window=None))]
    fn new(plan: &Bound<'_, Plan>, start: &str, every: &str, window: Option<u64>) -> PyResult<Self> {
        let plan = &plan.get().inner;
        let flips = plan.participation();
        if !flips.is_in_turn() {
            return Err(bad("plan", "one for persons who come and go: make it with max_flips", "another"));
        }
        let names = match plan.shape() {
            evertally::Shape::Scalar => None,
            evertally::Shape::Keyed { keys } => Some(keys.clone()),
            _ => return Err(bad("plan", "one for one total or for declared keys", "another")),
        };
        let from = time::parse(start)
            .ok_or_else(|| bad("start", "a time such as 2026-01-05T00:00:00Z", format!("{start:?}")))?;
        let every = BucketLength::from_micros(_bucket_micros(every)?).map_err(refused)?;
        let presence = match window {
            Some(steps) => evertally_stream::Presence::Window { steps },
            None => evertally_stream::Presence::Operations,
        };
        let width = names.as_ref().map(Vec::len);
        let made = || {
            // Without `other` among them, the set adds it as the last one.
            let keys = names.map(KeySet::new).transpose()?;
            let buckets = Buckets::new(from, every, plan.horizon())?;
            Present::new(buckets, keys, presence, flips.max_steps() / 2, MEMORY_LIMIT)
        };
        let present = ProcessLock::new(Some(made().map_err(refused)?));
        Ok(Self { present, presence, max_flips: flips.max_steps(), keys: width })
    }

    /// Adds events in any order. An event outside the range of time changes nothing, and neither does one
    /// without a person.
    ///
    /// persons, keys: lists or arrays of names. An event of an undeclared key is one of `other`, which is
    /// left out of the changes unless it is declared.
    /// times: an array of datetime64, or of int64 in microseconds since 1970.
    /// operations: without a window, "insert" or "delete" for each event.
    #[pyo3(signature = (persons, times, keys=None, operations=None))]
    fn add(
        &self,
        py: Python<'_>,
        persons: &Bound<'_, PyAny>,
        times: &Bound<'_, PyAny>,
        keys: Option<&Bound<'_, PyAny>>,
        operations: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let persons = read_names("persons", persons)?;
        let rows = persons.len();
        let times = read_times(times)?;
        if times.len() != rows {
            return Err(other_length("times", rows, times.len()));
        }
        let keys = read_names_beside("keys", keys, rows)?;
        if keys.is_some() != self.keys.is_some() {
            return Err(bad("keys", "given if the plan declares keys, and only then", "the other"));
        }
        let operations = self.read_operations(operations, rows)?;
        self.present.with(py, |present| {
            let Some(present) = present else { return Ok(Err(decided())) };
            for (row, (person, time)) in persons.iter().zip(&times).enumerate() {
                let key = keys.as_ref().and_then(|keys| keys.get(row)?.as_deref());
                let event = Event { time: *time, key, person: person.as_deref(), ..Event::default() };
                let operation = operations.get(row).copied().unwrap_or_default();
                match present.push(&event, operation) {
                    Ok(_) | Err(Error::OutsideRange { .. }) => {}
                    Err(error) => return Ok(Err(refused(error))),
                }
            }
            Ok(Ok(()))
        })?
    }

    /// Decides on all events. Returns how many persons come, less how many go, in each step: an array of
    /// float64 for `Counter.run`, or with a column for each declared key for `KeyedCounter.run`. These are
    /// true numbers: guard them like the data.
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let width = self.keys.unwrap_or(1);
        let rows = self.present.with(py, |present| {
            let steps = take(present).map(Present::finish);
            let changes = |closed: ClosedStep| closed.totals.into_iter().take(width).map(Amount::to_f64);
            Ok(steps.map(|steps| steps.flat_map(changes).collect::<Vec<f64>>()))
        })?;
        let changes = PyArray1::from_vec(py, rows.ok_or_else(decided)?);
        match self.keys {
            Some(_) => changes.call_method1("reshape", (-1, width)),
            None => Ok(changes.into_any()),
        }
    }

    fn __repr__(&self) -> String {
        match self.presence {
            evertally_stream::Presence::Window { steps } => {
                format!("Presence(window={steps}, max_flips={})", self.max_flips)
            }
            evertally_stream::Presence::Operations => format!("Presence(max_flips={})", self.max_flips),
        }
    }
}

impl Presence {
    fn read_operations(&self, given: Option<&Bound<'_, PyAny>>, rows: usize) -> PyResult<Vec<Operation>> {
        let names = read_names_beside("operations", given, rows)?;
        let is_window = self.presence != evertally_stream::Presence::Operations;
        match names {
            Some(_) if is_window => {
                Err(bad("operations", "left out, because a person leaves at the end of the window", "some"))
            }
            None if is_window => Ok(Vec::new()),
            None => Err(bad("operations", "given for each event, or a window", "neither")),
            Some(names) => names.iter().map(read_operation).collect(),
        }
    }
}

fn read_operation(name: &Option<String>) -> PyResult<Operation> {
    match given_name(name.as_deref()) {
        Some("insert") => Ok(Operation::Insert),
        Some("delete") => Ok(Operation::Delete),
        _ => Err(bad("operations", "insert or delete", "another word")),
    }
}

/// Times in microseconds since 1970.
fn read_times(given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let is_time =
        given.getattr("dtype").and_then(|dtype| dtype.getattr("kind")).and_then(|kind| kind.eq("M"));
    let given = if is_time.unwrap_or(false) {
        let array = given.py().import("numpy")?.call_method1("asarray", (given, "datetime64[us]"))?;
        array.call_method1("astype", ("int64",))?
    } else {
        given.clone()
    };
    Ok(readable::<i64, Ix1>("times", &given)?.as_slice()?.to_vec())
}

fn decided() -> PyErr {
    BadState::new_err("the changes were handed out already: they count once")
}
