//! `cargo xtask crash spark`: a streaming query on Spark, its driver and its executors killed at
//! chosen points.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use crate::Outcome;
use crate::bench::{duration, processor, write_results};
use crate::process::{self, command, output, root};
use crate::spark;

/// Fewer points than this are no trial.
const FEWEST_POINTS: usize = 20;

/// What is killed where, in the words of the trial and in those of the report.
const KINDS: [(&str, &str); 9] = [
    ("offsets", "driver: what the batch consists of is logged"),
    ("sink", "driver: before the sink begins"),
    ("state", "driver: some of the batch's state is written"),
    ("written", "driver: releases lie beside their place"),
    ("shown", "driver: releases are in their place, and Spark has not noted it"),
    ("committed", "driver: Spark has noted that the batch is done"),
    ("random", "driver: a random moment of the batch"),
    ("executor", "executor: while every executor has a task"),
    ("executor state", "executor: some of the batch's state is written"),
];

/// Kills the query at every kind of point, and writes what came of it.
pub(crate) fn run() -> Outcome {
    let python = spark::environment()?;
    process::build_as_tested()?;
    let directory = process::fresh_directory("spark-crash")?;
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let said = process::output_with_progress(
        spark::program(&python)?
            .arg("python/tests/spark/kills.py")
            .arg(&directory)
            .arg(seed.to_string())
            .env("EVERTALLY_BINARY", root().join("target/debug/evertally")),
    )?;
    let report: Value =
        serde_json::from_str(&said).map_err(|error| format!("the trial said {said:?}: {error}"))?;
    let points = report["points"].as_array().map_or(&[][..], Vec::as_slice);
    if points.len() < FEWEST_POINTS {
        return Err(format!("the queries ended after {} points of {FEWEST_POINTS}", points.len()));
    }
    // A point that the query ran past is not among them: every kind must have been struck.
    if let Some((kind, _)) = KINDS.iter().find(|(kind, _)| points.iter().all(|point| point["kind"] != *kind))
    {
        return Err(format!("no point of the kind `{kind}` was struck"));
    }
    let text = text(&report, points)?;
    println!("{text}");
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
         Written by `cargo xtask crash spark`. A streaming query with persons bounded, state, checkpoint and `ReleaseFiles`, its driver or an executor killed with `kill -9` at chosen points; \
         a dead driver is started again from the checkpoint, a dead executor is replaced by Spark while the query goes on. After every death of a driver, every release that lay anywhere, \
         also in what was still being written, was the one of `evertally count`, to the bit; none was in two batches, and none that could be seen before was gone. At the end none was \
         missing. The noise key was never in the checkpoint, the releases, the logs of drivers and executors or the record of events that Spark's pages are made from.\n\n\
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
         | points struck | {} |\n| of these, drivers whose executors were left to find out by themselves | {left_alone} |\n| starts from the checkpoint, the first and the last included | {} |\n\
         | tasks lost with their executor and tried again | {} |\n| batches of the two queries | {} |\n| releases of the two queries | {} |\n| comparisons of a release with that of one machine | {} |\n\
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

/// What Java calls itself; Spark takes that of `JAVA_HOME` where it is set.
fn java() -> Result<String, String> {
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let program = home.map_or_else(|| PathBuf::from("java"), |home| PathBuf::from(home).join("bin/java"));
    let said = output(command(program).arg("--version"))?;
    Ok(said.lines().next().unwrap_or("Java").to_owned())
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
