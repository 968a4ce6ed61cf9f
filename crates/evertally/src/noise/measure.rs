//! How long the sampler takes, part by part. Nothing is asserted: times are for reading.
//!
//! `cargo test --release -p evertally --lib measure -- --ignored --nocapture`

use std::hint::black_box;
use std::time::Instant;

use super::keystream::{BLOCK_WORDS, Group, LANES, make_block, make_blocks};
use super::law::{BLOCK_DRAWS, BLOCK_PAIRS, Gaussian, GroupDraws, make_draws};
use super::{NoiseKey, WhiteNoise};

/// The quickest of many short rounds: what the work costs when nothing else runs.
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
        make_block::<20>(&key, black_box([1, 2, 3, 4]), black_box(&mut block))
    });
    report("one block, 8 rounds", 1, || {
        make_block::<8>(&key, black_box([1, 2, 3, 4]), black_box(&mut block))
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
        let (mut doubles, mut singles) = (vec![0.0_f64; 1 << 24], vec![0.0_f32; 1 << 24]);
        for len in [1, 2, 8, 16, 64, 128, 512, 4096, 1 << 16, 1 << 20, 1 << 24] {
            report(&format!("fill of {len}"), len, || {
                white.fill(black_box(8), black_box(&mut doubles[..len]))
            });
        }
        report("fill of 2^16, f32", 1 << 16, || white.fill(black_box(8), black_box(&mut singles[..1 << 16])));
        report("fill of 2^24, f32", 1 << 24, || white.fill(black_box(8), black_box(&mut singles)));
        report("fill_parallel of 2^24", 1 << 24, || {
            white.fill_parallel(black_box(8), black_box(&mut doubles))
        });
        report("fill_parallel of 2^24, f32", 1 << 24, || {
            white.fill_parallel(black_box(8), black_box(&mut singles))
        });
        report("fill_parallel of 2^24, fresh memory", 1 << 24, || {
            let mut fresh = vec![0.0_f64; 1 << 24];
            white.fill_parallel(black_box(8), black_box(&mut fresh));
        });
    }
}
