//! What did not hold once: copies that shared noise, costs that nobody paid, ledgers that could not
//! be read again.

use crate::common::*;
use evertally::{Budget, NoiseKey};
use evertally_ledger::{Event, Fence, FileFence, Ledger, Location, Mode, Result, Spec};
use redb::{ReadableDatabase, ReadableTableMetadata, StorageBackend};
use std::io;
use std::sync::{Arc, Mutex};

fn quiet(name: &str, population: &str) -> Spec {
    Spec::new(name, population, 1.0, 1e-6).steps(100)
}

/// What the disk and the fence held.
type Moment = (Vec<u8>, Option<Vec<u8>>);

/// A disk in memory that keeps, at every sync, what it and the fence held.
#[derive(Clone, Debug, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    mark: Arc<Mutex<Option<Vec<u8>>>>,
    moments: Arc<Mutex<Vec<Moment>>>,
}

impl Disk {
    fn as_of(moment: &(Vec<u8>, Option<Vec<u8>>)) -> Self {
        let disk = Self::default();
        *disk.bytes.lock().unwrap() = moment.0.clone();
        *disk.mark.lock().unwrap() = moment.1.clone();
        disk
    }

    fn open(&self) -> Result<Ledger> {
        let place = Location::on(self.clone(), self.clone(), 1);
        Ledger::open(place, NoiseKey::insecure_from_seed(7), START)
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = offset as usize;
        out.copy_from_slice(&self.bytes.lock().unwrap()[at..at + out.len()]);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        let moment = (self.bytes.lock().unwrap().clone(), self.mark.lock().unwrap().clone());
        self.moments.lock().unwrap().push(moment);
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let at = offset as usize;
        self.bytes.lock().unwrap()[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl Fence for Disk {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.mark.lock().unwrap().clone())
    }
    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        *self.mark.lock().unwrap() = Some(content.to_vec());
        Ok(())
    }
}

/// One backup that is put to use on two machines must not have the same noise on both.
#[test]
fn two_copies_without_a_fence_do_not_share_noise() {
    let (home, mut ledger) = Home::with_plenty();
    create(&mut ledger, &quiet("a", "everyone"));
    drop(ledger);
    let run = |machine: &str, events: u64| {
        let directory = home.directory.parent().unwrap().join(machine).join("ledger");
        copy(&home.directory, &directory);
        let mut ledger = open(&directory).unwrap();
        assert!(matches!(ledger.read_view().mode(), Mode::Fenced { .. }));
        start_epoch(&mut ledger);
        let counter = ledger.read_view().counter("a").unwrap();
        submit(&mut ledger, &counter, 0..events, START);
        ledger.advance("a", 5).unwrap();
        ledger.commit(START).unwrap();
        let releases = ledger.read_view().releases(&counter, 0..5).unwrap();
        releases.iter().map(|release| release.values[0]).collect::<Vec<_>>()
    };
    let (one, other) = (run("m1", 10), run("m2", 17));
    let differences: Vec<f64> = one.iter().zip(&other).map(|(one, other)| other - one).collect();
    assert_ne!(
        differences, [7.0; 5],
        "the difference of two releases is the exact difference of their inputs"
    );
}

