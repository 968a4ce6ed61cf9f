//! `cargo xtask bench unbounded`: the price of an unknown end, beside other ways to pay it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Machine, number, write_results};
use crate::Outcome;
use crate::process::{self, command, output, root};

/// The columns, and what they are.
const COLUMNS: [(&str, &str); 6] = [
    ("every_step", "evertally"),
    ("anytime_mean", "evertally, anytime: mean so far"),
    ("square_root_capped", "square root, cap 2^40"),
    ("doubling", "restarts"),
    ("logarithmic_capped", "logarithmic, cap 2^40"),
    ("logarithmic", "logarithmic"),
];

pub(crate) fn run() -> Outcome {
    process::build_workers()?;
    let lines = output(&mut command(root().join("target/release/bench-unbounded")))?;
    let mut rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect::<Result<_, String>>()?;
    if rows.is_empty() {
        return Err("the worker printed nothing".to_owned());
    }
    let least = rows.remove(0);
    let mut document = Machine::new()?.document("the price of an unknown end");
    (document["least"], document["rows"]) = (least.clone(), json!(rows));
    write_results("unbounded", &document, &text(&least, &rows))
}

fn text(least: &Value, rows: &[Value]) -> String {
    let largest = |name: &str| rows.iter().map(|row| number(&row[name])).fold(0.0, f64::max);
    let heads: Vec<&str> = COLUMNS.iter().map(|(_, head)| *head).collect();
    let mut table = format!("| steps | {} |\n|--:|{}\n", heads.join(" | "), "--:|".repeat(heads.len()));
    for row in rows {
        let mark = if row["is_certified"] == true { "" } else { "≈ " };
        // Writing to a string cannot fail.
        let _ = write!(table, "| 2^{} |", row["power"]);
        for (name, _) in COLUMNS {
            let _ = write!(table, " {mark}{:.4} |", number(&row[name]));
        }
        table.push('\n');
    }
    let _ = write!(table, "| **largest** |");
    for (name, _) in COLUMNS {
        let _ = write!(table, " **{:.3}** |", largest(name));
    }
    let gamma = |name: &str| rows.first().map_or(f64::NAN, |row| number(&row[name]));
    format!(
        "# The price of an unknown end\n\n\
         The squared error of a running total at step t, beside the least possible mean squared error of a stream that is known to have t steps. \
         The latter is proved by a certificate; where it is marked ≈, it is that of `graded-square-root` for t steps, which is within 0.2 % of it. \
         No mechanism pays less than {:.4} at every step of the first {}, which another certificate proves. Written by `cargo xtask bench unbounded`; nothing in it depends on the machine.\n\n{table}\n\n\
         - **evertally**: `endless-square-root`, the default without a known end, in 17 numbers per lane.\n\
         - **evertally, anytime**: the same with `--objective anytime`; the mean squared error of all steps up to t.\n\
         - **square root, cap 2^40**: the paper's square root for a declared cap, the default before.\n\
         - **restarts**: a new square root of 1, 2, 4, … steps after the one before has ended; at the end of a block, after 2^k − 1 steps.\n\
         - **logarithmic**: the Toeplitz factorization of Jacobsen and Fawaz (2025), (1−x)^(−1/2) g^γ (2 ln(g)/x)^δ with g = ln(1/(1−x))/x, in memory that grows with t. \
         This is a reconstruction from its description, not their program, at δ = 0 and the γ whose largest price is least: {:.2}. Its columns never end; with **cap 2^40** they are \
         calibrated to 2^40 steps, at γ = {:.2}.\n",
        number(&least["least_price"]),
        least["steps"],
        gamma("logarithmic_gamma"),
        gamma("logarithmic_capped_gamma"),
    )
}
