//! `cargo xtask bench discover`: finds groups privately among very many, beside DuckDB's `GROUP BY`, and beside
//! libraries that find groups once.

use std::fs;

use serde_json::Value;

use super::{Machine, number, write_results};
use crate::Outcome;
use crate::process::{cargo, command, output_with_progress, root, run as run_command};
use crate::venv;

const PACKAGES: [&str; 4] = ["duckdb==2.0.0", "opendp==0.16.0", "pipeline-dp==0.3.1", "python-dp==1.1.5"];

/// A quick run shows that the benchmark works. Its figures are not for publication and are not written.
pub(crate) fn run(is_quick: bool) -> Outcome {
    let python = venv::python("bench-discover", &PACKAGES)?;
    run_command(cargo().args(["build", "--release"]))?;
    let (groups, rounds) = if is_quick { ("100000", "1") } else { ("10000000", "2") };
    let directory = root().join("target/bench-discover");
    fs::create_dir_all(&directory).map_err(|error| format!("cannot make target/bench-discover: {error}"))?;
    let mut measure = command(&python);
    measure.arg("bench/discover.py").arg(root().join("target/release/evertally")).arg(&directory);
    let measured = output_with_progress(measure.args([groups, rounds]));
    // The files take gigabytes.
    let _ = fs::remove_dir_all(&directory);
    let figures: Value =
        serde_json::from_str(&measured?).map_err(|error| format!("bench/discover.py: {error}"))?;
    let machine = Machine::with_packages(PACKAGES)?;
    let text = report(&figures, &machine);
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    let mut document = machine.document("discover");
    document["discover"] = figures;
    write_results("discover", &document, &text)
}

fn report(figures: &Value, machine: &Machine) -> String {
    let of = |name: &str| number(&figures[name]);
    let judged = |name: &str| number(&figures["judged"][name]);
    let row = |side: &str, name: &str| {
        let result = &figures["results"][side];
        let [cpu, wall, peak] = ["cpu_s", "wall_s", "peak_bytes"].map(|name| number(&result[name]));
        let (speed, each) = (of("events") / cpu, peak / of("groups"));
        format!(
            "| {name} | {cpu:.2} s | {wall:.2} s | {speed:.0} | {:.0} MiB | {each:.0} B |\n",
            peak / 1048576.0
        )
    };
    let share = 100.0 * judged("found_in_time") / judged("with_twice");
    format!(
        "# Finding groups among very many\n\n\
         Written by `cargo xtask bench discover`. {events} events of as many persons in {groups} groups, most of them seen once, \
         over {steps} steps, as Parquet of {size:.0} MB. `count --discover` at ε = 1 and δ = 10⁻⁶ with its defaults, beside DuckDB, \
         which counts the persons of every group and step and hides none: the best of {rounds} rounds. The CPU time of evertally is \
         that of the whole process. That of DuckDB is measured around the query.\n\n\
         | | CPU | elapsed | events per CPU second | peak memory | per group |\n|:--|--:|--:|--:|--:|--:|\n{ours}{theirs}\n\
         The peak of evertally includes the events and the names of all groups. The counter itself holds 43 bytes of a group below \
         the floor, which `crates/evertally/tests/memory.rs` measures.\n\n\
         | | |\n|:--|--:|\n\
         | threshold at the last step | {threshold} persons |\n\
         | groups with twice as many persons | {twice} |\n\
         | of these, shown by the step at which they passed it | {share:.2} % |\n\
         | groups with as many persons as the threshold | {once} |\n\
         | of these, shown | {found} |\n\
         | groups shown | {shown} |\n\
         | groups of one person that were shown | {alone} |\n\
         | typical error of a total | ± {rmse:.1} |\n\n{beside}{line}",
        events = of("events"),
        groups = of("groups"),
        steps = of("steps"),
        size = of("bytes") / 1e6,
        rounds = of("rounds"),
        ours = row("evertally", "**evertally**"),
        theirs = row("duckdb", "DuckDB"),
        threshold = judged("threshold"),
        twice = judged("with_twice"),
        once = judged("with_threshold"),
        found = judged("found_of_these"),
        shown = judged("shown"),
        alone = judged("shown_of_one_person"),
        rmse = of("rmse"),
        beside = once(&figures["once"]),
        line = machine.line(""),
    )
}

/// The table of those who find groups once.
fn once(figures: &Value) -> String {
    let row = |side: &str, name: &str, releases: &str| {
        let result = &figures["sides"][side];
        let [cpu, found, alone, rmse] =
            ["cpu_s", "found", "of_one_person", "rmse"].map(|name| number(&result[name]));
        format!("| {name} | {releases} | {found} | {alone} | {rmse:.1} | {cpu:.2} s |\n")
    };
    format!(
        "## Beside one release\n\n\
         {events} events in {groups} groups of the same kind, at the same ε and δ. OpenDP (Laplace noise and a threshold) and PipelineDP \
         (partition selection and Laplace noise) release the persons of each group once, at the end, and spend everything on it. evertally \
         releases them after every step, with the same promise for all steps together, so its threshold and its errors are larger: that is \
         the price of continual release. The CPU time of evertally is that of the whole process, that of the others begins with Python's \
         objects in memory. PipelineDP runs on its local backend, which is for tests; Beam and Spark divide the work, and do not reduce \
         it.\n\n\
         | | releases | groups found | of one person | error of their counts | CPU |\n|:--|--:|--:|--:|--:|--:|\n{}{}{}\n",
        row("evertally", "**evertally**", "every step"),
        row("opendp", "OpenDP", "one"),
        row("pipelinedp", "PipelineDP", "one"),
        events = number(&figures["events"]),
        groups = number(&figures["groups"]),
    )
}
