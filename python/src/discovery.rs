//! Plans for keys that nobody declared.

use evertally::{Contribution, DiscoveryBuilder, PlanSpec};
use evertally_stream::{Clamp, Share};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attributes::attributes;
use crate::choices;
use crate::errors::{BadState, OrRaise, bad, refused};
use crate::plan::{MAX_PROFILE, Plan, all_choices};
use crate::spend::Spend;

/// Amounts are counted on the grid of events, which must be fine beside what a person adds.
const MIN_CONTRIBUTION: f64 = 1.0 / 1024.0;

/// A finished plan for the discovery of keys: the plans of its two counts, and the threshold. Made by
/// `evertally.discover`.
///
/// Two counts are made for each key: of its distinct persons and of its amounts. A key appears at the
/// first step at which its private count of persons reaches the public threshold of that step. From
/// then on its private total is released at every step. Discoveries are immutable, compare by content
/// and can be pickled.
///
/// >>> import evertally
/// >>> discovery = evertally.discover(365, epsilon=1.0, delta=1e-6, max_steps=4)
/// >>> discovery.keys_per_person, discovery.floor, discovery.key_delta
/// (4, 2, 5e-07)
/// >>> discovery.threshold(0) < discovery.threshold(364)
/// True
/// >>> discovery.totals.rmse > evertally.plan(365, epsilon=1.0, delta=1e-6, max_steps=4).rmse
/// True
#[pyclass(frozen, module = "evertally", name = "Discovery")]
pub(crate) struct Discovery {
    pub(crate) inner: evertally::Discovery,
    made_of: Choices,
}

/// What a discovery is made of.
#[derive(Clone)]
struct Choices {
    spec: PlanSpec,
    key_delta: Option<f64>,
    share: Option<f64>,
    floor: Option<u64>,
}

impl Choices {
    fn build(self) -> evertally::Result<Discovery> {
        let mut builder = DiscoveryBuilder::from(self.spec.clone());
        if let Some(key_delta) = self.key_delta {
            builder = builder.key_delta(key_delta);
        }
        if let Some(share) = self.share {
            builder = builder.share(share);
        }
        if let Some(floor) = self.floor {
            builder = builder.floor(floor);
        }
        Ok(Discovery { inner: builder.build()?, made_of: self })
    }
}

/// Makes a plan for running totals of keys that nobody declared, such as pages or search terms. A key
/// appears once enough persons hold it.
///
/// The choices are those of `evertally.plan`, for running totals, and these:
///
/// max_steps, min_gap: one person counts in at most max_steps steps, by default in one, at least min_gap
///     apart. Persons are always bounded.
/// keys_per_step: in how many keys of a step one person may count, by default one. If in several, they
///     count as one in each, unless `contribution` bounds the norm of what they add.
/// key_delta: the part of delta for keys that appear although one person decides whether they can. By
///     default, half of delta.
/// share: the part of the budget for the counts of persons, by default one half. A larger part lets keys
///     appear at fewer persons, and makes totals less accurate.
/// floor: the number of persons below which a key never appears, by default two.
///
/// >>> import evertally
/// >>> evertally.discover(52, epsilon=1.0, delta=0.0)
/// Traceback (most recent call last):
///     ...
/// evertally.BadParameter: budget must be ε with a δ above zero: with δ = 0 no key could ever appear, got ...
#[pyfunction]
#[pyo3(
    signature = (horizon, epsilon=None, delta=None, **choices),
    text_signature = "(horizon, epsilon=None, delta=None, *, max_steps=None, min_gap=None, keys_per_step=None, contribution=None, key_delta=None, share=None, floor=None, calibration=None, mechanism=None, neighbours=None, objective=None, stream=None, grid=None, whole=None, memory_limit=None)"
)]
pub(crate) fn discover(
    py: Python<'_>,
    horizon: &Bound<'_, PyAny>,
    epsilon: Option<&Bound<'_, PyAny>>,
    delta: Option<&Bound<'_, PyAny>>,
    choices: Option<&Bound<'_, PyDict>>,
) -> PyResult<Discovery> {
    let mut rest = choices::Rest(all_choices(horizon, epsilon, delta, choices)?);
    let keys_per_step: Option<u64> = rest.take("keys_per_step", "a number of keys from 1")?;
    let key_delta = rest.take("key_delta", "a number")?;
    let share = rest.take("share", "a number")?;
    let floor = rest.take("floor", "a number of persons from 1")?;
    let has_range = rest.is_given("contribution")? || rest.is_given("norm")?;
    for (name, reason) in [
        ("keys", "keys are found, and none are declared"),
        ("keys_per_person", "max_steps and keys_per_step bound the keys of a person"),
        ("max_flips", "a key that is found has a running total"),
    ] {
        if rest.is_given(name)? {
            return Err(bad(name, "left out", format!("one: {reason}")));
        }
    }
    let (mut spec, _) = choices::read("discover", &rest.0)?;
    if let Some(keys) = keys_per_step {
        spec.keys_per_step = keys;
        if keys > 1 && !has_range {
            spec.contribution = one_in_each(keys).map_err(refused)?;
        }
    }
    let magnitude = spec.contribution.magnitude();
    if magnitude < MIN_CONTRIBUTION {
        return Err(bad(
            "contribution",
            "at least 2^-10 in magnitude, because amounts lie on a grid of 2^-20",
            magnitude,
        ));
    }
    py.detach(|| Choices { spec, key_delta, share, floor }.build()).or_raise()
}

