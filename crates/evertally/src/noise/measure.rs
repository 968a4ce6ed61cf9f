//! Times of the parts of the sampler. Nothing is asserted.
//!
//! `cargo test --release -p evertally --lib measure -- --ignored --nocapture`

use std::hint::black_box;
use std::time::Instant;

use super::keystream::{BLOCK_WORDS, Group, LANES, make_block, make_blocks};
use super::law::{BLOCK_DRAWS, BLOCK_PAIRS, Gaussian, GroupDraws, make_draws};
use super::{KeyedNoise, LaneTag, NoiseKey, WhiteNoise};

/// Reports the fastest of many short rounds, which is what the work costs when nothing else runs.
fn report(name: &str, draws: usize, mut work: impl FnMut()) {
    let calls = (100_000 / draws).clamp(1, 2000);
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    let mut rounds = 0;
    while rounds < 5 || begin.elapsed().as_secs_f64() < 0.4 {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() / calls as f64);
        rounds += 1;
    }
    let each = best / draws as f64;
    println!("{name:<44} {:>9.2} ns/draw {:>9.1} M/s {:>12.1} ns/call", each * 1e9, 1e-6 / each, best * 1e9);
}

#[test]
#[ignore = "prints times"]
fn parts() {
    const GROUPS: usize = 4;
    const DRAWS: usize = GROUPS * LANES * BLOCK_DRAWS;
    let key = [7; 32];
    let mut words = [Group::default(); GROUPS];
    let mut draws = [GroupDraws::<f64>::default(); GROUPS];
    let mut singles = [GroupDraws::<f32>::default(); GROUPS];
    report("key stream, 20 rounds", DRAWS, || make_blocks::<20>(&key, black_box(&mut words), GROUPS * LANES));
    report("key stream, 8 rounds", DRAWS, || make_blocks::<8>(&key, black_box(&mut words), GROUPS * LANES));
    report("Box–Muller to f64", DRAWS, || {
        make_draws::<Gaussian, f64>(black_box(&words), black_box(&mut draws), GROUPS * LANES, 0..BLOCK_PAIRS);
    });
    report("Box–Muller to f32", DRAWS, || {
        make_draws::<Gaussian, f32>(
            black_box(&words),
            black_box(&mut singles),
            GROUPS * LANES,
            0..BLOCK_PAIRS,
        );
    });
    let mut block = [0; BLOCK_WORDS];
    report("one block, 20 rounds", 1, || {
        make_block::<20>(&key, black_box([1, 2, 3, 4]), black_box(&mut block));
    });
    report("one block, 8 rounds", 1, || {
        make_block::<8>(&key, black_box([1, 2, 3, 4]), black_box(&mut block));
    });
}

#[test]
#[ignore = "prints times"]
fn white() {
    let key = NoiseKey::insecure_from_seed(1);
    for white in [
        WhiteNoise::gaussian(key.stream(b"measure")),
        WhiteNoise::gaussian_chacha8(key.stream(b"measure")),
        WhiteNoise::laplace(key.stream(b"measure")),
    ] {
        println!("{white:?}");
        let mut index = 0;
        report("draw", 1, || {
            index += 8;
            black_box(white.draw(black_box(index)));
        });
        let (mut doubles, mut singles) = (vec![0.0_f64; 1 << 20], vec![0.0_f32; 1 << 20]);
        for len in [1, 2, 8, 16, 64, 128, 512, 4096, 1 << 16, 1 << 20] {
            report(&format!("fill of {len}"), len, || {
                white.fill(black_box(8), black_box(&mut doubles[..len]));
            });
        }
        report("fill of 2^20, f32", 1 << 20, || white.fill(black_box(8), black_box(&mut singles)));
        report("fill_parallel of 2^20", 1 << 20, || {
            white.fill_parallel(black_box(8), black_box(&mut doubles));
        });
        report("fill_parallel of 2^20, f32", 1 << 20, || {
            white.fill_parallel(black_box(8), black_box(&mut singles));
        });
        report("fill_parallel of 2^24, fresh memory", 1 << 24, || {
            let mut fresh = vec![0.0_f64; 1 << 24];
            white.fill_parallel(black_box(8), black_box(&mut fresh));
        });
    }
}

#[test]
#[ignore = "prints times"]
fn keyed() {
    let stream = || NoiseKey::insecure_from_seed(1).stream(b"measure");
    for noise in [KeyedNoise::gaussian(stream()), KeyedNoise::gaussian_chacha8(stream())] {
        println!("{noise:?}");
        let mut name = 0_u64;
        report("tag", 1, || {
            name += 1;
            black_box(noise.tag(black_box(&name.to_le_bytes())));
        });
        let tags: Vec<LaneTag> = (0..1_u32 << 16).map(|i| noise.tag(&i.to_le_bytes())).collect();
        report("fill of 8", 8, || noise.fill(black_box(tags[0]), 8, black_box(&mut [0.0; 8])));
        for keys in [1, 16, 64, 1024, 1 << 16] {
            let (tags, mut row) = (&tags[..keys], vec![0.0_f64; keys]);
            report(&format!("draw_each of {keys} keys"), keys, || {
                noise.draw_each(black_box(tags), 5, black_box(&mut row));
            });
        }
        let (tags, mut singles) = (&tags[..1024], vec![0.0_f32; 1024]);
        report("draw_each of 1024 keys, f32", 1024, || {
            noise.draw_each(black_box(tags), 5, black_box(&mut singles));
        });
        let mut rows = vec![0.0_f64; 8 * 1024];
        report("draw_steps of 1024 keys, 8 steps", 8 * 1024, || {
            noise.draw_steps(black_box(tags), 8, 8, black_box(&mut rows));
        });
    }
}

#[test]
#[ignore = "prints times"]
fn integers() {
    use super::integer::{IntegerLaw, IntegerNoise};
    for law in [IntegerLaw::Gaussian, IntegerLaw::Laplace] {
        let noise = IntegerNoise::new(NoiseKey::insecure_from_seed(1).stream(b"measure"), law);
        println!("{noise:?}");
        let tags: Vec<LaneTag> = (0..1_u32 << 10).map(|i| noise.tag(&i.to_le_bytes())).collect();
        for scale in [1, 1000, 1 << 44, (1 << 52) - 1] {
            let mut index = 0;
            report(&format!("draw, scale {scale}"), 1, || {
                index += 1;
                black_box(noise.draw(tags[0], black_box(index), scale));
            });
            for keys in [4, 16, 1024] {
                let (tags, mut row) = (&tags[..keys], vec![0; keys]);
                report(&format!("draw_each of {keys} keys, scale {scale}"), keys, || {
                    index += 1;
                    noise.draw_each(black_box(tags), black_box(index), scale, black_box(&mut row));
                });
            }
        }
    }
}
