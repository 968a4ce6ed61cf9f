//! `cargo xtask crash spark`: kills the driver and the executors of a streaming query on Spark at
//! chosen points.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Outcome;
use crate::bench::{cores, duration, processor, write_results};
use crate::process::{self, command, output, root};
use crate::spark;

/// The minimum number of points of a valid trial.
const MIN_POINTS: usize = 20;

/// The kinds of points: their names in the trial, and their descriptions in the report.
const KINDS: [(&str, &str); 9] = [
    ("offsets", "driver: the content of the batch is logged"),
    ("sink", "driver: before the sink starts"),
    ("state", "driver: some of the batch's state is written"),
    ("written", "driver: releases are written under temporary names"),
    ("shown", "driver: releases are in place, and Spark has not recorded it"),
    ("committed", "driver: Spark has recorded that the batch is done"),
    ("random", "driver: a random moment of the batch"),
    ("executor", "executor: while every executor has a task"),
    ("executor state", "executor: some of the batch's state is written"),
];

/// Kills the query at every kind of point, and writes the results.
pub(crate) fn run() -> Outcome {
    let python = spark::environment()?;
    process::build_as_tested()?;
    let directory = process::fresh_directory("spark-crash")?;
    let said = process::output_with_progress(
        spark::program(&python)?
            .arg("python/tests/spark/kills.py")
            .arg(&directory)
            .arg(process::seed_from_clock())
            .env("EVERTALLY_BINARY", root().join("target/debug/evertally")),
    )?;
    let report: Value =
        serde_json::from_str(&said).map_err(|error| format!("the trial printed {said:?}: {error}"))?;
    let points = report["points"].as_array().map_or(&[][..], Vec::as_slice);
    if points.len() < MIN_POINTS {
        return Err(format!("the queries ended after {} points of {MIN_POINTS}", points.len()));
    }
    // Points that the query ran past are not in the list. Every kind must have been reached.
    if let Some((kind, _)) = KINDS.iter().find(|(kind, _)| points.iter().all(|point| point["kind"] != *kind))
    {
        return Err(format!("no point of the kind `{kind}` was reached"));
    }
    let text = text(&report, points)?;
    let versions = json!({
        "evertally": env!("CARGO_PKG_VERSION"), "pyspark": report["pyspark"], "java": java()?,
    });
    let document = json!({
        "benchmark": "kills on Spark", "cores": cores(), "processor": processor(), "versions": versions, "results": report,
    });
    write_results("spark-crash", &document, &text)
}

fn text(report: &Value, points: &[Value]) -> Result<String, String> {
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let mut text = String::from(
        "# A query on Spark, killed\n\n\
         Written by `cargo xtask crash spark`. The driver or an executor of a streaming query with bounded persons, state, checkpoint and `ReleaseFiles` was killed with `kill -9` at chosen points. \
         A dead driver was restarted from the checkpoint. Spark replaced a dead executor while the query continued. After every death of a driver, every release in any file, \
         including unfinished ones, was the one of a counter on one machine, to the bit. None was in two batches, and none that was visible before was gone. At the end none was \
         missing. The noise key was never in the checkpoint, the releases, the logs of drivers and executors, or the event log of Spark's pages.\n\n\
         | killed | local cluster of two workers | one process | batches |\n|:--|--:|--:|:--|\n",
    );
    for (kind, words) in KINDS {
        let of_kind: Vec<&Value> = points.iter().filter(|point| point["kind"] == kind).collect();
        let on_cluster = of_kind
            .iter()
            .filter(|point| {
                point["master"].as_str().is_some_and(|master| master.starts_with("local-cluster"))
            })
            .count();
        let batches: BTreeSet<u64> = of_kind.iter().filter_map(|point| point["batch"].as_u64()).collect();
        let batches: Vec<String> = batches.iter().map(u64::to_string).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {words} | {on_cluster} | {} | {} |",
            of_kind.len() - on_cluster,
            batches.join(", ")
        );
    }
    let left_alone = points.iter().filter(|point| point["leaves_executors"] == true).count();
    let batches: Vec<String> =
        report["batches"].as_array().into_iter().flatten().map(Value::to_string).collect();
    let _ = write!(
        text,
        "\n| | |\n|:--|--:|\n\
         | points reached | {} |\n| of these, drivers whose executors were not killed with them | {left_alone} |\n| starts from the checkpoint, including the first and the last | {} |\n\
         | tasks lost with their executor and retried | {} |\n| batches of the two queries | {} |\n| releases of the two queries | {} |\n| comparisons of a release with that of a single machine | {} |\n\
         | time | {} |\n\n{} cores ({}); evertally {}, pyspark {}, {}.\n",
        points.len(),
        number("starts"),
        number("tasks_lost"),
        batches.join(" and "),
        number("releases"),
        number("compared"),
        duration(report["seconds"].as_f64().unwrap_or(f64::NAN)),
        cores(),
        processor(),
        env!("CARGO_PKG_VERSION"),
        report["pyspark"].as_str().unwrap_or("?"),
        java()?,
    );
    Ok(text)
}

/// The first line of `java --version`.
fn java() -> Result<String, String> {
    let version = output(command(spark::java_program()).arg("--version"))?;
    Ok(version.lines().next().unwrap_or("Java").to_owned())
}
