//! Measures how often the audit finds each planted fault, and how often it passes each correct
//! mechanism.
//!
//! Prints tab-separated lines for `cargo xtask audit`: kind, name, mechanism, steps, audits,
//! failures, failures of each attack in the order of [`ATTACKS`], the median lower bound on ε by
//! separation, and seconds. The first argument is the number of audits per row. Admission has
//! separate rows. The first line states what the runs find: the shortage of noise in percent, and
//! the probability. Timing is left out, because it would measure the load that this program itself
//! causes.

use std::time::Instant;

use evertally::{
    Budget, Contribution, Error, Mechanism, Neighbours, Participation, Plan, PlanBuilder, Result,
};
use evertally_audit::planted_faults::{Fault, GateFault, short_noise};
use evertally_audit::{
    Attack, Auditor, CounterSubject, DEFAULT_STREAMS, Finding, Gate, Keys, OpenKeysSubject, Promise, Report,
    Settings, Subject, Verdict, audit_admission, deployed_gates,
};
use rayon::prelude::*;

const SETTINGS: Settings = Settings { runs: 700, length: 256, changes: 20_000, false_alarm: 1e-4 };

const ATTACKS: [Attack; 7] = [
    Attack::OneRun,
    Attack::ErrorRates,
    Attack::Separation,
    Attack::Replay,
    Attack::Covariance,
    Attack::LowBits,
    Attack::Admission,
];

const STEPS: u64 = 16;
/// Fresh noise needs a new counter at every step, so the cost of a run is quadratic in its length.
const FEW_STEPS: u64 = 8;
const GRID: f64 = 1.0;

fn main() -> Result<()> {
    let audits = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let (normal, pure) = (Budget::new(1.0, 1e-6)?, Budget::pure(1.0)?);
    let graded = Mechanism::GradedSquareRoot { decays: None };
    // Noise with the smallest shortage that the audit claims to find.
    let plan = Plan::prefix_sum(STEPS).mechanism(graded).budget(normal).build()?;
    let whole = CounterSubject::new(plan.clone())?.rounded_to(GRID)?;
    let power = Auditor::new(&whole, SETTINGS)?
        .power()
        .ok_or_else(|| Error::bad("runs", "enough to find some shortage of noise", SETTINGS.runs))?;
    let percent = power.percent_short();
    println!("power\t{percent}\t{}", power.probability);
    for (name, builder) in mechanisms(normal, pure)? {
        let subject = CounterSubject::new(builder.build()?)?.rounded_to(GRID)?;
        row("mechanism", name, &subject, audits)?;
    }
    for (name, subject) in subjects(normal)? {
        row("mechanism", name, &*subject, audits)?;
    }
    let smallest = format!("noise {percent} % short");
    row("fault", &smallest, &*short_noise(plan, percent / 100.0, GRID)?, audits)?;
    for (mechanism, budget) in [(graded, normal), (Mechanism::LaplaceTree, pure)] {
        for fault in Fault::ALL {
            let steps = if fault == Fault::FreshNoise { FEW_STEPS } else { STEPS };
            // Some faults do not exist with Laplace noise.
            if let Ok(subject) = fault.plant(mechanism, steps, budget, GRID) {
                row("fault", fault.name(), &*subject, audits)?;
            }
        }
    }
    let persons = Participation::at_most(2, 3)?;
    let contribution = Contribution::range(-2.0, 1.5)?;
    let plan = Plan::prefix_sum(STEPS).budget(normal).keys(["north", "south", "west"]);
    let promise = Promise { participation: persons, contribution, ..Promise::of(&plan.build()?) };
    gate_row("mechanism", "persons, ids, late, unnamed", &deployed_gates(&promise, STEPS, 3), audits)?;
    for fault in GateFault::ALL {
        gate_row("fault", fault.name(), &[fault.plant(persons, contribution)], audits)?;
    }
    Ok(())
}

