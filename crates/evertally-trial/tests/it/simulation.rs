//! A short simulation, always with the same seeds.

use evertally_ledger::simulated::Faults;
use evertally_trial::simulation::{Report, run, run_on};

const STEPS: u64 = 120;

#[test]
fn thirty_seeds_break_no_promise() {
    let reports: Vec<_> = (0..30).map(|seed| run(seed, STEPS).unwrap()).collect();
    // A simulation in which nothing happens would prove nothing.
    assert!(reports.iter().map(|report| report.failures).sum::<u64>() > 30);
    assert!(reports.iter().map(|report| report.epochs - 1).sum::<u32>() > 30);
    assert!(reports.iter().map(|report| report.events).sum::<u64>() > 1000);
    assert!(reports.iter().all(|report| report.crashes > 0));
    assert!(reports.iter().map(|report| report.found).sum::<u64>() > 100);
}

#[test]
fn a_seed_does_the_same_twice() {
    for seed in 100..104 {
        let again = || run(seed, STEPS).map(|report| Report { found: 0, ..report });
        assert_eq!(again(), again());
    }
    assert_ne!(run(100, STEPS).unwrap().trace, run(101, STEPS).unwrap().trace);
}

/// The comparisons can fail: on a disk whose syncs do nothing, promises break.
#[test]
fn a_disk_that_lies_about_syncs_is_noticed() {
    let lies = |faults| Faults { sync_lies: true, ..faults };
    let broken = (0..10).filter(|seed| run_on(*seed, STEPS, lies).is_err()).count();
    assert!(broken >= 8, "only {broken} of 10 seeds noticed");
}
