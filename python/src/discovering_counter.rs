//! The counter that finds keys.

use std::collections::HashMap;

use evertally::internals::noise::{KeyedNoise, LaneTag, Tagger};
use evertally_keys::{InputChain, Uses};
use evertally_stream::{Amount, given_name};
use numpy::{Ix1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::arrays::readable;
use crate::attributes::attributes;
use crate::discovery::Discovery;
use crate::errors::{Failure, bad};
use crate::guarded_state::GuardedLock;
use crate::names::{other_length, read_names};
use crate::noise_key::{NoiseKey, given_or_fresh};
use crate::release::Release;

/// What the tags of the inputs of a step are derived under.
const LABEL: &[u8] = b"evertally inputs of found keys 1";

/// A key that has appeared, with its private total.
///
/// >>> import evertally
/// >>> discovery = evertally.discover(10, epsilon=1.0, delta=1e-6)
/// >>> counter = evertally.DiscoveringCounter(discovery)
/// >>> counter.add("/", 900.0, 900)
/// >>> found = counter.close_step()[0]
/// >>> found.key, found.since, found.release.step
/// ('/', 0, 0)
#[pyclass(frozen, eq, module = "evertally", name = "FoundKey")]
#[derive(PartialEq)]
pub(crate) struct FoundKey {
    key: String,
    since: u64,
    release: Release,
}

attributes!(FoundKey, self => {
    /// The name of the key.
    key: &str = &self.key;
    /// The step at which it appeared, counted from zero.
    since: u64 = self.since;
    /// The release of its total.
    release: Release = self.release.clone();
});

#[pymethods]
impl FoundKey {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = self.key.as_str().into_pyobject(py)?.repr()?;
        Ok(format!("FoundKey(key={key}, since={}, release={})", self.since, self.release.__repr__()))
    }
}

/// Private running totals of keys that nobody declared. A key appears once enough persons hold it, and
/// what it had before is in its total.
///
/// discovery: a plan by `evertally.discover`.
/// key: the secret key of the noise, which remembers what was counted under it. Defaults to a fresh key
///     from the operating system, which is not kept: the counter can be saved but not resumed.
///
/// Bound what a person contributes as the discovery states, and count a person as new in a key once:
/// `Admission` decides both. Keys below their threshold leave no trace in what the counter returns, in
/// errors or in its `repr`. They take time and memory.
///
/// >>> import evertally
/// >>> discovery = evertally.discover(365, epsilon=1.0, delta=1e-6)
/// >>> counter = evertally.DiscoveringCounter(discovery)
/// >>> counter.add("/", 1000.0, 1000)
/// >>> counter.add("/draft", 1.0, 1)
/// >>> [found.key for found in counter.close_step()]
/// ['/']
#[pyclass(frozen, module = "evertally", name = "DiscoveringCounter")]
pub(crate) struct DiscoveringCounter {
    state: GuardedLock<State>,
    discovery: Py<Discovery>,
}

/// The counter, and what was added in the open step. There is no `Debug`: it is private.
struct State {
    counter: evertally::DiscoveringCounter,
    /// None if the uses of the key are not recorded.
    open: Option<OpenStep>,
    /// Whether anything was added to the open step.
    is_open: bool,
}

/// The additions of the open step by the tags of their keys, for the record of the noise key.
struct OpenStep {
    tagger: Tagger,
    added: HashMap<LaneTag, (Amount, u64)>,
}

impl State {
    /// Keys are the names that admission knows: without white space around them.
    fn add(&mut self, key: &str, amount: f64, new_persons: u64) -> Result<(), Failure> {
        let key = given_name(Some(key)).unwrap_or_default();
        let step = self.counter.steps_closed();
        let amount = Amount::nearest(amount).map_err(|error| evertally::Error::BadInput {
            step,
            reason: match error {
                evertally_stream::Error::ValueTooLarge => "too large to be counted exactly",
                _ => "not a finite number",
            },
        })?;
        self.add_amount(key, amount, new_persons)
    }

