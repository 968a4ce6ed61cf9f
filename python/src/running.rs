//! What the four counters have in common: a lock, a plan, and steps that are taken together or not at all.

use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::errors::OrRaise;
use crate::noise_key::{NoiseKey, given_or_fresh};
use crate::plan::Plan;
use crate::shared::Shared;

/// A counter of the library.
pub(crate) trait Count: Sized + Send {
    fn new(plan: &evertally::Plan, key: evertally::NoiseKey, remember: bool) -> evertally::Result<Self>;
    fn resume(plan: &evertally::Plan, key: evertally::NoiseKey, state: &[u8]) -> evertally::Result<Self>;
    fn save(&self) -> Vec<u8>;
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
        }
    };
}
pub(crate) use count;

/// A counter that Python holds.
pub(crate) struct Running<C> {
    counter: Shared<C>,
    key: NoiseKey,
    plan: Py<Plan>,
}

impl<C: Count> Running<C> {
    pub(crate) fn new(
        plan: &Bound<'_, Plan>,
        key: Option<&Bound<'_, NoiseKey>>,
        remember: bool,
    ) -> PyResult<Self> {
        let key = given_or_fresh(key.map(Bound::get))?;
        Self::made(plan, key, |plan, key| C::new(plan, key, remember))
    }

    pub(crate) fn resume(plan: &Bound<'_, Plan>, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        Self::made(plan, key.get().copied(), |plan, key| C::resume(plan, key, state))
    }

    fn made(
        plan: &Bound<'_, Plan>,
        key: evertally::NoiseKey,
        make: impl FnOnce(&evertally::Plan, evertally::NoiseKey) -> evertally::Result<C> + Send,
    ) -> PyResult<Self> {
        let key = NoiseKey::from(key);
        let (inner, copied) = (&plan.get().inner, key.copied());
        let counter = plan.py().detach(|| make(inner, copied)).or_raise()?;
        Ok(Self { counter: Shared::new(counter), key, plan: plan.clone().unbind() })
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

    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut C) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        self.counter.with(py, work)
    }

    /// Takes several steps, or none of them: where one is refused, the counter goes back to where it was. Nothing of the steps before has been
    /// handed out then, so that they may be taken again with other inputs.
    pub(crate) fn all_or_nothing<R: Send>(
        &self,
        py: Python<'_>,
        steps: usize,
        work: impl FnOnce(&mut C) -> evertally::Result<R> + Send,
    ) -> PyResult<R> {
        let (plan, key) = (self.inner(), &self.key);
        self.counter.with(py, |counter| {
            // A single step is refused before it changes anything.
            let before = (steps > 1).then(|| Zeroizing::new(counter.save()));
            work(counter).or_else(|refusal| {
                if let Some(before) = before {
                    *counter = C::resume(plan, key.copied(), &before)?;
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
