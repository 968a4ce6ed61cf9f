//! Copies and restored backups: recognised, refused, and paid for.

use crate::common::*;
use evertally::Budget;
use evertally_ledger::{Class, Ledger, Location, Mode, Spec, Status};

/// A ledger with two counters and a few releases.
fn filled(home: &Home, total: f64) -> Ledger {
    let mut ledger = home.open();
    ledger.grant(&everyone(Budget::new(total, 1e-6).unwrap())).unwrap();
    for name in ["a", "b"] {
        let spec = Spec::new(name, "everyone", 1.0, 1e-6).steps(100);
        let counter = create(&mut ledger, &spec);
        submit(&mut ledger, &counter, 0..50, START);
        ledger.advance(name, 3).unwrap();
        ledger.commit(START).unwrap();
    }
    ledger
}

fn is_fenced(ledger: &Ledger) -> bool {
    matches!(ledger.read_view().mode(), Mode::Fenced { .. })
}

#[test]
fn a_restored_backup_is_recognised_and_a_new_epoch_costs() {
    let home = Home::new();
    drop(filled(&home, 3.0));
    let backup = home.directory.with_extension("backup");
    copy(&home.directory, &backup);
    let mut ledger = home.open();
    assert!(!is_fenced(&ledger), "what goes on where it was is no copy");
    ledger.advance("a", 2).unwrap();
    ledger.commit(START).unwrap();
    // A third counter that the backup does not know.
    let spec = Spec::new("c", "everyone", 0.5, 1e-6).steps(100);
    ledger.create(&spec.plan(START).unwrap(), START).unwrap();
    release_step(&mut ledger, "c");
    let shown_before = released(&ledger.read_view(), "a");
    drop(ledger);

    copy(&backup, &home.directory);
    let mut ledger = home.open();
    assert!(is_fenced(&ledger));
    let a = ledger.read_view().counter("a").unwrap();
    assert_eq!(a.status(), Status::Fenced);
    assert_eq!(ledger.submit(&a, &arrivals(&a, 0..1), START).unwrap_err().class(), Class::Fenced);
    assert_eq!(ledger.advance("a", 1).unwrap_err().class(), Class::Fenced);
    assert_eq!(released(&ledger.read_view(), "a"), shown_before[..3], "what is there is still shown");

    let preview = ledger.epoch_preview();
    assert_eq!(
        preview.iter().map(|cost| (cost.counter.as_str(), cost.affordable)).collect::<Vec<_>>(),
        [("a", true), ("b", true)]
    );
    let started = ledger.start_epoch().unwrap();
    assert_eq!((started.epoch, started.restarted.len(), started.left.len()), (2, 2, 0));
    ledger.commit(START).unwrap();
    assert!(ledger.start_epoch().is_err());
    ledger.advance("a", 2).unwrap();
    ledger.commit(START).unwrap();
    let after = released(&ledger.read_view(), "a");
    assert_eq!(after[..3], shown_before[..3]);
    assert_eq!(after[3..].iter().map(|(_, epoch, _)| *epoch).collect::<Vec<_>>(), [2, 2]);
    // Fresh noise: two independent releases of one total agree with a chance of some percent each;
    // both hardly.
    assert!(after[3..].iter().zip(&shown_before[3..]).any(|(new, old)| new.2 != old.2));
    let entries = ledger.read_view().populations()[0].entries.clone();
    let entries: Vec<_> = entries.iter().map(|entry| (entry.counter.as_str(), entry.epoch)).collect();
    assert_eq!(
        entries,
        [("a", 1), ("b", 1), ("lost", 1), ("a", 2), ("b", 2)],
        "the lost counter is paid for"
    );
    // Across epochs, errors are those of independent noise.
    let counter = ledger.read_view().counter("a").unwrap();
    let sum = ledger.read_view().sum(&counter, 1, 4, 0).unwrap();
    let plan = counter.counter_plan().plan();
    let expected = plan.standard_error(0).unwrap().hypot(plan.standard_error(4).unwrap());
    assert!((sum.standard_error / expected - 1.0).abs() < 1e-12);

    drop((ledger, a, counter));
    let ledger = home.open();
    assert!(!is_fenced(&ledger), "once paid, it goes on");
    assert_eq!(released(&ledger.read_view(), "a"), after);
    ledger.verify().unwrap();
}

#[test]
fn what_a_population_cannot_pay_stays_fenced() {
    let home = Home::new();
    // Two of ε = 1 cost 1.46 together and three 1.82.
    drop(filled(&home, 1.9));
    let backup = home.directory.with_extension("backup");
    copy(&home.directory, &backup);
    copy(&backup, &home.directory);
    let mut ledger = home.open();
    assert!(is_fenced(&ledger));
    assert_eq!(ledger.epoch_preview().iter().map(|cost| cost.affordable).collect::<Vec<_>>(), [true, false]);
    let started = ledger.start_epoch().unwrap();
    assert_eq!((started.restarted.as_slice(), started.left[0].0.as_str()), (&["a".to_owned()][..], "b"));
    ledger.commit(START).unwrap();
    for _ in 0..2 {
        let shown = ledger.read_view();
        assert_eq!(shown.counter("a").unwrap().status(), Status::Running);
        let b = shown.counter("b").unwrap();
        assert_eq!(b.status(), Status::Fenced);
        assert_eq!(ledger.submit(&b, &arrivals(&b, 0..1), START).unwrap_err().class(), Class::Fenced);
        assert!(ledger.advance("b", 1).is_err());
        drop((ledger, shown, b));
        ledger = home.open();
    }
    ledger.retire("b").unwrap();
    ledger.delete("b").unwrap();
    ledger.commit(START).unwrap();
}

#[test]
fn copies_elsewhere_are_recognised() {
    let home = Home::new();
    drop(filled(&home, 10.0));
    // Without its fence.
    let elsewhere = home.directory.with_extension("copy");
    copy(&home.directory, &elsewhere);
    let ledger = open(&elsewhere).unwrap();
    assert!(is_fenced(&ledger));
    drop(ledger);
    // With its fence: the file is another one.
    std::fs::copy(home.directory.with_extension("fence"), elsewhere.with_extension("copy.fence")).unwrap();
    let ledger = open(&elsewhere).unwrap();
    assert!(is_fenced(&ledger));
    drop(ledger);
    // Moved within the disk, with its fence, it is the same ledger.
    let moved = home.directory.with_extension("moved");
    std::fs::rename(&home.directory, &moved).unwrap();
    std::fs::rename(home.directory.with_extension("fence"), moved.with_extension("moved.fence")).unwrap();
    assert!(!is_fenced(&open(&moved).unwrap()));
    // A fence without a ledger is no place to begin.
    std::fs::remove_dir_all(&moved).unwrap();
    assert_eq!(open(&moved).err().unwrap().class(), Class::Conflict);
}

#[test]
fn one_process_at_a_time_and_one_key() {
    let home = Home::new();
    let ledger = filled(&home, 10.0);
    assert_eq!(home.try_open().err().unwrap().class(), Class::Conflict);
    drop(ledger);
    let other = evertally::NoiseKey::insecure_from_seed(8);
    let refusal = Ledger::open(Location::directory(&home.directory, None).unwrap(), other, START);
    assert_eq!(refusal.err().unwrap().class().name(), "bad-state");
}
