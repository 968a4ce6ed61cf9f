//! Private online learning on numpy gradients.

use evertally::{Neighbours, Participation, PlanSpec};
use evertally_keys::{InputChain, Uses};
use evertally_learn::bound::RegretBound;
use evertally_learn::{Schedule, Set, Update};
use numpy::{Ix1, Ix2, PyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::arrays::{kind, readable};
use crate::attributes::attributes;
use crate::choices::read_budget;
use crate::errors::{BadParameter, Failure, OrRaise, bad};
use crate::guarded_state::GuardedLock;
use crate::noise_key::{NoiseKey, given_or_fresh};
use crate::spend::Spend;

/// A planned training run: follow the regularised leader, or gradient descent, on noisy sums of
/// clipped gradients.
///
/// dimension, steps: the number of parameters and the number of steps.
/// epsilon, delta, rho, sigma, calibration: the budget of the whole run, as in `plan`.
/// clip, batch_size: the norm at which the gradient of each example is clipped, and the public
///     number of examples per step.
/// max_steps, min_gap: one example takes part in at most max_steps steps, at least min_gap apart.
///     For E passes over B batches in one order, use max_steps=E and min_gap=B.
/// regularization, radius, rate: the update rule; give exactly one. Either λ of the leader; or the
///     distance of the best parameters from the start, for which the bound on regret recommends a
///     λ; or the learning rate of descent: a number, or a schedule such as "linear:0.5",
///     "cosine:0.5" or "inverse-root:0.5".
/// domain: the set of allowed parameters: ("ball", radius) or ("box", lo, hi). Defaults to None,
///     which allows all.
/// momentum, restart_every, start: heavy-ball momentum; the number of steps after which the noise
///     restarts (never by default); the initial parameters (zeros by default).
///
/// >>> import evertally, numpy
/// >>> plan = evertally.LearningPlan(3, 500, epsilon=2.0, delta=1e-6, clip=1.0, radius=1.0, domain=("ball", 1.0))
/// >>> learner = evertally.Learner(plan)
/// >>> x, y = numpy.array([1.0, 0.0, 0.5]), 0.3
/// >>> for _ in range(10):
/// ...     theta = learner.step((x @ learner.theta - y) * x[None, :])
/// >>> theta.shape, learner.steps_taken
/// ((3,), 10)
#[pyclass(frozen, module = "evertally", name = "LearningPlan")]
pub(crate) struct LearningPlan(evertally_learn::LearningPlan);

attributes!(LearningPlan, self => {
    /// The number of parameters.
    dimension: usize = self.0.dimension();
    /// The number of steps.
    steps: u64 = self.0.steps();
    /// The mechanism behind the sums.
    mechanism: String = self.0.noise().mechanism().to_string();
    /// The budget of the whole run, in words.
    budget: String = self.0.budget().to_string();
    /// The norm at which gradients are clipped.
    clip: f64 = self.0.clip();
    /// The public number of examples per step, by which sums are divided.
    batch_size: usize = self.0.batch_size();
    /// 32 bytes by which saved states recognise their plan.
    fingerprint: [u8; 32] = self.0.fingerprint();
});

#[pymethods]
impl LearningPlan {
    #[new]
    #[pyo3(signature = (
        dimension, steps, epsilon=None, delta=None, *, rho=None, sigma=None, calibration=None, mechanism=None, neighbours="add-remove",
        max_steps=1, min_gap=1, clip=1.0, batch_size=1, regularization=None, radius=None, rate=None, domain=None, momentum=0.0,
        restart_every=None, start=None, stream="", memory_limit=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        dimension: usize,
        steps: u64,
        epsilon: Option<f64>,
        delta: Option<f64>,
        rho: Option<f64>,
        sigma: Option<f64>,
        calibration: Option<&str>,
        mechanism: Option<&str>,
        neighbours: &str,
        max_steps: u64,
        min_gap: u64,
        clip: f64,
        batch_size: usize,
        regularization: Option<f64>,
        radius: Option<f64>,
        rate: Option<&Bound<'_, PyAny>>,
        domain: Option<&Bound<'_, PyAny>>,
        momentum: f64,
        restart_every: Option<u64>,
        start: Option<&Bound<'_, PyAny>>,
        stream: &str,
        memory_limit: Option<u64>,
    ) -> PyResult<Self> {
        let neighbours: Neighbours = neighbours.parse().or_raise()?;
        let mechanism = mechanism.map(str::parse).transpose().or_raise()?;
        let participation = Participation::at_most(max_steps, min_gap).or_raise()?;
        let choices = |spec: &PlanSpec| PlanSpec {
            mechanism,
            neighbours,
            participation,
            stream: stream.to_owned(),
            memory_limit,
            ..spec.clone()
        };
        let mut builder = evertally_learn::LearningPlan::new(dimension, steps)
            .budget(read_budget(epsilon, delta, rho, sigma, calibration)?)
            .noise(|noise| choices(noise.spec()).into())
            .clip(clip)
            .batch_size(batch_size)
            .momentum(momentum)
            .set(read_domain(domain)?);
        if let Some(steps) = restart_every {
            builder = builder.restart_every(steps);
        }
        if let Some(start) = start {
            builder = builder.start(readable::<f64, Ix1>("start", start)?.as_slice()?.to_vec());
        }
        builder = match (regularization, radius, rate) {
            (Some(regularization), None, None) => builder.update(Update::Leader { regularization }),
            (None, Some(radius), None) => builder.recommended(radius),
            (None, None, Some(rate)) => builder.update(Update::Descent { rate: read_rate(rate)? }),
            _ => {
                return Err(BadParameter::new_err(
                    "exactly one of regularization, radius and rate must be given",
                ));
            }
        };
        py.detach(|| builder.build()).or_raise().map(Self)
    }

    /// λ of the regularised leader; None for descent.
    #[getter]
    fn regularization(&self) -> Option<f64> {
        match self.0.update() {
            Update::Leader { regularization } => Some(regularization),
            _ => None,
        }
    }

    /// The standard deviation of the noise in each coordinate of the sum after a step, counted from
    /// zero, divided by the batch size.
    fn standard_error(&self, step: u64) -> PyResult<f64> {
        self.0.standard_error(step).or_raise()
    }

    /// The privacy cost of the first `steps` steps for one example. Defaults to all steps.
    #[pyo3(signature = (steps=None))]
    fn spend(&self, steps: Option<u64>) -> PyResult<Spend> {
        self.0.spend_after(steps.unwrap_or(self.0.steps())).or_raise().map(Spend::from)
    }

    /// The bound on expected average regret against the best parameters at this distance from the
    /// start. None for descent or with momentum.
    fn regret_bound(&self, distance: f64) -> PyResult<Option<f64>> {
        let (Some(bound), Some(regularization)) = (RegretBound::of_plan(&self.0).ok(), self.regularization())
        else {
            return Ok(None);
        };
        bound.at(regularization, distance).or_raise().map(Some)
    }

    fn __repr__(&self) -> String {
        format!(
            "LearningPlan(dimension={}, steps={}, mechanism='{}', budget='{}')",
            self.dimension(),
            self.steps(),
            self.mechanism(),
            self.budget()
        )
    }
}

