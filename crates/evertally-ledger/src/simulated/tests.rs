//! The disk does what a disk does: otherwise nothing that is tested on it means anything.

use std::collections::BTreeSet;

use redb::StorageBackend;

use crate::Fence;

use super::{Faults, Operation, SimulatedDisk, SimulatedMachine};

const LENGTH: usize = 4096;

fn machine() -> (SimulatedMachine, SimulatedDisk) {
    let machine = SimulatedMachine::new(3);
    let disk = machine.disk();
    disk.set_len(LENGTH as u64).unwrap();
    disk.sync_data().unwrap();
    (machine, disk)
}

fn read(disk: &SimulatedDisk) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    disk.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_synced_survives_every_power_cut() {
    for seed in 0..50 {
        let (machine, disk) = machine();
        disk.write(0, &[1; LENGTH]).unwrap();
        disk.sync_data().unwrap();
        disk.write(512, &[2; 1024]).unwrap();
        machine.cut_power(seed);
        let image = machine.image();
        assert!(image[..512].iter().chain(&image[1536..]).all(|byte| *byte == 1));
        assert!(image[512..1536].chunks(512).all(|sector| sector == [1; 512] || sector == [2; 512]));
    }
}

#[test]
fn what_is_not_synced_may_be_kept_torn_or_lost() {
    let outcomes: BTreeSet<Vec<u8>> = (0..200)
        .map(|seed| {
            let (machine, disk) = machine();
            disk.write(100, &[7; 1000]).unwrap();
            assert_eq!(read(&disk)[100], 7, "reads see what is written");
            machine.cut_power(seed);
            machine.image()
        })
        .collect();
    // The write touches three sectors, each of which is kept or lost.
    assert_eq!(outcomes.len(), 8);
}

#[test]
fn lengths_are_kept_in_order() {
    for seed in 0..50 {
        let (machine, disk) = machine();
        disk.set_len(2 * LENGTH as u64).unwrap();
        disk.write(LENGTH as u64, &[1; LENGTH]).unwrap();
        disk.set_len(3 * LENGTH as u64).unwrap();
        machine.cut_power(seed);
        assert!([1, 2, 3].contains(&(machine.image().len() / LENGTH)));
    }
}

#[test]
fn a_dead_handle_answers_nothing_and_a_new_one_goes_on() {
    let (machine, disk) = machine();
    disk.write(0, &[1]).unwrap();
    machine.kill();
    assert!(disk.len().is_err() && disk.write(0, &[2]).is_err() && disk.sync_data().is_err());
    assert_eq!(read(&machine.disk())[0], 1, "a process that is killed leaves what it wrote");
    assert_eq!(machine.image()[0], 0, "in the cache");
    machine.disk().sync_data().unwrap();
    assert_eq!(machine.image()[0], 1);
}

#[test]
fn the_planned_operation_fails_and_no_other() {
    let (machine, disk) = machine();
    machine.plan(Faults { fails: Some((Operation::Write, 1)), ..Faults::default() });
    let outcomes = [(); 3].map(|()| disk.write(0, &[1; 10]).is_ok());
    assert_eq!(outcomes, [true, false, true]);
    assert_eq!((machine.counts().of(Operation::Write), machine.counts().all()), (3, 3));
}

#[test]
fn a_full_disk_stays_full_and_still_syncs() {
    let (machine, disk) = machine();
    machine.plan(Faults { full_from: Some(1), ..Faults::default() });
    disk.write(0, &[1]).unwrap();
    assert!(disk.write(0, &[2; 4]).is_err() && disk.set_len(2 * LENGTH as u64).is_err());
    disk.sync_data().unwrap();
    machine.plan(Faults { capacity: Some(LENGTH as u64), ..Faults::default() });
    assert!(disk.set_len(LENGTH as u64 + 1).is_err() && disk.set_len(LENGTH as u64).is_ok());
}

