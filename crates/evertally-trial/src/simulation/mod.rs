//! The ledger on a simulated machine, where a seed decides everything.
//!
//! **Definition.** A seed decides what clients post and repeat, how the clock moves (forward, not
//! at all, back, far ahead), when operators create, retire, back up and restore, which write, sync
//! or resize fails, when the disk is full, when the process or the power fails, and which of these
//! happen during recovery. After every step the ledger is compared with a [`Model`](model::Model)
//! of a few lists.
//!
//! **Promises.** Receipts agree with the model. An acknowledged event counts once, in its step, and
//! no published release changes. A failed write makes the ledger read-only, and published releases
//! can still be read. A commit is kept completely or not at all. A file from before the last
//! release, or a copy, is recognised and releases nothing before a new epoch, whose cost is
//! entered. When the faults are over, the ledger continues.
//!
//! **False alarms.** Totals are compared through counters at ε = 1,000 and δ = 0.4, whose standard
//! errors must be at most 0.0818: a value rounds to another number with probability below 10⁻⁹. A
//! thousand seeds compare about 10⁶ values, so a false alarm occurs at most once in a thousand such
//! runs.
//!
//! **A seed does not decide** the noise, because a ledger draws its name from the operating system.
//! No other comparison depends on it.

pub mod definitions;
pub mod model;
mod published;
mod recovery;
pub mod world;

use evertally_ledger::simulated::{Dice, Faults, Operation};

use definitions::{MINUTE, PROBE, TIGHT, extra_definition};
use model::Event;
use world::{BrokenPromise, World};

/// The result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// A hash of everything that happened.
    pub trace: u64,
    /// Commits that failed.
    pub failures: u64,
    /// Processes that ended.
    pub crashes: u64,
    /// Epochs that were started.
    pub epochs: u32,
    /// Events that count at the end.
    pub events: u64,
    /// Published values of keys that were found. They depend on the noise, which no seed decides.
    pub found: u64,
}

/// The driver of a simulation: everything except the state of the world.
struct Driver {
    world: World,
    dice: Dice,
    next_id: u64,
    /// Recently posted events, and those that wait for an acknowledgement.
    posted: Vec<(String, Event)>,
    waiting: Vec<(String, Event)>,
    extras: u64,
    failures: u64,
    crashes: u64,
}

/// Runs one seed for `steps` steps.
///
/// # Errors
/// The broken promise.
pub fn run(seed: u64, steps: u64) -> Result<Report, BrokenPromise> {
    run_on(seed, steps, |faults| faults)
}

/// Like [`run`], on a machine with additional faults that the simulation does not know of. A
/// promise must break.
///
/// # Errors
/// The broken promise.
pub fn run_on(seed: u64, steps: u64, own: impl Fn(Faults) -> Faults) -> Result<Report, BrokenPromise> {
    let mut driver = Driver {
        world: World::new(seed)?,
        dice: Dice::new(seed),
        next_id: 0,
        posted: Vec::new(),
        waiting: Vec::new(),
        extras: 0,
        failures: 0,
        crashes: 0,
    };
    driver.world.machine.plan(own(Faults::default()));
    for step in 0..steps {
        driver.step(&own).map_err(|broken| format!("seed {seed}, step {step}: {broken}"))?;
    }
    driver.finish().map_err(|broken| format!("seed {seed}, at the end: {broken}"))
}

impl Driver {
    fn step(&mut self, own: &impl Fn(Faults) -> Faults) -> Result<(), BrokenPromise> {
        match self.dice.below(100) {
            0..40 => self.post(),
            40..55 => {
                self.move_clock();
                Ok(())
            }
            55..73 => {
                self.world.close_due()?;
                self.commit(own)
            }
            73..80 => {
                let counter = ["by-hand", "window"][self.dice.below(2) as usize];
                self.world.advance(counter)?;
                if self.dice.once_in(2) { self.commit(own) } else { Ok(()) }
            }
            80..85 => {
                let faults = self.faults();
                self.world.machine.plan(own(faults));
                Ok(())
            }
            85..89 => self.crash(own),
            89..92 => {
                self.world.back_up();
                Ok(())
            }
            92 => {
                let number = self.dice.below(4) as usize;
                // Events acknowledged after the backup are lost with the restored file, and are not
                // posted again.
                self.waiting.clear();
                let runs = self.world.restore(number)?;
                self.resume(runs, own)
            }
            93 => {
                let runs = self.world.move_elsewhere()?;
                self.resume(runs, own)
            }
            94..96 => {
                self.extras += 1;
                self.world.create(&extra_definition(self.extras))?;
                self.commit(own)
            }
            96 => {
                let number = 1 + self.dice.below(self.extras + 1);
                let name = extra_definition(number).name;
                if self.world.model().counters.contains_key(&name) {
                    self.world.retire(&name)
                } else {
                    Ok(())
                }
            }
            97 => self.world.add_token(),
            _ => self.commit(own),
        }
    }

