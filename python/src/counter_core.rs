//! The core that the four counters share: a lock, a plan, a guard of the inputs, and runs of steps
//! that are taken completely or not at all.
//!
//! A class of PyO3 cannot be generic. Each class therefore wraps a [`CounterCore`], and
//! [`counter_methods`] writes the Python methods that all of them have.
//!
//! The digest of a row of keys follows the order of their names. Plans that declare the same keys
//! in another order have the same noise, and a row in one order must not pass for a row in the other.
//! Integers have the digest of the doubles that add up to them: equal inputs have equal digests.

use evertally::Shape;
use evertally::internals::noise::copy_of;
use evertally_keys::{Digest, InputChain, Uses};
use evertally_stream::Amount;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::errors::Failure;
use crate::guarded_state::GuardedLock;
use crate::noise_key::{NoiseKey, given_or_fresh};
use crate::plan::Plan;

/// A counter of the library.
pub(crate) trait LibraryCounter: Sized + Send {
    fn new(plan: &evertally::Plan, key: evertally::NoiseKey, remember: bool) -> evertally::Result<Self>;
    fn resume(plan: &evertally::Plan, key: evertally::NoiseKey, state: &[u8]) -> evertally::Result<Self>;
    fn save(&self) -> Vec<u8>;
    /// The plan. Its noise has another name in a counter that was resumed from a state of version 0.1.
    fn plan(&self) -> &evertally::Plan;
    fn steps(&self) -> u64;
}

/// A number that counters take: a double, or an integer in steps of [`Amount`]'s grid.
pub(crate) trait CounterInput: Copy + Sync {
    /// The number of doubles that add up to a number.
    const PARTS: usize;
    fn part(self, index: usize) -> f64;
}

impl CounterInput for f64 {
    const PARTS: usize = 1;

    fn part(self, _: usize) -> f64 {
        self
    }
}

impl CounterInput for i128 {
    const PARTS: usize = 3;

    fn part(self, index: usize) -> f64 {
        Amount::from_grid_steps(self).to_exact_f64s()[index]
    }
}

/// Implements [`LibraryCounter`] and the Python methods of a class that wraps [`CounterCore`]: those
/// that every counter has, and for `remembering` counters also the constructor with `remember`.
macro_rules! counter_methods {
    ($class:ident, remembering) => {
        $crate::counter_core::counter_methods!($class, steps_taken, |plan, key, remember| {
            let counter = evertally::$class::new(plan, key)?;
            if remember { counter.remember_releases() } else { Ok(counter) }
        });

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (plan, key=None, *, remember=false))]
            fn new(
                plan: &Bound<'_, $crate::plan::Plan>,
                key: Option<&Bound<'_, $crate::noise_key::NoiseKey>>,
                remember: bool,
            ) -> PyResult<Self> {
                $crate::counter_core::CounterCore::new(plan, key, remember).map(Self)
            }

            /// The number of steps taken.
            #[getter]
            fn steps_taken(&self, py: Python<'_>) -> PyResult<u64> {
                self.0.steps(py)
            }
        }
    };
    ($class:ident, $steps:ident, |$plan:ident, $key:ident, $remember:pat_param| $new:expr) => {
        impl $crate::counter_core::LibraryCounter for evertally::$class {
            fn new(
                $plan: &evertally::Plan,
                $key: evertally::NoiseKey,
                $remember: bool,
            ) -> evertally::Result<Self> {
                $new
            }

            fn resume(
                plan: &evertally::Plan,
                key: evertally::NoiseKey,
                state: &[u8],
            ) -> evertally::Result<Self> {
                Self::resume(plan, key, state)
            }

            fn save(&self) -> Vec<u8> {
                Self::save(self)
            }

            fn plan(&self) -> &evertally::Plan {
                Self::plan(self)
            }

            fn steps(&self) -> u64 {
                self.$steps()
            }
        }

        #[pymethods]
        impl $class {
            /// Resumes from a saved state. The state of another plan or key is refused, and so are
            /// data that differ from those already counted after it.
            #[staticmethod]
            fn resume(
                plan: &Bound<'_, $crate::plan::Plan>,
                key: &Bound<'_, $crate::noise_key::NoiseKey>,
                state: &[u8],
            ) -> PyResult<Self> {
                $crate::counter_core::CounterCore::resume(plan, key, state).map(Self)
            }

            /// The state as bytes, for `resume`. It holds true totals: guard it like the data.
            fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
                Ok(pyo3::types::PyBytes::new(py, &self.0.save(py)?))
            }

            /// The plan that the counter follows.
            #[getter]
            fn plan(&self, py: Python<'_>) -> Py<$crate::plan::Plan> {
                self.0.plan.clone_ref(py)
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                self.0.description(py, stringify!($class))
            }
        }
    };
}
pub(crate) use counter_methods;

/// A counter that Python holds.
pub(crate) struct CounterCore<C> {
    pub(crate) counter: GuardedLock<C>,
    key: evertally::NoiseKey,
    pub(crate) plan: Py<Plan>,
    /// The places of a row in the order of its keys' names. None if the row is in this order already.
    order: Option<Box<[usize]>>,
}

