//! A ledger in a directory of its own, and short names for what tests do with it.

use evertally::{Budget, Neighbours, NoiseKey, PlanSpec};
use evertally_ledger::{
    CounterView, Event, Ledger, Location, NewPopulation, PreparedEvent, ReadView, Receipt, Result, Spec,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The moment at which tests start: an integer number of weeks since 1970.
pub(crate) const START: i64 = 1_799_884_800_000_000;
pub(crate) const SECOND: i64 = 1_000_000;

pub(crate) struct Home {
    _home: tempfile::TempDir,
    pub(crate) directory: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("ledger");
        Self { _home: home, directory }
    }

    /// A home with a new ledger, in which everyone has plenty.
    pub(crate) fn with_plenty() -> (Self, Ledger) {
        let home = Self::new();
        let mut ledger = home.open();
        ledger.grant(&everyone(plenty())).unwrap();
        (home, ledger)
    }

    pub(crate) fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<Ledger> {
        open(&self.directory)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("ledger.redb")
    }
}

/// Opens a directory under a key that all tests share.
pub(crate) fn open(directory: &Path) -> Result<Ledger> {
    Ledger::open(Location::directory(directory, None)?, NoiseKey::insecure_from_seed(7), START)
}

pub(crate) fn everyone(total: Budget) -> NewPopulation {
    population("everyone", "event", total)
}

/// Room for any number of loud counters.
pub(crate) fn plenty() -> Budget {
    Budget::zcdp(1e5).unwrap()
}

pub(crate) fn population(name: &str, unit: &str, total: Budget) -> NewPopulation {
    NewPopulation {
        name: name.to_owned(),
        unit: unit.to_owned(),
        neighbours: Neighbours::AddRemove,
        total,
        pure_part: 0.0,
        key_delta: 0.0,
    }
}

/// So large a budget that noise rounds to zero: a release is off by one with probability below 10⁻⁹
/// for up to a thousand steps.
pub(crate) fn loud(name: &str) -> Spec {
    let spec = Spec::new(name, "everyone", 900.0, 1e-6).steps(1_000);
    // Whole numbers, so that releases are the totals.
    Spec { plan: PlanSpec { grid: Some(1.0), ..spec.plan.clone() }, ..spec }
}

pub(crate) fn by_the_second(spec: Spec) -> Spec {
    Spec { every: Some("1s".parse().unwrap()), start: Some(START), ..spec }
}

pub(crate) fn arrival(counter: &CounterView, id: &str) -> PreparedEvent {
    counter.intake().prepare(&Event { id, ..Event::default() }).unwrap()
}

pub(crate) fn arrivals(counter: &CounterView, ids: std::ops::Range<u64>) -> Vec<PreparedEvent> {
    ids.map(|id| arrival(counter, &format!("event {id}"))).collect()
}

pub(crate) fn submit(
    ledger: &mut Ledger,
    counter: &CounterView,
    ids: std::ops::Range<u64>,
    now: i64,
) -> Receipt {
    let receipt = ledger.submit(counter, &arrivals(counter, ids), now).unwrap();
    ledger.commit(now).unwrap();
    receipt
}

/// Makes a counter, durably.
pub(crate) fn create(ledger: &mut Ledger, spec: &Spec) -> Arc<CounterView> {
    let counter = ledger.create(&spec.plan(START).unwrap(), START).unwrap();
    ledger.commit(START).unwrap();
    counter
}

/// Closes and releases a step of a counter.
pub(crate) fn release_step(ledger: &mut Ledger, name: &str) {
    ledger.advance(name, 1).unwrap();
    ledger.commit(START).unwrap();
}

/// Starts a new epoch, durably.
pub(crate) fn start_epoch(ledger: &mut Ledger) {
    ledger.start_epoch().unwrap();
    ledger.commit(START).unwrap();
}

/// Every release of a counter, bit for bit.
pub(crate) fn released(view: &ReadView, name: &str) -> Vec<(u64, u32, Vec<u64>)> {
    let counter = view.counter(name).unwrap();
    let releases = view.releases(&counter, 0..u64::MAX).unwrap();
    releases
        .into_iter()
        .map(|r| (r.step, r.epoch, r.values.iter().map(|value| value.to_bits()).collect()))
        .collect()
}

pub(crate) fn latest(counter: &Arc<CounterView>) -> Vec<f64> {
    counter.latest().unwrap().values
}

/// Copies a directory over another, as an operator does who makes or restores a backup.
pub(crate) fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
