//! `evertally budget show`: what was spent, by which run, and what is left.

use crate::budget_file::{self, Account, BudgetFile};
use crate::commands::shared::{aligned, delta_in_words};
use crate::error::{Result, name_of};
use crate::manners::with_head;
use crate::output::{self, json_line};
use clap::Args;
use evertally::{BudgetSpec, Odometer, Spend};
use serde::Serialize;
use std::path::PathBuf;

/// The δ at which ε is shown if the total has none.
const DEFAULT_DELTA: f64 = 1e-6;

/// The width of a bar in characters.
const BAR: usize = 40;

const READING: &str = "\
How to read it: ρ is the cost that adds up. ε is the cost of a run on its
own, at the δ that is shown. The ε of the sum would be the cost of all runs
if they had been planned together from the start. The total always holds,
even if runs were chosen after seeing earlier releases. \"Room\" is the ε of
the largest run that still fits.";

/// Show what was spent, by which run, and what is left
#[derive(Debug, Args)]
#[command(after_long_help = READING)]
pub(super) struct ShowArgs {
    /// The budget file
    file: PathBuf,
    /// Show only this population
    #[arg(long, value_name = "NAME")]
    population: Option<String>,
    /// The δ at which ε is shown [default: the δ of the total, otherwise 1e-6]
    #[arg(long, value_name = "D")]
    delta: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ShowArgs) -> Result<()> {
    let file = budget_file::read(&args.file)?;
    let name = name_of(&args.file);
    let accounts: Vec<&Account> = match &args.population {
        Some(population) => {
            vec![file.account(population).map_err(|error| error.in_file(&args.file))?]
        }
        None => file.accounts().iter().collect(),
    };
    let views =
        accounts.into_iter().map(|account| View::new(account, args.delta)).collect::<Result<Vec<_>>>()?;
    let text = if args.json { json(&name, &file, views)? } else { people(&name, &file, &views) };
    output::print(&text)
}