impl<C: LibraryCounter> CounterCore<C> {
    pub(crate) fn new(
        plan: &Bound<'_, Plan>,
        key: Option<&Bound<'_, NoiseKey>>,
        remember: bool,
    ) -> PyResult<Self> {
        let (key, uses) = given_or_fresh(key)?;
        Self::build(plan, key, uses, None, |plan, key| C::new(plan, key, remember))
    }

    pub(crate) fn resume(plan: &Bound<'_, Plan>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        let key = key.get();
        Self::build(plan, key.copied(), key.uses(), Some(state), |plan, key| C::resume(plan, key, state))
    }

    fn build(
        plan: &Bound<'_, Plan>,
        key: evertally::NoiseKey,
        uses: Option<&Uses>,
        state: Option<&[u8]>,
        make: impl FnOnce(&evertally::Plan, evertally::NoiseKey) -> evertally::Result<C> + Send,
    ) -> PyResult<Self> {
        let (inner, copied) = (&plan.get().inner, copy_of(&key));
        let made = plan.py().detach(|| -> Result<_, Failure> {
            let counter = make(inner, copied)?;
            let order = uses.and_then(|_| order_of_names(counter.plan().shape()));
            let (name, resumed) = (counter.plan().record_name(), state.map(|state| (counter.steps(), state)));
            Ok((GuardedLock::new(counter, uses, &name, resumed)?, order))
        });
        let (counter, order) = made.map_err(Failure::raise)?;
        Ok(Self { counter, key, plan: plan.clone().unbind(), order })
    }

    /// The plan as the library has it.
    pub(crate) fn inner(&self) -> &evertally::Plan {
        &self.plan.get().inner
    }

    /// The number of coordinates or keys.
    pub(crate) fn width(&self) -> usize {
        self.inner().shape().width()
    }

    /// The number of steps taken.
    pub(crate) fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.counter.read(py, LibraryCounter::steps)
    }

    /// Takes one step with a row of inputs and writes into a row of outputs, which the caller may
    /// already see: a release that is withheld is wiped from it.
    pub(crate) fn step_into<R: Send>(
        &self,
        py: Python<'_>,
        inputs: &[f64],
        out: &mut [f64],
        work: impl FnOnce(&mut C, &[f64], &mut [f64]) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        let order = self.order.as_deref();
        self.counter.with_state(py, |state| {
            let done = state.admit(
                |_| |chain: &mut InputChain| vec![digest(chain, inputs, order)],
                |counter| work(counter, inputs, out),
            );
            if state.is_ahead() {
                out.fill(0.0);
            }
            done
        })
    }

    /// Takes several steps, or none of them. If a step is refused, or the steps cannot be recorded,
    /// the counter returns to the state before the call. Nothing was handed out by then, so the
    /// steps may be taken again with other inputs.
    pub(crate) fn all_or_nothing<T: CounterInput, R: Send>(
        &self,
        py: Python<'_>,
        inputs: &[T],
        work: impl FnOnce(&mut C) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        let (plan, key, order, width) = (self.inner(), &self.key, self.order.as_deref(), self.width());
        let rows = inputs.chunks(width.max(1));
        self.counter.with_state(py, |state| {
            // A single step is refused before it changes anything.
            let before = (rows.len() > 1).then(|| Zeroizing::new(state.value.save()));
            let digests =
                |_: &C| |chain: &mut InputChain| rows.map(|row| digest(chain, row, order)).collect();
            state.admit(digests, work).or_else(|refusal| {
                if let Some(before) = before {
                    state.restore(C::resume(plan, copy_of(key), &before)?);
                }
                Err(refusal)
            })
        })
    }

    pub(crate) fn save(&self, py: Python<'_>) -> PyResult<Zeroizing<Vec<u8>>> {
        self.counter.with(py, |counter| Ok(Zeroizing::new(counter.save())))
    }

    /// What every counter shows of itself: nothing that it counted.
    pub(crate) fn description(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let (steps, plan) = (self.steps(py)?, self.inner());
        let (horizon, mechanism) = (plan.horizon(), plan.mechanism());
        Ok(format!("{name}(steps_taken={steps}, horizon={horizon}, mechanism='{mechanism}')"))
    }
}

/// The places of declared keys in the order of their names. None if they are sorted already.
fn order_of_names(shape: &Shape) -> Option<Box<[usize]>> {
    let Shape::Keyed { keys } = shape else { return None };
    if keys.is_sorted() {
        return None;
    }
    let mut places: Box<[usize]> = (0..keys.len()).collect();
    places.sort_unstable_by_key(|place| &keys[*place]);
    Some(places)
}

/// The digest of a row. The counter refuses a row of another length.
fn digest<T: CounterInput>(chain: &mut InputChain, row: &[T], order: Option<&[usize]>) -> Digest {
    let input = |place| row.get(order.map_or(place, |order| order.get(place).copied().unwrap_or(place)));
    let inputs = |part| (0..row.len()).filter_map(input).map(move |input| input.part(part));
    chain.step((0..T::PARTS).flat_map(inputs))
}