/// Learns privately, one step at a time. The parameters of every step may be published.
///
/// plan: a LearningPlan.
/// key: the secret key of the noise, which remembers the gradients of every step by keyed hashes:
///     other gradients under the same plan and key raise `KeyReused`. Defaults to a fresh key from
///     the operating system, which is not kept: the learner can be saved but not resumed.
#[pyclass(frozen, module = "evertally", name = "Learner")]
pub(crate) struct Learner {
    inner: GuardedLock<evertally_learn::Learner>,
    /// The plan that the learner follows.
    #[pyo3(get)]
    plan: Py<LearningPlan>,
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (plan, key=None))]
    fn new(plan: &Bound<'_, LearningPlan>, key: Option<&Bound<'_, NoiseKey>>) -> PyResult<Self> {
        let (key, uses) = given_or_fresh(key)?;
        Self::build(plan, key, uses, None)
    }

    /// Resumes from a saved state, bit for bit. The state of another plan or key is refused, and so
    /// are gradients that differ from those already taken after it.
    #[staticmethod]
    fn resume(plan: &Bound<'_, LearningPlan>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        Self::build(plan, key.get().copied(), key.get().uses(), Some(state))
    }

    /// Takes the gradients of one step at `theta`, an array of float64 with one row for each
    /// example, and returns the next parameters. Each row is clipped. A refused call takes no step.
    fn step<'py>(
        &self,
        py: Python<'py>,
        gradients: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let gradients = readable::<f64, Ix2>("gradients", gradients)?;
        let (width, values) = (gradients.shape()[1], gradients.as_slice()?);
        if width != self.plan.get().dimension() {
            let expected = format!("rows of {} numbers", self.plan.get().dimension());
            return Err(bad("gradients", &expected, format!("{width} per row")));
        }
        let theta = self.inner.with_state(py, |state| {
            state.admit(
                |_| |chain: &mut InputChain| vec![chain.step(values.iter().copied())],
                |learner| learner.step(values.chunks_exact(width)).map(<[f64]>::to_vec),
            )
        })?;
        Ok(PyArray1::from_vec(py, theta))
    }

    /// The parameters at which to compute the next gradients.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let theta = self.inner.with(py, |learner| Ok(learner.theta().to_vec()))?;
        Ok(PyArray1::from_vec(py, theta))
    }

    /// The mean of the parameters at which gradients were taken, for online-to-batch conversion.
    #[getter]
    fn average<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let average = self.inner.with(py, |learner| Ok(learner.average().to_vec()))?;
        Ok(PyArray1::from_vec(py, average))
    }

    /// The private sum of all clipped gradients so far. All parameters are functions of these sums.
    #[getter]
    fn released<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let released = self.inner.with(py, |learner| Ok(learner.released().to_vec()))?;
        Ok(PyArray1::from_vec(py, released))
    }

    /// The number of steps taken.
    #[getter]
    fn steps_taken(&self, py: Python<'_>) -> PyResult<u64> {
        self.inner.read(py, evertally_learn::Learner::steps_taken)
    }

    /// The privacy cost of the steps taken so far for one example.
    fn spend(&self, py: Python<'_>) -> PyResult<Spend> {
        self.inner.with(py, |learner| learner.spend()).map(Spend::from)
    }

    /// The state as bytes, for `resume`. It holds true sums of gradients: guard it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.inner.with(py, |learner| Ok(Zeroizing::new(learner.save())))?;
        Ok(PyBytes::new(py, &state))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (taken, plan) = (self.steps_taken(py)?, self.plan.get());
        Ok(format!("Learner(steps_taken={taken}, steps={}, dimension={})", plan.steps(), plan.dimension()))
    }
}

