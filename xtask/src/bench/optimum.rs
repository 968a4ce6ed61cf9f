//! `cargo xtask bench optimum`: the errors of the sum of Markov chains beside certified optima, and
//! what its plans cost.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Machine, duration, number, write_results};
use crate::Outcome;
use crate::process::{cargo, output};

/// The kinds of rows that the example prints, in the order of the report.
const KINDS: [(&str, &str); 4] = [
    ("mean", "running totals, mean over all steps"),
    ("worst", "running totals, worst step"),
    ("decay", "decayed totals, mean over all steps"),
    ("decay worst", "decayed totals, worst step"),
];

/// The longest of the log-random horizons by default.
pub(crate) const LONGEST: &str = "1048576";

/// Random horizons reach up to `longest`. A quick run shows that the benchmark works, and writes nothing.
pub(crate) fn run(is_quick: bool, longest: &str) -> Outcome {
    let (horizons, longest) = if is_quick { ("9", "1000") } else { ("300", longest) };
    eprintln!("certifying {horizons} optima; up to 2^20 steps, this takes half an hour");
    let arguments = ["run", "--release", "--quiet", "--package", "evertally", "--example", "optimum", "--"];
    let printed = output(cargo().args(arguments).args([horizons, longest]))?;
    let rows: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{line:?}: {error}")))
        .collect::<Result<_, _>>()?;
    let (text, document) = results(&rows)?;
    if is_quick {
        println!("{text}");
        return Ok(());
    }
    write_results("optimum", &document, &text)
}

fn results(rows: &[Value]) -> Result<(String, Value), String> {
    let machine = Machine::new()?;
    let of = |kind: &'static str| rows.iter().filter(move |row| row["kind"] == kind);
    let mut text = String::from(
        "# The optimum, streamed

How far the squared error of `markov` is above the least that any factorization can have, at log-random horizons from 2, and at 300,000, 700,001 and 2^20 steps. The least is certified, and the largest excess is stated, not
the mean. Decays remember a log-random number of steps. `cargo xtask bench optimum LONGEST` repeats it, for random horizons up to LONGEST.

| | horizons | longest | largest excess | at | median excess |
|:--|--:|--:|--:|:--|--:|
",
    );
    let mut measured = Vec::new();
    for (kind, name) in KINDS {
        let mut found: Vec<&Value> = of(kind).collect();
        found.sort_by(|a, b| number(&a["excess"]).total_cmp(&number(&b["excess"])));
        let (Some(largest), Some(median)) = (found.last(), found.get(found.len() / 2)) else { continue };
        let longest = found.iter().filter_map(|row| row["n"].as_u64()).max().unwrap_or_default();
        let mut at = format!("{} steps", largest["n"]);
        if !largest["memory"].is_null() {
            let _ = write!(at, ", memory {}", largest["memory"]);
        }
        let (most, middle) = (number(&largest["excess"]), number(&median["excess"]));
        let _ = writeln!(text, "| {name} | {} | {longest} | {most:.1e} | {at} | {middle:.1e} |", found.len());
        measured.push(json!({
            "kind": kind, "count": found.len(), "longest": longest, "largest": most, "at": largest, "median": middle,
        }));
    }
    text.push_str(
        "
Plans of running totals. `numbers` are those of a lane. `held` is what a plan holds once, for any number of lanes.

| steps | numbers | held | time to prepare | mean error factor |
|--:|--:|--:|--:|--:|
",
    );
    for row in of("plan") {
        let (seconds, held) = (number(&row["seconds"]), number(&row["shared"]) / 1024.0);
        let _ = writeln!(
            text,
            "| {} | {} | {held:.0} KiB | {} | {:.4} |",
            row["n"],
            row["numbers"],
            duration(seconds),
            number(&row["mean"]),
        );
    }
    let _ = write!(text, "\n{}", machine.line(""));
    let mut document = machine.document("optimum");
    document["excess"] = json!(measured);
    document["plans"] = json!(of("plan").collect::<Vec<_>>());
    Ok((text, document))
}
