//! Many coordinates a step, and the two limits: white noise, and writing at all.

use std::hint::black_box;
use std::time::Instant;

use evertally::internals::noise::{Real, WhiteNoise};
use evertally::{NoiseStream, Result};
use rayon::prelude::*;

use crate::memory::Memory;
use crate::{key, wide_plan};

/// Rows that the engine makes together: untimed steps are as many, so that the timed ones make whole bursts.
const BURST: u64 = 8;

/// The horizon, of which the first steps are timed.
const HORIZON: u64 = 1000;

/// Times of a buffer that are averaged.
const REPEATS: u64 = 16;

/// Seconds of this many steps, after a first burst.
pub(crate) fn seconds<F: Real>(
    mechanism: &str,
    width: usize,
    steps: u64,
    memory: &mut Memory,
) -> Result<f64> {
    memory.begin();
    let plan = wide_plan(mechanism, HORIZON, width)?;
    let mut noise = NoiseStream::<F>::new(&plan, key())?;
    for _ in 0..BURST {
        black_box(noise.next()?);
    }
    let start = Instant::now();
    for _ in 0..steps {
        black_box(noise.next()?);
    }
    let seconds = start.elapsed().as_secs_f64();
    memory.end();
    Ok(seconds)
}

/// Seconds to draw as much white noise into memory in use.
pub(crate) fn white<F: Real>(width: usize) -> f64 {
    let white = WhiteNoise::gaussian(key().stream(b"bench"));
    average::<F>(width, |repeat, buffer| white.fill_parallel(repeat * width as u64, buffer))
}

/// Seconds to write one constant to as much memory in use.
pub(crate) fn write<F: Real>(width: usize) -> f64 {
    average::<F>(width, |repeat, buffer| {
        let value = F::from_f64(repeat as f64);
        buffer.par_chunks_mut(1 << 14).for_each(|chunk| chunk.fill(value));
    })
}

fn average<F: Real>(width: usize, mut work: impl FnMut(u64, &mut [F])) -> f64 {
    let mut buffer = vec![F::ZERO; width];
    work(0, &mut buffer);
    let start = Instant::now();
    for repeat in 1..=REPEATS {
        work(repeat, &mut buffer);
        black_box(&mut buffer);
    }
    start.elapsed().as_secs_f64() / REPEATS as f64
}
