//! The budgets of populations: who may spend what, and what was spent.
//!
//! An account is the library's [`Odometer`]: a total that is stated once, entries that are admitted before anything is released under
//! them, and a refusal where the total would be passed. A counter is entered when it is made, and once more for every new epoch.

use crate::error::{Error, Result};
use crate::record::{Cost, Grant};
use crate::spec::{Planned, check_name};
use evertally::{Budget, Neighbours, Odometer, Spend, Unit};
use serde::{Deserialize, Serialize};

/// What an operator grants a population.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPopulation {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What is protected: `event`, `person`, or another word for whoever the `person` of an event names.
    pub unit: String,
    /// Which change is hidden.
    pub neighbours: Neighbours,
    /// What everything together may cost: (ε, δ), pure ε or ρ. Whole-number noise is charged a little more than Gaussian noise, e^ε times as
    /// much at a total ε; totals beyond ε = 10 or so, and those of very many counters, are better stated as ρ.
    pub total: Budget,
    /// The part of ε that is set aside for pure noise.
    pub pure_part: f64,
}

/// A population's account.
#[derive(Debug, Clone)]
pub struct Population {
    /// The total, and what was spent of it.
    pub odometer: Odometer,
    /// What was entered: the counter, its epoch, and the cost.
    pub entries: Vec<(String, u32, Spend)>,
}

/// All accounts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts {
    accounts: Vec<(Grant, Population)>,
}

/// All accounts as they are kept: what was granted, and the entries.
#[derive(Serialize, Deserialize)]
pub(crate) struct AccountRow {
    grant: Grant,
    entries: Vec<(String, u32, Cost)>,
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
        let total = match (self.epsilon, self.delta, self.rho) {
            (Some(epsilon), Some(0.0), _) => Budget::pure(epsilon)?,
            (Some(epsilon), Some(delta), _) => Budget::new(epsilon, delta)?,
            (_, _, Some(rho)) => Budget::zcdp(rho)?,
            _ => return Err(Error::bad("total", "a budget", "none")),
        };
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
        let population = Population { odometer: grant.odometer()?, entries: Vec::new() };
        self.accounts.push((grant, population));
        Ok(())
    }

    /// The unit that a counter is entered under. Where persons are bounded, they may have another name in the account.
    pub(crate) fn unit_for(&self, planned: &Planned) -> Result<Unit> {
        let name = &planned.spec().population;
        let (grant, _) = self.find(name)?;
        let is_event = grant.unit == "event";
        if planned.spec().participation.is_some() && !is_event {
            return Ok(Unit::named(grant.unit.as_str(), planned.spec().neighbours)?);
        }
        Ok(planned.unit())
    }

    /// Refuses what could not be entered.
    pub(crate) fn check(&self, population: &str, unit: &Unit, spend: &Spend) -> Result<()> {
        Ok(self.find(population)?.1.odometer.check(unit, spend)?)
    }

    /// Enters what a counter costs. A refusal changes nothing.
    pub(crate) fn spend(&mut self, population: &str, counter: &str, epoch: u32, spend: Spend) -> Result<()> {
        let at = self.accounts.iter().position(|(grant, _)| grant.population == population);
        let (_, account) = &mut self.accounts[at.ok_or_else(|| none(population))?];
        let unit = account.odometer.unit().clone();
        account.odometer.spend(format!("{counter}, epoch {epoch}"), &unit, spend)?;
        account.entries.push((counter.to_owned(), epoch, spend));
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&(Grant, Population)> {
        self.accounts.iter().find(|(grant, _)| grant.population == name).ok_or_else(|| none(name))
    }

    /// What each population has spent, for the fence.
    pub(crate) fn spent(&self) -> Vec<(String, Vec<Cost>)> {
        let costs = |population: &Population| {
            population.entries.iter().map(|(_, _, spend)| Cost::of(*spend)).collect()
        };
        self.accounts
            .iter()
            .map(|(grant, population)| (grant.population.clone(), costs(population)))
            .collect()
    }

    pub(crate) fn rows(&self) -> Vec<AccountRow> {
        let row = |(grant, population): &(Grant, Population)| AccountRow {
            grant: grant.clone(),
            entries: population
                .entries
                .iter()
                .map(|(name, epoch, spend)| (name.clone(), *epoch, Cost::of(*spend)))
                .collect(),
        };
        self.accounts.iter().map(row).collect()
    }

    pub(crate) fn from_rows(rows: Vec<AccountRow>) -> Result<Self> {
        let mut accounts = Self::default();
        for AccountRow { grant, entries } in rows {
            let name = grant.population.clone();
            accounts.grant(grant)?;
            for (counter, epoch, cost) in entries {
                accounts.spend(&name, &counter, epoch, cost.spend()?)?;
            }
        }
        Ok(accounts)
    }
}

fn none(name: &str) -> Error {
    Error::NotFound { what: "population", name: name.to_owned() }
}
