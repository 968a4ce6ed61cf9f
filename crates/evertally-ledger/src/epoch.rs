//! A new epoch: what a restored ledger costs.
//!
//! A ledger that is a copy, or older than what was released, knows neither what was released after
//! it nor with which noise. Resuming with the same noise would give two releases of different
//! totals whose difference has no noise. So each counter resumes from where it is with *fresh
//! noise*, and pays for it: what was released before and what follows are two runs of its plan on
//! the same people, and compose. The fence remembers what the lost part of the ledger spent on
//! counters that are no longer known here, and that is entered too.
//!
//! If a population cannot pay, its counters stay where they are; they can be retired.

use crate::accounts::{Accounts, LOST, prices};
use crate::counter::{CounterState, Life};
use crate::error::{Error, Result};
use crate::ledger::{EpochCost, EpochResult, Ledger};
use crate::record::{Cost, EntryRecord, EpochName, Grant, NewEpoch, Record};
use crate::tokens::random;

impl Ledger {
    /// What a new epoch would cost, counter by counter.
    #[must_use]
    pub fn epoch_preview(&self) -> Vec<EpochCost> {
        let (granted, lost) = self.lost();
        // What cannot even be entered here is refused when the epoch is started.
        let mut accounts = with_lost(&self.global.accounts, &granted, &lost).unwrap_or_default();
        let epoch = EpochName { number: self.next_epoch(), ..EpochName::default() };
        let price = self.concerned().map(|state| {
            let spec = state.counter_plan.spec();
            EpochCost {
                counter: spec.name.clone(),
                population: spec.population.clone(),
                rho: state.counter_plan.spend().rho(),
                affordable: accounts.spend(&spec.name, &price_of(state, epoch)).is_ok(),
            }
        });
        price.collect()
    }

    /// Starts a new epoch: every counter whose population can pay resumes with fresh noise. What
    /// only the fence remembers is entered first.
    ///
    /// # Errors
    /// [`Error::Conflict`] unless the ledger is fenced or counters were left out of the last epoch.
    pub fn start_epoch(&mut self) -> Result<EpochResult> {
        self.check_writable()?;
        if self.halt.fenced.is_none() && self.concerned().next().is_none() {
            return Err(Error::conflict("the ledger is whole: a new epoch would only cost"));
        }
        let epoch = EpochName { number: self.next_epoch(), nonce: random()? };
        let (granted, lost) = self.lost();
        let mut accounts = with_lost(&self.global.accounts, &granted, &lost)?;
        let (mut restarted, mut halted) = (Vec::new(), Vec::new());
        let mut started = EpochResult { epoch: epoch.number, restarted: Vec::new(), left: Vec::new() };
        for state in self.concerned() {
            let name = &state.counter_plan.spec().name;
            let price = price_of(state, epoch);
            match accounts.spend(name, &price) {
                Ok(()) => {
                    restarted.push((state.number(), Cost::of(state.counter_plan.spend())));
                    started.restarted.push(name.clone());
                }
                Err(error) => {
                    halted.push(state.number());
                    started.left.push((name.clone(), error.to_string()));
                }
            }
        }
        let new = NewEpoch { epoch, identity: self.identity, restarted, halted, granted, lost };
        if let Err(error) = self.apply_epoch(&new, self.journal.sequence + 1, true) {
            // Some of it may be done, and none of it is recorded.
            return Err(self.fail(&error));
        }
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
            self.global.accounts = with_lost(&self.global.accounts, &new.granted, &new.lost)?;
        }
        for &(number, cost) in &new.restarted {
            let stream = self.stream(number, epoch);
            let missing = || Error::damaged("there is no counter of a number");
            let state = self.counters.get_mut(&number).ok_or_else(missing)?;
            if is_global_new {
                // It was admitted when the epoch started.
                let mut prices = price_of(state, epoch);
                prices.iter_mut().take(1).for_each(|price| price.cost = cost);
                let name = &state.counter_plan.spec().name;
                prices.iter().try_for_each(|price| self.global.accounts.owe(name, price))?;
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

    /// The counters that a new epoch concerns: if the ledger is fenced, all that run; otherwise
    /// those that were left out before.
    fn concerned(&self) -> impl Iterator<Item = &CounterState> {
        let is_fenced = self.halt.fenced.is_some();
        let has_steps = |state: &CounterState| state.released() < state.counter_plan.steps();
        self.counters.values().filter(move |state| {
            has_steps(state) && (state.life == Life::Halted || is_fenced && state.life == Life::Running)
        })
    }

    fn next_epoch(&self) -> u32 {
        let known = self.mark.as_ref().map_or(0, |mark| mark.epoch.number);
        self.global.epoch.number.max(known) + 1
    }

    /// What the fence knows to have been granted and entry_record, and this ledger does not.
    fn lost(&self) -> (Vec<Grant>, Vec<EntryRecord>) {
        let mark = self.mark.as_ref().filter(|mark| mark.ledger == self.global.ledger);
        mark.map_or_else(Default::default, |mark| self.global.accounts.missing(&mark.spent))
    }
}

impl Ledger {
    /// Why nothing may be released by this ledger, by what the fence says.
    pub(crate) fn fence_reason(&self) -> Option<String> {
        let Some(mark) = &self.mark else {
            return Some("its fence is missing: the directory was copied or moved, and what was released since is not known".to_owned());
        };
        let (released, head) = self.global.released;
        let reason = if mark.ledger != self.global.ledger {
            "its fence belongs to another ledger"
        } else if mark.epoch.number < self.global.epoch.number && self.lost().1.is_empty() {
            // A new epoch started here, and the fence does not know it: nothing was released in it
            // yet.
            return self.is_copy();
        } else if mark.epoch.number < self.global.epoch.number {
            "its history is another one than that of its fence"
        } else if mark.epoch.number > self.global.epoch.number || mark.released > released {
            "it is older than what was released: a backup was restored"
        } else if mark.epoch != self.global.epoch || mark.released == released && mark.head != head {
            "its history is not the one that was released"
        } else {
            return self.is_copy();
        };
        Some(reason.to_owned())
    }

    fn is_copy(&self) -> Option<String> {
        let is_copy = self.identity != self.global.identity;
        is_copy.then(|| "its file is a copy of the one that was released from".to_owned())
    }

    /// A crash may have come between a release and its mark. The release is about to be shown, so
    /// the fence must know it first: a backup from before it would otherwise be taken for the
    /// present, and release the same step with the same noise and other events.
    pub(crate) fn catch_up_fence(&mut self) -> Result<()> {
        let is_behind = self.mark.as_ref().is_some_and(|mark| {
            mark.ledger == self.global.ledger
                && (mark.epoch.number, mark.released) < (self.global.epoch.number, self.global.released.0)
        });
        // What a copy knows is not what the fence must know.
        if is_behind && self.halt.fenced.is_none() { self.write_mark() } else { Ok(()) }
    }
}

/// Accounts with what was lost: it was spent, whether the totals allow it or not.
fn with_lost(accounts: &Accounts, granted: &[Grant], lost: &[EntryRecord]) -> Result<Accounts> {
    let mut accounts = accounts.clone();
    granted.iter().try_for_each(|grant| accounts.grant(grant.clone()))?;
    lost.iter().try_for_each(|entry_record| accounts.owe(LOST, entry_record))?;
    Ok(accounts)
}

/// What a counter pays for an epoch.
fn price_of(state: &CounterState, epoch: EpochName) -> Vec<EntryRecord> {
    prices(&state.counter_plan, state.number(), epoch)
}
