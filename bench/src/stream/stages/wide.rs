//! Many coordinates.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use evertally::internals::noise::{Real, VectorField, WhiteField, WhiteNoise};
use evertally::{NoiseStream, Result};

use super::one::Zeros;
use super::{Work, best};
use crate::{DEFAULT, key, wide_plan};

/// The number of steps that a figure averages.
const STEPS: u64 = 32;

/// The numbers of coordinates and steps that the engine draws together.
const TILE: usize = 1024;
const BURST: usize = 8;

pub(super) fn seconds(stage: &str, width: usize) -> Result<Option<f64>> {
    let plan = wide_plan(DEFAULT, 1000, width)?;
    let stream = key().stream(b"bench");
    let (white, white_8) = (WhiteNoise::gaussian(stream.clone()), WhiteNoise::gaussian_chacha8(stream));
    let work: Work<'_> = match stage {
        "all-f32" => rows::<f32>(NoiseStream::new(&plan, key())?),
        "all-f64" => rows::<f64>(NoiseStream::new(&plan, key())?),
        "white-f32" => at_a_stretch(white, vec![0.0_f32; width]),
        "white-f64" => at_a_stretch(white, vec![0.0_f64; width]),
        "white-8-rounds-f32" => at_a_stretch(white_8, vec![0.0_f32; width]),
        "white-8-rounds-f64" => at_a_stretch(white_8, vec![0.0_f64; width]),
        "tiles-f32" => in_tiles(white, width, VectorField::tile_f32),
        "tiles-f64" => in_tiles(white, width, VectorField::tile),
        // Includes the copy that a correlator makes.
        "silent-f64" => {
            let mut correlator = plan.factorization().correlator(Arc::new(Zeros(width)), &());
            let mut row = vec![0.0; width];
            Box::new(move || {
                (0..STEPS).for_each(|_| correlator.next(black_box(&mut row)));
                Ok(())
            })
        }
        _ => return Ok(None),
    };
    Ok(Some(best(work)? / (STEPS * width as u64) as f64))
}

fn rows<F: Real>(mut noise: NoiseStream<F>) -> Work<'static> {
    Box::new(move || {
        for _ in 0..STEPS {
            black_box(noise.next()?);
        }
        Ok(())
    })
}

fn at_a_stretch<F: Real>(white: WhiteNoise, mut buffer: Vec<F>) -> Work<'static> {
    Box::new(move || {
        for step in 0..STEPS {
            white.fill(step * buffer.len() as u64, &mut buffer);
            black_box(&mut buffer);
        }
        Ok(())
    })
}

/// Draws as the engine does: short runs, one per row of a tile.
fn in_tiles<F: Real>(
    white: WhiteNoise,
    width: usize,
    draw: impl Fn(&VectorField, u64, Range<usize>, &mut [F]) + 'static,
) -> Work<'static> {
    let field = VectorField::new(white, width);
    let mut tile = [F::ZERO; BURST * TILE];
    Box::new(move || {
        for first in (0..STEPS).step_by(BURST) {
            for start in (0..width).step_by(TILE) {
                let lanes = start..(start + TILE).min(width);
                let tile = &mut tile[..BURST * lanes.len()];
                draw(&field, first, lanes, tile);
                black_box(tile);
            }
        }
        Ok(())
    })
}