/// What a person adds who counts as one in each of this many keys of a step.
fn one_in_each(keys: u64) -> evertally_stream::Result<Contribution> {
    Share::new(Some(keys), keys, Some(Clamp::new(0.0, 1.0)?))?.contribution(Some((0.0, 1.0)), false)
}

attributes!(Discovery, self => {
    /// The plan of the private counts of persons, which decide when a key appears.
    persons: Plan = Plan::new(self.inner.persons().clone(), true);
    /// The plan of the totals that are released.
    totals: Plan = Plan::new(self.inner.totals().clone(), true);
    /// The number of steps.
    horizon: u64 = self.inner.horizon();
    /// ε of everything that is released.
    epsilon: f64 = self.inner.epsilon();
    /// δ of everything that is released, `key_delta` included.
    delta: f64 = self.inner.delta();
    /// The part of δ for keys that appear although one person decides whether they can.
    key_delta: f64 = self.inner.key_delta();
    /// The part of the budget for the counts of persons.
    share: f64 = self.inner.share();
    /// The number of persons below which a key never appears.
    floor: u64 = self.inner.floor();
    /// The most keys in which one person counts over all steps.
    keys_per_person: u64 = self.inner.keys_per_person();
    /// In how many keys of a step one person may count.
    keys_per_step: u64 = self.made_of.spec.keys_per_step;
    /// The maximum number of steps per person.
    max_steps: u64 = self.inner.totals().participation().max_steps();
    /// The minimum distance between two steps of one person.
    min_gap: u64 = self.inner.totals().participation().min_gap();
    /// What is protected: always "person".
    unit: &str = "person";
    /// The range of one contribution to a step.
    contribution: (f64, f64) = (self.made_of.spec.contribution.lo(), self.made_of.spec.contribution.hi());
    /// By how many standard errors the threshold is above the floor, at every step.
    quantile: f64 = self.inner.quantile();
    /// 32 bytes that identify the discovery. Equal discoveries have equal fingerprints.
    fingerprint: [u8; 32] = self.inner.persons().fingerprint();
});

#[pymethods]
impl Discovery {
    /// The private count of persons at which a key appears at a step, counted from zero. It is public.
    fn threshold(&self, step: u64) -> PyResult<f64> {
        self.inner.threshold(step).or_raise()
    }

    /// The thresholds of all steps, as an array.
    fn thresholds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let horizon = self.inner.horizon();
        if horizon > MAX_PROFILE {
            return Err(bad("the horizon", "at most 2^26 steps, or ask for single thresholds", horizon));
        }
        let all: evertally::Result<Vec<f64>> =
            py.detach(|| (0..horizon).map(|step| self.inner.threshold(step)).collect());
        Ok(PyArray1::from_vec(py, all.or_raise()?))
    }

    /// What everything costs one person: the noise of both counts, and `key_delta`.
    pub(crate) fn spend(&self) -> Spend {
        Spend { inner: self.inner.spend(), bounds_persons: true }
    }

    /// The same discovery for a count of this definition, which names its noise. Private to the package.
    fn _with_definition(&self, py: Python<'_>, definition: &[u8]) -> PyResult<Self> {
        let spec = PlanSpec { definition: definition.to_vec(), ..self.made_of.spec.clone() };
        py.detach(|| Choices { spec, ..self.made_of.clone() }.build()).or_raise()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let again = py.import("evertally._native")?.getattr("_discovery_again")?;
        let Choices { spec, key_delta, share, floor } = &self.made_of;
        let text = serde_json::to_string(spec)
            .map_err(|error| BadState::new_err(format!("a discovery cannot be pickled: {error}")))?;
        let arguments = (text, *key_delta, *share, *floor, self.fingerprint());
        Ok((again, arguments.into_pyobject(py)?.into_any()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().fingerprint() == self.fingerprint())
    }

    fn __hash__(&self) -> u64 {
        let fingerprint = self.fingerprint();
        let (head, _) = fingerprint.split_at(8);
        head.try_into().map_or(0, u64::from_le_bytes)
    }

    fn __repr__(&self) -> PyResult<String> {
        let (discovery, last) = (&self.inner, self.inner.horizon().saturating_sub(1));
        Ok(format!(
            "Discovery(horizon={}, epsilon={}, delta={:e}, key_delta={:e}, threshold={} to {} persons, \
             floor={}, keys_per_person={}, share={}, mechanism='{}', rmse={:.4})",
            discovery.horizon(),
            discovery.epsilon(),
            discovery.delta(),
            discovery.key_delta(),
            self.threshold(0)?,
            self.threshold(last)?,
            discovery.floor(),
            discovery.keys_per_person(),
            discovery.share(),
            discovery.totals().mechanism(),
            discovery.totals().accuracy().rmse,
        ))
    }
}

/// Makes a pickled discovery again, and checks that it is the same.
#[pyfunction]
pub(crate) fn _discovery_again(
    py: Python<'_>,
    spec: &str,
    key_delta: Option<f64>,
    share: Option<f64>,
    floor: Option<u64>,
    fingerprint: &[u8],
) -> PyResult<Discovery> {
    let spec = serde_json::from_str(spec)
        .map_err(|error| BadState::new_err(format!("pickled discovery: {error}")))?;
    let made = py.detach(|| Choices { spec, key_delta, share, floor }.build()).or_raise()?;
    if made.fingerprint() == fingerprint {
        Ok(made)
    } else {
        Err(BadState::new_err(
            "saved state refused: this version makes another discovery of the same choices",
        ))
    }
}
