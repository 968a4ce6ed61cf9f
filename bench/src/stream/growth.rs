//! The growth of a step's cost with the horizon and along it.

use std::hint::black_box;
use std::time::Instant;

use evertally::internals::noise::GradeBlock;
use evertally::{NoiseStream, Result};

use crate::{DEFAULT, key, plan};

/// The maximum number of steps that one figure averages.
const MAX_SPAN: u64 = 1 << 14;

/// The number of blocks of grades that one figure averages.
const BLOCKS: u32 = 256;

/// Seconds per step, row by row, from this step on: the best of several. The earlier noise is made
/// first.
pub(crate) fn step(n: u64, at: u64) -> Result<f64> {
    let plan = plan(DEFAULT, n).build()?;
    let mut noise = NoiseStream::<f64>::new(&plan, key())?;
    let span = (n / 4).min(MAX_SPAN).min(n - at);
    let mut best = f64::INFINITY;
    // A distant seek is slow, so it is done once.
    noise.seek(at)?;
    let state = noise.save();
    for _ in 0..5 {
        let mut noise = NoiseStream::<f64>::resume(&plan, key(), &state)?;
        let start = Instant::now();
        for _ in 0..span {
            black_box(noise.next()?);
        }
        best = best.min(start.elapsed().as_secs_f64() / span as f64);
    }
    Ok(best)
}

/// Seconds per step for its grades alone. They are the only part of a step that depends on its
/// position, and can be timed anywhere.
pub(crate) fn grades(n: u64, at: u64) -> Result<f64> {
    let plan = plan(DEFAULT, n).build()?;
    let Some(grading) = plan.factorization().recipe().and_then(|recipe| recipe.grading) else {
        return Ok(0.0);
    };
    let mut stretch = GradeBlock::default();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..BLOCKS {
            grading.block(black_box(at), &mut stretch);
            black_box(&mut stretch);
        }
        let steps = (BLOCKS as usize * stretch.norms.len()) as f64;
        best = best.min(start.elapsed().as_secs_f64() / steps);
    }
    Ok(best)
}
