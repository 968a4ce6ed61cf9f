//! The library's counter behind a counter of the service, for one number or several keys.

use crate::error::{Error, Result};
use crate::spec::CounterPlan;
use evertally::internals::noise::copy_of;
use evertally::{Counter, KeyedCounter, NoiseKey};
use evertally_stream::Amount;

/// A counter of the library. It holds true totals and noise: no `Debug`.
pub(crate) enum RunningCounter {
    Single(Box<Counter>),
    Keyed(Box<KeyedCounter>),
}

impl RunningCounter {
    pub(crate) fn new(counter_plan: &CounterPlan, key: &NoiseKey) -> Result<Self> {
        Ok(match counter_plan.lane_names() {
            Some(_) => Self::Keyed(Box::new(KeyedCounter::new(counter_plan.plan(), copy_of(key))?)),
            None => Self::Single(Box::new(Counter::new(counter_plan.plan(), copy_of(key))?)),
        })
    }

    pub(crate) fn resume(counter_plan: &CounterPlan, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        let resumed = match counter_plan.lane_names() {
            Some(_) => KeyedCounter::resume(counter_plan.plan(), copy_of(key), state)
                .map(|counter| Self::Keyed(Box::new(counter))),
            None => Counter::resume(counter_plan.plan(), copy_of(key), state)
                .map(|counter| Self::Single(Box::new(counter))),
        };
        resumed.map_err(|error| Error::damaged(format!("the state of a counter cannot be used: {error}")))
    }

    /// The same totals, with noise of another stream from here on.
    pub(crate) fn with_fresh_noise(&self, counter_plan: &CounterPlan, key: &NoiseKey) -> Result<Self> {
        Ok(match self {
            Self::Single(counter) => {
                Self::Single(Box::new(counter.with_fresh_noise(counter_plan.plan(), copy_of(key))?))
            }
            Self::Keyed(counter) => {
                Self::Keyed(Box::new(counter.with_fresh_noise(counter_plan.plan(), copy_of(key))?))
            }
        })
    }

    pub(crate) fn steps_taken(&self) -> u64 {
        match self {
            Self::Single(counter) => counter.steps_taken(),
            Self::Keyed(counter) => counter.steps_taken(),
        }
    }

    /// Takes the input of the next step, in steps of the grid of amounts, and returns its release.
    pub(crate) fn step(&mut self, totals: &[i128]) -> Result<Vec<f64>> {
        Ok(match self {
            Self::Single(counter) => {
                let total = totals.first().copied().unwrap_or_default();
                vec![counter.step_amount(total, Amount::GRID_EXPONENT)?.value]
            }
            Self::Keyed(counter) => {
                let mut values = vec![0.0; totals.len()];
                counter.step_amounts_into(totals, Amount::GRID_EXPONENT, &mut values)?;
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
