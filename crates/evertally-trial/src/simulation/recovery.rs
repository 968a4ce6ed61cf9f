//! Recovery: what happens after the end of the process, a power cut, or a replaced file.

use evertally_ledger::Mode;
use evertally_ledger::simulated::Faults;

use super::definitions::PROBE;
use super::model::{Counter, CounterState, Model};
use super::world::{Backup, BrokenPromise, World, expect, probe};

impl World {
    /// Ends the process with everything uncommitted. The power is cut as well if there is a seed,
    /// or if the machine requires it.
    pub fn crash(&mut self, power: Option<u64>) {
        let must_be_cut = !self.machine.has_power() || self.machine.shows_what_is_lost();
        match power {
            Some(seed) => self.machine.cut_power(seed),
            None if must_be_cut => self.machine.cut_power(self.probes),
            None => self.machine.kill(),
        }
        self.ledger = None;
        self.note(&[4]);
    }

    /// Restarts after a crash. Faults may end it again. Returns whether it runs.
    ///
    /// # Errors
    /// If it does not start although nothing fails, or its content has changed.
    pub fn restart(&mut self, faults: Faults) -> Result<bool, BrokenPromise> {
        self.ledger = None;
        self.machine.plan(faults);
        if let Err(error) = self.open() {
            self.note(&[5]);
            return if faults.is_none() {
                Err(format!("it does not start again: {error}"))
            } else {
                Ok(false)
            };
        }
        let shown = self.ledger()?.shown();
        let is_waiting = self.is_waiting_for_an_epoch();
        match shown.mode() {
            Mode::Running => {}
            Mode::Fenced { .. } if is_waiting => return self.start_epoch(),
            mode => return Err(format!("after a crash it is {mode:?}")),
        }
        self.resolve(is_waiting)?;
        self.commit_thoroughly()
    }

    /// Determines whether the commit in doubt was kept.
    fn resolve(&mut self, had_new_epoch: bool) -> Result<(), BrokenPromise> {
        let Some(doubtful) = self.in_doubt.take() else {
            self.tentative = self.committed.clone();
            return Ok(());
        };
        let was_kept = had_new_epoch || {
            let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
            let published = ledger.shown().counter(PROBE);
            match published {
                // The first commit was lost, and with it everything.
                None => false,
                Some(published) => {
                    let id = format!("id-{}", self.probes);
                    let event = evertally_ledger::Event { id: &id, ..evertally_ledger::Event::default() };
                    let arrival = published.intake().prepare(&event).map_err(|error| error.to_string())?;
                    let receipt =
                        ledger.submit(&published, &[arrival], self.now).map_err(|error| error.to_string())?;
                    receipt.duplicate == 1
                }
            }
        };
        self.note(&[6, u64::from(was_kept)]);
        if was_kept {
            let before = std::mem::replace(&mut self.committed, doubtful);
            self.find_released(&before)?;
            self.tentative = self.committed.clone();
        } else {
            self.tentative = self.committed.clone();
            // The probe of this query counts from now on.
            if let Some(counter) = self.tentative.counters.get_mut(PROBE) {
                counter.take(&probe(self.probes), self.now);
            }
        }
        Ok(())
    }

    /// Steps that a kept commit closed may or may not be released already.
    fn find_released(&mut self, before: &Model) -> Result<(), BrokenPromise> {
        let shown = self.ledger()?.shown();
        for (name, counter) in &mut self.committed.counters {
            let released = shown.counter(name).map_or(0, |published| published.next_step());
            let least = before.counters.get(name).map_or(0, |counter| counter.released);
            if !(least..=counter.released).contains(&released) {
                return Err(format!(
                    "{name} has {released} releases, and had {least} of {}",
                    counter.released
                ));
            }
            counter.released = released;
        }
        Ok(())
    }

    /// Makes a backup of the file.
    pub fn back_up(&mut self) {
        if self.is_alive() {
            self.backups.push(Backup {
                image: self.machine.image(),
                model: self.committed.clone(),
                releases: self.published.count(),
            });
        }
    }

