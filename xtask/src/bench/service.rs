//! `cargo xtask bench service`: the service under load beside a bare endpoint, very many counters
//! that tick, and slow connections.

use std::fmt::Write as _;
use std::thread;

use serde_json::{Value, json};

use super::{duration, processor, write_results};
use crate::Outcome;
use crate::process::{self, command, output, output_with_progress, root};

pub(crate) fn run() -> Outcome {
    let report = measure("full")?;
    let text = text(&report)?;
    println!("{text}");
    let rustc = output(command("rustc").arg("--version"))?;
    let document = json!({
        "benchmark": "service", "cores": cores(), "processor": processor(),
        "versions": {"evertally": env!("CARGO_PKG_VERSION"), "rustc": rustc}, "results": report,
    });
    write_results("service", &document, &text)
}

/// Shows that all of it runs; its figures are not for publication, and not written.
pub(crate) fn run_quickly() -> Outcome {
    println!("{}", text(&measure("quick")?)?);
    Ok(())
}

fn measure(extent: &str) -> Result<Value, String> {
    process::build_service()?;
    let directory = process::fresh_directory("service")?;
    let report = output_with_progress(
        command(root().join("target/release/bench-service"))
            .arg(root().join("target/release/evertally"))
            .arg(&directory)
            .arg(extent),
    )?;
    serde_json::from_str(&report).map_err(|error| format!("the worker said {report:?}: {error}"))
}

fn text(report: &Value) -> Result<String, String> {
    let mut text = String::from(
        "# The service under load\n\nWritten by `cargo xtask bench service`. The service, the client and, in turns, a bare axum endpoint that parses the same bodies into the same \
         structs and answers at once are processes on one machine. Connections are kept, and each waits for its answer before it posts again. The service answers when events are on \
         the disk.\n\n## Events in\n\n\
         | | events a second | bare endpoint | ratio | p50 | p99 | p99.9 | bare p50 | bare p99 | bare p99.9 |\n|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in report["loads"].as_array().into_iter().flatten() {
        let rate = |side: &str| shown_rate(number(&row[side]["events_per_second"]));
        let times = |side: &str| {
            ["p50", "p99", "p99.9"].map(|name| duration(number(&row[side]["latency"][name]))).join(" | ")
        };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            text,
            "| {}, {} connections | **{}** | {} | **{:.0} %** ({:.0}–{:.0}) | {} | {} |",
            row["shape"].as_str().unwrap_or_default(),
            row["connections"],
            rate("service"),
            rate("bare"),
            100.0 * number(&row["ratio"]),
            100.0 * number(&row["least_ratio"]),
            100.0 * number(&row["most_ratio"]),
            times("service"),
            times("bare"),
        );
    }
    let refused: f64 =
        report["loads"].as_array().into_iter().flatten().map(|row| number(&row["service"]["refused"])).sum();
    let _ = writeln!(
        text,
        "\nThe ratio is the median of the rounds, with the least and the most of them. Requests refused as too many: {refused}. The service then held {}.",
        megabytes(&report["memory_after_load"]),
    );
    let ticks = &report["ticks"];
    let creation = &report["creation"];
    let _ = write!(
        text,
        "\n## {} counters that tick every second\n\nHow long after the end of its step a release arrives at a client that follows it live; {} counters are followed. \
         Creating all of them took {}, and the service then held {}.\n\n\
         | | releases | p50 | p99 | p99.9 | the latest | skipped |\n|:--|--:|--:|--:|--:|--:|--:|\n",
        creation["counters"],
        ticks["followed"],
        duration(number(&creation["seconds"])),
        megabytes(&report["memory_of_counters"]),
    );
    for (name, title) in [("without_ingest", "no events"), ("with_ingest", "events")] {
        let row = &ticks[name];
        let rate = row["events_per_second"]
            .as_f64()
            .map_or_else(String::new, |rate| format!(", {} a second", shown_rate(rate)));
        let late = &row["lateness"];
        let times = ["p50", "p99", "p99.9", "max"].map(|name| duration(number(&late[name]))).join(" | ");
        let _ = writeln!(text, "| {title}{rate} | {} | {times} | {} |", late["count"], row["skipped"]);
    }
    let slow = &report["slow"];
    let _ = write!(
        text,
        "\n## {} slow connections\n\nHalf of them send a head byte by byte, the others a body; when they are cut off they come again ({} times). Meanwhile {} connections post single events.\n\n\
         | | p50 | p99 | p99.9 | the slowest |\n|:--|--:|--:|--:|--:|\n",
        slow["slow_connections"], slow["reconnected"], slow["connections"],
    );
    for (name, title) in [("without", "without them"), ("with", "with them")] {
        let times = ["p50", "p99", "p99.9", "max"]
            .map(|quantile| duration(number(&slow[name][quantile])))
            .join(" | ");
        let _ = writeln!(text, "| {title} | {times} |");
    }
    let (processor, version) = (processor(), env!("CARGO_PKG_VERSION"));
    let rustc = output(command("rustc").arg("--version"))?;
    let _ = write!(
        text,
        "\nThe p99 with them is {:.2} times that without.\n\n{} cores ({processor}), shared with the client; evertally {version}, {rustc}.\n",
        number(&slow["ratio_of_p99"]),
        cores(),
    );
    Ok(text)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn megabytes(value: &Value) -> String {
    value.as_f64().map_or_else(
        || "an unknown amount of memory".to_owned(),
        |bytes| format!("{:.0} MB of memory", bytes / 1e6),
    )
}

fn shown_rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.1} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}
