//! The worker of `cargo xtask crash`: `crash BINARY DIRECTORY kills LOAD RECOVERY SEED` or `crash
//! BINARY DIRECTORY events N SEED`. It prints one line of JSON.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use evertally_trial::{bar, crash, flood};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<Value, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("expected a number, got {text:?}"));
    match arguments {
        [binary, directory, "kills", load, recovery, seed] => {
            let extent = crash::Extent {
                kills_under_load: number(load)?,
                kills_in_recovery: number(recovery)?,
                longest_life: Duration::from_millis(400),
                seed: number(seed)?,
            };
            let bar = bar("killing", extent.kills_under_load + extent.kills_in_recovery);
            let report = crash::run(Path::new(binary), Path::new(directory), &extent, |kills| {
                bar.set_position(kills);
            })?;
            bar.finish_and_clear();
            let at = |share: f64| {
                report.recoveries[((report.recoveries.len() - 1) as f64 * share) as usize].as_secs_f64()
            };
            Ok(json!({
                "kills": report.kills, "kills_in_recovery": report.kills_in_recovery, "events": report.events, "sent": report.sent,
                "releases": report.releases, "starts": report.recoveries.len(), "recovery_p50": at(0.5), "recovery_p99": at(0.99),
                "recovery_max": at(1.0), "bytes": report.size,
            }))
        }
        [binary, directory, "events", events, seed] => {
            let events = number(events)?;
            let bar = bar("posting", events);
            let posted = |events| bar.set_position(events);
            let report = flood::run(Path::new(binary), Path::new(directory), events, number(seed)?, posted)?;
            bar.finish_and_clear();
            Ok(json!({
                "unique": report.unique, "sent": report.sent, "duplicates": report.duplicates, "lost_replies": report.lost_replies,
                "steps": report.steps, "seconds": report.time.as_secs_f64(), "bytes": report.size, "memory": report.memory,
            }))
        }
        _ => Err("usage: crash BINARY DIRECTORY (kills LOAD RECOVERY SEED | events N SEED)".to_owned()),
    }
}
