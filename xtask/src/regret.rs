//! `cargo xtask regret`: measures regret against adversaries and distributions, and compares it
//! with its bounds.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Outcome;
use crate::bench::write_results;
use crate::process::{self, command, output, root};

pub(crate) fn run() -> Outcome {
    process::build_workers()?;
    let lines = output(&mut command(root().join("target/release/bench-regret")))?;
    let mut lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect::<Result<_, String>>()?;
    if lines.is_empty() {
        return Err("the worker printed nothing".to_owned());
    }
    let settings = lines.remove(0);
    let text = text(&settings, &lines).map_err(|error| error.to_string())?;
    write_results("regret", &json!({ "settings": settings, "rows": lines }), &text)
}

fn text(settings: &Value, rows: &[Value]) -> Result<String, std::fmt::Error> {
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    let is_above =
        |row: &Value, bound: f64| number(row, "regret") - 3.0 * number(row, "regret_error") > bound;
    let verdict = match rows.iter().filter(|row| is_above(row, number(row, "bound"))).count() {
        0 => "no mean exceeds its bound by three standard errors.".to_owned(),
        broken => format!("**{broken} means exceed their bounds**."),
    };
    let mut text = format!(
        "# Measured regret and its bounds\n\nWritten by `cargo xtask regret`. {} steps, {} parameters, gradients of norm {}, (ε, δ) = ({}, {}); means of {} keys ± their standard errors. \
         `greedy`, `random walk` and `exploiter` choose linear losses after seeing the parameters, and the exploiter also infers the noise from the past. Regret is against the best point of the unit ball, and the \
         learner is unconstrained. Planted data are independent, and the learner stays in the unit ball. λ is the one that the bound recommends. *The paper's algorithm* uses the paper's C and λ.\n\n\
         The paper prints a bound of **{:.4}** for its algorithm. Its proof, corrected, gives {:.4}. The bound for the mechanism that runs is in brackets: {} Bold figures of the paper's algorithm exceed its printed bound.\n",
        settings["steps"],
        settings["dimension"],
        settings["clip"],
        settings["epsilon"],
        settings["delta"],
        settings["keys"],
        number(settings, "printed"),
        number(settings, "corrected"),
        verdict,
    );
    let mut opponents: Vec<&str> = Vec::new();
    let mut mechanisms: Vec<&str> = Vec::new();
    for row in rows {
        for (known, name) in [(&mut opponents, "opponent"), (&mut mechanisms, "mechanism")] {
            let value = row[name].as_str().unwrap_or_default();
            if !known.contains(&value) {
                known.push(value);
            }
        }
    }
    write!(text, "\n| | {} |\n|:--|{}\n", opponents.join(" | "), "--:|".repeat(opponents.len()))?;
    for mechanism in mechanisms {
        write!(text, "| {mechanism} |")?;
        for opponent in &opponents {
            let row = rows.iter().find(|row| row["mechanism"] == mechanism && row["opponent"] == *opponent);
            let Some(row) = row else { continue };
            let (regret, error) = (number(row, "regret"), number(row, "regret_error"));
            let is_above =
                mechanism.starts_with("the paper") && regret - 3.0 * error > number(settings, "printed");
            let mark = if is_above { "**" } else { "" };
            write!(text, " {mark}{regret:.4}{mark} ± {error:.4} ({:.4}) |", number(row, "bound"))?;
        }
        text.push('\n');
    }
    Ok(text)
}
