//! A ledger on a simulated machine, and the model that it is compared with.
//!
//! Every operation is applied to the ledger and to the model, and the results are compared. A
//! commit carries a *probe*, an event with a unique id. After a crash in the middle of a commit,
//! the probe is a duplicate if and only if the commit was kept. Either all of the commit must have
//! been kept, or nothing.

use std::collections::BTreeMap;

use evertally::NoiseKey;
use evertally_ledger::simulated::SimulatedMachine;
use evertally_ledger::{Ledger, Location, Mode, Receipt, Role};

use super::definitions::{BEGINNING, CounterDefinition, PROBE, initial_definitions, populations};
use super::model::{Counter, CounterState, Event, Fate, Model};
use super::published::Published;

/// The description of a broken promise.
pub type BrokenPromise = String;

/// A backup of the file, and its content.
pub(super) struct Backup {
    pub(super) image: Vec<u8>,
    pub(super) model: Model,
    /// The number of releases published until then.
    pub(super) releases: u64,
}

/// A ledger, its machine and its model.
pub struct World {
    /// The machine, for planning faults.
    pub machine: SimulatedMachine,
    /// The time of the clock.
    pub now: i64,
    pub(super) ledger: Option<Ledger>,
    /// The model of everything that is certainly durable.
    pub(super) committed: Model,
    /// The model if everything since were committed.
    pub(super) tentative: Model,
    /// The model if a failed commit was kept.
    pub(super) in_doubt: Option<Model>,
    pub(super) probes: u64,
    pub(super) published: Published,
    /// The observed spend of each population, and its spend at the last release. A restored file
    /// must not show less than the latter.
    pub(super) spent: BTreeMap<String, f64>,
    pub(super) spent_at_release: BTreeMap<String, f64>,
    pub(super) identity: u64,
    pub(super) key: u64,
    pub(super) backups: Vec<Backup>,
    /// A hash of everything that happened.
    trace: u64,
}

impl World {
    /// A new ledger with its populations and counters.
    ///
    /// # Errors
    /// If a promise is broken already.
    pub fn new(seed: u64) -> Result<Self, BrokenPromise> {
        Self::with(seed, &initial_definitions())
    }

