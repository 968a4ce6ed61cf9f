//! One number a step for each of many keys.

use std::hint::black_box;
use std::time::Instant;

use evertally::{KeyedCounter, Plan, Result};

use crate::memory::Memory;
use crate::{DEFAULT, key, plan};

fn keyed(keys: usize, steps: u64) -> Result<Plan> {
    plan(DEFAULT, steps).keys((0..keys).map(|key| format!("key {key}"))).build()
}

/// Seconds of all steps, each with an input for every key.
pub(crate) fn seconds(keys: usize, steps: u64, memory: &mut Memory) -> Result<f64> {
    // The names are the caller's, so that the counter's own memory is counted without them.
    let plan = keyed(keys, steps)?;
    let inputs = vec![1.0; keys];
    memory.begin();
    let mut counter = KeyedCounter::new(&plan, key())?;
    let start = Instant::now();
    for _ in 0..steps {
        black_box(counter.step(&inputs)?);
    }
    let seconds = start.elapsed().as_secs_f64();
    memory.end();
    Ok(seconds)
}

/// Bytes a key, as the plan tells them in advance.
pub(crate) fn planned_bytes(keys: usize, steps: u64) -> Result<u64> {
    Ok(keyed(keys, steps)?.cost().bytes_per_coordinate)
}
