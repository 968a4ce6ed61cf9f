//! A ledger on a simulated machine, beside the model that it is compared with.
//!
//! Everything that is done to the ledger is done to the model, and what both say is compared. A
//! commit carries a *probe*, an event with an id of its own: after a crash in the middle of a
//! commit, whether the probe is a duplicate tells whether the commit was kept. All of it must have
//! been, or nothing.

use std::collections::BTreeMap;

use evertally::NoiseKey;
use evertally_ledger::simulated::SimulatedMachine;
use evertally_ledger::{Ledger, Location, Mode, Receipt, Role};

use super::model::{Counter, Event, Fate, Life, Model};
use super::seen::Seen;
use super::shapes::{BEGINNING, PROBE, Shape, populations, shapes};

/// A promise that was broken, in words.
pub type Broken = String;

/// A copy of the file as it once was, and what it held.
pub(super) struct Backup {
    pub(super) image: Vec<u8>,
    pub(super) model: Model,
    /// Releases shown until then.
    pub(super) releases: u64,
}

/// A ledger, its machine and its model.
pub struct World {
    /// The machine, for planning faults.
    pub machine: SimulatedMachine,
    /// What the clock says.
    pub now: i64,
    pub(super) ledger: Option<Ledger>,
    /// What is durable for certain.
    pub(super) committed: Model,
    /// What it would be if everything since were committed.
    pub(super) tentative: Model,
    /// What a commit that failed may have made durable.
    pub(super) in_doubt: Option<Model>,
    pub(super) probes: u64,
    pub(super) seen: Seen,
    /// What each population was seen to have spent, and what it was when anything was last
    /// released: that much no restored file may forget.
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
    /// Where a promise is broken already.
    pub fn new(seed: u64) -> Result<Self, Broken> {
        Self::with(seed, &shapes())
    }

    /// A new ledger with these counters.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn with(seed: u64, shapes: &[Shape]) -> Result<Self, Broken> {
        let mut world = Self {
            machine: SimulatedMachine::new(seed),
            now: BEGINNING,
            ledger: None,
            committed: Model { epoch: 1, ..Model::default() },
            tentative: Model { epoch: 1, ..Model::default() },
            in_doubt: None,
            probes: 0,
            seen: Seen::default(),
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
        for shape in shapes {
            world.create(shape)?;
        }
        world.commit()?;
        Ok(world)
    }

    /// Reads everything, as an operator does who wants to know.
    ///
    /// # Errors
    /// Where something is not whole.
    pub fn verify(&mut self) -> Result<(), Broken> {
        self.ledger()?.verify().map(|_| ()).map_err(|error| error.to_string())
    }

    /// What the model says of what is durable.
    pub fn model(&self) -> &Model {
        &self.committed
    }

    /// A hash of everything that happened.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Whether the ledger still takes changes, as far as it has told.
    pub fn is_alive(&self) -> bool {
        self.ledger.is_some() && self.in_doubt.is_none()
    }

