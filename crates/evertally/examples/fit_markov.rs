//! Fits the weights of the sum of Markov chains and prints the table that `markov/table.rs` holds.
//!
//! Run by `cargo xtask fit markov`. For every row, the optimal weights come from a certificate of
//! γ_F or γ_2, ln v at the knots by least squares over ξ, and the interval of the nodes by a
//! search that minimises the error of what runs.

use std::fmt::Write as _;

use evertally::internals::factorization::markov::{
    KNOTS, MAX_DAMPING, MAX_WORST_DAMPING, Shape, basis, place, trial,
};
use evertally::research::gamma::{Certificate, Subject, Weights, gamma_2, gamma_f};
use evertally::{Objective, Workload};

/// The horizons of running totals.
const HORIZONS: [u64; 25] = [
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
    13,
    16,
    23,
    32,
    45,
    64,
    91,
    128,
    181,
    256,
    512,
    1024,
    4096,
    16_384,
    65_536,
    262_144,
    1 << 20,
];

/// The longest horizon for the worst step, whose certificates take longer.
const LONGEST_WORST: u64 = 1 << 17;

/// The dampings and horizons of decayed totals.
const DAMPINGS: [f64; 5] = [0.4, 1.2, 3.0, 8.0, MAX_DAMPING];
const DAMPED_HORIZONS: [u64; 10] = [2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16_384];

/// The relative gap of certificates.
const GAP: f64 = 1e-7;

/// The weight of second differences of the knots, which matter where there are few steps.
const RIDGE: f64 = 1e-7;

/// Weights below this are as good as zero.
const LEAST_WEIGHT: f64 = 1e-9;

fn certificate(horizon: u64, factor: f64, objective: Objective) -> Certificate {
    let workload = if factor < 1.0 { Workload::Decay { factor } } else { Workload::PrefixSum };
    let subject = Subject::workload(workload, horizon as usize);
    let found = match objective {
        Objective::Worst => gamma_2(subject, GAP, &()),
        _ => gamma_f(subject, GAP, &()),
    };
    found.expect("the workload is finite")
}

/// ln v at the knots, for weights whose mean is one.
fn knots(columns: &[f64]) -> [f64; KNOTS] {
    let n = columns.len() as u64;
    let mean = columns.iter().sum::<f64>() / n as f64;
    let mut gram = [[0.0; KNOTS]; KNOTS];
    let mut right = [0.0; KNOTS];
    let mut step = 0;
    while step < n {
        let nearer = step.min(n - 1 - step);
        let next = step + (nearer / 256).max(1);
        let here = place(n, step);
        let width = if next < n { place(n, next) - here } else { here - place(n, step.saturating_sub(1)) };
        let (row, log) = (basis(here), (columns[step as usize] / mean).max(LEAST_WEIGHT).ln());
        for i in 0..KNOTS {
            right[i] += width.max(1e-9) * row[i] * log;
            for k in 0..KNOTS {
                gram[i][k] += width.max(1e-9) * row[i] * row[k];
            }
        }
        step = next;
    }
    for i in 1..KNOTS - 1 {
        let bend = [(i - 1, 1.0), (i, -2.0), (i + 1, 1.0)];
        for (a, x) in bend {
            for (b, y) in bend {
                gram[a][b] += RIDGE * x * y;
            }
        }
    }
    solve(gram, right)
}

/// Gaussian elimination with pivots.
fn solve(mut matrix: [[f64; KNOTS]; KNOTS], mut right: [f64; KNOTS]) -> [f64; KNOTS] {
    for i in 0..KNOTS {
        let pivot = (i..KNOTS).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()));
        let pivot = pivot.unwrap_or(i);
        matrix.swap(i, pivot);
        right.swap(i, pivot);
        let (row, value) = (matrix[i], right[i]);
        for k in i + 1..KNOTS {
            let factor = matrix[k][i] / row[i];
            matrix[k].iter_mut().zip(&row).for_each(|(entry, above)| *entry -= factor * above);
            right[k] -= factor * value;
        }
    }
    for i in (0..KNOTS).rev() {
        let known: f64 = (i + 1..KNOTS).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right
}

