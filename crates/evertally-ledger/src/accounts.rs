//! The budgets of populations: who may spend what, and what was spent.
//!
//! An account is the library's [`Odometer`]: a total that is stated once, entries that are admitted
//! before anything is released under them, and a refusal where the total would be passed. A counter
//! is entered when it is made, and once more for every new epoch.
//!
//! **Keys that are found** cost δ_key besides their noise. A part of a population's δ is reserved for them
//! when the population is made, and the sum of all δ_key must stay within it. *All counters together are
//! (ε, δ)-private then*, however they and their costs are chosen along the way. Let d be the reserve.
//! Replace each counter that finds keys by one that decides on neighbour x as it would on x′. Its noise is
//! independent of what came before it, so it differs with probability δ_key at most, whatever that
//! was (docs/discovery.md), and some of them differ with probability d at most. Where none does, what is
//! released is a function of noisy counts, for which the odometer keeps (ε, δ − d). So every event has
//! P(x) ≤ e^ε P(x′) + (δ − d) + d. The same holds for a total of ρ, with probability 1 − d.
//!
//! A grant and an entry of δ_key have the form of others, so that no format changes: a grant of δ alone is
//! the reserve of a population that was granted before, and a cost of a distance without noise is δ_key.

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
    /// The part of δ that is set aside for keys that are found; with a total of ρ, a δ besides it.
    pub key_delta: f64,
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
    /// δ as it was stated. The odometer has what is left of it for noise.
    pub delta: Option<f64>,
    /// The part of δ that is set aside for keys that are found.
    pub key_delta: f64,
}

/// A counter in an epoch, and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of the counter; `lost` for one that only the fence remembers.
    pub counter: String,
    /// The epoch.
    pub epoch: u32,
    /// What its noise costs.
    pub spend: Spend,
    /// δ_key, if it finds keys.
    pub key_delta: f64,
    number: u32,
    name: EpochName,
}

/// How much more than the reserve a sum of shares may be, for its rounding.
const HEADROOM: f64 = 1.0 / (1_u64 << 45) as f64;

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
    /// The cost of keys that appear although one person decides whether they can.
    fn of_keys(key_delta: f64) -> Self {
        Self { mu_squared: 0.0, pure_epsilon: 0.0, variation: key_delta }
    }

    /// δ_key. No noise costs a distance from nothing.
    fn key_delta(self) -> Option<f64> {
        (self.mu_squared == 0.0 && self.pure_epsilon == 0.0 && self.variation > 0.0).then_some(self.variation)
    }

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

/// What a counter costs in an epoch: its noise, and its keys if it finds them.
pub(crate) fn prices(counter_plan: &CounterPlan, counter: u32, epoch: EpochName) -> Vec<EntryRecord> {
    let costs = [Some(Cost::of(counter_plan.spend())), counter_plan.key_delta().map(Cost::of_keys)];
    let population = &counter_plan.spec().population;
    let price = |cost| EntryRecord { population: population.clone(), counter, epoch, cost };
    costs.into_iter().flatten().map(price).collect()
}

impl Grant {
    /// The grants of a population: its total, and what is set aside of it for keys.
    pub(crate) fn all(asked: &NewPopulation) -> Result<Vec<Self>> {
        let total = Self::new(asked)?;
        let mut grants = vec![total.clone()];
        if asked.key_delta != 0.0 {
            let keys =
                Self { epsilon: None, delta: Some(asked.key_delta), rho: None, pure_part: 0.0, ..total };
            keys.check_reserve(asked.total.delta())?;
            grants.push(keys);
        }
        Ok(grants)
    }

    /// Whether it is what a population has set aside for keys.
    fn is_for_keys(&self) -> bool {
        self.epsilon.is_none() && self.rho.is_none()
    }

    /// Refuses a reserve that is no part of δ.
    fn check_reserve(&self, delta: Option<f64>) -> Result<()> {
        let (reserve, most) = (self.delta.unwrap_or_default(), delta.unwrap_or(1.0));
        if reserve > 0.0 && reserve < most {
            return Ok(());
        }
        Err(Error::bad("key_delta", format!("above zero and below {most}"), reserve))
    }

    fn new(asked: &NewPopulation) -> Result<Self> {
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
        grant.odometer(0.0)?;
        Ok(grant)
    }

