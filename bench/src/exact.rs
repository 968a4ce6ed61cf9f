//! Times exact noise and the counters on request, for `cargo xtask bench exact`.
//!
//! Each line of input is a task and its numbers. Each line of output is the seconds it took. The
//! Python worker `exact.py` answers for OpenDP.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use evertally::internals::noise::{IntegerLaw, IntegerNoise, KeyedNoise, LaneTag, NoiseKey, StreamKey};
use evertally::{Budget, Counter, KeyedCounter, NoiseStream, Plan, PlanBuilder, Result};

/// The number of lanes that are drawn together.
const LANES: u32 = 1000;
/// The number of steps of one lane that are drawn together.
const STEPS: u64 = 64;

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let seconds = match (words.first().copied(), &numbers[..]) {
            (Some("across"), &[scale, draws]) => Ok(across(IntegerLaw::Gaussian, scale, draws)),
            (Some("laplace"), &[scale, draws]) => Ok(across(IntegerLaw::Laplace, scale, draws)),
            (Some("along"), &[scale, draws]) => Ok(along(scale, draws)),
            (Some("one-by-one"), &[scale, draws]) => Ok(one_by_one(scale, draws)),
            (Some("floats"), &[draws]) => Ok(floats(draws)),
            (Some("counter"), &[horizon, steps]) => counter(horizon, steps),
            (Some("keyed"), &[horizon, keys, steps]) => keyed(horizon, keys as usize, steps),
            (Some("float-stream"), &[horizon, steps]) => float_stream(horizon, steps),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("unknown task: {line}"))),
        };
        let seconds = seconds.map_err(|error| io::Error::other(format!("{line}: {error}")))?;
        writeln!(io::stdout(), "{seconds}")?;
        io::stdout().flush()?;
    }
    Ok(())
}

/// The benchmark protects no data, so its key may be public.
fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(1)
}

fn stream() -> StreamKey {
    key().stream(b"bench")
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Many lanes, step by step.
fn across(law: IntegerLaw, scale: u64, draws: u64) -> f64 {
    let noise = IntegerNoise::new(stream(), law);
    let tags: Vec<LaneTag> = (0..LANES).map(|lane| noise.tag(&lane.to_le_bytes())).collect();
    let mut row = [0; LANES as usize];
    seconds(|| {
        for index in 0..draws / u64::from(LANES) {
            noise.draw_each(&tags, index, scale, black_box(&mut row));
        }
    })
}

/// One lane, several steps at a time.
fn along(scale: u64, draws: u64) -> f64 {
    let noise = IntegerNoise::new(stream(), IntegerLaw::Gaussian);
    let lane = noise.tag(&0_u32.to_le_bytes());
    let (scales, mut out) = ([scale; STEPS as usize], [0; STEPS as usize]);
    seconds(|| {
        for first in (0..draws).step_by(STEPS as usize) {
            noise.draw_steps(lane, first, black_box(&scales), black_box(&mut out));
        }
    })
}

/// One lane, one step at a time.
fn one_by_one(scale: u64, draws: u64) -> f64 {
    let noise = IntegerNoise::new(stream(), IntegerLaw::Gaussian);
    let lane = noise.tag(&0_u32.to_le_bytes());
    seconds(|| {
        for index in 0..draws {
            black_box(noise.draw(lane, index, black_box(scale)));
        }
    })
}

/// Float noise of many lanes, step by step.
fn floats(draws: u64) -> f64 {
    let noise = KeyedNoise::gaussian(stream());
    let tags: Vec<LaneTag> = (0..LANES).map(|lane| noise.tag(&lane.to_le_bytes())).collect();
    let mut row = [0.0_f64; LANES as usize];
    seconds(|| {
        for index in 0..draws / u64::from(LANES) {
            noise.draw_each(&tags, index, black_box(&mut row));
        }
    })
}

fn plan(horizon: u64) -> Result<PlanBuilder> {
    Ok(Plan::prefix_sum(horizon).budget(Budget::new(1.0, 1e-6)?))
}

fn counter(horizon: u64, steps: u64) -> Result<f64> {
    let mut counter = Counter::new(&plan(horizon)?.build()?, key())?;
    let start = Instant::now();
    for step in 0..steps {
        black_box(counter.step(black_box((step % 7) as f64))?);
    }
    Ok(start.elapsed().as_secs_f64())
}

fn keyed(horizon: u64, keys: usize, steps: u64) -> Result<f64> {
    let plan = plan(horizon)?.keys((0..keys).map(|key| format!("key {key}"))).build()?;
    let mut counter = KeyedCounter::new(&plan, key())?;
    let inputs: Vec<f64> = (0..keys).map(|key| (key % 7) as f64).collect();
    let mut out = vec![0.0; keys];
    let start = Instant::now();
    for _ in 0..steps {
        black_box(counter.step_into(black_box(&inputs), black_box(&mut out))?);
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The float noise of the same plan.
fn float_stream(horizon: u64, steps: u64) -> Result<f64> {
    let mut noise = NoiseStream::<f64>::new(&plan(horizon)?.build()?, key())?;
    let start = Instant::now();
    for _ in 0..steps {
        black_box(noise.next()?);
    }
    Ok(start.elapsed().as_secs_f64())
}