/// The least of a function of two numbers, by the simplex search of Nelder and Mead.
fn minimise(start: [f64; 2], loss: impl Fn([f64; 2]) -> f64) -> [f64; 2] {
    let along = |a: [f64; 2], b: [f64; 2], part: f64| [0, 1].map(|i| a[i] + part * (b[i] - a[i]));
    let at = |p| (loss(p), p);
    let mut simplex = [at(start), at([start[0] + 0.3, start[1]]), at([start[0], start[1] + 0.5])];
    for _ in 0..40 {
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [best, second, worst] = simplex;
        if (worst.0 - best.0).abs() < 1e-3 * best.0 {
            break;
        }
        let middle = along(best.1, second.1, 0.5);
        let reflected = at(along(worst.1, middle, 2.0));
        simplex[2] = if reflected.0 < best.0 {
            let farther = at(along(worst.1, middle, 3.0));
            if farther.0 < reflected.0 { farther } else { reflected }
        } else if reflected.0 < second.0 {
            reflected
        } else {
            let nearer = at(along(worst.1, middle, if reflected.0 < worst.0 { 1.5 } else { 0.5 }));
            if nearer.0 < worst.0.min(reflected.0) {
                nearer
            } else {
                simplex[1] = at(along(best.1, second.1, 0.5));
                at(along(best.1, worst.1, 0.5))
            }
        };
    }
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    simplex[0].1
}

fn row(horizon: u64, factor: f64, objective: Objective, near: &Shape) -> Shape {
    let certificate = certificate(horizon, factor, objective);
    let columns = match &certificate.weights {
        Weights::GammaF { columns } | Weights::Gamma2 { columns, .. } => columns,
    };
    let (lower, _) = certificate.error_factor();
    let logs = knots(columns);
    let loss = |[low, high]: [f64; 2]| {
        // Beyond these, nothing is gained, and neighbouring rows would differ too much.
        if !(-2.0..=3.0).contains(&low) || !(-1.0..=6.0).contains(&high) {
            return f64::INFINITY;
        }
        let (mean, max) = trial(horizon, factor, objective, &Shape { logs, low, high });
        let error = if objective == Objective::Worst { max } else { mean };
        (error / lower - 1.0).max(1e-12)
    };
    let [low, high] = minimise([near.low, near.high], loss);
    let excess = loss([low, high]);
    eprintln!("{objective} n = {horizon}, λ = {factor}: excess {excess:.2e}, interval {low:.3} {high:.3}");
    Shape { logs, low, high }
}

/// One plane of the table. Damped rows have λ = exp(−κ/n).
fn plane(damping: f64, objective: Objective) -> String {
    let horizons: &[u64] = if damping > 0.0 { &DAMPED_HORIZONS } else { &HORIZONS };
    let mut text = format!("    Plane {{\n        damping: {damping:?},\n        rows: &[\n");
    let mut near = Shape { low: 0.1, high: 1.5, ..Shape::flat() };
    for &horizon in horizons {
        if objective == Objective::Worst && horizon > LONGEST_WORST {
            break;
        }
        near = row(horizon, (-damping / horizon as f64).exp(), objective, &near);
        let numbers: Vec<String> =
            near.logs.iter().chain([&near.low, &near.high]).map(|x| format!("{x:.4}")).collect();
        let _ = writeln!(text, "            ({horizon}, [{}]),", numbers.join(", "));
    }
    text + "        ],\n    },\n"
}

fn table(objective: Objective, name: &str, what: &str) -> String {
    let longest = if objective == Objective::Worst { MAX_WORST_DAMPING } else { MAX_DAMPING };
    let dampings = [0.0].iter().chain(&DAMPINGS).filter(|damping| **damping <= longest);
    let planes: String = dampings.map(|damping| plane(*damping, objective)).collect();
    format!("\n/// For {what}.\n#[rustfmt::skip]\npub(super) const {name}: &[Plane] = &[\n{planes}];\n")
}

fn main() {
    let mut text = String::from(
        "//! The fitted numbers. Made by `cargo xtask fit markov`; not to be edited.

// No number here is a constant of mathematics, even if it looks like one.
#![allow(clippy::approx_constant)]

use super::weights::KNOTS;

/// Rows of one damping κ = −n ln λ: a horizon, ln v at the knots, and the interval of the nodes.
pub(super) struct Plane {
    pub(super) damping: f64,
    pub(super) rows: &'static [(u64, [f64; KNOTS + 2])],
}
",
    );
    let tables: Vec<String> = std::thread::scope(|scope| {
        let mean = scope.spawn(|| table(Objective::Mean, "MEAN", "the mean error"));
        let worst = scope.spawn(|| table(Objective::Worst, "WORST", "the worst step"));
        [mean, worst].into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    tables.iter().for_each(|table| text.push_str(table));
    print!("{text}");
}
