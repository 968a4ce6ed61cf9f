//! The budgets of populations: who may spend what, and what was spent.
//!
//! An account is the library's [`Odometer`]: a total that is stated once, entries that are admitted
//! before anything is released under them, and a refusal where the total would be passed. A counter
//! is entered when it is made, and once more for every new epoch.

use crate::error::{Error, Result};
use crate::fence::Spent;
use crate::record::{Cost, EntryRecord, EpochName, Grant};
use crate::spec::{CounterPlan, check_name};
use evertally::{Budget, BudgetSpec, Neighbours, Odometer, Spend, Unit};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What an operator grants a population.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPopulation {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What is protected: `event`, `person`, or another word for what the `person` of an event
    /// names.
    pub unit: String,
    /// Which change is hidden.
    pub neighbours: Neighbours,
    /// What everything together may cost: (ε, δ), pure ε or ρ. Integer noise is charged a
    /// little more than Gaussian noise, e^ε times as much at a total ε; totals beyond ε = 10 or so,
    /// and those of very many counters, are better stated as ρ.
    pub total: Budget,
    /// The part of ε that is set aside for pure noise.
    pub pure_part: f64,
}

/// A population's account.
#[derive(Debug, Clone)]
pub struct Population {
    /// The total, and what was spent of it.
    pub odometer: Odometer,
    /// What was entered.
    pub entries: Vec<Entry>,
    /// Whether more was entered than the total allows: histories of two copies of a ledger can come
    /// to that. Nothing is admitted any more.
    pub is_overdrawn: bool,
}

/// A counter in an epoch, and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of the counter; `lost` for one that only the fence remembers.
    pub counter: String,
    /// The epoch.
    pub epoch: u32,
    /// The cost.
    pub spend: Spend,
    number: u32,
    name: EpochName,
}

/// What lost entries are called.
pub(crate) const LOST: &str = "lost";

/// All accounts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts {
    accounts: Vec<(Grant, Population)>,
}

/// All accounts as they are kept: what was granted, and the entries.
#[derive(Serialize, Deserialize)]
pub(crate) struct AccountRow {
    grant: Grant,
    entries: Vec<(String, EntryRecord)>,
}

impl Cost {
    pub(crate) fn of(spend: Spend) -> Self {
        Self {
            mu_squared: spend.mu_squared(),
            pure_epsilon: spend.pure_epsilon(),
            variation: spend.variation(),
        }
    }

    pub(crate) fn spend(self) -> Result<Spend> {
        Ok(Spend::new(self.mu_squared, self.pure_epsilon, self.variation)?)
    }
}

impl Grant {
    pub(crate) fn new(asked: &NewPopulation) -> Result<Self> {
        check_name("name", &asked.name)?;
        let grant = Self {
            population: asked.name.clone(),
            unit: asked.unit.clone(),
            neighbours: asked.neighbours.to_string(),
            epsilon: asked.total.epsilon(),
            delta: asked.total.delta(),
            rho: asked.total.rho(),
            pure_part: asked.pure_part,
        };
        grant.odometer()?;
        Ok(grant)
    }

    fn odometer(&self) -> Result<Odometer> {
        let unit = Unit::named(self.unit.as_str(), self.neighbours.parse::<Neighbours>()?)?;
        // A total that was calibrated by way of zCDP has its ρ beside ε and δ.
        let rho = self.rho.filter(|_| self.epsilon.is_none());
        let Self { epsilon, delta, .. } = *self;
        let total = BudgetSpec { epsilon, delta, rho, ..BudgetSpec::default() }.budget()?;
        let odometer = Odometer::new(self.population.as_str(), unit, total)?;
        if self.pure_part == 0.0 { Ok(odometer) } else { Ok(odometer.with_pure_part(self.pure_part)?) }
    }
}

impl Accounts {
    pub(crate) fn populations(&self) -> Vec<Population> {
        self.accounts.iter().map(|(_, population)| population.clone()).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.accounts.iter().any(|(grant, _)| grant.population == name)
    }

    pub(crate) fn grant(&mut self, grant: Grant) -> Result<()> {
        if self.has(&grant.population) {
            return Err(Error::conflict(format!(
                "the population {} is there already: a total is stated once",
                grant.population
            )));
        }
        let population = Population { odometer: grant.odometer()?, entries: Vec::new(), is_overdrawn: false };
        self.accounts.push((grant, population));
        Ok(())
    }

    /// The unit that a counter is entered under. Where persons are bounded, they may have another
    /// name in the account.
    pub(crate) fn unit_for(&self, counter_plan: &CounterPlan) -> Result<Unit> {
        let name = &counter_plan.spec().population;
        let (grant, _) = self.find(name)?;
        let is_event = grant.unit == "event";
        if counter_plan.spec().bounds_persons && !is_event {
            return Ok(Unit::named(grant.unit.as_str(), counter_plan.spec().plan.neighbours)?);
        }
        Ok(counter_plan.unit())
    }

