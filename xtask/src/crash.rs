//! `cargo xtask crash`: the service killed under load a thousand times, the command line killed
//! between record and release, and ten million events with copies.

use std::fmt::Write as _;
use std::thread;

use serde_json::{Value, json};

use crate::Outcome;
use crate::bench::{duration, processor, write_results};
use crate::process::{self, command, output, root};

/// Kills under load where no number is named; half as many follow while the program recovers.
const KILLS: u64 = 1000;

/// Unique events where no number is named.
const EVENTS: u64 = 10_000_000;

/// Kills the program again and again, and writes what came of it.
pub(crate) fn kills(kills: Option<&str>) -> Outcome {
    let kills = number(kills, KILLS)?;
    let report = worker(&["kills", &kills.to_string(), &(kills / 2).to_string()])?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let seconds = |name: &str| duration(report[name].as_f64().unwrap_or(f64::NAN));
    let text = format!(
        "# The service, killed\n\n\
         Written by `cargo xtask crash`. `evertally serve` under load, killed with `kill -9` at random moments and started again: no acknowledged event was lost or \
         counted twice, no release that anybody had seen was changed or missing at the end, and every counter that was acknowledged as created or retired was.\n\n\
         | | |\n|:--|--:|\n\
         | kills | {} |\n| of these, while it recovered | {} |\n| unique events, all acknowledged | {} |\n| events sent, with copies and retries | {} |\n\
         | releases seen, and unchanged at the end | {} |\n| start until ready, median of {} | {} |\n| 99 % of them within | {} |\n| the slowest | {} |\n| the directory at the end | {:.1} MB |\n\n{}",
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
    println!("{text}");
    write_results("crash", &document("kills", &report)?, &text)
}

/// Kills the command line right after it has recorded what its key is used for, and writes what came of it.
pub(crate) fn keys(kills: Option<&str>) -> Outcome {
    let kills = number(kills, KILLS)?;
    let mut test = process::cargo();
    test.args(["test", "--package", "evertally-cli", "--test", "key_kills", "--", "--nocapture"]);
    let said = process::output_with_progress(test.env("EVERTALLY_KILLS", kills.to_string()))?;
    let report = said.lines().find(|line| line.starts_with('{'));
    let report: Value = report
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| format!("the test said {said:?}"))?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let text = format!(
        "# Killed between the record and the release\n\n\
         Written by `cargo xtask crash keys`. `evertally count --noise-key K --budget-file L --output F`, killed with `kill -9` as soon as the record of its key had an entry and before its \
         output was there. After every kill the same run with one row changed was refused, and wrote and spent nothing; the same run completed, with the releases of a run that nobody \
         disturbed, to the digit; and the ledger had one entry for it.\n\n\
         | | |\n|:--|--:|\n\
         | kills between record and release | {} |\n| kills that came too late, which do not count | {} |\n| time | {} |\n\n{}",
        number("kills"),
        number("missed"),
        duration(report["seconds"].as_f64().unwrap_or(f64::NAN)),
        machine()?,
    );
    println!("{text}");
    write_results("key-kills", &document("kills between record and release", &report)?, &text)
}

/// Posts very many events with copies, out of order and with lost replies, and writes what came of it.
pub(crate) fn events(events: Option<&str>) -> Outcome {
    let events = number(events, EVENTS)?;
    let report = worker(&["events", &events.to_string()])?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let seconds = report["seconds"].as_f64().unwrap_or(f64::NAN);
    let mut text = format!(
        "# Ten million events with copies\n\n\
         Written by `cargo xtask crash events`. Events over HTTP in batches, out of order, many of them more than once, with replies thrown away and the batch sent again, \
         while steps are closed: the total at the end was the number of unique ids.\n\n\
         | | |\n|:--|--:|\n\
         | unique ids, and the total released | {} |\n| events sent | {} |\n| called duplicates by receipts that were read | {} |\n| replies thrown away | {} |\n| steps closed meanwhile | {} |\n\
         | time | {} |\n| events a second, copies included | {:.0} |\n| the directory at the end | {:.0} MB |\n",
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
        let _ = writeln!(
            text,
            "| the most memory that the service held | {:.0} MB |",
            number("memory") as f64 / 1e6
        );
    }
    text.push_str(&format!("\n{}", machine()?));
    println!("{text}");
    write_results("events", &document("events with copies", &report)?, &text)
}

/// Runs the trial on the program as it is released, in a directory of its own.
fn worker(arguments: &[&str]) -> Result<Value, String> {
    process::build_service()?;
    let directory = process::fresh_directory("crash")?;
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let report = process::output_with_progress(
        command(root().join("target/release/trial-crash"))
            .arg(root().join("target/release/evertally"))
            .arg(directory.join("ledger"))
            .args(arguments)
            .arg(seed.to_string()),
    )?;
    serde_json::from_str(&report).map_err(|error| format!("the trial said {report:?}: {error}"))
}

fn document(benchmark: &str, report: &Value) -> Result<Value, String> {
    let rustc = output(command("rustc").arg("--version"))?;
    Ok(json!({
        "benchmark": benchmark, "cores": cores(), "processor": processor(),
        "versions": {"evertally": env!("CARGO_PKG_VERSION"), "rustc": rustc}, "results": report,
    }))
}

fn machine() -> Result<String, String> {
    let (processor, version) = (processor(), env!("CARGO_PKG_VERSION"));
    let rustc = output(command("rustc").arg("--version"))?;
    Ok(format!("{} cores ({processor}), shared with the clients; evertally {version}, {rustc}.\n", cores()))
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn number(text: Option<&str>, default: u64) -> Result<u64, String> {
    match text {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("expected a number, got {text:?}")),
    }
}
