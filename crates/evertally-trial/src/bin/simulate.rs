//! The worker of `cargo xtask simulate`: `trial-simulate SEEDS FIRST`. All cores run seeds. The
//! first failure ends the run and names its seed.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use evertally_trial::{bar, simulation};

/// The number of steps of one simulation.
const STEPS: u64 = 250;

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).map_while(|text| text.parse().ok()).collect();
    let [seeds, first] = numbers[..] else {
        eprintln!("usage: trial-simulate SEEDS FIRST");
        return ExitCode::FAILURE;
    };
    let (next, failure, bar) = (AtomicU64::new(first), Mutex::new(None), bar("simulating", seeds));
    let totals = [(); 4].map(|()| AtomicU64::new(0));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = failure.lock().is_ok_and(|failure| failure.is_some());
                    if seed >= first + seeds || is_over {
                        return;
                    }
                    match simulation::run(seed, STEPS) {
                        Ok(report) => {
                            let parts = [
                                report.events,
                                report.crashes,
                                report.failures,
                                u64::from(report.epochs) - 1,
                            ];
                            totals.iter().zip(parts).for_each(|(total, part)| {
                                total.fetch_add(part, Ordering::Relaxed);
                            });
                        }
                        Err(broken) => {
                            if let Ok(mut failure) = failure.lock() {
                                failure.get_or_insert((seed, broken));
                            }
                        }
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let failure = failure.into_inner().ok().flatten();
    if let Some((seed, broken)) = failure {
        eprintln!("{broken}\n`cargo xtask simulate 1 {seed}` repeats it");
        return ExitCode::FAILURE;
    }
    let [events, crashes, failures, epochs] = totals.map(AtomicU64::into_inner);
    println!(
        "{seeds} seeds of {STEPS} steps: {events} events counted, {failures} storage failures, {crashes} crashes, {epochs} new epochs; nothing was lost or changed"
    );
    ExitCode::SUCCESS
}
