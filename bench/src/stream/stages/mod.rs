//! The parts of a step, each timed alone. On one thread, the parts add up.

mod keyed;
mod one;
mod wide;

use std::time::Instant;

use evertally::Result;

/// A part to time.
type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// The seconds per step and value of a part, for this many steps, coordinates or keys. `None` if it
/// is unknown.
pub(crate) fn seconds(group: &str, stage: &str, count: u64) -> Result<Option<f64>> {
    match group {
        "one" => one::seconds(stage, count),
        "wide" => wide::seconds(stage, count as usize),
        "keyed" => keyed::seconds(stage, count as usize),
        _ => Ok(None),
    }
}

/// Seconds, the best of several runs after an untimed one.
fn best(mut work: Work<'_>) -> Result<f64> {
    work()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}
