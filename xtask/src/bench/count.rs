//! `cargo xtask bench count`: compares a count per step and key with DuckDB and polars.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::{Machine, write_results};
use crate::Outcome;
use crate::process::{cargo, command, output_with_progress, root, run as run_command};
use crate::venv;

const PACKAGES: [&str; 2] = ["duckdb==2.0.0", "polars==2.1.0"];

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let python = venv::python("bench-count", &PACKAGES)?;
    run_command(cargo().args(["build", "--release"]))?;
    let (rows, rounds) = if is_quick { ("300000", "1") } else { ("30000000", "3") };
    let directory = root().join("target/bench-count");
    fs::create_dir_all(&directory).map_err(|error| format!("cannot make target/bench-count: {error}"))?;
    let mut measure = command(&python);
    measure.arg("bench/count.py").arg(root().join("target/release/evertally")).arg(&directory);
    let measured = output_with_progress(measure.args([rows, rounds]));
    // The files take gigabytes.
    let _ = fs::remove_dir_all(&directory);
    let figures: Value =
        serde_json::from_str(&measured?).map_err(|error| format!("bench/count.py: {error}"))?;
    let machine = Machine::with_packages(PACKAGES)?;
    let text = report(&figures, &machine);
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    let mut document = machine.document("count");
    document["count"] = figures;
    write_results("count", &document, &text)
}

fn report(figures: &Value, machine: &Machine) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let results = figures["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let find = |form: &str, side: &str| {
        results.iter().find(|row| row["form"] == form && row["side"] == side && row["with"] == "")
    };
    let millions = number(&figures["rows"]) / 1e6;
    let mut text = format!(
        "# Counting files compared with DuckDB and polars\n\n\
         Written by `cargo xtask bench count`. A count of {millions} million events per hour and key, of {} keys over 1344 \
         hours, in turn on one machine: the best of {} rounds. The CPU time of evertally is that of the whole process, with \
         planning and noise. That of the others is measured around the query, without the start of Python. Runs with ids and \
         persons are measured once.\n",
        figures["keys"], figures["rounds"]
    );
    for (form, title) in [("parquet", "Parquet"), ("csv", "CSV")] {
        let duckdb = find(form, "duckdb").map_or(f64::NAN, |row| number(&row["cpu_s"]));
        let size = number(&figures["bytes"][form]) / 1e6;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {title}, {size:.0} MB\n\n| | CPU | ratio to DuckDB | elapsed | peak memory |\n|:--|--:|--:|--:|--:|\n"
        );
        for row in results.iter().filter(|row| row["form"] == form) {
            let (side, with) =
                (row["side"].as_str().unwrap_or_default(), row["with"].as_str().unwrap_or_default());
            let name = match (side, with) {
                ("evertally", "") => "**evertally**".to_owned(),
                ("evertally", with) => format!("evertally, with {with}"),
                (side, _) => side.to_owned(),
            };
            let cpu = number(&row["cpu_s"]);
            let (ratio, wall, memory) = (cpu / duckdb, number(&row["wall_s"]), number(&row["peak_mib"]));
            let _ = writeln!(text, "| {name} | {cpu:.2} s | {ratio:.2} | {wall:.2} s | {memory:.0} MiB |");
        }
    }
    let _ = write!(text, "\n{}", machine.line(""));
    text
}
