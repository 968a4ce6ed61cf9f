//! Times correlated noise on request, for `cargo xtask bench stream`.
//!
//! Each line of input is a task and its arguments. Each line of output is one answer, in seconds by
//! default. The Python worker `stream.py` uses the same protocol.

mod growth;
mod keyed;
mod memory;
mod one;
mod stages;
mod wide;

use std::io::{self, BufRead, Write};

use evertally::{Budget, Contribution, Mechanism, NoiseKey, Plan, PlanBuilder, Result};

use memory::Memory;

fn main() -> io::Result<()> {
    let mut memory = Memory::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = answer(&words, &mut memory)
            .map_err(|error| io::Error::other(format!("{line}: {error}")))?
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("unknown task: {line}")))?;
        writeln!(io::stdout(), "{answer}")?;
        io::stdout().flush()?;
    }
    Ok(())
}

/// `None` if the task is unknown.
fn answer(words: &[&str], memory: &mut Memory) -> Result<Option<String>> {
    // Numbers are the last words.
    let names = words.iter().take_while(|word| word.parse::<u64>().is_err()).count();
    let numbers: Vec<u64> = words[names..].iter().map_while(|word| word.parse().ok()).collect();
    let seconds = match (&words[..names], &numbers[..]) {
        // The peak memory of the process during the last task, beyond that before the task, in
        // bytes.
        (["peak"], []) => memory.peak() as f64,
        // The additional memory at the end of the last task.
        (["resident"], []) => memory.resident() as f64,
        // The mechanism of a name in this version.
        (["name", name], &[n]) => return Ok(Some(plan(name, n).build()?.mechanism().to_string())),
        (["error", name], &[n]) => plan(name, n).build()?.accuracy().mean_error,
        // The numbers per lane.
        (["rows", name], &[n]) => one::rows(name, n)? as f64,
        (["one", name], &[n]) => one::seconds(name, n, memory)?,
        (["wide", "f32", name], &[width, steps]) => {
            wide::seconds::<f32>(name, width as usize, steps, memory)?
        }
        (["wide", "f64", name], &[width, steps]) => {
            wide::seconds::<f64>(name, width as usize, steps, memory)?
        }
        (["white", "f32"], &[width]) => wide::white::<f32>(width as usize),
        (["white", "f64"], &[width]) => wide::white::<f64>(width as usize),
        (["write", "f32"], &[width]) => wide::write::<f32>(width as usize),
        (["write", "f64"], &[width]) => wide::write::<f64>(width as usize),
        (["keyed", name], &[keys, steps]) => keyed::seconds(name, keys as usize, steps, memory)?,
        (["keyed-bytes", name], &[keys, steps]) => keyed::planned_bytes(name, keys as usize, steps)? as f64,
        (["growth", "bytes"], &[n]) => plan(DEFAULT, n).build()?.cost().bytes(1) as f64,
        (["growth", "step"], &[n, at]) => growth::step(n, at)?,
        (["growth", "grades"], &[n, at]) => growth::grades(n, at)?,
        (["stage", group, stage], &[count]) => match stages::seconds(group, stage, count)? {
            Some(seconds) => seconds,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(seconds.to_string()))
}

const DEFAULT: &str = "graded-square-root";

/// A plan for running totals with this mechanism, or with the default one if this version does not
/// know the name.
fn plan(mechanism: &str, horizon: u64) -> PlanBuilder {
    let plan = Plan::prefix_sum(horizon);
    let plan = match mechanism.parse().or_else(|_| DEFAULT.parse::<Mechanism>()) {
        Ok(mechanism) => plan.mechanism(mechanism),
        Err(_) => plan,
    };
    // No figure depends on the budget.
    match Budget::new(1.0, 1e-6) {
        Ok(budget) => plan.budget(budget),
        Err(_) => plan,
    }
}

/// The same for vectors of norm one.
fn wide_plan(mechanism: &str, horizon: u64, width: usize) -> Result<Plan> {
    plan(mechanism, horizon).dimension(width).contribution(Contribution::norm(1.0)?).build()
}

/// The benchmark protects no data, so its key may be public.
fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(1)
}
