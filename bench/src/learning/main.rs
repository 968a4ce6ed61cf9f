//! `bench-learning FOLDER [quick]`: trains on every table in a folder, with every mechanism and
//! budget, and prints a line of JSON for each.
//!
//! The regularised leader trains a linear model, with gradients clipped at one. The rate is chosen
//! from powers of two, separately for every cell, on rows that are not used for training or testing
//! and on separate seeds. The cost of this choice is not counted here. Every seed has its own order
//! of rows, split and noise, which are the same for all mechanisms.

mod data;
mod run;
#[path = "../statistics.rs"]
mod statistics;

use std::path::PathBuf;
use std::process::ExitCode;

use data::Table;
use evertally::{Budget, Mechanism};
use run::{Regime, Settings};

const EPSILONS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const DELTA: f64 = 1e-5;
const EPOCHS: u64 = 16;

/// A mechanism, and whether its noise is restarted with every pass over the data.
type Choice = (&'static str, bool);

const ONE_PASS: [Choice; 7] = [
    ("binary", false),
    ("honaker-streaming", false),
    ("honaker-full", false),
    ("square-root", false),
    ("graded-square-root", false),
    ("blt", false),
    ("input-perturbation", false),
];

const MANY: [Choice; 8] = [
    ("binary", true),
    ("honaker-streaming", true),
    ("square-root", false),
    ("graded-square-root", false),
    ("blt", false),
    ("banded-square-root", false),
    ("banded-inverse-square-root", false),
    ("input-perturbation", false),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let settings = match arguments.next().as_deref() {
        Some("quick") => Settings { rates: 3, choosing: 1, seeds: 2 },
        _ => Settings { rates: 11, choosing: 6, seeds: 20 },
    };
    match every_cell(&folder, settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn every_cell(folder: &std::path::Path, settings: Settings) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "csv"));
    paths.sort();
    for path in paths {
        let table = Table::read(&path)?;
        for regime in [Regime::one_pass(&table), Regime::passes(&table, EPOCHS)] {
            table_cells(&table, &regime, settings)
                .map_err(|error| format!("{}, {}: {error}", table.name, regime.name()))?;
        }
    }
    Ok(())
}

fn table_cells(table: &Table, regime: &Regime, settings: Settings) -> Result<(), evertally::Error> {
    let hindsight = run::hindsight(table, regime, settings)?;
    let cell = |choice: Choice, budget: Budget, epsilon: Option<f64>| -> Result<(), evertally::Error> {
        let (name, restarted) = choice;
        let mechanism: Mechanism = name.parse()?;
        let cell = run::cell(table, regime, mechanism, restarted, budget, settings, &hindsight)?;
        println!("{}", cell.line(epsilon));
        Ok(())
    };
    // With negligible noise: a standard deviation of a thousandth of one example's gradient.
    cell(("square-root", false), Budget::zcdp(1e6)?, None)?;
    for epsilon in EPSILONS {
        for choice in if regime.epochs == 1 { &ONE_PASS[..] } else { &MANY } {
            cell(*choice, Budget::new(epsilon, DELTA)?, Some(epsilon))?;
        }
    }
    Ok(())
}