impl Learner {
    /// A learner before its first step, or one that resumes from a saved state.
    fn build(
        plan: &Bound<'_, LearningPlan>,
        key: evertally::NoiseKey,
        uses: Option<&Uses>,
        state: Option<&[u8]>,
    ) -> PyResult<Self> {
        let inner = &plan.get().0;
        let made = plan.py().detach(|| -> Result<_, Failure> {
            let learner = match state {
                None => evertally_learn::Learner::new(inner, key)?,
                Some(state) => evertally_learn::Learner::resume(inner, key, state)?,
            };
            let (name, taken) = (learner.plan().noise_name(), learner.steps_taken());
            GuardedLock::new(learner, uses, &name, state.map(|state| (taken, state)))
        });
        Ok(Self { inner: made.map_err(Failure::raise)?, plan: plan.clone().unbind() })
    }
}

/// A learning rate: a number, or the name of a schedule.
fn read_rate(given: &Bound<'_, PyAny>) -> PyResult<Schedule> {
    if let Ok(rate) = given.extract::<f64>() {
        return Ok(Schedule::Constant(rate));
    }
    match given.extract::<String>() {
        Ok(name) => name.parse().or_raise(),
        Err(_) => Err(bad("rate", "a number, or a schedule such as \"cosine:0.5\"", kind(given))),
    }
}

/// The set of allowed parameters.
fn read_domain(given: Option<&Bound<'_, PyAny>>) -> PyResult<Set> {
    let Some(given) = given else { return Ok(Set::Everything) };
    if let Ok((name, radius)) = given.extract::<(String, f64)>()
        && name == "ball"
    {
        return Set::ball(radius).or_raise();
    }
    if let Ok((name, lo, hi)) = given.extract::<(String, f64, f64)>()
        && name == "box"
    {
        return Set::cube(lo, hi).or_raise();
    }
    Err(bad("domain", "None, (\"ball\", radius) or (\"box\", lo, hi)", kind(given)))
}
