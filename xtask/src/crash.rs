//! `cargo xtask crash`: kills the service under load a thousand times, kills the command line
//! between record and release, and sends ten million events with copies.

use std::fmt::Write as _;

use serde_json::Value;

use crate::Outcome;
use crate::bench::{Machine, duration, write_results};
use crate::process::{self, command, root};

/// The default number of kills under load. Half as many follow during recovery.
const KILLS: u64 = 1000;

/// The default number of unique events.
const EVENTS: u64 = 10_000_000;

/// Kills the program many times, and writes the results.
pub(crate) fn kills(kills: Option<&str>) -> Outcome {
    let kills = number(kills, KILLS)?;
    let report = worker(&["kills", &kills.to_string(), &(kills / 2).to_string()])?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let seconds = |name: &str| duration(report[name].as_f64().unwrap_or(f64::NAN));
    let text = format!(
        "# The service, killed\n\n\
         Written by `cargo xtask crash`. `evertally serve` was killed under load with `kill -9` at random moments and restarted. No acknowledged event was lost or \
         counted twice, no observed release was changed or missing at the end, and every acknowledged creation and retirement of a counter persisted.

\
         | | |\n|:--|--:|\n\
         | kills | {} |\n| of these, during recovery | {} |\n| unique events, all acknowledged | {} |\n| events sent, including copies and retries | {} |\n\
         | releases observed, and unchanged at the end | {} |\n| start until ready, median of {} | {} |\n| 99 % of them within | {} |\n| the slowest | {} |\n| the directory at the end | {:.1} MB |\n\n{}",
        number("kills"),
        number("kills_in_recovery"),
        number("events"),
        number("sent"),
        number("releases"),
        number("starts"),
        seconds("recovery_p50"),
        seconds("recovery_p99"),
        seconds("recovery_max"),
        number("bytes") as f64 / 1e6,
        machine()?,
    );
    write_results("crash", &document("kills", report)?, &text)
}

/// Kills the command line right after it has recorded the use of its key, and writes the results.
pub(crate) fn keys(kills: Option<&str>) -> Outcome {
    let kills = number(kills, KILLS)?;
    let mut test = process::cargo();
    test.args(["test", "--package", "evertally-cli", "--test", "it", "key_kills::", "--", "--nocapture"]);
    let said = process::output_with_progress(test.env("EVERTALLY_KILLS", kills.to_string()))?;
    let report = said.lines().find(|line| line.starts_with('{'));
    let report: Value = report
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| format!("the test printed {said:?}"))?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let text = format!(
        "# Killed between the record and the release\n\n\
         Written by `cargo xtask crash keys`. `evertally count --noise-key K --budget-file L --output F`, was killed with `kill -9` as soon as the record of its key had an entry and before its \
         output existed. After every kill the same run with one changed row was refused, and wrote and spent nothing. The same run completed, with exactly the releases of an \
         undisturbed run, and the ledger had one entry for it.

\
         | | |\n|:--|--:|\n\
         | kills between record and release | {} |\n| kills that were too late, which do not count | {} |\n| time | {} |\n\n{}",
        number("kills"),
        number("missed"),
        duration(report["seconds"].as_f64().unwrap_or(f64::NAN)),
        machine()?,
    );
    write_results("key-kills", &document("kills between record and release", report)?, &text)
}

/// Posts many events with copies, out of order and with lost replies, and writes the results.
pub(crate) fn events(events: Option<&str>) -> Outcome {
    let events = number(events, EVENTS)?;
    let report = worker(&["events", &events.to_string()])?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let seconds = report["seconds"].as_f64().unwrap_or(f64::NAN);
    let mut text = format!(
        "# Ten million events with copies\n\n\
         Written by `cargo xtask crash events`. Events were posted over HTTP in batches, out of order, many of them more than once. Some replies were discarded and the batch sent again, \
         while steps were closed. The total at the end was the number of unique ids.

\
         | | |\n|:--|--:|\n\
         | unique ids, and the total released | {} |\n| events sent | {} |\n| duplicates according to the receipts that were read | {} |
| replies discarded | {} |\n| steps closed meanwhile | {} |\n\
         | time | {} |\n| events per second, including copies | {:.0} |\n| the directory at the end | {:.0} MB |\n",
        number("unique"),
        number("sent"),
        number("duplicates"),
        number("lost_replies"),
        number("steps"),
        duration(seconds),
        number("sent") as f64 / seconds,
        number("bytes") as f64 / 1e6,
    );
    if report["memory"].is_u64() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| peak memory of the service | {:.0} MB |", number("memory") as f64 / 1e6);
    }
    text.push_str(&format!("\n{}", machine()?));
    write_results("events", &document("events with copies", report)?, &text)
}

/// Runs the trial on the release build, in a fresh directory.
fn worker(arguments: &[&str]) -> Result<Value, String> {
    process::build_service()?;
    let directory = process::fresh_directory("crash")?;
    let report = process::output_with_progress(
        command(root().join("target/release/trial-crash"))
            .arg(root().join("target/release/evertally"))
            .arg(directory.join("ledger"))
            .args(arguments)
            .arg(process::seed_from_clock()),
    )?;
    serde_json::from_str(&report).map_err(|error| format!("the trial printed {report:?}: {error}"))
}

fn document(benchmark: &str, report: Value) -> Result<Value, String> {
    let mut document = Machine::new()?.document(benchmark);
    document["results"] = report;
    Ok(document)
}

fn machine() -> Result<String, String> {
    Ok(Machine::new()?.line(", shared with the clients"))
}

fn number(text: Option<&str>, default: u64) -> Result<u64, String> {
    match text {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("expected a number, got {text:?}")),
    }
}