/// An account as it is shown. ε is absent if it is not known.
#[derive(Serialize)]
struct View {
    population: String,
    unit: String,
    neighbours: String,
    total: String,
    pure_part: f64,
    /// The part of δ for groups that are found.
    key_part: f64,
    /// The δ of every ε.
    at_delta: f64,
    spent: Amount,
    left: Amount,
    /// The largest ε of a further Gaussian run for (ε, `at_delta`) that fits, to four digits.
    room: f64,
    /// The largest ε of a further pure run that fits, to four digits.
    pure_room: f64,
    runs: Vec<Run>,
    #[serde(skip)]
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct Amount {
    rho: f64,
    mu_squared: f64,
    pure_epsilon: f64,
    variation: f64,
    /// The part of δ for groups that appear.
    key_delta: f64,
    epsilon: Option<f64>,
}

#[derive(Serialize)]
struct Run {
    run: String,
    time: String,
    #[serde(flatten)]
    amount: Amount,
    head: String,
}

/// How much of an allowance was spent.
struct Bar {
    what: String,
    spent: f64,
    left: f64,
}

impl Amount {
    fn new(spend: Spend, delta: f64) -> Result<Self> {
        let epsilon = spend.epsilon(delta)?;
        Ok(Self {
            rho: spend.rho(),
            mu_squared: spend.mu_squared(),
            pure_epsilon: spend.pure_epsilon(),
            variation: spend.variation(),
            key_delta: spend.key_delta(),
            epsilon: epsilon.is_finite().then_some(epsilon),
        })
    }
}

impl View {
    fn new(account: &Account, delta: Option<f64>) -> Result<Self> {
        let odometer = &account.odometer;
        let at_delta = delta.or(odometer.total().delta()).unwrap_or(DEFAULT_DELTA);
        let entries = odometer.entries().iter().zip(&account.stamps);
        let runs = entries.map(|(entry, stamp)| {
            Ok(Run {
                run: entry.name().to_owned(),
                time: stamp.time.clone(),
                amount: Amount::new(entry.spend(), at_delta)?,
                head: stamp.head.to_string(),
            })
        });
        Ok(Self {
            population: odometer.population().to_owned(),
            unit: odometer.unit().name().to_owned(),
            neighbours: odometer.unit().neighbours().to_string(),
            total: odometer.total().to_string(),
            pure_part: odometer.pure_part(),
            key_part: odometer.key_part(),
            at_delta,
            spent: Amount::new(odometer.spent(), at_delta)?,
            left: Amount::new(odometer.remaining(), at_delta)?,
            room: if at_delta == 0.0 { 0.0 } else { room(odometer, at_delta)? },
            pure_room: room(odometer, 0.0)?,
            runs: runs.collect::<Result<_>>()?,
            bars: bars(odometer),
        })
    }
}

/// One bar per allowance. A total is one allowance, or is split into several.
fn bars(odometer: &Odometer) -> Vec<Bar> {
    let (spent, left) = (odometer.spent(), odometer.remaining());
    let is_pure = odometer.total().delta() == Some(0.0);
    let pure = || Bar { what: "pure ε".to_owned(), spent: spent.pure_epsilon(), left: left.pure_epsilon() };
    if is_pure {
        return vec![pure()];
    }
    let is_split = odometer.pure_part() > 0.0;
    // Pure runs draw on ρ only if the total is not split.
    let rho = if is_split { spent.mu_squared() / 2.0 } else { spent.rho() };
    let rho = Bar { what: "ρ".to_owned(), spent: rho, left: left.mu_squared() / 2.0 };
    let mut bars = if is_split { vec![rho, pure()] } else { vec![rho] };
    if odometer.key_part() > 0.0 {
        let spent = spent.key_delta();
        let left = (odometer.key_part() - spent).max(0.0);
        bars.push(Bar { what: "δ of groups".to_owned(), spent, left });
    }
    bars
}

#[derive(Serialize)]
struct Document {
    ledger: String,
    head: String,
    populations: Vec<View>,
}

fn json(name: &str, file: &BudgetFile, populations: Vec<View>) -> Result<String> {
    let document = Document { ledger: name.to_owned(), head: file.head().to_string(), populations };
    json_line(&document)
}

fn people(name: &str, file: &BudgetFile, views: &[View]) -> String {
    let mut text = format!("{name}, head {}\n", file.head());
    for view in views {
        text.push('\n');
        text.push_str(&account(view));
    }
    text
}

fn account(view: &View) -> String {
    let mut text =
        format!("{}: {}, for one {} ({})\n", view.population, view.total, view.unit, view.neighbours);
    if view.pure_part > 0.0 {
        text.push_str(&format!("of which ε = {} is set aside for pure noise\n", view.pure_part));
    }
    if view.key_part > 0.0 {
        text.push_str(&format!("of which δ = {:e} is set aside for groups that are found\n", view.key_part));
    }
    let at = format!("ε at δ = {}", delta_in_words(view.at_delta));
    let mut rows = vec![["", "when", "run", "ρ", at.as_str()].map(str::to_owned)];
    for (index, run) in view.runs.iter().enumerate() {
        let (number, rho) = ((index + 1).to_string(), digits(run.amount.rho));
        rows.push([number, run.time.clone(), run.run.clone(), rho, epsilon(&run.amount)]);
    }
    if view.runs.len() > 1 {
        let together = "together".to_owned();
        let rho = digits(view.spent.rho);
        rows.push([String::new(), String::new(), together, rho, epsilon(&view.spent)]);
    }
    if view.runs.is_empty() {
        text.push_str("nothing was spent\n");
    } else {
        text.push_str(&with_head(&aligned(&rows, 1..3), |_| None));
    }
    for bar in &view.bars {
        text.push_str(&drawn(bar));
    }
    text.push_str(&room_in_words(view));
    text
}

/// The ε of the largest run that fits, to four digits: rounded to nearest if that fits, otherwise
/// down.
fn room(odometer: &Odometer, delta: f64) -> Result<f64> {
    let room = odometer.room(delta)?;
    if room == 0.0 {
        return Ok(0.0);
    }
    let scale = 10.0_f64.powi(3 - room.log10().floor() as i32);
    let nearest = (room * scale).round() / scale;
    let run = BudgetSpec { epsilon: Some(nearest), delta: Some(delta), ..BudgetSpec::default() };
    let fits = run.budget().is_ok_and(|budget| odometer.can_afford(&budget.spend()));
    Ok(if fits { nearest } else { (room * scale).floor() / scale })
}

fn room_in_words(view: &View) -> String {
    let gaussian = (view.room > 0.0)
        .then(|| format!("ε = {} at δ = {}", digits(view.room), delta_in_words(view.at_delta)));
    let pure = (view.pure_room > 0.0).then(|| format!("pure ε = {}", digits(view.pure_room)));
    let either: Vec<String> = [gaussian, pure].into_iter().flatten().collect();
    if either.is_empty() {
        return "room for no further run\n".to_owned();
    }
    format!("room for a run of {}\n", either.join(", or of "))
}

/// A bar that is full only if nothing is left, and empty only if nothing was spent.
fn drawn(bar: &Bar) -> String {
    let whole = bar.spent + bar.left;
    let share = if whole > 0.0 { bar.spent / whole } else { 1.0 };
    let mut full = (share * BAR as f64).round() as usize;
    if bar.left > 0.0 {
        full = full.min(BAR - 1);
    }
    if bar.spent > 0.0 {
        full = full.max(1);
    }
    let (full, empty) = ("█".repeat(full), "░".repeat(BAR - full));
    let (what, spent, whole) = (&bar.what, digits(bar.spent), digits(whole));
    format!("{full}{empty} {:.1} %: {what} = {spent} of {whole} is spent\n", 100.0 * share)
}

fn epsilon(amount: &Amount) -> String {
    amount.epsilon.map_or_else(|| "unknown".to_owned(), digits)
}

/// Six digits, as a person would write them.
fn digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded != 0.0 && !(1e-4..1e6).contains(&rounded) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::{Budget, Neighbours, Unit};

