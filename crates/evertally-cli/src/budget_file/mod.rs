//! The budget file: what each population may spend, and what was spent.
//!
//! [`record`] is one line, [`BudgetFile`] is the meaning of all lines together, [`store`] keeps them
//! on disk, and [`charge`] is the part of a run that spends. `docs/budget.md` describes the file and
//! what it guarantees.

mod charge;
mod key_use;
mod record;
mod store;

pub(crate) use charge::{BudgetFileArgs, BudgetReceipt, Charge, EVENT, PERSON};
pub(crate) use key_use::{KeyUse, hexadecimal};
pub(crate) use record::{Grant, Head, Total, sealed};
pub(crate) use store::{LockedBudgetFile, read};

use crate::error::{CliError, Result, shown};
use evertally::{Odometer, Spend};
use record::{Record, Spent};

/// The default population.
pub(crate) const EVERYONE: &str = "everyone";

/// The accounts of a budget file, and the lines that they come from.
#[derive(Debug, Default)]
pub(crate) struct BudgetFile {
    accounts: Vec<Account>,
    /// The records in the order of the file.
    lines: Vec<String>,
    head: Head,
}

/// One population's account.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) odometer: Odometer,
    /// What is known about each entry of the odometer besides its name and cost.
    pub(crate) stamps: Vec<Stamp>,
}

/// When an entry was made, the head of the budget file after it, and the key that it used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stamp {
    pub(crate) time: String,
    pub(crate) head: Head,
    pub(crate) used: Option<KeyUse>,
}

impl BudgetFile {
    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The hash of all records, which identifies this state of the budget file.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// A population's account. The error lists the existing populations.
    pub(crate) fn account(&self, population: &str) -> Result<&Account> {
        self.position(population).map(|at| &self.accounts[at])
    }

    fn position(&self, population: &str) -> Result<usize> {
        let found = self.accounts.iter().position(|account| account.odometer.population() == population);
        found.ok_or_else(|| {
            let known: Vec<String> =
                self.accounts.iter().map(|account| shown(account.odometer.population())).collect();
            CliError::bad(format!(
                "there is no population {}: there is {}; evertally budget new adds one",
                shown(population),
                known.join(", ")
            ))
        })
    }

    /// Opens an account for a new population.
    pub(crate) fn grant(&mut self, grant: Grant) -> Result<()> {
        self.append(&Record::Grant(grant))
    }

    /// Records what a run spends. A refusal changes nothing.
    pub(crate) fn spend(&mut self, spent: Spent) -> Result<()> {
        self.append(&Record::Spend(spent))
    }

    fn append(&mut self, record: &Record) -> Result<()> {
        let line = record.to_line()?;
        self.apply(record, self.head.after(&line))?;
        self.push(line);
        Ok(())
    }

    /// Appends a line that was applied.
    fn push(&mut self, line: String) {
        self.head = self.head.after(&line);
        self.lines.push(line);
    }

    /// Applies a record, or refuses it and changes nothing.
    fn apply(&mut self, record: &Record, head: Head) -> Result<()> {
        match record {
            Record::Grant(grant) => {
                if self.position(&grant.population).is_ok() {
                    return Err(CliError::bad(format!(
                        "the population {} is there already: a total is stated once",
                        shown(&grant.population)
                    )));
                }
                self.accounts.push(Account { odometer: grant.odometer()?, stamps: Vec::new() });
            }
            Record::Spend(spent) => {
                let at = self.position(&spent.population)?;
                let account = &mut self.accounts[at];
                let spend = Spend::new(spent.mu_squared, spent.pure_epsilon, spent.variation)?;
                let spend = spend.with_key_delta(spent.key_delta)?;
                account.odometer.spend(spent.run.as_str(), &spent.unit()?, spend)?;
                account.stamps.push(Stamp { time: spent.time.clone(), head, used: spent.used.clone() });
            }
        }
        Ok(())
    }
}
