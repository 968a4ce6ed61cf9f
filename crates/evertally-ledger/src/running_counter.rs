//! The library's counter behind a counter of the service, for one number, several keys, or keys
//! that are found.

use crate::error::{Error, Result};
use crate::found::FoundKeys;
use crate::spec::CounterPlan;
use evertally::internals::noise::copy_of;
use evertally::{Counter, DiscoveringCounter, KeyedCounter, NoiseKey};
use evertally_stream::Amount;

/// A counter of the library. It holds true totals and noise: no `Debug`.
pub(crate) enum RunningCounter {
    Single(Box<Counter>),
    Keyed(Box<KeyedCounter>),
    Finding(Box<DiscoveringCounter>),
}

/// What the library releases of a step.
pub(crate) struct Released {
    pub(crate) values: Vec<f64>,
    /// The keys that appear with it.
    pub(crate) appeared: Vec<u32>,
}

impl RunningCounter {
    pub(crate) fn new(counter_plan: &CounterPlan, key: &NoiseKey) -> Result<Self> {
        if let Some(discovery) = counter_plan.discovery() {
            return Ok(Self::Finding(Box::new(DiscoveringCounter::new(discovery, copy_of(key))?)));
        }
        Ok(match counter_plan.lane_names() {
            Some(_) => Self::Keyed(Box::new(KeyedCounter::new(counter_plan.plan(), copy_of(key))?)),
            None => Self::Single(Box::new(Counter::new(counter_plan.plan(), copy_of(key))?)),
        })
    }

    pub(crate) fn resume(counter_plan: &CounterPlan, key: &NoiseKey, state: &[u8]) -> Result<Self> {
        let resumed = match (counter_plan.discovery(), counter_plan.lane_names()) {
            (Some(discovery), _) => DiscoveringCounter::resume(discovery, copy_of(key), state)
                .map(|counter| Self::Finding(Box::new(counter))),
            (None, Some(_)) => KeyedCounter::resume(counter_plan.plan(), copy_of(key), state)
                .map(|counter| Self::Keyed(Box::new(counter))),
            (None, None) => Counter::resume(counter_plan.plan(), copy_of(key), state)
                .map(|counter| Self::Single(Box::new(counter))),
        };
        resumed.map_err(|error| Error::damaged(format!("the state of a counter cannot be used: {error}")))
    }

    /// The same totals, with noise of another stream from here on.
    pub(crate) fn with_fresh_noise(
        &self,
        counter_plan: &CounterPlan,
        key: &NoiseKey,
        found: Option<&FoundKeys>,
    ) -> Result<Self> {
        Ok(match self {
            Self::Finding(counter) => {
                let (discovery, found) = counter_plan.discovery().zip(found).ok_or_else(no_keys)?;
                let fresh = counter.with_fresh_noise(discovery, copy_of(key), found.names())?;
                Self::Finding(Box::new(fresh))
            }
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
            Self::Finding(counter) => counter.steps_closed(),
        }
    }

    /// Takes the input of the next step, in steps of the grid of amounts, and returns its release.
    pub(crate) fn step(
        &mut self,
        totals: &[i128],
        width: usize,
        found: Option<&mut FoundKeys>,
    ) -> Result<Released> {
        let zeros = vec![0; if totals.is_empty() { width } else { 0 }];
        let totals = if totals.is_empty() { &zeros } else { totals };
        let values = match self {
            Self::Finding(counter) => return find(counter, totals, found.ok_or_else(no_keys)?),
            Self::Single(counter) => {
                let total = totals.first().copied().unwrap_or_default();
                vec![counter.step_amount(total, Amount::GRID_EXPONENT)?.value]
            }
            Self::Keyed(counter) => {
                let mut values = vec![0.0; totals.len()];
                counter.step_amounts_into(totals, Amount::GRID_EXPONENT, &mut values)?;
                values
            }
        };
        Ok(Released { values, appeared: Vec::new() })
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        match self {
            Self::Single(counter) => counter.save(),
            Self::Keyed(counter) => counter.save(),
            Self::Finding(counter) => counter.save(),
        }
    }
}

/// Takes the input of a step, and releases the keys that have appeared.
fn find(counter: &mut DiscoveringCounter, input: &[i128], found: &mut FoundKeys) -> Result<Released> {
    let step = counter.steps_closed();
    for input in found.input(input) {
        let (name, amount, new_persons) = input?;
        counter.add_amount(name, amount, Amount::GRID_EXPONENT, new_persons)?;
    }
    let released = counter.close_step()?;
    let values = released.iter().map(|key| key.release.value).collect();
    Ok(Released { values, appeared: found.show(step, released.iter()) })
}

fn no_keys() -> Error {
    Error::damaged("a counter that finds keys has none")
}
