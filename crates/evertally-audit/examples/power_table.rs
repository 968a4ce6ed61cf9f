//! How often the audit finds each planted fault, and how often it passes each true mechanism.
//!
//! Prints one line a row, its fields between tabs, for `cargo xtask audit`: kind, name, mechanism, steps, audits, failures, failures of each
//! attack in the order of [`ATTACKS`], the median lower bound on ε by separation, and seconds. The number of audits a row is the
//! first argument. Timing is left out: it would measure how busy this very table keeps the machine.

use std::time::Instant;

use evertally::{Budget, Mechanism, Participation, Plan, PlanBuilder, Result};
use evertally_audit::planted::Fault;
use evertally_audit::{Attack, Auditor, CounterSubject, Keys, Report, Settings, Subject, Verdict};
use rayon::prelude::*;

const SETTINGS: Settings = Settings { runs: 700, length: 256, changes: 20_000, false_alarm: 1e-4 };

const ATTACKS: [Attack; 6] = [
    Attack::OneRun,
    Attack::ErrorRates,
    Attack::Separation,
    Attack::Replay,
    Attack::Covariance,
    Attack::LowBits,
];

const STEPS: u64 = 16;
/// Fresh noise makes a counter anew for every step, so that a run costs the square of its length.
const FEW_STEPS: u64 = 8;
const GRID: f64 = 1.0;

fn main() -> Result<()> {
    let audits = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let (normal, pure) = (Budget::new(1.0, 1e-6)?, Budget::pure(1.0)?);
    for (name, builder) in mechanisms(normal, pure)? {
        let subject = CounterSubject::new(builder.build()?)?.rounded_to(GRID)?;
        row("mechanism", name, &subject, audits)?;
    }
    let graded = Mechanism::GradedSquareRoot { decays: None };
    for (mechanism, budget) in [(graded, normal), (Mechanism::LaplaceTree, pure)] {
        for fault in Fault::ALL {
            let steps = if fault == Fault::FreshNoise { FEW_STEPS } else { STEPS };
            // Not every fault can be made with Laplace noise.
            if let Ok(subject) = fault.plant(mechanism, steps, budget, GRID) {
                row("fault", fault.name(), &*subject, audits)?;
            }
        }
    }
    Ok(())
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
    all.push(("three steps a person", prefix_sum().participation(Participation::at_most(3, 4)?)));
    all.push(("two keys", prefix_sum().keys(["north", "south"])));
    all.push(("pure ε", Plan::prefix_sum(STEPS).budget(pure)));
    Ok(all)
}

fn row(kind: &str, name: &str, subject: &dyn Subject, audits: u64) -> Result<()> {
    let started = Instant::now();
    let auditor = Auditor::new(subject, SETTINGS)?;
    let audit = |seed| auditor.audit(Keys::SeededNotPrivate(seed), None, &());
    let reports: Vec<Report> = (0..audits).into_par_iter().map(audit).collect::<Result<_>>()?;
    let failures = reports.iter().filter(|report| !report.passed()).count();
    let of_attack = |attack: &Attack| {
        let has_failed = |report: &&Report| {
            report.finding(*attack).is_some_and(|finding| finding.verdict == Verdict::Failed)
        };
        reports.iter().filter(has_failed).count().to_string()
    };
    let by_attack = ATTACKS.iter().map(of_attack).collect::<Vec<_>>().join("\t");
    let bound = |report: &Report| Some(report.finding(Attack::Separation)?.bound?.epsilon);
    let mut bounds: Vec<f64> = reports.iter().filter_map(bound).collect();
    bounds.sort_by(f64::total_cmp);
    let median = bounds.get(bounds.len() / 2).map_or_else(String::new, |bound| format!("{bound:.4}"));
    let (mechanism, steps) = (subject.plan().mechanism(), subject.plan().horizon());
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{kind}\t{name}\t{mechanism}\t{steps}\t{audits}\t{failures}\t{by_attack}\t{median}\t{seconds:.1}"
    );
    Ok(())
}
