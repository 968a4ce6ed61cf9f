//! One number per step for each of many keys.

use std::hint::black_box;
use std::time::Instant;

use evertally::{Arithmetic, KeyedCounter, Plan, Result};

use crate::memory::Memory;
use crate::{key, plan as one_plan};

/// A plan for this many keys, in floats. This benchmark times the engine of streamed noise. `bench
/// exact` times the exact path.
pub(crate) fn plan(mechanism: &str, keys: usize, steps: u64) -> Result<Plan> {
    let keys = (0..keys).map(|key| format!("key {key}"));
    one_plan(mechanism, steps).keys(keys).arithmetic(Arithmetic::Float).build()
}

/// The seconds of all steps, each with an input and a release per key.
pub(crate) fn seconds(mechanism: &str, keys: usize, steps: u64, memory: &mut Memory) -> Result<f64> {
    // Names, inputs and outputs belong to the caller. The counter's own memory excludes them.
    let plan = plan(mechanism, keys, steps)?;
    let (inputs, mut out) = (vec![1.0; keys], vec![1.0; keys]);
    memory.start();
    let mut counter = KeyedCounter::new(&plan, key())?;
    let start = Instant::now();
    for _ in 0..steps {
        black_box(counter.step_into(&inputs, black_box(&mut out))?);
    }
    let seconds = start.elapsed().as_secs_f64();
    memory.end();
    Ok(seconds)
}

/// The bytes per key, as predicted by the plan.
pub(crate) fn planned_bytes(mechanism: &str, keys: usize, steps: u64) -> Result<u64> {
    Ok(plan(mechanism, keys, steps)?.cost().bytes_per_coordinate)
}
