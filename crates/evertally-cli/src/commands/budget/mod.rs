//! `evertally budget`: states what may be spent, and shows what was spent and what is left.

mod show;

use super::shared::{named, refusal};
use crate::budget_file::{self, EVENT, EVERYONE, Grant, LockedBudgetFile, Total};
use crate::error::{CliError, Result, name_of};
use crate::manners;
use crate::output;
use clap::{Args, Subcommand};
use evertally::{Budget, BudgetSpec, Calibration, Neighbours};
use evertally_stream::time;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Everything released about these visitors may cost ε = 3 in total:
    evertally budget new visits.budget --epsilon 3 --delta 1e-6

  A run records what it spends before it releases anything:
    evertally count visits.csv --time time --every 1h \\
      --from 2026-01-05 --horizon 1344 \\
      --epsilon 1 --delta 1e-6 --budget-file visits.budget

  What was spent, by which run, and what is left?
    evertally budget show visits.budget

  Would another run fit? (exit code 0 if yes, 3 if no)
    evertally budget check visits.budget --epsilon 1 --delta 1e-6

How it adds up: Gaussian noise composes exactly. Four runs of ε = 1 cost
about ε = 2.1 at the same δ, not 4. The total holds even if later runs
are chosen after seeing earlier releases. A run that crashes after it was
recorded has spent its budget. One budget file can hold several
populations. People who may be in two of them need a common one.
docs/budget.md describes the file and the mathematics.";

/// Set a total privacy budget for several runs, and see what is left of it
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BudgetArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    New(NewArgs),
    Show(show::ShowArgs),
    Check(CheckArgs),
}

pub(crate) fn run(args: &BudgetArgs) -> Result<()> {
    match &args.action {
        Action::New(args) => new(args),
        Action::Show(args) => show::run(args),
        Action::Check(args) => check(args),
    }
}

/// Set the total budget of a population, in a new budget file or in an existing one
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
struct NewArgs {
    /// The budget file
    file: PathBuf,
    /// The population whose budget it is
    #[arg(long, value_name = "NAME", default_value = EVERYONE)]
    population: String,
    /// What is protected, in the singular: event, person, or another name that runs give as --unit
    #[arg(long, value_name = "NAME", default_value = EVENT)]
    unit: String,
    /// How two data sets that must look alike may differ: one unit is added or removed, or replaced
    #[arg(long, value_name = "RELATION", default_value = "add-remove", value_parser = named::<Neighbours>(["add-remove", "replace"]))]
    neighbours: Neighbours,
    /// The total ε
    #[arg(long, value_name = "E", conflicts_with = "rho", help_heading = "Total")]
    epsilon: Option<f64>,
    /// The total δ. 0 asks for pure ε, which only runs with --delta 0 can spend
    #[arg(long, value_name = "D", conflicts_with = "rho", help_heading = "Total")]
    delta: Option<f64>,
    /// The total ρ of zero-concentrated differential privacy, instead of ε and δ
    ///
    /// The costs of runs in ρ simply add up. Use it if you account in ρ elsewhere.
    #[arg(long, value_name = "R", help_heading = "Total")]
    rho: Option<f64>,
    /// How the costs of runs add up to ε and δ [default: exact]
    ///
    /// exact leaves the most room for runs with --delta above 0, and needs --pure-part for those with
    /// --delta 0. zcdp leaves a little less room and takes both kinds without a part set aside.
    #[arg(long, value_name = "NAME", value_parser = named::<Calibration>(["exact", "zcdp"]), conflicts_with = "rho", help_heading = "Total")]
    calibration: Option<Calibration>,
    /// The part of ε to set aside for runs with --delta 0
    #[arg(long, value_name = "E", conflicts_with = "rho", help_heading = "Total")]
    pure_part: Option<f64>,
    /// The part of δ to set aside for groups that are found (evertally count --discover)
    ///
    /// A run with --discover spends its --discover-delta of this part, and its noise spends the rest.
    #[arg(long, value_name = "D", conflicts_with = "rho", help_heading = "Total")]
    groups_part: Option<f64>,
}

