//! The part of a run that spends a budget.

use super::key_use::{KeyUse, Relation, other_input};
use super::record::Spent;
use super::{EVERYONE, LockedBudgetFile, read};
use crate::error::{CliError, Result};
use crate::output::Header;
use clap::Args;
use evertally::{Budget, Neighbours, Spend, Unit};
use evertally_stream::time;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The protected unit of a run that does not bound contributions.
pub(crate) const EVENT: &str = "event";

/// The protected unit of a run that bounds the contributions of a person.
pub(crate) const PERSON: &str = "person";

#[derive(Debug, Args)]
#[command(next_help_heading = "Budget file")]
pub(crate) struct BudgetFileArgs {
    /// Record what this run spends in a budget file before anything is released, and refuse to
    /// exceed its total (see evertally budget --help)
    #[arg(long, alias = "ledger", value_name = "FILE")]
    budget_file: Option<PathBuf>,
    /// The population whose budget is spent [default: everyone]
    #[arg(long, value_name = "NAME", requires = "budget_file")]
    population: Option<String>,
    /// The protected unit of this run, as the budget file calls it [default: event or person,
    /// depending on what the run protects]
    #[arg(long, value_name = "NAME", requires = "budget_file")]
    unit: Option<String>,
}

impl BudgetFileArgs {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.budget_file.as_deref()
    }

    /// Refuses the unit "event" for a run that bounds what one person contributes: removing one event
    /// may let another in.
    pub(crate) fn refuse_events(&self) -> Result<()> {
        if self.unit.as_deref() == Some(EVENT) {
            return Err(CliError::bad(
                "--unit event: a bound on what one person contributes does not protect single events at the same cost",
            ));
        }
        Ok(())
    }

    /// What the run will spend, if there is a budget file.
    pub(crate) fn charge(
        &self,
        command: &str,
        input: &Path,
        natural_unit: &str,
        neighbours: Neighbours,
    ) -> Result<Option<Charge>> {
        let Some(path) = &self.budget_file else { return Ok(None) };
        Ok(Some(Charge {
            path: path.clone(),
            population: self.population.as_deref().unwrap_or(EVERYONE).to_owned(),
            unit: Unit::named(self.unit.as_deref().unwrap_or(natural_unit), neighbours)?,
            is_declared: self.unit.is_some(),
            run: run_name(command, input),
        }))
    }
}

/// What a run will record in a budget file.
#[derive(Debug)]
pub(crate) struct Charge {
    path: PathBuf,
    population: String,
    unit: Unit,
    /// Whether the user named the unit.
    is_declared: bool,
    run: String,
}

impl Charge {
    /// Refuses a run that the budget does not allow, before it reads any data. Nothing is recorded
    /// yet, because a run with unusable data releases nothing. A run under a key that the budget
    /// file knows may be paid for already, which is only known once its data are read.
    pub(crate) fn check(&self, budget: Budget, key_tag: Option<[u8; 8]>) -> Result<()> {
        self.check_spend(&budget.spend(), key_tag)
    }

    /// The same for a run that spends more than noise.
    pub(crate) fn check_spend(&self, spend: &Spend, key_tag: Option<[u8; 8]>) -> Result<()> {
        let file = read(&self.path)?;
        let account = file.account(&self.population).map_err(|error| self.placed(error))?;
        let mut used = account.stamps.iter().filter_map(|stamp| stamp.used.as_ref());
        if key_tag.is_some_and(|tag| used.any(|used| used.has_key(tag))) {
            return Ok(());
        }
        let checked = account.odometer.check(&self.unit, spend);
        let is_unreserved = spend.key_delta() > 0.0 && account.odometer.key_part() == 0.0;
        if is_unreserved && checked.is_err() {
            let population = &self.population;
            return Err(self.placed(CliError::bad(format!(
                "the budget of {population} sets no part of δ aside for groups that are found: evertally budget new --groups-part D does"
            ))));
        }
        checked.map_err(|error| self.placed(error.into()))
    }

    /// The population and the unit, which must stay the same when a run is resumed.
    pub(crate) fn account(&self) -> String {
        format!("{}, {}", self.population, self.unit)
    }

    /// Records what the run spends. When this returns, the record is on the disk, and the run may
    /// release. A run that repeats an earlier one, with the same key and input, spends nothing more.
    pub(crate) fn enter(self, spend: Spend, used: Option<&KeyUse>) -> Result<BudgetReceipt> {
        let mut held = LockedBudgetFile::open(&self.path)?;
        let found = used.map(|used| self.find(&held, used)).transpose()?.flatten();
        let entry = match found {
            Some(entry) => entry,
            None => self.write(&mut held, spend, used)?,
        };
        self.receipt(&held, entry)
    }

    /// Whether the budget file knows this use of a key, with any input and for any population.
    pub(crate) fn knows(&self, used: &KeyUse) -> Result<bool> {
        let file = read(&self.path)?;
        let accounts = file.accounts().iter();
        let mut stamps = accounts.flat_map(|account| &account.stamps).filter_map(|stamp| stamp.used.as_ref());
        Ok(stamps.any(|before| !matches!(used.relation(before), Relation::Independent)))
    }

