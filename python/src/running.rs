//! What the four counters have in common: a lock, a plan, a guard of what is counted, and steps
//! that are taken together or not at all.
//!
//! The digest of a row of keys is made in the order of their names: plans that declare the same
//! keys in another order have the same noise, and a row in one order must not pass for one in the
//! other.

use evertally::Lanes;
use evertally_keys::{Digest, InputChain, Uses};
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::errors::Failure;
use crate::guarded::Guarded;
use crate::noise_key::{NoiseKey, copy_of, given_or_fresh};
use crate::plan::Plan;

/// A counter of the library.
pub(crate) trait Count: Sized + Send {
    fn new(plan: &evertally::Plan, key: evertally::NoiseKey, remember: bool) -> evertally::Result<Self>;
    fn resume(plan: &evertally::Plan, key: evertally::NoiseKey, state: &[u8]) -> evertally::Result<Self>;
    fn save(&self) -> Vec<u8>;
    /// The plan, whose noise has another name in a counter that goes on from a state of version 0.1.
    fn plan(&self) -> &evertally::Plan;
    fn steps(&self) -> u64;
}

/// Implements [`Count`] for counters that can remember their releases.
macro_rules! count {
    ($counter:ty) => {
        impl $crate::running::Count for $counter {
            fn new(
                plan: &evertally::Plan,
                key: evertally::NoiseKey,
                remember: bool,
            ) -> evertally::Result<Self> {
                let counter = <$counter>::new(plan, key)?;
                if remember { counter.remember_releases() } else { Ok(counter) }
            }

            fn resume(
                plan: &evertally::Plan,
                key: evertally::NoiseKey,
                state: &[u8],
            ) -> evertally::Result<Self> {
                <$counter>::resume(plan, key, state)
            }

            fn save(&self) -> Vec<u8> {
                <$counter>::save(self)
            }

            fn plan(&self) -> &evertally::Plan {
                <$counter>::plan(self)
            }

            fn steps(&self) -> u64 {
                <$counter>::steps_taken(self)
            }
        }
    };
}
pub(crate) use count;

/// A counter that Python holds.
pub(crate) struct Running<C> {
    counter: Guarded<C>,
    key: evertally::NoiseKey,
    plan: Py<Plan>,
    /// The places of a row in the order of their keys' names, where that is another order than the row's.
    order: Option<Box<[usize]>>,
}

impl<C: Count> Running<C> {
    pub(crate) fn new(
        plan: &Bound<'_, Plan>,
        key: Option<&Bound<'_, NoiseKey>>,
        remember: bool,
    ) -> PyResult<Self> {
        let key = key.map(Bound::get);
        let uses = key.and_then(NoiseKey::uses);
        Self::made(plan, given_or_fresh(key)?, uses, None, |plan, key| C::new(plan, key, remember))
    }

    pub(crate) fn resume(plan: &Bound<'_, Plan>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        let key = key.get();
        Self::made(plan, key.copied(), key.uses(), Some(state), |plan, key| C::resume(plan, key, state))
    }

    fn made(
        plan: &Bound<'_, Plan>,
        key: evertally::NoiseKey,
        uses: Option<&Uses>,
        state: Option<&[u8]>,
        make: impl FnOnce(&evertally::Plan, evertally::NoiseKey) -> evertally::Result<C> + Send,
    ) -> PyResult<Self> {
        let (inner, copied) = (&plan.get().inner, copy_of(&key));
        let made = plan.py().detach(|| -> Result<_, Failure> {
            let counter = make(inner, copied)?;
            let order = uses.and_then(|_| order_of_names(counter.plan().lanes()));
            let (name, resumed) = (counter.plan().record_name(), state.map(|state| (counter.steps(), state)));
            Ok((Guarded::new(counter, uses, &name, resumed)?, order))
        });
        let (counter, order) = made.map_err(Failure::raise)?;
        Ok(Self { counter, key, plan: plan.clone().unbind(), order })
    }

