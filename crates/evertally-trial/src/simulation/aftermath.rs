//! What comes after an end: the process, the power, or the file itself.

use evertally_ledger::Mode;
use evertally_ledger::simulated::Faults;

use super::model::{Counter, Life, Model};
use super::shapes::PROBE;
use super::world::{Backup, Broken, World, expect, probe};

impl World {
    /// Ends the process, with all it has not committed. The power is cut where there is a seed, or
    /// where nothing else helps.
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

    /// Starts again after a crash. With faults, these may end it once more; whether it runs.
    ///
    /// # Errors
    /// Where it does not start though nothing fails, or is not what it was.
    pub fn restart(&mut self, faults: Faults) -> Result<bool, Broken> {
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
        let shown = self.ledger()?.read_view();
        let is_waiting = self.is_waiting_for_an_epoch();
        match shown.mode() {
            Mode::Running => {}
            Mode::Fenced { .. } if is_waiting => return self.start_epoch(),
            mode => return Err(format!("after a crash it is {mode:?}")),
        }
        self.resolve(is_waiting)?;
        self.commit_thoroughly()
    }

    /// Finds out whether the commit in doubt was kept.
    fn resolve(&mut self, had_new_epoch: bool) -> Result<(), Broken> {
        let Some(doubtful) = self.in_doubt.take() else {
            self.tentative = self.committed.clone();
            return Ok(());
        };
        let was_kept = had_new_epoch || {
            let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
            let published = ledger.read_view().counter(PROBE);
            match published {
                // The very first commit was lost with everything.
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
            // The probe that was asked with has counted now.
            if let Some(counter) = self.tentative.counters.get_mut(PROBE) {
                counter.take(&probe(self.probes), self.now);
            }
        }
        Ok(())
    }

    /// What was closed by a commit that was kept may be released already, or not yet.
    fn find_released(&mut self, before: &Model) -> Result<(), Broken> {
        let shown = self.ledger()?.read_view();
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

    /// Remembers the file as it stands, as a backup does.
    pub fn back_up(&mut self) {
        if self.is_alive() {
            self.backups.push(Backup {
                image: self.machine.image(),
                model: self.committed.clone(),
                releases: self.seen.count(),
            });
        }
    }

    /// Puts an earlier file in place of the present one. Where anything was released since, nothing
    /// may be until a new epoch is started, whose cost is entered; it is started at once. Whether
    /// the ledger then runs.
    ///
    /// # Errors
    /// Where it is not recognised, or goes on otherwise than it must.
    pub fn restore(&mut self, number: usize) -> Result<bool, Broken> {
        let Some(backup) = self.backups.get(number) else { return Ok(true) };
        self.ledger = None;
        self.machine.restore(backup.image.clone());
        let is_older = self.seen.count() > backup.releases;
        let epoch = self.newest_epoch();
        self.committed = backup.model.clone();
        self.committed.epoch = epoch;
        self.tentative = self.committed.clone();
        self.in_doubt = None;
        self.seen.roll_back(&self.committed);
        self.spent.clone_from(&self.spent_at_release);
        self.backups.truncate(number + 1);
        self.open()?;
        self.note(&[7, u64::from(is_older)]);
        match self.ledger()?.read_view().mode() {
            Mode::Running if !is_older => self.commit_thoroughly(),
            Mode::Fenced { .. } => self.start_epoch(),
            mode => Err(format!("an older file was put in place, and it is {mode:?}")),
        }
    }

    /// Opens the ledger as a copy elsewhere, which must be recognised, and starts a new epoch
    /// there. Whether the ledger then runs.
    ///
    /// # Errors
    /// As [`World::restore`].
    pub fn move_elsewhere(&mut self) -> Result<bool, Broken> {
        self.crash(None);
        self.identity += 1;
        self.tentative = self.committed.clone();
        self.open()?;
        self.note(&[8]);
        match self.ledger()?.read_view().mode() {
            Mode::Fenced { .. } => self.start_epoch(),
            mode => Err(format!("it was copied, and it is {mode:?}")),
        }
    }

    /// What a fenced ledger refuses, and what a new epoch costs.
    fn start_epoch(&mut self) -> Result<bool, Broken> {
        let now = self.now;
        let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
        let class = |error: evertally_ledger::Error| error.class().name();
        let refusals =
            [ledger.close_due(now).err().map(class), ledger.advance("by-hand", 1).err().map(class)];
        expect("what is refused before a new epoch", refusals, [Some("fenced"); 2])?;
        self.seen.compare(&ledger.read_view(), &self.committed, None, true)?;
        self.tentative = self.committed.clone();
        let started = ledger.start_epoch().map_err(|error| format!("no new epoch: {error}"))?;
        if started.epoch <= self.committed.epoch {
            return Err(format!("epoch {} after {}", started.epoch, self.committed.epoch));
        }
        self.tentative.epoch = started.epoch;
        let is_concerned =
            |counter: &Counter| counter.life != Life::Retired && counter.released < counter.shape.steps;
        let concerned = self.committed.counters.iter().filter(|(_, counter)| is_concerned(counter));
        let concerned: Vec<&String> = concerned.map(|(name, _)| name).collect();
        let mut told: Vec<&String> =
            started.restarted.iter().chain(started.left.iter().map(|(name, _)| name)).collect();
        told.sort();
        expect("the counters that a new epoch names", told, concerned)?;
        let fates = started.restarted.iter().map(|name| (name, Life::Running));
        for (name, life) in fates.chain(started.left.iter().map(|(name, _)| (name, Life::Halted))) {
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
