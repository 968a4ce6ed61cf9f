//! A counter of one number per step.

use evertally::Spread;
use evertally_keys::InputChain;
use evertally_stream::Amount;
use numpy::{Ix1, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::readable;
use crate::counter_core::{CounterCore, counter_methods};
use crate::release::{Release, Releases};

/// A private running total, or another workload, of one stream of numbers.
///
/// plan: a plan for one number per step.
/// key: the secret key of the noise, which remembers what was counted under it. Defaults to a fresh
///     key from the operating system, which is not kept: the counter can be saved but not resumed.
/// remember: whether to keep every release, for `interval`. Memory then grows with the steps.
///
/// >>> import evertally
/// >>> plan = evertally.plan(100, epsilon=1.0, delta=1e-6)
/// >>> counter = evertally.Counter(plan, remember=True)
/// >>> for x in range(100):
/// ...     release = counter.step(x)
/// >>> second_half = counter.interval(50, 99)
/// >>> abs(second_half.value - 3725) < 10 * second_half.standard_error
/// True
/// >>> counter.step(1.0)
/// Traceback (most recent call last):
///     ...
/// evertally.HorizonSpent: the horizon of 100 steps is spent: a further release would not be private
///
/// A counter saves and resumes bit for bit. A state may be resumed twice, but the record of the key
/// ensures that both counters count the same data (see `NoiseKey`): the same data give the same
/// releases, and other data raise `KeyReused` and take no step.
///
/// >>> key = evertally.NoiseKey.generate()
/// >>> counter = evertally.Counter(plan, key)
/// >>> _ = counter.step(3)
/// >>> state = counter.save()
/// >>> evertally.Counter.resume(plan, key, state).step(4) == counter.step(4)
/// True
/// >>> evertally.Counter.resume(plan, key, state).step(5)
/// Traceback (most recent call last):
///     ...
/// evertally.KeyReused: this key was used before ... (they differ at step 1): ...
#[pyclass(frozen, module = "evertally", name = "Counter")]
pub(crate) struct Counter(CounterCore<evertally::Counter>);

counter_methods!(Counter, remembering);

#[pymethods]
impl Counter {
    /// Takes the input of the next step and releases its private answer. Refused input takes no step.
    fn step(&self, py: Python<'_>, x: f64) -> PyResult<Release> {
        let digests = |_: &evertally::Counter| move |chain: &mut InputChain| vec![chain.step([x])];
        self.0.counter.with_state(py, |state| state.admit(digests, |counter| counter.step(x))).map(Release)
    }

    /// Takes one step for each number of an array of float64. If one is refused, no step is taken.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Releases> {
        let inputs = readable::<f64, Ix1>("inputs", inputs)?;
        let values = PyArray1::zeros(py, inputs.dims(), false);
        self.0.run_each(&values, inputs.as_slice()?, |counter, x, out| released(counter.step(x[0]), out))
    }

    /// Takes one step for each row of an array of int64 with a single column. A unit counts
    /// `grid_steps` steps of the grid of 2^-20. Totals that no double holds count exactly. If a row
    /// is refused, no step is taken. Private to the package.
    fn _run_amounts(
        &self,
        py: Python<'_>,
        amounts: &Bound<'_, PyAny>,
        grid_steps: i64,
    ) -> PyResult<Releases> {
        self.0.run_amounts(py, amounts, grid_steps, |counter, amounts, out| {
            released(counter.step_amount(amounts[0], Amount::GRID_EXPONENT), out)
        })
    }

    /// The total over the steps `first` to `last`, both included, from the remembered releases, with
    /// its exact standard error.
    fn interval(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<Release> {
        self.0.counter.with(py, |counter| counter.interval(first, last)).map(Release)
    }
}

/// Writes the release of a step into its row of one number.
fn released(release: evertally::Result<evertally::Release>, out: &mut [f64]) -> evertally::Result<Spread> {
    let release = release?;
    out[0] = release.value;
    Ok(release.spread())
}