    #[test]
    fn numbers_are_short() {
        assert_eq!(digits(0.028_014_512), "0.0280145");
        assert_eq!(digits(1.0 + 1e-12), "1");
        assert_eq!(digits(1.5e-18), "1.5e-18");
        assert_eq!(digits(0.0), "0");
    }

    #[test]
    fn room_is_said_to_four_digits_that_fit() {
        let unit = Unit::event(Neighbours::AddRemove);
        for share in [0.0, 0.1, 0.2, 0.33, 0.5, 0.77, 0.9, 0.999] {
            let mut odometer = Odometer::new("all", unit.clone(), Budget::new(2.0, 1e-6).unwrap()).unwrap();
            odometer = odometer.with_pure_part(0.5).unwrap();
            let whole = odometer.remaining();
            let spend = Spend::new(share * whole.mu_squared(), share * 0.5, 0.0).unwrap();
            odometer.spend("one", &unit, spend).unwrap();
            let (gaussian, pure) = (room(&odometer, 1e-6).unwrap(), room(&odometer, 0.0).unwrap());
            assert!(odometer.can_afford(&Budget::new(gaussian, 1e-6).unwrap().spend()), "{share}");
            assert!(odometer.can_afford(&Budget::pure(pure).unwrap().spend()), "{share}");
            assert!((gaussian / odometer.room(1e-6).unwrap() - 1.0).abs() < 1e-3);
            assert!((pure - 0.5 * (1.0 - share)).abs() < 1e-6, "{share}: {pure}");
        }
    }

    #[test]
    fn a_bar_is_full_only_where_nothing_is_left() {
        let full = |spent: f64, left: f64| {
            let bar = drawn(&Bar { what: "ρ".to_owned(), spent, left });
            bar.chars().filter(|letter| *letter == '█').count()
        };
        assert_eq!([full(0.0, 1.0), full(1e-9, 1.0), full(0.5, 0.5)], [0, 1, BAR / 2]);
        assert_eq!([full(1.0, 1e-9), full(1.0, 0.0), full(0.0, 0.0)], [BAR - 1, BAR, BAR]);
    }
}