    fn add_amount(&mut self, key: &str, amount: Amount, new_persons: u64) -> Result<(), Failure> {
        self.counter.add_amount(key, amount.grid_steps(), Amount::GRID_EXPONENT, new_persons)?;
        self.is_open = true;
        if let Some(OpenStep { tagger, added }) = &mut self.open {
            let of_key = added.entry(tagger.tag(key.as_bytes())).or_default();
            of_key.0 += amount;
            of_key.1 += new_persons;
        }
        Ok(())
    }
}

#[pymethods]
impl DiscoveringCounter {
    #[new]
    #[pyo3(signature = (discovery, key=None))]
    fn new(discovery: &Bound<'_, Discovery>, key: Option<&Bound<'_, NoiseKey>>) -> PyResult<Self> {
        let (key, uses) = given_or_fresh(key)?;
        Self::build(discovery, key, uses, None, evertally::DiscoveringCounter::new)
    }

    /// Resumes from a saved state. The state of another discovery or key is refused, and so are data that
    /// differ from those already counted after it.
    #[staticmethod]
    fn resume(discovery: &Bound<'_, Discovery>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        let key = key.get();
        Self::build(discovery, key.copied(), key.uses(), Some(state), |discovery, key| {
            evertally::DiscoveringCounter::resume(discovery, key, state)
        })
    }

    /// The state as bytes, for `resume`, between two steps: `BadState` is raised if anything was added to
    /// the open step. It holds true counts and the names of keys that have not appeared, and its size tells
    /// how many there are: guard it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = self.state.with(py, |state| {
            if state.is_open {
                let reason = "the open step has amounts; close it first";
                return Err(evertally::Error::BadState { reason });
            }
            Ok(Zeroizing::new(state.counter.save()))
        })?;
        Ok(PyBytes::new(py, &saved))
    }

    /// Adds to the total of a key in the open step, and to its distinct persons those who have not counted
    /// in this key before. Amounts are counted on the grid of 2^-20, as those of events are. A refusal
    /// changes nothing, and does not name the key.
    #[pyo3(signature = (key, amount, new_persons))]
    fn add(&self, py: Python<'_>, key: &str, amount: f64, new_persons: u64) -> PyResult<()> {
        self.state.with_state(py, |state| {
            state.check()?;
            state.value.add(key, amount, new_persons)
        })
    }

    /// Adds for several keys: `keys` is a list or an array of names, `amounts` an array of float64, and
    /// `new_persons` an array of bool or int64, such as `Admission.admit` returns. A key may occur several
    /// times. If a row is refused, those before it have been added.
    fn add_each(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        amounts: &Bound<'_, PyAny>,
        new_persons: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let keys: Option<Vec<String>> = read_names("keys", keys)?.into_iter().collect();
        let keys = keys.ok_or_else(|| bad("keys", "names", "a missing one"))?;
        let amounts = readable::<f64, Ix1>("amounts", amounts)?;
        let amounts = amounts.as_slice()?;
        let new_persons = read_persons(new_persons)?;
        for (name, rows) in [("amounts", amounts.len()), ("new_persons", new_persons.len())] {
            if rows != keys.len() {
                return Err(other_length(name, keys.len(), rows));
            }
        }
        self.state.with_state(py, |state| {
            state.check()?;
            let mut rows = keys.iter().zip(amounts).zip(&new_persons);
            rows.try_for_each(|((key, amount), new)| state.value.add(key, *amount, *new))
        })
    }

    /// The same for an array of int64, of which a unit counts `grid_steps` steps of the grid. Private to
    /// the package.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn _add_amounts(
        &self,
        py: Python<'_>,
        keys: Vec<String>,
        amounts: &Bound<'_, PyAny>,
        grid_steps: i64,
        new_persons: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let amounts = readable::<i64, Ix1>("amounts", amounts)?;
        let amounts = amounts.as_slice()?;
        let new_persons = read_persons(new_persons)?;
        self.state.with_state(py, |state| {
            state.check()?;
            let mut rows = keys.iter().zip(amounts).zip(&new_persons);
            rows.try_for_each(|((key, amount), new)| {
                // Products of 64 bits fit in 128.
                let amount = Amount::from_grid_steps(i128::from(*amount) * i128::from(grid_steps));
                state.value.add_amount(key, amount, *new)
            })
        })
    }

    /// Refuses new keys that would not all fit in memory, each with the persons whom it will have at the
    /// end. Private to the package.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn _check_room(&self, py: Python<'_>, keys: Vec<String>, persons: Vec<u64>) -> PyResult<()> {
        let rows = keys.iter().map(String::as_str).zip(persons);
        self.state.with_state(py, |state| Ok(state.value.counter.check_room(rows)?))
    }

    /// Closes the open step. Returns the keys that have appeared so far, in the order in which they
    /// appeared and by name within a step, each with the release of its total. If the noise key was used
    /// for this step with other amounts or persons, `KeyReused` is raised and the step stays open.
    fn close_step(&self, py: Python<'_>) -> PyResult<Vec<FoundKey>> {
        let digests = |state: &State| {
            let added: Vec<_> = state.open.iter().flat_map(|open| &open.added).flat_map(lanes).collect();
            move |chain: &mut InputChain| {
                vec![chain.step_of_named(added.iter().map(|(name, units)| (&name[..], *units)))]
            }
        };
        self.state.with_state(py, |state| {
            state.admit(digests, |state| {
                let found = state.counter.close_step()?;
                let found = found.iter().map(|row| FoundKey {
                    key: row.key.to_owned(),
                    since: row.since,
                    release: Release(row.release),
                });
                let found = found.collect();
                state.open.iter_mut().for_each(|open| open.added.clear());
                state.is_open = false;
                Ok(found)
            })
        })
    }

    /// The plan that the counter follows.
    #[getter]
    fn discovery(&self, py: Python<'_>) -> Py<Discovery> {
        self.discovery.clone_ref(py)
    }

    /// The number of closed steps, which is also the number of the open step.
    #[getter]
    fn steps_closed(&self, py: Python<'_>) -> PyResult<u64> {
        self.state.read(py, |state| state.counter.steps_closed())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (steps, horizon) = (self.steps_closed(py)?, self.discovery.get().inner.horizon());
        Ok(format!("DiscoveringCounter(steps_closed={steps}, horizon={horizon})"))
    }
}

