//! What a step consists of, each part timed alone. Run with one thread, the parts add up.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use evertally::noise::{Stretch, VectorField, WhiteField, WhiteNoise};
use evertally::{NoiseStream, Result};

use crate::{DEFAULT, key, plan, wide_plan};

/// Steps of many lanes that a figure is an average of.
const WIDE_STEPS: u64 = 32;

/// Lanes that the engine draws for together, and steps.
const TILE: usize = 256;
const BURST: usize = 8;

/// Silence: what the engine does with it is all that is not drawing.
struct Zeros(usize);

impl WhiteField for Zeros {
    fn width(&self) -> usize {
        self.0
    }

    fn tile(&self, _: u64, _: Range<usize>, out: &mut [f64]) {
        out.fill(0.0);
    }
}

/// A part of a stream of n steps: seconds a step.
pub(crate) fn seconds_per_step(stage: &str, n: u64) -> Result<Option<f64>> {
    let plan = plan(DEFAULT, n).build()?;
    let mut buffer = vec![0.0; 1 << 16];
    let white = WhiteNoise::gaussian(key().stream(b"bench"));
    let buffers = || (0..n).step_by(1 << 16).map(|first| (first, (n - first).min(1 << 16) as usize));
    let mut work: Box<dyn FnMut() -> Result<()>> = match stage {
        "all" => Box::new(|| {
            let mut noise = NoiseStream::<f64>::new(&plan, key())?;
            buffers().try_for_each(|(_, len)| noise.fill(black_box(&mut buffer[..len])))
        }),
        "row-by-row" => Box::new(|| {
            let mut noise = NoiseStream::<f64>::new(&plan, key())?;
            (0..n).try_for_each(|_| {
                noise.next().map(|row| {
                    black_box(row);
                })
            })
        }),
        "white" => Box::new(|| {
            buffers().for_each(|(first, len)| white.fill(first, black_box(&mut buffer[..len])));
            Ok(())
        }),
        "keystream" => Box::new(|| {
            keystream(n);
            Ok(())
        }),
        "grades" => Box::new(|| {
            let mut stretch = Stretch::default();
            let Some(grading) = plan.factorization().recipe().and_then(|recipe| recipe.grading) else {
                return Ok(());
            };
            let mut step = 0;
            while step < n {
                grading.block(step, &mut stretch);
                step += black_box(&mut stretch).norms.len() as u64;
            }
            Ok(())
        }),
        "silent" => Box::new(|| {
            let mut correlator = plan.factorization().correlator(Arc::new(Zeros(1)), &());
            let mut row = [0.0];
            (0..n).for_each(|_| correlator.next(black_box(&mut row)));
            Ok(())
        }),
        _ => return Ok(None),
    };
    Ok(Some(best(&mut *work)? / n as f64))
}

/// A part of a step of many lanes: seconds a lane and step.
pub(crate) fn seconds_per_value(stage: &str, mechanism: &str, width: usize) -> Result<Option<f64>> {
    let plan = wide_plan(mechanism, 1000, width)?;
    let white = WhiteNoise::gaussian(key().stream(b"bench"));
    let steps = WIDE_STEPS;
    let mut work: Box<dyn FnMut() -> Result<()>> = match stage {
        "all-f32" => Box::new(rows::<f32>(NoiseStream::new(&plan, key())?)),
        "all-f64" => Box::new(rows::<f64>(NoiseStream::new(&plan, key())?)),
        "white-f32" => Box::new(contiguous(&white, vec![0.0_f32; width])),
        "white-f64" => Box::new(contiguous(&white, vec![0.0_f64; width])),
        // As the engine draws it: short runs, one a row of a tile.
        "tiles" => Box::new(move || {
            let field = VectorField::new(white.clone(), width);
            let mut tile = [0.0; BURST * TILE];
            for first in (0..steps).step_by(BURST) {
                for lanes in (0..width).step_by(TILE).map(|start| start..(start + TILE).min(width)) {
                    let tile = &mut tile[..BURST * lanes.len()];
                    field.tile(first, lanes, tile);
                    black_box(tile);
                }
            }
            Ok(())
        }),
        "keystream" => Box::new(move || {
            keystream(steps * width as u64);
            Ok(())
        }),
        // In double precision, with the copy that a correlator makes.
        "silent-f64" => {
            let mut correlator = plan.factorization().correlator(Arc::new(Zeros(width)), &());
            let mut row = vec![0.0; width];
            Box::new(move || {
                (0..steps).for_each(|_| correlator.next(black_box(&mut row)));
                Ok(())
            })
        }
        _ => return Ok(None),
    };
    Ok(Some(best(&mut *work)? / (steps * width as u64) as f64))
}

fn rows<F: evertally::noise::Real>(mut noise: NoiseStream<F>) -> impl FnMut() -> Result<()> {
    move || {
        (0..WIDE_STEPS).try_for_each(|_| {
            noise.next().map(|row| {
                black_box(row);
            })
        })
    }
}

fn contiguous<F: evertally::noise::Real>(
    white: &WhiteNoise,
    mut buffer: Vec<F>,
) -> impl FnMut() -> Result<()> {
    let white = white.clone();
    move || {
        for step in 0..WIDE_STEPS {
            white.fill(step * buffer.len() as u64, &mut buffer);
            black_box(&mut buffer);
        }
        Ok(())
    }
}

/// The words that as many draws take, in blocks as they are made.
fn keystream(draws: u64) {
    let mut source = ChaCha20Rng::from_seed([1; 32]);
    let mut words = [0_u64; 512];
    for _ in 0..draws / 512 {
        words.fill_with(|| source.next_u64());
        black_box(&mut words);
    }
}

/// Seconds, best of several, after a first run that is not timed.
fn best(work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}
