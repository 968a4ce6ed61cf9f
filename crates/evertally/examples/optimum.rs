//! Compares the sum of Markov chains with certified optima at log-random horizons, and prints the
//! table of bench/optimum.md as JSON lines.
//!
//! Run by `cargo xtask bench optimum`. Arguments: the number of horizons, and the longest.

use std::time::Instant;

use evertally::research::gamma::{Subject, gamma_2, gamma_f};
use evertally::{Budget, Mechanism, Objective, Plan, PlanSpec, Workload};

/// The relative gap of certificates, in γ.
const GAP: f64 = 2e-7;

/// Long horizons that are always measured, unless the run is a short one.
const LONG: [u64; 3] = [300_000, 700_001, 1 << 20];

/// The longest horizon of the worst step, whose certificates take longer.
const LONGEST_WORST: u64 = 1 << 16;

/// A plan by chains, and the seconds that it took.
fn plan(horizon: u64, workload: Workload, objective: Objective) -> (Plan, f64) {
    let start = Instant::now();
    let spec = PlanSpec {
        workload,
        objective,
        mechanism: Some(Mechanism::Markov { chains: None }),
        arithmetic: Some(evertally::Arithmetic::Float),
        ..PlanSpec::new(horizon, Budget::zcdp(0.5).expect("a budget"))
    };
    (spec.build().expect("a plan"), start.elapsed().as_secs_f64())
}

/// The excess of the squared error over the certified least, at most.
fn excess(horizon: u64, workload: Workload, objective: Objective) -> f64 {
    let subject = Subject::workload(workload, horizon as usize);
    let (plan, _) = plan(horizon, workload, objective);
    let accuracy = plan.accuracy();
    let (found, certificate) = match objective {
        Objective::Worst => (accuracy.max_error, gamma_2(subject, GAP, &())),
        _ => (accuracy.mean_error, gamma_f(subject, GAP, &())),
    };
    found / certificate.expect("a certificate").error_factor().0 - 1.0
}

/// Numbers from 0 to 1, the same at every run, so that a figure can be made again.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (count, longest) = (arguments.next().unwrap_or(300), arguments.next().unwrap_or(1 << 20));
    let mut uniform = Uniform(2026);
    let mut horizon = |longest: u64| {
        let log = 2.0_f64.ln() + uniform.next() * (longest as f64 / 2.0).ln();
        (log.exp().round() as u64).clamp(2, longest)
    };
    let mut horizons: Vec<u64> = (0..count).map(|_| horizon(longest)).collect();
    if count > 100 {
        horizons.extend(LONG);
    }
    for &n in &horizons {
        println!(
            r#"{{"kind":"mean","n":{n},"excess":{:e}}}"#,
            excess(n, Workload::PrefixSum, Objective::Mean)
        );
    }
    for &n in horizons.iter().filter(|n| **n <= LONGEST_WORST).take(count as usize / 3) {
        println!(
            r#"{{"kind":"worst","n":{n},"excess":{:e}}}"#,
            excess(n, Workload::PrefixSum, Objective::Worst)
        );
    }
    for i in 0..count / 3 {
        let n = horizon(LONGEST_WORST.min(longest));
        let memory = horizon(1 << 14) as f64;
        let workload = Workload::Decay { factor: 1.0 - 1.0 / memory };
        println!(
            r#"{{"kind":"decay","n":{n},"memory":{memory},"excess":{:e}}}"#,
            excess(n, workload, Objective::Mean)
        );
        if i % 3 == 0 {
            println!(
                r#"{{"kind":"decay worst","n":{n},"memory":{memory},"excess":{:e}}}"#,
                excess(n, workload, Objective::Worst)
            );
        }
    }
    for power in [10, 12, 14, 16, 18, 20, 22, 24] {
        let n = 1_u64 << power;
        if n <= longest.max(1 << 20) * 16 {
            let (made, seconds) = plan(n, Workload::PrefixSum, Objective::Mean);
            let cost = made.factorization().cost();
            let (numbers, bytes) = (cost.bytes_per_coordinate / 8, cost.shared_bytes);
            let mean = made.accuracy().mean_error;
            println!(
                r#"{{"kind":"plan","n":{n},"numbers":{numbers},"shared":{bytes},"seconds":{seconds},"mean":{mean}}}"#
            );
        }
    }
}