    /// The account of noise, with this much of δ set aside.
    fn odometer(&self, key_delta: f64) -> Result<Odometer> {
        let unit = Unit::named(self.unit.as_str(), self.neighbours.parse::<Neighbours>()?)?;
        // A total that was calibrated by way of zCDP has its ρ beside ε and δ.
        let rho = self.rho.filter(|_| self.epsilon.is_none());
        let Self { epsilon, delta, .. } = *self;
        // Beside a ρ, δ is that of its form as (ε, δ).
        let delta = match (rho, key_delta) {
            (None, reserve) if reserve > 0.0 => delta.map(|delta| (delta - reserve).next_down()),
            _ => delta,
        };
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

    /// Grants a total, or sets a part of it aside for keys.
    pub(crate) fn grant(&mut self, grant: Grant) -> Result<()> {
        if grant.is_for_keys() {
            return self.set_aside(&grant);
        }
        if self.has(&grant.population) {
            return Err(Error::conflict(format!(
                "the population {} is there already: a total is stated once",
                grant.population
            )));
        }
        let population = Population {
            odometer: grant.odometer(0.0)?,
            entries: Vec::new(),
            is_overdrawn: false,
            delta: grant.delta,
            key_delta: 0.0,
        };
        self.accounts.push((grant, population));
        Ok(())
    }

    /// Sets a part of δ aside, before anything is spent.
    fn set_aside(&mut self, reserve: &Grant) -> Result<()> {
        let (grant, account) = self.find(&reserve.population)?;
        reserve.check_reserve(grant.delta)?;
        if account.key_delta != 0.0 || !account.entries.is_empty() {
            return Err(Error::conflict("a part of δ is set aside once, before anything is spent"));
        }
        let key_delta = reserve.delta.unwrap_or_default();
        let odometer = grant.odometer(key_delta)?;
        let account = self.find_mut(&reserve.population)?;
        (account.odometer, account.key_delta) = (odometer, key_delta);
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
        self.find(&counter_plan.spec().population).ok()?;
        Some(self.check(counter_plan).is_ok())
    }

    /// Refuses what could not be entered.
    pub(crate) fn check(&self, counter_plan: &CounterPlan) -> Result<()> {
        let (_, account) = self.find(&counter_plan.spec().population)?;
        account.odometer.check(&self.unit_for(counter_plan)?, &counter_plan.spend())?;
        account.admit(&counter_plan.spend())?;
        counter_plan.key_delta().map_or(Ok(()), |key_delta| account.admit_keys(key_delta))
    }

    /// Enters what a counter costs, all of it. A refusal changes nothing.
    pub(crate) fn spend(&mut self, counter: &str, prices: &[EntryRecord]) -> Result<()> {
        for price in prices {
            let (_, account) = self.find(&price.population)?;
            match price.cost.key_delta() {
                Some(key_delta) => account.admit_keys(key_delta)?,
                None => {
                    let spend = price.cost.spend()?;
                    account.admit(&spend)?;
                    account.odometer.check(account.odometer.unit(), &spend)?;
                }
            }
        }
        prices.iter().try_for_each(|price| self.enter(counter, price))
    }

    /// Enters one cost that the account allows.
    fn enter(&mut self, counter: &str, price: &EntryRecord) -> Result<()> {
        let account = self.find_mut(&price.population)?;
        if let Some(key_delta) = price.cost.key_delta() {
            account.admit_keys(key_delta)?;
            account.enter_keys(counter, price, key_delta);
            return Ok(());
        }
        let spend = price.cost.spend()?;
        account.admit(&spend)?;
        let unit = account.odometer.unit().clone();
        account.odometer.spend(format!("{counter}, epoch {}", price.epoch.number), &unit, spend)?;
        account.entries.push(Entry::new(counter, price, spend));
        Ok(())
    }

    /// Enters what was spent already, whether the total allows it or not.
    pub(crate) fn owe(&mut self, counter: &str, entry_record: &EntryRecord) -> Result<()> {
        if self.enter(counter, entry_record).is_ok() {
            return Ok(());
        }
        let account = self.find_mut(&entry_record.population)?;
        account.is_overdrawn = true;
        match entry_record.cost.key_delta() {
            Some(key_delta) => account.enter_keys(counter, entry_record, key_delta),
            None => {
                let spend = entry_record.cost.spend()?;
                account.entries.push(Entry::new(counter, entry_record, spend));
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&(Grant, Population)> {
        self.accounts.iter().find(|(grant, _)| grant.population == name).ok_or_else(|| none(name))
    }

    fn find_mut(&mut self, name: &str) -> Result<&mut Population> {
        let found = self.accounts.iter_mut().find(|(grant, _)| grant.population == name);
        found.map(|(_, population)| population).ok_or_else(|| none(name))
    }

    /// Every grant, with its entries.
    fn granted(&self) -> impl Iterator<Item = (Grant, Vec<(&str, EntryRecord)>)> {
        self.accounts.iter().flat_map(|(grant, account)| {
            let keys = Grant { epsilon: None, delta: Some(account.key_delta), rho: None, ..grant.clone() };
            let keys = Grant { pure_part: 0.0, ..keys };
            let of_noise = account.entries.iter().filter(|entry| entry.spend != Spend::NOTHING);
            let of_keys = account.entries.iter().filter(|entry| entry.key_delta > 0.0);
            let noise = of_noise.map(|entry| (&*entry.counter, entry.record(grant, Cost::of(entry.spend))));
            let found =
                of_keys.map(|entry| (&*entry.counter, entry.record(grant, Cost::of_keys(entry.key_delta))));
            let keys = (account.key_delta > 0.0).then(|| (keys, found.collect()));
            std::iter::once((grant.clone(), noise.collect())).chain(keys)
        })
    }

    /// All that was entered, for the fence.
    pub(crate) fn spent(&self) -> Spent {
        let mut spent = Spent::default();
        for (grant, entries) in self.granted() {
            spent.add_population(grant);
            entries.into_iter().for_each(|(_, entry)| spent.add(entry.counter, entry.epoch, entry.cost));
        }
        spent
    }

    /// What a fence knows and these accounts do not: populations, and entries.
    pub(crate) fn missing(&self, spent: &Spent) -> (Vec<Grant>, Vec<EntryRecord>) {
        let here: Vec<_> = self.granted().collect();
        let (mut grants, mut lost) = (Vec::new(), Vec::new());
        for (grant, entries) in spent.populations() {
            let is_same = |(known, _): &&(Grant, Vec<(&str, EntryRecord)>)| {
                (&known.population, known.is_for_keys()) == (&grant.population, grant.is_for_keys())
            };
            let here = here.iter().find(is_same);
            if here.is_none() {
                grants.push(grant.clone());
            }
            let entries_here = here.iter().flat_map(|(_, entries)| entries);
            let known: HashSet<_> = entries_here.map(|(_, entry)| (entry.counter, entry.epoch)).collect();
            lost.extend(entries.into_iter().filter(|entry| !known.contains(&(entry.counter, entry.epoch))));
        }
        (grants, lost)
    }

    pub(crate) fn rows(&self) -> Vec<AccountRow> {
        let row = |(grant, entries): (Grant, Vec<(&str, EntryRecord)>)| AccountRow {
            grant,
            entries: entries.into_iter().map(|(counter, entry)| (counter.to_owned(), entry)).collect(),
        };
        self.granted().map(row).collect()
    }

    pub(crate) fn from_rows(rows: &[AccountRow]) -> Result<Self> {
        let mut accounts = Self::default();
        // What is set aside is set aside before anything is spent.
        rows.iter().try_for_each(|row| accounts.grant(row.grant.clone()))?;
        for (counter, entry) in rows.iter().flat_map(|row| &row.entries) {
            accounts.owe(counter, entry)?;
        }
        Ok(accounts)
    }
}

impl Population {
    /// The sum of all δ_key, rounded up.
    #[must_use]
    pub fn spent_on_keys(&self) -> f64 {
        self.entries.iter().fold(0.0, |sum, entry| match entry.key_delta {
            0.0 => sum,
            key_delta if sum == 0.0 => key_delta,
            key_delta => (sum + key_delta).next_up(),
        })
    }

    /// The δ that is left for keys.
    #[must_use]
    pub fn left_for_keys(&self) -> f64 {
        (self.key_delta - self.spent_on_keys()).max(0.0)
    }

    /// Refuses a δ_key that is not set aside. Shares that add up to the reserve fit for any rounding:
    /// thresholds keep a relative 10⁻⁹ of each δ_key, and this takes 2⁻⁴⁵ of it.
    fn admit_keys(&self, key_delta: f64) -> Result<()> {
        let (spent, reserve) = (self.spent_on_keys(), self.key_delta);
        let sum = if spent == 0.0 { key_delta } else { (spent + key_delta).next_up() };
        if !self.is_overdrawn && sum <= reserve * (1.0 + HEADROOM) {
            return Ok(());
        }
        let left = if self.is_overdrawn { 0.0 } else { self.left_for_keys() };
        Err(Error::Library(evertally::Error::BudgetSpent {
            population: self.odometer.population().to_owned(),
            asked: format!("δ = {key_delta:e} for keys that are found"),
            left: format!("δ = {left:e} for them"),
            total: format!("{}, with key_delta = {reserve:e} set aside for them", self.odometer.total()),
        }))
    }

    /// Enters δ_key beside the noise of the same counter and epoch.
    fn enter_keys(&mut self, counter: &str, price: &EntryRecord, key_delta: f64) {
        let is_same = |entry: &&mut Entry| (entry.number, entry.name) == (price.counter, price.epoch);
        match self.entries.iter_mut().rev().find(is_same) {
            Some(entry) => entry.key_delta = key_delta,
            None => {
                self.entries.push(Entry { key_delta, ..Entry::new(counter, price, Spend::NOTHING) });
            }
        }
    }

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
        Self { counter: counter.to_owned(), epoch: name.number, spend, key_delta: 0.0, number, name }
    }

    fn record(&self, grant: &Grant, cost: Cost) -> EntryRecord {
        EntryRecord { population: grant.population.clone(), counter: self.number, epoch: self.name, cost }
    }
}

fn none(name: &str) -> Error {
    Error::NotFound { what: "population", name: name.to_owned() }
}