    /// A new ledger with these counters.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn with(seed: u64, definitions: &[CounterDefinition]) -> Result<Self, BrokenPromise> {
        let mut world = Self {
            machine: SimulatedMachine::new(seed),
            now: BEGINNING,
            ledger: None,
            committed: Model { epoch: 1, ..Model::default() },
            tentative: Model { epoch: 1, ..Model::default() },
            in_doubt: None,
            probes: 0,
            published: Published::default(),
            spent: BTreeMap::new(),
            spent_at_release: BTreeMap::new(),
            identity: 1,
            key: seed,
            backups: Vec::new(),
            trace: 0,
        };
        world.open()?;
        for population in populations()? {
            world.ledger()?.grant(&population).map_err(|error| error.to_string())?;
        }
        for definition in definitions {
            world.create(definition)?;
        }
        world.commit()?;
        Ok(world)
    }

    /// Reads and checks everything, as `serve --verify` does.
    ///
    /// # Errors
    /// If something is damaged.
    pub fn verify(&mut self) -> Result<(), BrokenPromise> {
        self.ledger()?.verify().map(|_| ()).map_err(|error| error.to_string())
    }

    /// The model of the durable state.
    pub fn model(&self) -> &Model {
        &self.committed
    }

    /// A hash of everything that happened.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Whether the ledger still accepts changes, according to its mode.
    pub fn is_alive(&self) -> bool {
        self.ledger.is_some() && self.in_doubt.is_none()
    }

    /// Posts events. They are not acknowledged before a commit.
    ///
    /// # Errors
    /// If the receipt differs from the model.
    pub fn submit(&mut self, counter: &str, events: &[Event]) -> Result<(), BrokenPromise> {
        let now = self.now;
        let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
        let published =
            ledger.read_view().counter(counter).ok_or_else(|| format!("{counter} is not there"))?;
        let model = self.tentative.counters.get_mut(counter).ok_or("the model has no such counter")?;
        let (keys, limits) = (model.definition.keys, model.definition.limits);
        let mut arrivals = Vec::new();
        for event in events {
            let (id, key, person) =
                (format!("id-{}", event.id), CounterDefinition::key(event.lane), event.person.to_string());
            let raw = evertally_ledger::Event {
                id: &id,
                time: event.time,
                key: Some(key.as_str()).filter(|_| keys > 0),
                person: Some(person.as_str()).filter(|_| limits.is_some()),
                value: None,
            };
            arrivals.push(published.intake().prepare(&raw).map_err(|error| format!("{counter}: {error}"))?);
        }
        if model.life == CounterState::Halted {
            let refusal = ledger.submit(&published, &arrivals, now).err().map(|error| error.class().name());
            return expect("a counter that waits for its budget", refusal, Some("fenced"));
        }
        let receipt =
            ledger.submit(&published, &arrivals, now).map_err(|error| format!("{counter}: {error}"))?;
        // Ties in time are broken by hashes, which only the ledger knows.
        let mut ordered: Vec<_> = arrivals.iter().zip(events).collect();
        ordered.sort_by(|(one, _), (other, _)| one.order(now).cmp(&other.order(now)));
        let fates: Vec<Fate> = ordered.iter().map(|(_, event)| model.take(event, now)).collect();
        let expected = receipt_of(&fates);
        self.note(&[
            1,
            receipt.counted,
            receipt.duplicate,
            receipt.late,
            receipt.early,
            receipt.over_bound,
            receipt.ended,
        ]);
        expect(&format!("the receipt of {counter}"), receipt, expected)
    }

    /// The number of published values of keys that were found.
    pub fn found(&self) -> u64 {
        self.published.found()
    }

    /// Closes the steps that are due by the clock.
    ///
    /// # Errors
    /// If the ledger refuses.
    pub fn close_due(&mut self) -> Result<(), BrokenPromise> {
        let now = self.now;
        while self.ledger()?.close_due(now).map_err(|error| error.to_string())? {}
        self.tentative.close_due(now);
        Ok(())
    }

    /// Closes a step by hand, if there is one left.
    ///
    /// # Errors
    /// If the ledger closes another step, or refuses.
    pub fn advance(&mut self, counter: &str) -> Result<(), BrokenPromise> {
        let model = self.tentative.counters.get_mut(counter).ok_or("the model has no such counter")?;
        if model.life != CounterState::Running || model.closed == model.definition.steps {
            return Ok(());
        }
        let expected = model.closed..model.closed + 1;
        model.closed += 1;
        let closed = self.ledger()?.advance(counter, 1).map_err(|error| format!("{counter}: {error}"))?;
        expect(&format!("the step of {counter} that was closed"), closed, expected)
    }

    /// Creates a counter.
    ///
    /// # Errors
    /// If the ledger refuses.
    pub fn create(&mut self, definition: &CounterDefinition) -> Result<(), BrokenPromise> {
        let (counter_plan, now) = (definition.counter_plan()?, self.now);
        self.ledger()?.create(&counter_plan, now).map_err(|error| format!("{}: {error}", definition.name))?;
        self.tentative.counters.insert(definition.name.clone(), Counter::new(definition.clone()));
        Ok(())
    }

    /// Retires a counter, unless it is retired.
    ///
    /// # Errors
    /// If the ledger refuses.
    pub fn retire(&mut self, counter: &str) -> Result<(), BrokenPromise> {
        let model = self.tentative.counters.get_mut(counter).ok_or("the model has no such counter")?;
        if model.life == CounterState::Retired {
            return Ok(());
        }
        model.life = CounterState::Retired;
        // Closed steps that were not released never will be.
        model.closed = model.released;
        self.ledger()?.retire(counter).map_err(|error| error.to_string())
    }

    /// Creates a token.
    ///
    /// # Errors
    /// If the ledger refuses.
    pub fn add_token(&mut self) -> Result<(), BrokenPromise> {
        let now = self.now;
        self.ledger()?.add_token("simulated", Role::Read, None, now).map_err(|error| error.to_string())?;
        self.tentative.tokens += 1;
        Ok(())
    }

    /// Commits, and compares the published releases. Returns whether it succeeded. If not, it is in
    /// doubt what was kept.
    ///
    /// # Errors
    /// If a published release is wrong.
    pub fn commit(&mut self) -> Result<bool, BrokenPromise> {
        self.commit_and_compare(false)
    }

    /// Commits, and compares every release that was ever published.
    ///
    /// # Errors
    /// As [`World::commit`].
    pub fn commit_thoroughly(&mut self) -> Result<bool, BrokenPromise> {
        self.commit_and_compare(true)
    }

    fn commit_and_compare(&mut self, is_thorough: bool) -> Result<bool, BrokenPromise> {
        if self.ledger()?.read_view().counter(PROBE).is_some() {
            self.probes += 1;
            self.submit(PROBE, &[probe(self.probes)])?;
        }
        let now = self.now;
        self.tentative.release();
        match self.ledger()?.commit(now) {
            Ok(_) => {
                self.committed = self.tentative.clone();
                self.note(&[2]);
                self.compare(is_thorough)?;
                Ok(true)
            }
            Err(error) => {
                self.in_doubt = Some(self.tentative.clone());
                self.note(&[3]);
                expect("the class of a failed commit", error.class().name(), "read-only")?;
                self.check_halted()?;
                Ok(false)
            }
        }
    }

    /// After a failure the ledger accepts and writes nothing, and all published releases can be
    /// read.
    fn check_halted(&mut self) -> Result<(), BrokenPromise> {
        let (now, writes) = (self.now, self.machine.counts());
        let has_power = self.machine.has_power();
        let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
        let shown = ledger.read_view();
        if !matches!(shown.mode(), Mode::ReadOnly { .. }) {
            return Err("storage failed and the mode is not read-only".to_owned());
        }
        let class = |error: evertally_ledger::Error| error.class().name();
        let refusals = [
            ledger.close_due(now).err().map(class),
            ledger.commit(now).err().map(class),
            ledger.retire("plain").err().map(class),
        ];
        expect("refusals after a failure", refusals, [Some("read-only"); 3])?;
        expect("what is written after a failure", self.machine.counts(), writes)?;
        // Without power, only data in memory can be read.
        if has_power {
            self.published.compare(&shown, &self.committed, self.in_doubt.as_ref(), true)
        } else {
            Ok(())
        }
    }

    /// Compares everything that the ledger shows with the model.
    fn compare(&mut self, is_thorough: bool) -> Result<(), BrokenPromise> {
        let shown = self.ledger()?.read_view();
        expect("the mode", shown.mode(), Mode::Running)?;
        expect("the epoch", shown.epoch(), self.committed.epoch)?;
        expect("the number of tokens", shown.tokens().len(), self.committed.tokens)?;
        let releases = self.published.count();
        self.published.compare(&shown, &self.committed, None, is_thorough)?;
        for population in shown.populations() {
            let name = population.odometer.population().to_owned();
            let spent: f64 = population.entries.iter().map(|entry| entry.spend.mu_squared()).sum();
            let before = self.spent.insert(name.clone(), spent).unwrap_or(0.0);
            if spent < before {
                return Err(format!("{name} has spent {spent} after {before}"));
            }
        }
        if self.published.count() > releases {
            self.spent_at_release.clone_from(&self.spent);
        }
        self.note(&[10, self.published.count()]);
        Ok(())
    }

    pub(super) fn open(&mut self) -> Result<(), BrokenPromise> {
        let place = Location::on(self.machine.disk(), self.machine.fence(), self.identity);
        let ledger = Ledger::open(place, NoiseKey::insecure_from_seed(self.key), self.now);
        self.ledger = Some(ledger.map_err(|error| error.to_string())?);
        Ok(())
    }

    pub(super) fn ledger(&mut self) -> Result<&mut Ledger, BrokenPromise> {
        self.ledger.as_mut().ok_or_else(|| "there is no ledger".to_owned())
    }

    pub(super) fn note(&mut self, words: &[u64]) {
        for word in words {
            self.trace = (self.trace.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

pub(super) fn probe(number: u64) -> Event {
    Event { id: number, time: None, lane: 0, person: 0 }
}

fn receipt_of(fates: &[Fate]) -> Receipt {
    let count = |fate: Fate| fates.iter().filter(|other| **other == fate).count() as u64;
    Receipt {
        counted: count(Fate::Counted),
        duplicate: count(Fate::Duplicate),
        late: count(Fate::Late),
        early: count(Fate::Early),
        over_bound: count(Fate::OverBound),
        ended: count(Fate::Ended),
        unnamed: 0,
    }
}

/// Checks that two values are equal.
#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
pub(super) fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), BrokenPromise> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}
