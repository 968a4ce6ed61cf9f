//! Every operation of a workload fails once, in every possible way.
//!
//! The workload is always the same: events with copies, late events and persons; steps by the clock
//! and by hand; one counter created and one retired. The first failure must make the ledger
//! read-only with every published release still readable. The ledger must then continue without a
//! loss from whatever the machine kept. The simulation's `World` compares this.

use evertally_ledger::simulated::{Counts, Faults, Operation};
use evertally_trial::simulation::definitions::{
    CounterDefinition, MINUTE, extra_definition, initial_definitions,
};
use evertally_trial::simulation::model::Event;
use evertally_trial::simulation::world::{BrokenPromise, World};

/// How a run ends: the process alone, or the power with the data that a seed leaves.
const ENDINGS: [Option<u64>; 4] = [None, Some(1), Some(2), Some(3)];

fn world() -> World {
    let names = ["probe", "keys", "persons", "by-hand"];
    let definitions: Vec<CounterDefinition> = initial_definitions()
        .into_iter()
        .filter(|definition| names.contains(&definition.name.as_str()))
        .collect();
    let world = World::with(7, &definitions).unwrap();
    world.machine.plan(Faults::default());
    world
}

/// Runs until a commit fails. Returns whether none failed. Each run posts new events, and copies of
/// those of the previous run.
fn workload(world: &mut World, run: u64) -> Result<bool, BrokenPromise> {
    let event = |id: u64, time| Event { id, time, lane: (id % 3) as usize, person: id % 4 };
    world.create(&extra_definition(run))?;
    for round in 0..3 {
        let first = run * 1000 + round * 100;
        let now = world.now;
        for counter in ["keys", "persons", "by-hand"] {
            let when = |id: u64| {
                (counter != "by-hand" && id.is_multiple_of(2)).then_some(now - (id % 5) as i64 * MINUTE / 2)
            };
            let lane = |event: Event| if counter == "persons" { Event { lane: 0, ..event } } else { event };
            let events: Vec<Event> = (first..first + 8).map(|id| lane(event(id, when(id)))).collect();
            world.submit(counter, &events)?;
            world.submit(counter, &events[2..5])?;
        }
        if !world.commit()? {
            return Ok(false);
        }
        world.now += MINUTE + MINUTE / 3;
        world.close_due()?;
        world.advance("by-hand")?;
        if !world.commit()? {
            return Ok(false);
        }
    }
    world.retire(&extra_definition(run).name)?;
    world.commit()
}

/// The number of operations of the workload without faults.
fn operations() -> Counts {
    let mut world = world();
    assert_eq!(workload(&mut world, 1), Ok(true));
    world.machine.counts()
}

/// The workload with these faults, a crash, and the workload again.
fn survives(
    faults: Faults,
    ending: Option<u64>,
    during_recovery: Option<Faults>,
) -> Result<(), BrokenPromise> {
    let mut world = world();
    world.machine.plan(faults);
    workload(&mut world, 1)?;
    world.crash(ending);
    let mut runs = false;
    if let Some(faults) = during_recovery {
        runs = world.restart(faults)?;
        match runs {
            true => world.machine.plan(Faults::default()),
            false => world.crash(ending.map(|seed| seed + 10)),
        }
    }
    if !runs && !world.restart(Faults::default())? {
        return Err("it does not continue although nothing fails".to_owned());
    }
    match workload(&mut world, 2)? {
        true => world.verify(),
        false => Err("a commit failed although nothing else did".to_owned()),
    }
}

fn assert_survives(faults: Faults, ending: Option<u64>, during_recovery: Option<Faults>) {
    if let Err(broken) = survives(faults, ending, during_recovery) {
        panic!("{faults:?}, then {ending:?}, then {during_recovery:?}: {broken}");
    }
}

#[test]
fn every_operation_may_fail_once() {
    let counts = operations();
    for operation in Operation::ALL {
        let count = counts.of(operation);
        assert!(count > 0 || operation == Operation::SetLength, "{operation:?} never happens");
        for number in 0..count {
            let faults = Faults { fails: Some((operation, number)), ..Faults::default() };
            assert_survives(faults, ENDINGS[(number % 4) as usize], None);
        }
    }
}

#[test]
fn the_disk_may_be_full_from_any_operation_on() {
    for number in 0..operations().all() {
        let faults = Faults { full_from: Some(number), ..Faults::default() };
        assert_survives(faults, ENDINGS[(number % 4) as usize], None);
    }
}

#[test]
fn the_power_may_go_at_any_operation() {
    for number in 0..operations().all() {
        let faults = Faults { power_fails_at: Some(number), ..Faults::default() };
        for seed in 0..2 {
            assert_survives(faults, Some(seed), None);
        }
    }
}

#[test]
fn the_power_may_go_again_during_recovery() {
    for number in (0..operations().all()).step_by(5) {
        let faults = Faults { power_fails_at: Some(number), ..Faults::default() };
        for again in (0..60).step_by(7) {
            let during_recovery = Faults { power_fails_at: Some(again), ..Faults::default() };
            assert_survives(faults, Some(number + again), Some(during_recovery));
        }
    }
}

#[test]
fn a_file_that_cannot_grow_makes_the_ledger_read_only() {
    let mut world = world();
    let capacity = Some(world.machine.image().len() as u64);
    world.machine.plan(Faults { capacity, ..Faults::default() });
    // Eventually something must be written that needs more space.
    let failed = (1..200).find(|run| !workload(&mut world, *run).unwrap());
    let failed = failed.expect("the file never had to grow");
    world.crash(Some(1));
    assert_eq!(world.restart(Faults::default()), Ok(true));
    assert_eq!(workload(&mut world, failed + 1000), Ok(true));
}

/// The comparisons can fail.
#[test]
fn a_disk_that_lies_about_syncs_is_noticed() {
    let lies = Faults { sync_lies: true, ..Faults::default() };
    let noticed = (0..20).filter(|seed| survives(lies, Some(*seed), None).is_err()).count();
    // A quarter of all power cuts keep everything that was written.
    assert!((5..20).contains(&noticed), "{noticed} of 20 were noticed");
}

/// A release that was recorded, but whose mark did not reach the fence, is shown after a crash. The
/// fence must know it by then: a backup from before the release must be recognised. The world
/// requires this for every backup that has fewer releases than were published.
#[test]
fn the_fence_knows_what_is_shown_after_a_crash() {
    for seed in 0..8 {
        let names = ["probe", "keys"];
        let definitions: Vec<CounterDefinition> = initial_definitions()
            .into_iter()
            .filter(|definition| names.contains(&definition.name.as_str()))
            .collect();
        let mut world = World::with(seed, &definitions).unwrap();
        world.back_up();
        world.now += 10 * MINUTE;
        world.close_due().unwrap();
        world.machine.plan(Faults { fails: Some((Operation::Fence, 0)), ..Faults::default() });
        assert_eq!(world.commit(), Ok(false));
        world.crash(Some(seed));
        assert_eq!(world.restart(Faults::default()), Ok(true));
        assert_eq!(world.restore(0), Ok(true));
    }
}