    /// Restores an earlier file. If anything was released since, nothing may be released before a
    /// new epoch, whose cost is entered. The epoch is started at once. Returns whether the ledger
    /// then runs.
    ///
    /// # Errors
    /// If the old file is not recognised, or the ledger continues incorrectly.
    pub fn restore(&mut self, number: usize) -> Result<bool, BrokenPromise> {
        let Some(backup) = self.backups.get(number) else { return Ok(true) };
        self.ledger = None;
        self.machine.restore(backup.image.clone());
        let is_older = self.published.count() > backup.releases;
        let epoch = self.newest_epoch();
        self.committed = backup.model.clone();
        self.committed.epoch = epoch;
        self.tentative = self.committed.clone();
        self.in_doubt = None;
        self.published.roll_back(&self.committed);
        self.spent.clone_from(&self.spent_at_release);
        self.backups.truncate(number + 1);
        self.open()?;
        self.note(&[7, u64::from(is_older)]);
        match self.ledger()?.shown().mode() {
            Mode::Running if !is_older => self.commit_thoroughly(),
            Mode::Fenced { .. } => self.start_epoch(),
            mode => Err(format!("an older file was put in place, and it is {mode:?}")),
        }
    }

    /// Opens the ledger as a copy in another place, which must be recognised, and starts a new
    /// epoch there. Returns whether the ledger then runs.
    ///
    /// # Errors
    /// As [`World::restore`].
    pub fn move_elsewhere(&mut self) -> Result<bool, BrokenPromise> {
        self.crash(None);
        self.identity += 1;
        self.tentative = self.committed.clone();
        self.open()?;
        self.note(&[8]);
        match self.ledger()?.shown().mode() {
            Mode::Fenced { .. } => self.start_epoch(),
            mode => Err(format!("it was copied, and it is {mode:?}")),
        }
    }

    /// Checks what a fenced ledger refuses and what a new epoch costs.
    fn start_epoch(&mut self) -> Result<bool, BrokenPromise> {
        let now = self.now;
        let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
        let class = |error: evertally_ledger::Error| error.class().name();
        let refusals =
            [ledger.close_due(now).err().map(class), ledger.advance("by-hand", 1).err().map(class)];
        expect("what is refused before a new epoch", refusals, [Some("fenced"); 2])?;
        self.published.compare(&ledger.shown(), &self.committed, None, true)?;
        self.tentative = self.committed.clone();
        let started = ledger.start_epoch().map_err(|error| format!("no new epoch: {error}"))?;
        if started.epoch <= self.committed.epoch {
            return Err(format!("epoch {} after {}", started.epoch, self.committed.epoch));
        }
        self.tentative.epoch = started.epoch;
        let is_concerned = |counter: &Counter| {
            counter.life != CounterState::Retired && counter.released < counter.definition.steps
        };
        let concerned = self.committed.counters.iter().filter(|(_, counter)| is_concerned(counter));
        let concerned: Vec<&String> = concerned.map(|(name, _)| name).collect();
        let mut told: Vec<&String> =
            started.restarted.iter().chain(started.left.iter().map(|(name, _)| name)).collect();
        told.sort();
        expect("the counters that a new epoch names", told, concerned)?;
        let fates = started.restarted.iter().map(|name| (name, CounterState::Running));
        for (name, life) in fates.chain(started.left.iter().map(|(name, _)| (name, CounterState::Halted))) {
            if let Some(counter) = self.tentative.counters.get_mut(name) {
                counter.life = life;
            }
        }
        self.note(&[9, started.restarted.len() as u64, started.left.len() as u64]);
        self.commit_thoroughly()
    }

    fn is_waiting_for_an_epoch(&self) -> bool {
        self.in_doubt.as_ref().is_some_and(|doubtful| doubtful.epoch > self.committed.epoch)
    }

    fn newest_epoch(&self) -> u32 {
        self.in_doubt.as_ref().map_or(0, |doubtful| doubtful.epoch).max(self.committed.epoch)
    }
}
