//! Many keys.

use std::hint::black_box;

use evertally::internals::noise::{KeyedNoise, LaneTag};
use evertally::{KeyedCounter, Result};

use super::{Work, best};
use crate::{DEFAULT, key, keyed};

/// The number of steps that a figure averages.
const STEPS: u64 = 8;

/// The number of keys that are drawn together.
const TOGETHER: usize = 1 << 12;

pub(super) fn seconds(stage: &str, keys: usize) -> Result<Option<f64>> {
    let noise = KeyedNoise::gaussian(key().stream(b"bench"));
    let tags: Vec<LaneTag> = (0..keys as u64).map(|key| noise.tag(&key.to_le_bytes())).collect();
    let work: Work<'_> = match stage {
        "all" => {
            let mut counter = KeyedCounter::new(&keyed::plan(DEFAULT, keys, 1000)?, key())?;
            let (inputs, mut out) = (vec![1.0; keys], vec![0.0; keys]);
            Box::new(move || {
                for _ in 0..STEPS {
                    counter.step_into(&inputs, black_box(&mut out))?;
                }
                Ok(())
            })
        }
        // One step of every key, then the next step: one block of the cipher per draw.
        "white" => draw(&noise, &tags, 1),
        // Eight steps of every key from each block.
        "white-by-eights" => draw(&noise, &tags, 8),
        _ => return Ok(None),
    };
    Ok(Some(best(work)? / (STEPS * keys as u64) as f64))
}

fn draw<'a>(noise: &'a KeyedNoise, tags: &'a [LaneTag], steps: u64) -> Work<'a> {
    let mut out = vec![0.0; steps as usize * TOGETHER];
    Box::new(move || {
        for first in (0..STEPS).step_by(steps as usize) {
            for tags in tags.chunks(TOGETHER) {
                let out = &mut out[..steps as usize * tags.len()];
                noise.draw_steps(tags, first, steps as usize, out);
                black_box(out);
            }
        }
        Ok(())
    })
}