    /// Posts events. They are not acknowledged before a commit.
    ///
    /// # Errors
    /// Where the receipt is not what the model says.
    pub fn submit(&mut self, counter: &str, events: &[Event]) -> Result<(), Broken> {
        let now = self.now;
        let ledger = self.ledger.as_mut().ok_or("there is no ledger")?;
        let published =
            ledger.read_view().counter(counter).ok_or_else(|| format!("{counter} is not there"))?;
        let model = self.tentative.counters.get_mut(counter).ok_or("the model has no such counter")?;
        let (keys, limits) = (model.shape.keys, model.shape.limits);
        let mut arrivals = Vec::new();
        for event in events {
            let (id, key, person) =
                (format!("id-{}", event.id), Shape::key(event.lane), event.person.to_string());
            let raw = evertally_ledger::Event {
                id: &id,
                time: event.time,
                key: Some(key.as_str()).filter(|_| keys > 0),
                person: Some(person.as_str()).filter(|_| limits.is_some()),
                value: None,
            };
            arrivals.push(published.intake().prepare(&raw).map_err(|error| format!("{counter}: {error}"))?);
        }
        if model.life == Life::Halted {
            let refusal = ledger.submit(&published, &arrivals, now).err().map(|error| error.class().name());
            return expect("a counter that waits for its budget", refusal, Some("fenced"));
        }
        let receipt =
            ledger.submit(&published, &arrivals, now).map_err(|error| format!("{counter}: {error}"))?;
        // Ties in time are broken by hashes, which only the ledger knows.
        let mut ordered: Vec<_> = arrivals.iter().zip(events).collect();
        ordered.sort_by_key(|(prepared, _)| prepared.order(now));
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

    /// Closes what is due by the clock.
    ///
    /// # Errors
    /// Where the ledger refuses.
    pub fn close_due(&mut self) -> Result<(), Broken> {
        let now = self.now;
        while self.ledger()?.close_due(now).map_err(|error| error.to_string())? {}
        self.tentative.close_due(now);
        Ok(())
    }

    /// Closes a step by hand, if there is one left.
    ///
    /// # Errors
    /// Where the ledger closes another one, or refuses.
    pub fn advance(&mut self, counter: &str) -> Result<(), Broken> {
        let model = self.tentative.counters.get_mut(counter).ok_or("the model has no such counter")?;
        if model.life != Life::Running || model.closed == model.shape.steps {
            return Ok(());
        }
        let expected = model.closed..model.closed + 1;
        model.closed += 1;
        let closed = self.ledger()?.advance(counter, 1).map_err(|error| format!("{counter}: {error}"))?;
        expect(&format!("the step of {counter} that was closed"), closed, expected)
    }

    /// Makes a counter.
    ///
    /// # Errors
    /// Where the ledger refuses.
    pub fn create(&mut self, shape: &Shape) -> Result<(), Broken> {
        let (planned, now) = (shape.planned()?, self.now);
        self.ledger()?.create(&planned, now).map_err(|error| format!("{}: {error}", shape.name))?;
        self.tentative.counters.insert(shape.name.clone(), Counter::new(shape.clone()));
        Ok(())
    }

    /// Retires a counter that was not.
    ///
    /// # Errors
    /// Where the ledger refuses.
    pub fn retire(&mut self, counter: &str) -> Result<(), Broken> {
        let model = self.tentative.counters.get_mut(counter).ok_or("the model has no such counter")?;
        if model.life == Life::Retired {
            return Ok(());
        }
        model.life = Life::Retired;
        // What was closed and not released never is.
        model.closed = model.released;
        self.ledger()?.retire(counter).map_err(|error| error.to_string())
    }

    /// Makes a token.
    ///
    /// # Errors
    /// Where the ledger refuses.
    pub fn add_token(&mut self) -> Result<(), Broken> {
        let now = self.now;
        self.ledger()?.add_token("simulated", Role::Read, None, now).map_err(|error| error.to_string())?;
        self.tentative.tokens += 1;
        Ok(())
    }

    /// Commits, and compares what is shown. Whether it succeeded; where it did not, it is in doubt
    /// what was kept.
    ///
    /// # Errors
    /// Where what is shown is not what it must be.
    pub fn commit(&mut self) -> Result<bool, Broken> {
        self.commit_and_compare(false)
    }

    /// Commits, and compares all that was ever shown.
    ///
    /// # Errors
    /// As [`World::commit`].
    pub fn commit_thoroughly(&mut self) -> Result<bool, Broken> {
        self.commit_and_compare(true)
    }

    fn commit_and_compare(&mut self, is_thorough: bool) -> Result<bool, Broken> {
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

    /// After a failure nothing is taken any more, nothing written, and everything that was shown can be read.
    fn check_halted(&mut self) -> Result<(), Broken> {
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
        // Without power, only what stands in memory can be read.
        if has_power {
            self.seen.compare(&shown, &self.committed, self.in_doubt.as_ref(), true)
        } else {
            Ok(())
        }
    }

    /// Compares all that is shown with the model.
    fn compare(&mut self, is_thorough: bool) -> Result<(), Broken> {
        let shown = self.ledger()?.read_view();
        expect("the mode", shown.mode(), Mode::Running)?;
        expect("the epoch", shown.epoch(), self.committed.epoch)?;
        expect("the number of tokens", shown.tokens().len(), self.committed.tokens)?;
        let releases = self.seen.count();
        self.seen.compare(&shown, &self.committed, None, is_thorough)?;
        for population in shown.populations() {
            let name = population.odometer.population().to_owned();
            let spent: f64 = population.entries.iter().map(|entry| entry.spend.mu_squared()).sum();
            let before = self.spent.insert(name.clone(), spent).unwrap_or(0.0);
            if spent < before {
                return Err(format!("{name} has spent {spent} after {before}"));
            }
        }
        if self.seen.count() > releases {
            self.spent_at_release.clone_from(&self.spent);
        }
        self.note(&[10, self.seen.count()]);
        Ok(())
    }

    pub(super) fn open(&mut self) -> Result<(), Broken> {
        let place = Location::on(self.machine.disk(), self.machine.fence(), self.identity);
        let ledger = Ledger::open(place, NoiseKey::insecure_from_seed(self.key), self.now);
        self.ledger = Some(ledger.map_err(|error| error.to_string())?);
        Ok(())
    }

    pub(super) fn ledger(&mut self) -> Result<&mut Ledger, Broken> {
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

/// Two things that must be the same.
#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
pub(super) fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), Broken> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, where {expected:?} must be")) }
}
