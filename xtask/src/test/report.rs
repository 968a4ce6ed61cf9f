//! The times of steps: as a table for people, and as `bench/test.json` and `bench/test.md`.

use serde_json::{Value, json};

use super::schedule::Ended;
use crate::Outcome;
use crate::bench::{cores, processor, write_results};
use crate::process::root;

/// The name of the results in `bench/`.
const NAME: &str = "test";

/// A table of the steps in the order in which they ended, with the time that passed over all.
pub(super) fn table(ended: &[Ended], seconds: f64) -> String {
    let width = ended.iter().map(|step| step.title.chars().count()).max().unwrap_or(0).max("all steps".len());
    let row = |title: &str, seconds: f64, cpu_seconds: Option<f64>, outcome: &str| {
        let cpu = cpu_seconds.map_or_else(String::new, |cpu| format!("{cpu:.1}"));
        format!("{title:width$}  {seconds:>8.1}  {cpu:>8}  {outcome}\n")
    };
    let rows = ended.iter().map(|step| {
        let outcome = if step.passed { "passed" } else { "FAILED" };
        row(step.title, step.seconds, step.cpu_seconds, outcome)
    });
    let cpu: Option<f64> = ended.iter().map(|step| step.cpu_seconds).sum();
    format!("{:width$}   seconds  of CPU\n", "step")
        + &rows.collect::<String>()
        + &row("all steps", seconds, cpu, "")
}

/// Writes the times of a run of all steps. What was measured before the tests became faster stays
/// in the file.
pub(super) fn write(ended: &[Ended]) -> Outcome {
    let old = std::fs::read_to_string(root().join("bench").join(NAME).with_extension("json"));
    let old: Value = old.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let steps: Vec<Value> = ended
        .iter()
        .map(|step| json!({ "name": step.name, "seconds": step.seconds, "cpu_seconds": step.cpu_seconds }))
        .collect();
    let document = json!({
        "benchmark": "the test command", "cores": cores(), "processor": processor(),
        "before": old["before"], "steps": steps,
    });
    write_results(NAME, &document, &markdown(&document))
}

/// Both runs in a table each, with their sums.
fn markdown(document: &Value) -> String {
    format!(
        "# The test command\n\nWritten by `cargo xtask test --timings` on {} cores ({}). The steps run side by side, so only their CPU time \
         can be added up.\n\n{}\n## Before\n\n{}\n\n{}",
        document["cores"],
        document["processor"].as_str().unwrap_or_default(),
        steps(&document["steps"]),
        document["before"]["measured"].as_str().unwrap_or("Not measured."),
        steps(&document["before"]["steps"]),
    )
}

fn steps(steps: &Value) -> String {
    let steps = steps.as_array().map_or(&[][..], Vec::as_slice);
    let seconds = |step: &Value| step["cpu_seconds"].as_f64().unwrap_or(0.0);
    let rows = steps
        .iter()
        .map(|step| format!("| {} | {:.0} |\n", step["name"].as_str().unwrap_or_default(), seconds(step)));
    let sum: f64 = steps.iter().map(seconds).sum();
    format!("| step | CPU seconds |\n|:--|--:|\n{}| **all** | **{sum:.0}** |\n", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_both_runs_and_their_sums() {
        let run = |seconds: [f64; 2]| json!([{ "name": "a", "cpu_seconds": seconds[0] }, { "name": "b", "cpu_seconds": seconds[1] }]);
        let text = markdown(
            &json!({ "steps": run([1.0, 2.0]), "before": { "steps": run([10.0, 20.0]), "measured": "So." } }),
        );
        assert!(text.contains("| b | 2 |\n| **all** | **3** |"), "{text}");
        assert!(
            text.contains(
                "So.\n\n| step | CPU seconds |\n|:--|--:|\n| a | 10 |\n| b | 20 |\n| **all** | **30** |"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_table_names_what_failed() {
        let step = |title, passed| Ended {
            name: title,
            title,
            passed,
            seconds: 1.5,
            cpu_seconds: Some(2.0),
            skipped: Vec::new(),
        };
        let text = table(&[step("first", true), step("second one", false)], 2.0);
        assert!(text.contains("second one       1.5       2.0  FAILED\n"), "{text}");
        assert!(text.contains("all steps        2.0       4.0"), "{text}");
    }
}