    /// The entry with the same releases, counted from one. The same noise on another input is
    /// refused, for any population.
    fn find(&self, held: &LockedBudgetFile, used: &KeyUse) -> Result<Option<usize>> {
        let mut found = None;
        for account in held.file.accounts() {
            let is_own = account.odometer.population() == self.population;
            for (place, stamp) in account.stamps.iter().enumerate() {
                match stamp.used.as_ref().map(|before| used.relation(before)) {
                    Some(Relation::OtherInput) => return Err(self.placed(other_input())),
                    Some(Relation::Same) if is_own => found = found.or(Some(place + 1)),
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// Records what a resumable run spends, once. The run has a unique name, which is added to its
    /// description. If an entry with this name exists, nothing is recorded again.
    pub(crate) fn enter_once(
        mut self,
        own_name: &str,
        spend: Spend,
        used: Option<&KeyUse>,
    ) -> Result<BudgetReceipt> {
        self.run = format!("{} {own_name}", self.run);
        let mut held = LockedBudgetFile::open(&self.path)?;
        let account = held.file.account(&self.population).map_err(|error| self.placed(error))?;
        // The input may have been renamed meanwhile, but the last word stays.
        let is_it = |run: &str| run.rsplit(' ').next() == Some(own_name);
        let found = account.odometer.entries().iter().position(|entry| is_it(entry.name()));
        let same = used.map(|used| self.find(&held, used)).transpose()?.flatten();
        let entry = match found.map(|place| place + 1).or(same) {
            Some(entry) => entry,
            None => self.write(&mut held, spend, used)?,
        };
        self.receipt(&held, entry)
    }

    /// Writes an entry and returns its number, counted from one.
    fn write(&self, held: &mut LockedBudgetFile, spend: Spend, used: Option<&KeyUse>) -> Result<usize> {
        let spent = Spent {
            time: time::now(),
            population: self.population.clone(),
            run: self.run.clone(),
            unit: self.unit.name().to_owned(),
            neighbours: self.unit.neighbours().to_string(),
            mu_squared: spend.mu_squared(),
            pure_epsilon: spend.pure_epsilon(),
            variation: spend.variation(),
            key_delta: spend.key_delta(),
            used: used.cloned(),
        };
        held.file.spend(spent).map_err(|error| self.placed(error))?;
        held.write()?;
        Ok(held.file.account(&self.population)?.odometer.entries().len())
    }

    fn receipt(self, held: &LockedBudgetFile, entry: usize) -> Result<BudgetReceipt> {
        let odometer = &held.file.account(&self.population)?.odometer;
        Ok(BudgetReceipt {
            entry,
            total: odometer.total().to_string(),
            spent: odometer.spent().to_string(),
            left: odometer.remaining().to_string(),
            head: held.file.head().to_string(),
            population: self.population,
        })
    }

    /// An error with the name of the budget file, and with advice if the unit differs.
    fn placed(&self, error: CliError) -> CliError {
        match error {
            CliError::BadInput(message) if message.starts_with("unit must be") && !self.is_declared => {
                CliError::bad(format!("{message}; --unit says what one unit of this run is"))
            }
            other => other,
        }
        .in_file(&self.path)
    }
}

/// The entry of a run, and what is left after it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BudgetReceipt {
    population: String,
    entry: usize,
    total: String,
    spent: String,
    left: String,
    head: String,
}

impl BudgetReceipt {
    /// Adds to a header what a reader needs to find the release in the budget file.
    pub(crate) fn describe(&self, header: &mut Header) {
        header.record("ledger_population", self.population.as_str());
        header.record("ledger_entry", self.entry);
        header.record("ledger_total", self.total.as_str());
        header.record("ledger_spent", self.spent.as_str());
        header.record("ledger_left", self.left.as_str());
        header.record("ledger_head", self.head.as_str());
    }

    /// The population and the number of the entry, which do not change when others spend.
    pub(crate) fn place(&self) -> (&str, usize) {
        (&self.population, self.entry)
    }

    /// The same on one line, for people.
    pub(crate) fn in_words(&self) -> String {
        format!("entry {} of {}: {} spent, {} left", self.entry, self.population, self.spent, self.left)
    }
}

/// The description of a run: the command and its input, short enough for a table.
fn run_name(command: &str, input: &Path) -> String {
    const MAX_NAME_LENGTH: usize = 60;
    let file = match input.file_name() {
        Some(file) if input.as_os_str() != "-" => file.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    };
    let plain = file.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    format!("{command} {}", plain.take(MAX_NAME_LENGTH).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_command_and_file() {
        assert_eq!(run_name("count", Path::new("data/visits.csv")), "count visits.csv");
        assert_eq!(run_name("count", Path::new("-")), "count standard input");
        assert_eq!(run_name("noise", Path::new("a\nb.npy")), "noise a b.npy");
        let long = run_name("count", Path::new(&"é".repeat(300)));
        assert!(Unit::named(long, Neighbours::AddRemove).is_ok());
    }
}
