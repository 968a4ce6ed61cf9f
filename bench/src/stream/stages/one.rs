//! One stream.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use evertally::internals::noise::{GradeBlock, WhiteField, WhiteNoise};
use evertally::{NoiseStream, Result};

use super::{Work, best};
use crate::{DEFAULT, key, plan};

const BUFFER: usize = 1 << 16;

/// Noise of zeros, to time everything in the engine except drawing.
pub(super) struct Zeros(pub(super) usize);

impl WhiteField for Zeros {
    fn width(&self) -> usize {
        self.0
    }

    fn tile(&self, _: u64, _: Range<usize>, out: &mut [f64]) {
        out.fill(0.0);
    }
}

pub(super) fn seconds(stage: &str, n: u64) -> Result<Option<f64>> {
    let plan = plan(DEFAULT, n).build()?;
    let mut buffer = vec![0.0; BUFFER];
    let lengths = || (0..n).step_by(BUFFER).map(|first| (first, (n - first).min(BUFFER as u64) as usize));
    let stream = key().stream(b"bench");
    let mut draw = |white: WhiteNoise| {
        lengths().for_each(|(first, len)| white.fill(first, black_box(&mut buffer[..len])));
        Ok(())
    };
    let work: Work<'_> = match stage {
        "white" => Box::new(|| draw(WhiteNoise::gaussian(stream.clone()))),
        "white-8-rounds" => Box::new(|| draw(WhiteNoise::gaussian_chacha8(stream.clone()))),
        "all" => Box::new(|| {
            let mut noise = NoiseStream::<f64>::new(&plan, key())?;
            lengths().try_for_each(|(_, len)| noise.fill(black_box(&mut buffer[..len])))
        }),
        "row-by-row" => Box::new(|| {
            let mut noise = NoiseStream::<f64>::new(&plan, key())?;
            for _ in 0..n {
                black_box(noise.next()?);
            }
            Ok(())
        }),
        "grades" => Box::new(|| {
            let grading = plan.factorization().recipe().and_then(|recipe| recipe.grading);
            let Some(grading) = grading else { return Ok(()) };
            let (mut step, mut stretch) = (0, GradeBlock::default());
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
    Ok(Some(best(work)? / n as f64))
}