/// Whatever recovery releases is shown with the commit that made it, and is there after a clean
/// stop.
#[test]
fn what_recovery_releases_is_shown_and_survives_a_clean_stop() {
    let disk = Disk::default();
    let mut ledger = disk.open().unwrap();
    ledger.grant(&everyone(plenty())).unwrap();
    let counter = create(&mut ledger, &loud("a"));
    submit(&mut ledger, &counter, 0..5, START);
    disk.moments.lock().unwrap().clear();
    release_step(&mut ledger, "a");
    let moments = disk.moments.lock().unwrap().clone();
    let mut faults = Vec::new();
    for (number, moment) in moments.iter().enumerate() {
        let disk = Disk::as_of(moment);
        let mut ledger = disk.open().unwrap();
        let before = released(&ledger.read_view(), "a").len();
        let changed = ledger.commit(START).unwrap();
        let after = released(&ledger.read_view(), "a").len();
        ledger.checkpoint_all().unwrap();
        drop(ledger);
        let again = disk.open().map(|ledger| released(&ledger.read_view(), "a").len());
        if again != Ok(1) || after != 1 {
            faults.push(format!(
                "moment {number}: shown {before}, then {after} ({} changed), then {again:?}",
                changed.len()
            ));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A ledger is opened again whatever was done within one commit, as in the crate's own example.
#[test]
fn a_counter_may_get_events_in_the_commit_that_makes_it() {
    let (home, mut ledger) = Home::with_plenty();
    let counter = ledger.create(&loud("a").plan(START).unwrap(), START).unwrap();
    ledger.submit(&counter, &arrivals(&counter, 0..5), START).unwrap();
    release_step(&mut ledger, "a");
    drop(ledger);
    let again = home.try_open().map(|ledger| released(&ledger.read_view(), "a").len());
    assert_eq!(again, Ok(1));
}

/// A fence holds what five epochs of ten thousand counters spend: 24 bytes each.
#[test]
fn a_fence_holds_the_costs_of_many_counters() {
    let directory = tempfile::tempdir().unwrap();
    let mut fence = FileFence::open(&directory.path().join("fence")).unwrap();
    fence.write(&vec![1; 5 * 10_000 * 24]).unwrap();
}

/// What a population spent that the backup does not know is not spent again.
#[test]
fn a_population_that_a_backup_lacks_stays_charged() {
    let (home, mut ledger) = Home::with_plenty();
    create(&mut ledger, &quiet("a", "everyone"));
    release_step(&mut ledger, "a");
    drop(ledger);
    let backup = home.directory.with_extension("backup");
    copy(&home.directory, &backup);
    let spend_all = |ledger: &mut Ledger, name: &str| {
        ledger.grant(&population("later", "event", Budget::new(1.1, 1e-6).unwrap()))?;
        ledger.create(&quiet(name, "later").plan(START)?, START)?;
        ledger.commit(START)?;
        ledger.advance(name, 1)?;
        ledger.commit(START).map(|_| ())
    };
    let mut ledger = home.open();
    spend_all(&mut ledger, "b").unwrap();
    drop(ledger);
    copy(&backup, &home.directory);
    let mut ledger = home.open();
    start_epoch(&mut ledger);
    assert!(spend_all(&mut ledger, "b").is_err(), "the same people pay ε = 1 twice under a total of 1.1");
}

/// Entries that only one of two histories has do not stand for those that only the other has.
#[test]
fn costs_of_another_history_are_charged() {
    let (home, mut ledger) = Home::with_plenty();
    create(&mut ledger, &quiet("a", "everyone"));
    drop(ledger);
    let backup = home.directory.with_extension("backup");
    copy(&home.directory, &backup);
    let mut ledger = home.open();
    release_step(&mut ledger, "a");
    // Made, and nothing is released any more.
    let cheap = Spec::new("cheap", "everyone", 0.01, 1e-6).steps(100);
    create(&mut ledger, &cheap);
    drop(ledger);
    let aside = home.directory.with_extension("aside");
    copy(&home.directory, &aside);
    // The backup goes on in a second epoch, which the fence knows; then the newer state is put
    // back.
    copy(&backup, &home.directory);
    let mut ledger = home.open();
    ledger.start_epoch().unwrap();
    release_step(&mut ledger, "a");
    drop(ledger);
    copy(&aside, &home.directory);
    let mut ledger = home.open();
    start_epoch(&mut ledger);
    let population = ledger.read_view().populations().remove(0);
    let a = quiet("a", "everyone").plan(START).unwrap().plan().spend().rho();
    let spent = population.odometer.spent().rho();
    assert!(spent >= 3.0 * a, "a ran in three epochs: {spent} was charged for three times {a}");
}

/// What was accepted when it was made is accepted when it is read.
#[test]
fn a_counter_that_began_as_long_ago_as_allowed_is_read_again() {
    let (home, mut ledger) = Home::with_plenty();
    let asked = START + 10_000 * SECOND;
    let counter_plan = by_the_second(quiet("a", "everyone").steps(100_000)).plan(asked).unwrap();
    ledger.create(&counter_plan, asked + 2 * SECOND).unwrap();
    ledger.commit(asked + 2 * SECOND).unwrap();
    drop(ledger);
    assert_eq!(home.try_open().map(|_| ()), Ok(()));
}

/// Retiring removes events from the tables, as the documents say.
#[test]
fn retiring_removes_events_from_the_tables() {
    let (home, mut ledger) = Home::with_plenty();
    let other = ledger.create(&loud("other").plan(START).unwrap(), START).unwrap();
    let counter = create(&mut ledger, &loud("a"));
    submit(&mut ledger, &other, 0..1, START);
    submit(&mut ledger, &counter, 0..1_000, START);
    ledger.retire("a").unwrap();
    ledger.commit(START).unwrap();
    ledger.checkpoint_all().unwrap();
    drop(ledger);
    let database = redb::Database::open(home.file()).unwrap();
    let arrivals = redb::TableDefinition::<u64, &[u8]>::new("arrivals");
    let table = database.begin_read().unwrap().open_table(arrivals).unwrap();
    assert_eq!(table.len().unwrap(), 1, "the events of the counter that was retired are still there");
}

/// Amounts as large as the clamp are counted, however many came before.
#[test]
fn whether_an_event_counts_does_not_depend_on_others() {
    let home = Home::new();
    let mut ledger = home.open();
    ledger.grant(&population("people", "person", plenty())).unwrap();
    let spec = Spec { population: "people".to_owned(), ..loud("a").persons(1, 1).unwrap() };
    // Doubles hold the total of two such events, and not that of three.
    let counter = create(&mut ledger, &spec.values(0.0, 4e15).unwrap());
    for person in ["1", "2", "3", "4"] {
        let event = Event { id: "x", person: Some(person), value: Some(4e15 + 0.1), ..Event::default() };
        let receipt = ledger.submit(&counter, &[counter.intake().prepare(&event).unwrap()], START).unwrap();
        assert_eq!(receipt.counted, 1, "person {person} was refused because others came first");
    }
}

/// An event that was made ready for another counter is refused, and not acknowledged.
#[test]
fn an_arrival_of_another_counter_does_no_harm() {
    let (home, mut ledger) = Home::with_plenty();
    let keyed = loud("keyed").keys(["x", "y"]);
    let keyed = ledger.create(&keyed.plan(START).unwrap(), START).unwrap();
    let single = create(&mut ledger, &loud("single"));
    let event = keyed.intake().prepare(&Event { id: "1", key: Some("y"), ..Event::default() }).unwrap();
    let receipt = ledger.submit(&single, &[event], START);
    ledger.commit(START).unwrap();
    drop(ledger);
    assert!(home.try_open().is_ok(), "acknowledged as {receipt:?}, and the ledger cannot be opened any more");
}

/// Rows are only written of what is recorded.
#[test]
fn rows_are_not_written_of_what_is_tentative() {
    let (home, mut ledger) = Home::with_plenty();
    let counter = create(&mut ledger, &loud("a"));
    ledger.submit(&counter, &arrivals(&counter, 0..5), START).unwrap();
    let _ = ledger.checkpoint_all();
    ledger.commit(START).unwrap();
    drop(ledger);
    let mut ledger = home.open();
    release_step(&mut ledger, "a");
    assert_eq!(latest(&ledger.read_view().counter("a").unwrap()), [5.0]);
}

/// A counter that could not pay for an epoch releases nothing, started again or not.
#[test]
fn what_was_left_out_of_an_epoch_releases_nothing() {
    let disk = Disk::default();
    let mut ledger = disk.open().unwrap();
    ledger.grant(&everyone(Budget::new(1.1, 1e-6).unwrap())).unwrap();
    create(&mut ledger, &quiet("a", "everyone"));
    disk.moments.lock().unwrap().clear();
    release_step(&mut ledger, "a");
    // The step is frozen and not released; and the fence is missing.
    let moment = disk.moments.lock().unwrap()[0].clone();
    let disk = Disk::as_of(&(moment.0, None));
    let mut ledger = disk.open().unwrap();
    assert_eq!(ledger.start_epoch().unwrap().left.len(), 1);
    ledger.commit(START).unwrap();
    ledger.checkpoint_all().unwrap();
    drop(ledger);
    let mut ledger = disk.open().unwrap();
    let mark = disk.mark.lock().unwrap().clone();
    ledger.commit(START).unwrap();
    assert!(mark == *disk.mark.lock().unwrap(), "something was released of a counter that could not pay");
}

/// A copy that is only looked at does not make the fence forget what it alone knows.
#[test]
fn a_fenced_copy_does_not_overwrite_the_fence() {
    let (home, mut ledger) = Home::with_plenty();
    create(&mut ledger, &quiet("a", "everyone"));
    drop(ledger);
    // Another machine goes on with a copy, in a second epoch.
    let elsewhere = home.directory.parent().unwrap().join("elsewhere").join("ledger");
    copy(&home.directory, &elsewhere);
    let mut ledger = open(&elsewhere).unwrap();
    ledger.start_epoch().unwrap();
    release_step(&mut ledger, "a");
    drop(ledger);
    // Here three more counters release, of which only the fence here will know.
    let mut ledger = home.open();
    for name in ["b", "c", "d"] {
        create(&mut ledger, &quiet(name, "everyone"));
        release_step(&mut ledger, name);
    }
    drop(ledger);
    // The other machine's directory comes here. It is fenced; the service is started twice before
    // somebody acts.
    copy(&elsewhere, &home.directory);
    for _ in 0..2 {
        assert!(matches!(home.open().read_view().mode(), Mode::Fenced { .. }));
    }
    let mut ledger = home.open();
    start_epoch(&mut ledger);
    let entries = ledger.read_view().populations().remove(0).entries;
    assert!(entries.iter().any(|entry| entry.counter == "lost"), "b, c and d are charged to nobody");
}

/// A copy that began a new epoch elsewhere is put in place of the original: the original's fence
/// knows of a counter that the copy does not.
#[test]
fn a_copy_with_a_later_epoch_does_not_forget_what_the_fence_knows() {
    let (home, mut ledger) = Home::with_plenty();
    ledger.create(&quiet("a", "everyone").plan(START).unwrap(), START).unwrap();
    release_step(&mut ledger, "a");
    drop(ledger);
    let elsewhere = home.directory.with_extension("new");
    copy(&home.directory, &elsewhere);
    let mut ledger = home.open();
    ledger.create(&quiet("x", "everyone").plan(START).unwrap(), START).unwrap();
    release_step(&mut ledger, "x");
    drop(ledger);
    let mut other = open(&elsewhere).unwrap();
    start_epoch(&mut other);
    drop(other);
    std::fs::remove_dir_all(&home.directory).unwrap();
    std::fs::rename(&elsewhere, &home.directory).unwrap();
    let mut ledger = home.open();
    assert!(matches!(ledger.read_view().mode(), Mode::Fenced { .. }));
    start_epoch(&mut ledger);
    let entries = ledger.read_view().populations()[0].entries.clone();
    assert!(entries.iter().any(|entry| entry.counter == "lost"), "x is charged to nobody");
}
