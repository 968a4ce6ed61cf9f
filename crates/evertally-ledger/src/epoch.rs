//! A new epoch: what a restored ledger costs.
//!
//! A ledger that is a copy, or older than what was released, knows neither what was released after it nor with which noise. To go on under the same noise would
//! give two releases of different totals whose difference has none. So each counter goes on from where it is with *fresh noise*, and
//! pays for it: what was released before and what follows are two runs of its plan on the same people, and compose. What the lost part of the ledger had spent
//! besides, on counters that are not known here any more, the fence remembers, and it is entered too.
//!
//! A population that cannot pay leaves its counters where they are; they can be retired.

use crate::counter::Life;
use crate::error::{Error, Result};
use crate::ledger::{EpochCost, EpochStarted, Ledger};
use crate::record::{Cost, NewEpoch, Record};
use std::collections::BTreeMap;

/// What lost entries are called.
const LOST: &str = "lost";

impl Ledger {
    /// What a new epoch would cost, counter by counter.
    #[must_use]
    pub fn epoch_preview(&self) -> Vec<EpochCost> {
        let mut accounts = self.global.accounts.clone();
        let epoch = self.global.epoch + 1;
        for (population, cost) in self.lost_costs() {
            if let Ok(spend) = cost.spend() {
                let _ = accounts.spend(&population, LOST, epoch, spend);
            }
        }
        let running = self.counters.values().filter(|state| state.is_running() || state.life == Life::Halted);
        let price = running.map(|state| {
            let (spec, spend) = (state.planned.spec(), state.planned.plan().spend());
            let affordable = accounts.spend(&spec.population, &spec.name, epoch, spend).is_ok();
            EpochCost {
                counter: spec.name.clone(),
                population: spec.population.clone(),
                rho: spend.rho(),
                affordable,
            }
        });
        price.collect()
    }

    /// Starts a new epoch: every counter whose population can pay goes on with fresh noise.
    ///
    /// # Errors
    /// [`Error::Conflict`] unless the ledger is fenced or counters were left out of the last epoch.
    pub fn start_epoch(&mut self) -> Result<EpochStarted> {
        self.check_writable()?;
        let is_any_halted = self.counters.values().any(|state| state.life == Life::Halted);
        if self.halt.fenced.is_none() && !is_any_halted {
            return Err(Error::conflict("the ledger is whole: a new epoch would only cost"));
        }
        let epoch = self.global.epoch.max(self.mark.as_ref().map_or(0, |mark| mark.epoch)) + 1;
        let lost = self.lost_costs();
        let mut accounts = self.global.accounts.clone();
        for (population, cost) in &lost {
            accounts.spend(population, LOST, epoch, cost.spend()?)?;
        }
        // Where only some were left out, the others run on as they are.
        let is_fenced = self.halt.fenced.is_some();
        let concerned = self
            .counters
            .values()
            .filter(|state| state.life == Life::Halted || is_fenced && state.is_running());
        let (mut restarted, mut halted) = (Vec::new(), Vec::new());
        let mut started = EpochStarted { epoch, restarted: Vec::new(), left: Vec::new() };
        for state in concerned {
            let (spec, spend) = (state.planned.spec(), state.planned.plan().spend());
            match accounts.spend(&spec.population, &spec.name, epoch, spend) {
                Ok(()) => {
                    restarted.push(state.number());
                    started.restarted.push(spec.name.clone());
                }
                Err(error) => {
                    halted.push(state.number());
                    started.left.push((spec.name.clone(), error.to_string()));
                }
            }
        }
        let new = NewEpoch { epoch, identity: self.identity, restarted, halted, lost };
        self.apply_epoch(&new, self.journal.sequence + 1, true)?;
        self.record(Record::Epoch(new));
        self.halt.fenced = None;
        // What the fence knew is entered now.
        self.mark = None;
        self.tentative.global = true;
        let numbers: Vec<u32> = self.counters.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.touch(number));
        Ok(started)
    }

    /// Does what the record of an epoch in this frame says.
    pub(crate) fn apply_epoch(&mut self, new: &NewEpoch, sequence: u64, is_global_new: bool) -> Result<()> {
        let epoch = new.epoch;
        if is_global_new {
            self.global.epoch = epoch;
            self.global.identity = new.identity;
            for (population, cost) in &new.lost {
                self.global.accounts.spend(population, LOST, epoch, cost.spend()?)?;
            }
        }
        for &number in &new.restarted {
            let stream = self.stream(number, epoch);
            let missing = || Error::damaged("there is no counter of a number");
            let state = self.counters.get_mut(&number).ok_or_else(missing)?;
            if is_global_new {
                let (spec, spend) = (state.planned.spec(), state.planned.plan().spend());
                self.global.accounts.spend(&spec.population, &spec.name, epoch, spend)?;
            }
            if sequence > state.row {
                state.renew(epoch, &stream, &self.key)?;
                state.life = Life::Running;
                self.changed.note(state, sequence);
                if !state.frozen.is_empty() {
                    self.unreleased.insert(number);
                }
                self.reschedule(number);
            }
        }
        for &number in &new.halted {
            let Some(state) = self.counters.get_mut(&number).filter(|state| sequence > state.row) else {
                continue;
            };
            state.life = Life::Halted;
            self.changed.note(state, sequence);
            self.unreleased.remove(&number);
            self.reschedule(number);
        }
        Ok(())
    }

    /// What the fence knows to have been spent and this ledger does not.
    fn lost_costs(&self) -> Vec<(String, Cost)> {
        let Some(mark) = self.mark.as_ref().filter(|mark| mark.ledger == self.global.ledger) else {
            return Vec::new();
        };
        let known: BTreeMap<String, Vec<Cost>> = self.global.accounts.spent().into_iter().collect();
        let mut lost = Vec::new();
        for (population, costs) in &mark.spent {
            // The ledger is an earlier state of the one that the fence saw, so that its entries come first there.
            let here = known.get(population).map_or(0, Vec::len);
            if known.contains_key(population) {
                lost.extend(costs.iter().skip(here).map(|cost| (population.clone(), *cost)));
            }
        }
        lost
    }
}