#[test]
fn after_a_failed_sync_a_later_one_does_not_bring_everything_back() {
    let lost = (0..100).filter(|seed| {
        let machine = SimulatedMachine::new(*seed);
        let disk = machine.disk();
        disk.set_len(LENGTH as u64).unwrap();
        disk.sync_data().unwrap();
        machine.plan(Faults { fails: Some((Operation::Sync, 0)), ..Faults::default() });
        disk.write(0, &[1]).unwrap();
        assert!(disk.sync_data().is_err());
        disk.sync_data().unwrap();
        assert_eq!(read(&disk)[0], 1, "reads show it all the same");
        assert_eq!(machine.shows_what_is_lost(), machine.image()[0] == 0);
        machine.image()[0] == 0
    });
    let lost = lost.count();
    assert!((10..60).contains(&lost), "{lost} of 100 were lost");
}

#[test]
fn nothing_works_without_power() {
    let (machine, disk) = machine();
    machine.plan(Faults { power_fails_at: Some(1), ..Faults::default() });
    disk.write(0, &[1]).unwrap();
    assert!(disk.len().is_ok(), "reads work until then");
    assert!(disk.sync_data().is_err() && disk.len().is_err() && machine.fence().write(b"x").is_err());
    machine.cut_power(0);
    assert!(machine.disk().len().is_ok());
}

#[test]
fn a_fence_that_fails_holds_the_old_or_the_new() {
    let found: BTreeSet<Vec<u8>> = (0..50)
        .map(|seed| {
            let machine = SimulatedMachine::new(seed);
            machine.fence().write(b"old").unwrap();
            machine.plan(Faults { fails: Some((Operation::Fence, 0)), ..Faults::default() });
            assert!(machine.fence().write(b"new").is_err());
            machine.cut_power(seed);
            machine.fence().read().unwrap().unwrap()
        })
        .collect();
    assert_eq!(found, BTreeSet::from([b"old".to_vec(), b"new".to_vec()]));
}

#[test]
fn a_sync_that_lies_loses_what_it_said_was_safe() {
    let (machine, disk) = machine();
    machine.plan(Faults { sync_lies: true, ..Faults::default() });
    disk.write(0, &[1]).unwrap();
    disk.sync_data().unwrap();
    assert_eq!(machine.image()[0], 0);
}

const TABLE: redb::TableDefinition<'_, u64, u64> = redb::TableDefinition::new("numbers");

/// Commits 0, 1, 2, … until something fails; returns how many commits were acknowledged.
fn commit_numbers(machine: &SimulatedMachine, until: u64) -> u64 {
    let count = |acknowledged: &mut u64| -> Result<(), redb::Error> {
        let database = redb::Builder::new().create_with_backend(machine.disk())?;
        for number in 0..until {
            let transaction = database.begin_write()?;
            transaction.open_table(TABLE)?.insert(number, number)?;
            transaction.commit()?;
            *acknowledged = number + 1;
        }
        Ok(())
    };
    let mut acknowledged = 0;
    let _ = count(&mut acknowledged);
    acknowledged
}

fn numbers(machine: &SimulatedMachine) -> Result<Vec<u64>, redb::Error> {
    use redb::{ReadableDatabase, ReadableTable};
    let database = redb::Builder::new().create_with_backend(machine.disk())?;
    let table = match database.begin_read()?.open_table(TABLE) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    table.iter()?.map(|row| Ok(row?.1.value())).collect()
}

/// The database that the ledger stands on keeps what it has committed, wherever the power goes once
/// it is made.
#[test]
fn the_database_survives_a_power_cut_at_every_operation() {
    const COMMITS: u64 = 5;
    let made = |seed| {
        let machine = SimulatedMachine::new(seed);
        assert_eq!(commit_numbers(&machine, 0), 0);
        machine.cut_power(0);
        machine
    };
    let machine = made(0);
    assert_eq!(commit_numbers(&machine, COMMITS), COMMITS);
    let operations = machine.counts().all();
    assert!(operations > 20);
    for at in 0..operations {
        for seed in 0..4 {
            let machine = made(seed);
            machine.plan(Faults { power_fails_at: Some(at), ..Faults::default() });
            let acknowledged = commit_numbers(&machine, COMMITS);
            machine.cut_power(seed);
            let found = numbers(&machine).unwrap();
            let may_be = [acknowledged, acknowledged + 1].map(|end| (0..end).collect::<Vec<_>>());
            assert!(may_be.contains(&found), "power cut at {at}: {found:?} after {acknowledged}");
        }
    }
}
