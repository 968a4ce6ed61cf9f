//! One stream: all values of its noise, through a buffer of fixed size.

use std::hint::black_box;
use std::time::Instant;

use evertally::{NoiseStream, Result};

use crate::memory::Memory;
use crate::{key, plan};

/// The number of values per request.
const BUFFER: usize = 1 << 16;

/// Seconds from a plan to the last of n values.
pub(crate) fn seconds(mechanism: &str, n: u64, memory: &mut Memory) -> Result<f64> {
    memory.start();
    let plan = plan(mechanism, n).build()?;
    let mut buffer = vec![0.0; BUFFER];
    let start = Instant::now();
    let mut noise = NoiseStream::<f64>::new(&plan, key())?;
    let mut left = n;
    while left > 0 {
        let len = left.min(BUFFER as u64) as usize;
        noise.fill(&mut buffer[..len])?;
        black_box(&mut buffer);
        left -= len as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    memory.end();
    Ok(seconds)
}

/// The numbers per lane in the streaming engine. Zero if the mechanism does not use it.
pub(crate) fn rows(mechanism: &str, n: u64) -> Result<usize> {
    let recipe = plan(mechanism, n).build()?.factorization().recipe();
    Ok(recipe.map_or(0, |recipe| recipe.rows()))
}
