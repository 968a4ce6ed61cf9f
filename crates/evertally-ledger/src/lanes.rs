//! A running mechanism of one number or of several keys.

use crate::error::{Error, Result};
use crate::spec::CounterPlan;
use evertally::{Counter, KeyedCounter, NoiseKey};

/// The library's counter behind a counter of the service. It holds true totals and noise: no `Debug`.
pub(crate) enum Lanes {
    Single(Box<Counter>),
    Keyed(Box<KeyedCounter>),
}

/// A copy, as the library takes keys by value to make copies deliberate. It is wiped when the
/// library drops it.
fn copy(key: &NoiseKey) -> NoiseKey {
    NoiseKey::from_bytes(*key.expose_bytes())
}

impl Lanes {
    pub(crate) fn new(planned: &CounterPlan, key: &NoiseKey) -> Result<Self> {
        Ok(match planned.lane_names() {
            Some(_) => Self::Keyed(Box::new(KeyedCounter::new(planned.plan(), copy(key))?)),
            None => Self::Single(Box::new(Counter::new(planned.plan(), copy(key))?)),
        })
    }

    pub(crate) fn resume(planned: &CounterPlan, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        let resumed = match planned.lane_names() {
            Some(_) => KeyedCounter::resume(planned.plan(), copy(key), state)
                .map(|counter| Self::Keyed(Box::new(counter))),
            None => Counter::resume(planned.plan(), copy(key), state)
                .map(|counter| Self::Single(Box::new(counter))),
        };
        resumed.map_err(|error| Error::damaged(format!("the state of a counter cannot be used: {error}")))
    }

    /// The same totals, with noise of another stream from here on.
    pub(crate) fn with_fresh_noise(&self, planned: &CounterPlan, key: &NoiseKey) -> Result<Self> {
        Ok(match self {
            Self::Single(counter) => {
                Self::Single(Box::new(counter.with_fresh_noise(planned.plan(), copy(key))?))
            }
            Self::Keyed(counter) => {
                Self::Keyed(Box::new(counter.with_fresh_noise(planned.plan(), copy(key))?))
            }
        })
    }

    pub(crate) fn steps_taken(&self) -> u64 {
        match self {
            Self::Single(counter) => counter.steps_taken(),
            Self::Keyed(counter) => counter.steps_taken(),
        }
    }

    /// Takes the input of the next step and gives what is released of it.
    pub(crate) fn step(&mut self, totals: &[f64]) -> Result<Vec<f64>> {
        Ok(match self {
            Self::Single(counter) => vec![counter.step(totals.first().copied().unwrap_or_default())?.value],
            Self::Keyed(counter) => {
                let mut values = vec![0.0; totals.len()];
                counter.step_into(totals, &mut values)?;
                values
            }
        })
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        match self {
            Self::Single(counter) => counter.save(),
            Self::Keyed(counter) => counter.save(),
        }
    }
}