/// Open keys and vectors.
fn subjects(normal: Budget) -> Result<Vec<(&'static str, Box<dyn Subject>)>> {
    let open = Plan::prefix_sum(STEPS).budget(normal).open_keys().build()?;
    let vectors = Plan::prefix_sum(STEPS).budget(normal).dimension(4).contribution(Contribution::norm(1.0)?);
    Ok(vec![
        ("two open keys", Box::new(OpenKeysSubject::new(open, ["north", "south"])?.rounded_to(GRID)?)),
        ("vectors of four", Box::new(CounterSubject::new(vectors.build()?)?.rounded_to(GRID)?)),
    ])
}

fn mechanisms(normal: Budget, pure: Budget) -> Result<Vec<(&'static str, PlanBuilder)>> {
    let prefix_sum = || Plan::prefix_sum(STEPS).budget(normal);
    let named = |name: &'static str| Ok((name, prefix_sum().mechanism(name.parse()?)));
    let mut all = vec![("default", prefix_sum())];
    for name in ["graded-square-root", "square-root", "blt", "binary", "honaker-streaming"] {
        all.push(named(name)?);
    }
    all.push(("window of 5 steps", Plan::sliding_window(STEPS, 5).budget(normal)));
    all.push(("decay by 0.8", Plan::decay(STEPS, 0.8).budget(normal)));
    all.push(("three steps per person", prefix_sum().participation(Participation::at_most(3, 4)?)));
    all.push(("two keys", prefix_sum().keys(["north", "south"])));
    all.push(("two keys, replace", prefix_sum().keys(["north", "south"]).neighbours(Neighbours::Replace)));
    all.push(("pure ε", Plan::prefix_sum(STEPS).budget(pure)));
    Ok(all)
}

fn row(kind: &str, name: &str, subject: &dyn Subject, audits: u64) -> Result<()> {
    let started = Instant::now();
    let auditor = Auditor::new(subject, SETTINGS)?;
    let audit = |seed| auditor.audit(Keys::SeededNotPrivate(seed), None, &());
    let reports: Vec<Report> = (0..audits).into_par_iter().map(audit).collect::<Result<_>>()?;
    let (mechanism, steps) = (subject.plan().mechanism().to_string(), subject.plan().horizon());
    let found: Vec<Vec<Finding>> = reports.into_iter().map(|report| report.findings).collect();
    print(kind, name, (&mechanism, steps), &found, started);
    Ok(())
}

/// Admission alone: gates with random streams.
fn gate_row(kind: &str, name: &str, gates: &[Box<dyn Gate>], audits: u64) -> Result<()> {
    let started = Instant::now();
    let audit = |seed| Ok(vec![audit_admission(gates, DEFAULT_STREAMS, Keys::SeededNotPrivate(seed))?]);
    let found: Vec<Vec<Finding>> = (0..audits).into_par_iter().map(audit).collect::<Result<_>>()?;
    let steps = gates.first().map_or(0, |gate| gate.rules().steps as u64);
    print(kind, name, ("admission", steps), &found, started);
    Ok(())
}

fn print(kind: &str, name: &str, (mechanism, steps): (&str, u64), audits: &[Vec<Finding>], started: Instant) {
    let has_failed = |finding: &Finding| finding.verdict == Verdict::Failed;
    let failures = audits.iter().filter(|findings| findings.iter().any(has_failed)).count();
    let of_attack = |attack: &Attack| {
        let by_attack = |findings: &&Vec<Finding>| {
            findings.iter().any(|finding| finding.attack == *attack && has_failed(finding))
        };
        audits.iter().filter(by_attack).count().to_string()
    };
    let by_attack = ATTACKS.iter().map(of_attack).collect::<Vec<_>>().join("\t");
    let separation = |findings: &Vec<Finding>| {
        let found = findings.iter().find(|finding| finding.attack == Attack::Separation);
        Some(found?.bound?.epsilon)
    };
    let mut bounds: Vec<f64> = audits.iter().filter_map(separation).collect();
    bounds.sort_by(f64::total_cmp);
    let median = bounds.get(bounds.len() / 2).map_or_else(String::new, |bound| format!("{bound:.4}"));
    let (count, seconds) = (audits.len(), started.elapsed().as_secs_f64());
    println!(
        "{kind}\t{name}\t{mechanism}\t{steps}\t{count}\t{failures}\t{by_attack}\t{median}\t{seconds:.1}"
    );
}