    /// Posts new events, copies of old ones, and unacknowledged events, in any order.
    fn post(&mut self) -> Result<(), BrokenPromise> {
        let model = self.world.model();
        let names: Vec<String> =
            model.counters.keys().filter(|name| *name != PROBE && *name != TIGHT).cloned().collect();
        let Some(name) = self.dice.one_of(&names).cloned() else { return Ok(()) };
        let definition = model.counters[&name].definition.clone();
        let mut events = Vec::new();
        for _ in 0..=self.dice.below(6) {
            self.next_id += 1;
            let around = self.world.now - 4 * MINUTE + self.dice.below(6 * MINUTE as u64) as i64;
            let says_when = definition.every.is_some() && self.dice.once_in(2);
            events.push(Event {
                id: self.next_id,
                time: says_when.then_some(around),
                lane: if definition.keys == 0 {
                    0
                } else {
                    self.dice.below(definition.keys as u64 + 1) as usize
                },
                person: match (definition.limits, definition.finds_keys) {
                    (None, _) => 0,
                    (Some(_), false) => self.dice.below(8),
                    (Some(_), true) => self.dice.below(60),
                },
            });
        }
        let mine = |list: &[(String, Event)]| -> Vec<Event> {
            list.iter().filter(|(counter, _)| *counter == name).map(|(_, event)| *event).collect()
        };
        let (posted, waiting) = (mine(&self.posted), mine(&self.waiting));
        events.extend(self.dice.one_of(&posted));
        events.extend(waiting);
        crate::flood::shuffle(&mut events, &mut self.dice);
        self.world.submit(&name, &events)?;
        for event in events {
            self.posted.push((name.clone(), event));
            self.waiting.push((name.clone(), event));
        }
        let old = self.posted.len().saturating_sub(200);
        self.posted.drain(..old);
        Ok(())
    }

    /// The clock stands still, advances, is set back, or jumps.
    fn move_clock(&mut self) {
        let by = match self.dice.below(10) {
            0 => 0,
            1 => -(self.dice.below(5 * MINUTE as u64) as i64),
            2 => self.dice.below(10 * MINUTE as u64) as i64,
            _ => self.dice.below(2 * MINUTE as u64) as i64,
        };
        self.world.now += by;
    }

    fn commit(&mut self, own: &impl Fn(Faults) -> Faults) -> Result<(), BrokenPromise> {
        let runs = self.world.commit()?;
        if runs {
            self.waiting.clear();
        }
        self.resume(runs, own)
    }

    /// Faults that may occur once, soon.
    fn faults(&mut self) -> Faults {
        let soon = self.dice.below(30);
        match self.dice.below(8) {
            0 => Faults { full_from: Some(soon), ..Faults::default() },
            1 | 2 => Faults { power_fails_at: Some(soon), ..Faults::default() },
            3 => Faults { capacity: Some(self.world.machine.image().len() as u64), ..Faults::default() },
            kind => {
                let operation = Operation::ALL[(kind % 4) as usize];
                let soon = if operation == Operation::Write { soon } else { soon % 4 };
                Faults { fails: Some((operation, soon)), ..Faults::default() }
            }
        }
    }

    fn crash(&mut self, own: &impl Fn(Faults) -> Faults) -> Result<(), BrokenPromise> {
        self.resume(false, own)
    }

    /// Restarts the ledger until it runs. Recovery is sometimes interrupted as well.
    fn resume(&mut self, mut runs: bool, own: &impl Fn(Faults) -> Faults) -> Result<(), BrokenPromise> {
        self.failures += u64::from(!runs && !self.world.is_alive());
        for attempt in 0.. {
            if runs {
                break;
            }
            self.crashes += 1;
            let power = Some(self.dice.bits()).filter(|bits| bits % 3 > 0);
            self.world.crash(power);
            let faults = if attempt < 3 && self.dice.once_in(3) { self.faults() } else { Faults::default() };
            runs = self.world.restart(own(faults))?;
        }
        Ok(())
    }

    /// After the faults, posts everything unacknowledged again, and compares all totals.
    fn finish(mut self) -> Result<Report, BrokenPromise> {
        let healthy = |_| Faults::default();
        self.world.machine.plan(Faults::default());
        if !self.world.is_alive() {
            self.crash(&healthy)?;
        }
        for (counter, event) in std::mem::take(&mut self.waiting) {
            if self.world.model().counters.contains_key(&counter) {
                self.world.submit(&counter, &[event])?;
            }
        }
        self.world.commit()?;
        self.world.now += 10 * MINUTE;
        self.world.close_due()?;
        self.world.advance("by-hand")?;
        self.world.advance("window")?;
        if !self.world.commit_thoroughly()? {
            return Err("a commit failed although nothing else did".to_owned());
        }
        self.crash(&healthy)?;
        self.world.verify()?;
        let model = self.world.model();
        Ok(Report {
            trace: self.world.trace(),
            failures: self.failures,
            crashes: self.crashes,
            epochs: model.epoch,
            events: model.counters.values().map(model::Counter::events).sum(),
            found: self.world.found(),
        })
    }
}
