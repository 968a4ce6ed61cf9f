//! `cargo xtask bench service`: compares the service under load with a bare endpoint, and measures
//! many counters that tick and slow connections.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Machine, duration, number, write_results};
use crate::Outcome;
use crate::process::{self, command, output_with_progress, root};

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let report = measure(if is_quick { "quick" } else { "full" })?;
    let text = text(&report)?;
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    let mut document = Machine::new()?.document("service");
    document["results"] = report;
    write_results("service", &document, &text)
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
    serde_json::from_str(&report).map_err(|error| format!("the worker printed {report:?}: {error}"))
}

fn text(report: &Value) -> Result<String, String> {
    let mut text = String::from(
        "# The service under load\n\nWritten by `cargo xtask bench service`. The service, the client and, alternately, a bare axum endpoint that parses the same bodies into the same \
         structs and answers at once are processes on one machine. Connections are persistent, and each waits for its answer before it posts again. The service answers once events are on \
         disk.

## Ingestion

\
         | | events per second | bare endpoint | ratio | p50 | p99 | p99.9 | bare p50 | bare p99 | bare p99.9 |\n|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
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
            100.0 * number(&row["min_ratio"]),
            100.0 * number(&row["max_ratio"]),
            times("service"),
            times("bare"),
        );
    }
    let refused: f64 =
        report["loads"].as_array().into_iter().flatten().map(|row| number(&row["service"]["refused"])).sum();
    let _ = writeln!(
        text,
        "\nThe ratio is the median of the rounds, with the minimum and maximum. Requests refused as too many: {refused}. The service then used {}.",
        megabytes(&report["memory_after_load"]),
    );
    let ticks = &report["ticks"];
    let creation = &report["creation"];
    let _ = write!(
        text,
        "\n## {} counters that tick every second\n\nThe delay between the end of a step and the arrival of its release at a client that follows it live. {} counters are followed. \
         Creating all of them took {}, and the service then used {}.\n\n\
         | | releases | p50 | p99 | p99.9 | max | skipped |\n|:--|--:|--:|--:|--:|--:|--:|\n",
        creation["counters"],
        ticks["followed"],
        duration(number(&creation["seconds"])),
        megabytes(&report["memory_of_counters"]),
    );
    for (name, title) in [("without_ingest", "no events"), ("with_ingest", "events")] {
        let row = &ticks[name];
        let rate = row["events_per_second"]
            .as_f64()
            .map_or_else(String::new, |rate| format!(", {} per second", shown_rate(rate)));
        let late = &row["lateness"];
        let times = ["p50", "p99", "p99.9", "max"].map(|name| duration(number(&late[name]))).join(" | ");
        let _ = writeln!(text, "| {title}{rate} | {} | {times} | {} |", late["count"], row["skipped"]);
    }
    let slow = &report["slow"];
    let _ = write!(
        text,
        "\n## {} slow connections\n\nHalf of them send a head byte by byte, the others a body. When they are disconnected they reconnect ({} times). Meanwhile {} connections post single events.\n\n\
         | | p50 | p99 | p99.9 | max |\n|:--|--:|--:|--:|--:|\n",
        slow["slow_connections"], slow["reconnected"], slow["connections"],
    );
    for (name, title) in [("without", "without them"), ("with", "with them")] {
        let times = ["p50", "p99", "p99.9", "max"]
            .map(|quantile| duration(number(&slow[name][quantile])))
            .join(" | ");
        let _ = writeln!(text, "| {title} | {times} |");
    }
    let _ = write!(
        text,
        "\nThe p99 with them is {:.2} times that without.\n\n{}",
        number(&slow["ratio_of_p99"]),
        Machine::new()?.line(", shared with the client"),
    );
    Ok(text)
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