    pub(crate) fn plan(&self, py: Python<'_>) -> Py<Plan> {
        self.plan.clone_ref(py)
    }

    /// The plan as the library has it.
    pub(crate) fn inner(&self) -> &evertally::Plan {
        &self.plan.get().inner
    }

    /// The number of coordinates or keys.
    pub(crate) fn width(&self) -> usize {
        self.inner().lanes().width()
    }

    /// The number of steps taken.
    pub(crate) fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.counter.look(py, Count::steps)
    }

    /// Does work that closes no step.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut C) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.counter.with(py, work)
    }

    /// Takes one step whose digest is made of what the counter holds and what is given.
    pub(crate) fn admit<R: Send, D: FnOnce(&mut InputChain) -> Vec<Digest>>(
        &self,
        py: Python<'_>,
        digests: impl FnOnce(&C) -> D + Send,
        work: impl FnOnce(&mut C) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.counter.with_held(py, |held| held.admit(digests, work))
    }

    /// Takes one step with a row of inputs, into a row of outputs that the caller may see already.
    pub(crate) fn step_into<R: Send>(
        &self,
        py: Python<'_>,
        inputs: &[f64],
        out: &mut [f64],
        work: impl FnOnce(&mut C, &[f64], &mut [f64]) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        let order = self.order.as_deref();
        self.counter.with_held(py, |held| {
            let done = held.admit(
                |_| |chain: &mut InputChain| vec![digest(chain, inputs, order)],
                |counter| work(counter, inputs, out),
            );
            if held.is_ahead() {
                out.fill(0.0);
            }
            done
        })
    }

    /// Takes several steps, or none of them: where one is refused or they cannot be recorded, the
    /// counter goes back to where it was. Nothing of the steps before has been handed out then, so
    /// that they may be taken again with other inputs.
    pub(crate) fn all_or_nothing<R: Send>(
        &self,
        py: Python<'_>,
        inputs: &[f64],
        work: impl FnOnce(&mut C) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        let (plan, key, order, width) = (self.inner(), &self.key, self.order.as_deref(), self.width());
        let rows = inputs.chunks(width.max(1));
        self.counter.with_held(py, |held| {
            // A single step is refused before it changes anything.
            let before = (rows.len() > 1).then(|| Zeroizing::new(held.value.save()));
            let digests =
                |_: &C| |chain: &mut InputChain| rows.map(|row| digest(chain, row, order)).collect();
            held.admit(digests, work).or_else(|refusal| {
                if let Some(before) = before {
                    held.go_back_to(C::resume(plan, copy_of(key), &before)?);
                }
                Err(refusal)
            })
        })
    }

    pub(crate) fn save(&self, py: Python<'_>) -> PyResult<Zeroizing<Vec<u8>>> {
        self.with(py, |counter| Ok(Zeroizing::new(counter.save())))
    }

    /// What every counter shows of itself: nothing that it counted.
    pub(crate) fn description(&self, name: &str, steps: u64) -> String {
        let plan = self.inner();
        format!("{name}(steps_taken={steps}, horizon={}, mechanism='{}')", plan.horizon(), plan.mechanism())
    }
}

/// The places of declared keys in the order of their names; none where they stand in it.
fn order_of_names(lanes: &Lanes) -> Option<Box<[usize]>> {
    let Lanes::Keyed { keys } = lanes else { return None };
    if keys.is_sorted() {
        return None;
    }
    let mut places: Box<[usize]> = (0..keys.len()).collect();
    places.sort_unstable_by_key(|place| &keys[*place]);
    Some(places)
}

/// The digest of a row. A row of another length is refused by the counter.
fn digest(chain: &mut InputChain, row: &[f64], order: Option<&[usize]>) -> Digest {
    match order {
        Some(order) => chain.step(order.iter().filter_map(|place| row.get(*place).copied())),
        None => chain.step(row.iter().copied()),
    }
}