impl DiscoveringCounter {
    fn build(
        discovery: &Bound<'_, Discovery>,
        key: evertally::NoiseKey,
        uses: Option<&Uses>,
        saved: Option<&[u8]>,
        make: impl FnOnce(
            &evertally::Discovery,
            evertally::NoiseKey,
        ) -> evertally::Result<evertally::DiscoveringCounter>
        + Send,
    ) -> PyResult<Self> {
        let inner = &discovery.get().inner;
        let made = discovery.py().detach(|| -> Result<_, Failure> {
            let open = uses.map(|_| OpenStep {
                tagger: KeyedNoise::gaussian(key.stream(LABEL)).tagger(),
                added: HashMap::new(),
            });
            let counter = make(inner, key)?;
            let resumed = saved.map(|saved| (counter.steps_closed(), saved));
            let state = State { counter, open, is_open: false };
            GuardedLock::new(state, uses, &inner.persons().noise_name(), resumed)
        });
        Ok(Self { state: made.map_err(Failure::raise)?, discovery: discovery.clone().unbind() })
    }
}

/// What was added to a key, as two named lanes of a digest: of its amount and of its persons.
fn lanes((tag, (amount, persons)): (&LaneTag, &(Amount, u64))) -> impl Iterator<Item = ([u8; 12], i128)> {
    let named = |role: u8| {
        let mut name = [role; 12];
        name[1..].copy_from_slice(&tag.to_bytes());
        name
    };
    let of_roles = [(named(b'a'), amount.grid_steps()), (named(b'p'), i128::from(*persons))];
    of_roles.into_iter().filter(|(_, units)| *units != 0)
}

/// Numbers of persons: an array of bool or of int64.
fn read_persons(given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if let Ok(flags) = given.cast::<numpy::PyArray1<bool>>() {
        return Ok(flags.readonly().as_array().iter().map(|flag| u64::from(*flag)).collect());
    }
    let numbers = readable::<i64, Ix1>("new_persons", given)?;
    let from_zero = |number: &i64| {
        u64::try_from(*number).map_err(|_| bad("new_persons", "numbers from zero", "one that is negative"))
    };
    numbers.as_slice()?.iter().map(from_zero).collect()
}
