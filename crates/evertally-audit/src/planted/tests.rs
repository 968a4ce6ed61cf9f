//! A short version of the power table: every fault is found, every true mechanism passes.
//!
//! **False alarms.** A true mechanism fails with probability 10⁻⁴ at most, whatever the seed; seeds are fixed, so that green stays green.
//! `cargo xtask audit` runs a thousand audits of each.

use evertally::{Budget, Contribution, Mechanism, Neighbours, Participation, Plan, PlanBuilder};

use super::*;
use crate::{Attack, Auditor, Keys, Report, Settings, Verdict};

const SETTINGS: Settings = Settings { runs: 700, length: 256, changes: 20_000, false_alarm: 1e-4 };

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

fn audit(subject: &dyn Subject, seed: u64) -> Report {
    Auditor::new(subject, SETTINGS).unwrap().audit(Keys::SeededNotPrivate(seed), None, &()).unwrap()
}

fn passes(builder: &PlanBuilder) {
    let subject = CounterSubject::new(builder.build().unwrap()).unwrap().rounded_to(1.0).unwrap();
    for seed in 0..2 {
        let report = audit(&subject, seed);
        assert!(report.passed(), "{}: {:#?}", subject.plan().mechanism(), report.findings);
        assert_eq!(report.findings.len(), 7);
    }
}

/// Each fault with the attacks that must find it by themselves.
#[test]
fn every_planted_fault_is_found() {
    use Attack::{Covariance, LowBits, Replay, Separation};
    let graded = Mechanism::GradedSquareRoot { decays: None };
    for (fault, attacks) in [
        (Fault::ShortNoise, vec![Separation, Covariance]),
        (Fault::FreshNoise, vec![Covariance]),
        (Fault::MissedParticipation, vec![Separation, Replay]),
        (Fault::RepeatedKey, vec![Separation, Covariance]),
        (Fault::SharedKey, vec![Covariance]),
        (Fault::FloatNoise, vec![LowBits]),
    ] {
        let subject = fault.plant(graded, 8, budget(), 1.0).unwrap();
        for seed in 0..3 {
            let report = audit(&*subject, seed);
            for attack in &attacks {
                let finding = report.finding(*attack).unwrap();
                assert_eq!(finding.verdict, Verdict::Failed, "{}: {finding:?}", fault.name());
            }
            assert!(!report.passed());
        }
    }
}

/// Tests for Gaussian noise do not apply to Laplace noise; those that remain find the same faults.
#[test]
fn faults_of_laplace_noise_are_found() {
    for fault in [Fault::ShortNoise, Fault::FreshNoise, Fault::RepeatedKey, Fault::MissedParticipation] {
        let subject = fault.plant(Mechanism::LaplaceTree, 8, Budget::pure(1.0).unwrap(), 1.0).unwrap();
        assert!(!audit(&*subject, 1).passed(), "{}", fault.name());
    }
    assert!(Fault::FloatNoise.plant(Mechanism::LaplaceTree, 8, Budget::pure(1.0).unwrap(), 1.0).is_err());
}

#[test]
fn every_mechanism_passes() {
    for mechanism in Mechanism::ALL {
        let budget = match mechanism {
            Mechanism::LaplaceTree => Budget::pure(1.0).unwrap(),
            _ => budget(),
        };
        passes(&Plan::prefix_sum(16).mechanism(mechanism).budget(budget));
    }
    passes(&Plan::sliding_window(16, 5).budget(budget()));
    passes(&Plan::decay(16, 0.8).budget(budget()));
}

#[test]
fn other_promises_are_kept_too() {
    let plan = || Plan::prefix_sum(12).budget(budget());
    passes(&plan().participation(Participation::at_most(3, 4).unwrap()));
    passes(&plan().contribution(Contribution::range(-2.0, 1.0).unwrap()));
    passes(&plan().neighbours(Neighbours::Replace));
    passes(&plan().keys((0..20).map(|key| format!("key {key}"))));
    passes(&plan().keys(["north", "south"]).neighbours(Neighbours::Replace));
    passes(&plan().contribution(Contribution::range(-1.0, 1.0).unwrap()).neighbours(Neighbours::Replace));
    passes(&Plan::prefix_sum(12).budget(Budget::zcdp(0.1).unwrap()));
    passes(&Plan::prefix_sum(1).budget(budget()));
    // Longer than what is watched, and without an end: the beginning is audited.
    passes(&Plan::prefix_sum(3000).budget(budget()));
    passes(&Plan::unbounded(evertally::Workload::PrefixSum).budget(budget()));
}

#[test]
fn an_audit_can_be_repeated_to_the_last_bit() {
    let subject = CounterSubject::new(Plan::prefix_sum(8).budget(budget()).build().unwrap()).unwrap();
    let subject = subject.rounded_to(1.0).unwrap();
    assert_eq!(audit(&subject, 4), audit(&subject, 4));
    assert_ne!(audit(&subject, 4).game, audit(&subject, 5).game);
}

#[test]
fn bad_settings_are_refused() {
    let subject = CounterSubject::new(Plan::prefix_sum(8).budget(budget()).build().unwrap()).unwrap();
    for settings in [
        Settings { runs: 99, ..SETTINGS },
        Settings { runs: 1 << 40, ..SETTINGS },
        Settings { length: 0, ..SETTINGS },
        Settings { changes: 0, ..SETTINGS },
        Settings { false_alarm: 0.0, ..SETTINGS },
        Settings { false_alarm: f64::NAN, ..SETTINGS },
    ] {
        assert!(Auditor::new(&subject, settings).is_err(), "{settings:?}");
    }
    let coarse = subject.rounded_to(1024.0).unwrap();
    let error = Auditor::new(&coarse, SETTINGS).err().unwrap().to_string();
    assert!(error.starts_with("grid must be at most the noise of a step"), "{error}");
}
