//! What a step consists of, each part timed alone. On one thread, the parts add up.

mod keyed;
mod one;
mod wide;

use std::time::Instant;

use evertally::Result;

/// Something that takes time.
type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Seconds a step and value of a part, among this many steps, coordinates or keys. Nothing where it
/// is unknown.
pub(crate) fn seconds(room: &str, stage: &str, count: u64) -> Result<Option<f64>> {
    match room {
        "one" => one::seconds(stage, count),
        "wide" => wide::seconds(stage, count as usize),
        "keyed" => keyed::seconds(stage, count as usize),
        _ => Ok(None),
    }
}

/// Seconds, best of several, after a first run that is not timed.
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
