//! Many coordinates per step, and two limits: white noise, and writes to memory.

use std::hint::black_box;
use std::time::Instant;

use evertally::internals::noise::{Real, WhiteNoise};
use evertally::{NoiseStream, Result};
use rayon::prelude::*;

use crate::memory::Memory;
use crate::{key, wide_plan};

/// The number of rows that the engine makes together. This many steps are not timed, so that the
/// timed ones are complete bursts.
const BURST: u64 = 8;

/// The horizon. Only its first steps are timed.
const HORIZON: u64 = 1000;

/// The number of fills of a buffer that are averaged.
const REPEATS: u64 = 16;

/// The seconds of this many steps, after a first burst.
pub(crate) fn seconds<F: Real>(
    mechanism: &str,
    width: usize,
    steps: u64,
    memory: &mut Memory,
) -> Result<f64> {
    memory.start();
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

/// The seconds to draw the same amount of white noise into existing memory.
pub(crate) fn white<F: Real>(width: usize) -> f64 {
    let white = WhiteNoise::gaussian(key().stream(b"bench"));
    average::<F>(width, |repeat, buffer| white.fill_parallel(repeat * width as u64, buffer))
}

/// The seconds to write a constant to the same amount of existing memory.
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