impl NewArgs {
    fn total(&self) -> Result<Total> {
        let is_chosen = self.calibration.is_some() || self.pure_part.is_some() || self.groups_part.is_some();
        match (self.epsilon, self.delta, self.rho) {
            (None, None, Some(rho)) => Ok(Total::Concentrated { rho }),
            (Some(_), Some(0.0), None) if is_chosen => Err(CliError::bad(
                "--calibration, --pure-part and --groups-part split an (ε, δ) total: with --delta 0 there is nothing to choose",
            )),
            (Some(epsilon), Some(0.0), None) => Ok(Total::Pure { epsilon }),
            (Some(epsilon), Some(delta), None) => Ok(Total::Approximate {
                epsilon,
                delta,
                calibration: self.calibration.unwrap_or_default().to_string(),
                pure_part: self.pure_part.unwrap_or_default(),
                key_part: self.groups_part.unwrap_or_default(),
            }),
            _ => Err(CliError::bad("expected --epsilon with --delta, or --rho: what may be spent in total")),
        }
    }
}

fn new(args: &NewArgs) -> Result<()> {
    let grant = Grant {
        time: time::now(),
        population: args.population.clone(),
        unit: args.unit.clone(),
        neighbours: args.neighbours.to_string(),
        total: args.total()?,
    };
    // Bad parameters are refused before any file is made.
    let odometer = grant.odometer()?;
    manners::advise(odometer.total(), None);
    let mut held = LockedBudgetFile::open_or_new(&args.file)?;
    held.file.grant(grant).map_err(|error| error.in_file(&args.file))?;
    held.write()?;
    let text = format!(
        "{}: {} may spend {}, for {}\n",
        name_of(&args.file),
        odometer.population(),
        odometer.total(),
        odometer.unit()
    );
    output::print(&text)
}

/// Say whether another run would fit: exit code 0 if yes, 3 if no
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
struct CheckArgs {
    /// The budget file
    file: PathBuf,
    /// The population whose budget it is
    #[arg(long, value_name = "NAME", default_value = EVERYONE)]
    population: String,
    /// ε of the run
    #[arg(long, value_name = "E", conflicts_with = "rho", requires = "delta")]
    epsilon: Option<f64>,
    /// δ of the run; 0 for pure ε
    #[arg(long, value_name = "D", conflicts_with = "rho", requires = "epsilon")]
    delta: Option<f64>,
    /// ρ of the run, instead of ε and δ
    #[arg(long, value_name = "R")]
    rho: Option<f64>,
    /// How the size of the noise of the run is computed from ε and δ [default: exact]
    ///
    /// The --calibration of the run: exact unless you chose another one.
    #[arg(long, value_name = "NAME", value_parser = named::<Calibration>(["exact", "zcdp", "paper"]), conflicts_with = "rho")]
    calibration: Option<Calibration>,
}

impl CheckArgs {
    fn budget(&self) -> Result<Budget> {
        let Self { epsilon, delta, rho, calibration, .. } = *self;
        match (epsilon, delta, rho) {
            (Some(_), Some(_), None) | (None, None, Some(_)) => {
                BudgetSpec { epsilon, delta, calibration, rho, sigma: None }.budget().map_err(refusal)
            }
            _ => Err(CliError::bad("expected --epsilon with --delta, or --rho: what the run would spend")),
        }
    }
}

fn check(args: &CheckArgs) -> Result<()> {
    let budget = args.budget()?;
    let file = budget_file::read(&args.file)?;
    let account = file.account(&args.population).map_err(|error| error.in_file(&args.file))?;
    let mut odometer = account.odometer.clone();
    let (unit, spend) = (odometer.unit().clone(), budget.spend());
    let entered = odometer.spend("the run in question", &unit, spend);
    entered.map_err(|error| CliError::from(error).in_file(&args.file))?;
    let (name, left) = (name_of(&args.file), odometer.remaining());
    let text = format!("{name}: {spend} fits, and {left} would be left\n");
    output::print(&text)
}