    /// Whether a counter could be entered; none where there is no such population.
    pub(crate) fn can_afford(&self, counter_plan: &CounterPlan) -> Option<bool> {
        let population = &counter_plan.spec().population;
        self.find(population).ok()?;
        let unit = self.unit_for(counter_plan).ok()?;
        Some(self.check(population, &unit, &counter_plan.plan().spend()).is_ok())
    }

    /// Refuses what could not be entered.
    pub(crate) fn check(&self, population: &str, unit: &Unit, spend: &Spend) -> Result<()> {
        let (_, account) = self.find(population)?;
        account.odometer.check(unit, spend)?;
        account.admit(spend)
    }

    /// Enters what a counter costs. A refusal changes nothing.
    pub(crate) fn spend(&mut self, counter: &str, entry_record: &EntryRecord) -> Result<()> {
        let account = self.find_mut(&entry_record.population)?;
        let spend = entry_record.cost.spend()?;
        account.admit(&spend)?;
        let unit = account.odometer.unit().clone();
        account.odometer.spend(format!("{counter}, epoch {}", entry_record.epoch.number), &unit, spend)?;
        account.entries.push(Entry::new(counter, entry_record, spend));
        Ok(())
    }

    /// Enters what was spent already, whether the total allows it or not.
    pub(crate) fn owe(&mut self, counter: &str, entry_record: &EntryRecord) -> Result<()> {
        if self.spend(counter, entry_record).is_ok() {
            return Ok(());
        }
        let account = self.find_mut(&entry_record.population)?;
        account.is_overdrawn = true;
        account.entries.push(Entry::new(counter, entry_record, entry_record.cost.spend()?));
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&(Grant, Population)> {
        self.accounts.iter().find(|(grant, _)| grant.population == name).ok_or_else(|| none(name))
    }

    fn find_mut(&mut self, name: &str) -> Result<&mut Population> {
        let found = self.accounts.iter_mut().find(|(grant, _)| grant.population == name);
        found.map(|(_, population)| population).ok_or_else(|| none(name))
    }

    /// All that was entered, for the fence.
    pub(crate) fn spent(&self) -> Spent {
        let mut spent = Spent::default();
        for (grant, population) in &self.accounts {
            spent.add_population(grant.clone());
            for entry in &population.entries {
                spent.add(entry.number, entry.name, Cost::of(entry.spend));
            }
        }
        spent
    }

    /// What a fence knows and these accounts do not: populations, and entries.
    pub(crate) fn missing(&self, spent: &Spent) -> (Vec<Grant>, Vec<EntryRecord>) {
        let (mut grants, mut lost) = (Vec::new(), Vec::new());
        for (grant, entries) in spent.populations() {
            let here = self.find(&grant.population).ok();
            if here.is_none() {
                grants.push(grant.clone());
            }
            let entries_here = here.iter().flat_map(|(_, account)| &account.entries);
            let known: HashSet<_> = entries_here.map(|entry| (entry.number, entry.name)).collect();
            lost.extend(entries.into_iter().filter(|entry| !known.contains(&(entry.counter, entry.epoch))));
        }
        (grants, lost)
    }

    pub(crate) fn rows(&self) -> Vec<AccountRow> {
        let row = |(grant, population): &(Grant, Population)| AccountRow {
            grant: grant.clone(),
            entries: population
                .entries
                .iter()
                .map(|entry| (entry.counter.clone(), entry.record(&grant.population)))
                .collect(),
        };
        self.accounts.iter().map(row).collect()
    }

    pub(crate) fn from_rows(rows: Vec<AccountRow>) -> Result<Self> {
        let mut accounts = Self::default();
        for AccountRow { grant, entries } in rows {
            accounts.grant(grant)?;
            entries.iter().try_for_each(|(counter, entry_record)| accounts.owe(counter, entry_record))?;
        }
        Ok(accounts)
    }
}

impl Population {
    /// Refuses everything where too much was entered.
    fn admit(&self, spend: &Spend) -> Result<()> {
        if !self.is_overdrawn {
            return Ok(());
        }
        Err(Error::Library(evertally::Error::BudgetSpent {
            population: self.odometer.population().to_owned(),
            asked: spend.to_string(),
            left: "nothing".to_owned(),
            total: self.odometer.total().to_string(),
        }))
    }
}

impl Entry {
    fn new(counter: &str, entry_record: &EntryRecord, spend: Spend) -> Self {
        let (number, name) = (entry_record.counter, entry_record.epoch);
        Self { counter: counter.to_owned(), epoch: name.number, spend, number, name }
    }

    fn record(&self, population: &str) -> EntryRecord {
        let cost = Cost::of(self.spend);
        EntryRecord { population: population.to_owned(), counter: self.number, epoch: self.name, cost }
    }
}

fn none(name: &str) -> Error {
    Error::NotFound { what: "population", name: name.to_owned() }
}
