//! The fixed point for prefix sums and decayed prefix sums: O(nJ) per iteration.
//!
//! (AᵀA)⁻¹ is tridiagonal, so diag(M^{1/2}) is a sum over J ≈ 40 nodes of diagonals of inverses of
//! tridiagonal matrices ([`crate::elliptic`], [`super::verify::sweep`]). For γ_2 the same holds
//! with row weights. A in reverse order is its own transpose, so the best row weights are the
//! column weights in reverse order, and only one set of weights is needed.
//!
//! Long horizons start from the solution of a shorter one, because the weights are nearly a
//! function of t/n.

use rayon::prelude::*;

use super::Quantity;
use super::certificate::{Certificate, Subject, Weights};
use super::fixed_point::{Point, Problem, certify, check_gap, iterate};
use super::nodes::Nodes;
use super::verify::sweep::{LANES, Rounding, Scaled, column_energies, largest_eigenvalue, resolvents};
use crate::Result;
use crate::noise::Progress;

/// Horizons up to this length start from equal weights.
const MIN_COARSE_LEN: usize = 256;

/// A coarse solution has a quarter of the length.
const COARSENING: usize = 4;

/// The gap at which a coarse solution is a good enough start.
const COARSE_GAP: f64 = 1e-4;

pub(super) struct Mean {
    pub(super) decay: f64,
    pub(super) ones: Vec<f64>,
}

struct Worst {
    decay: f64,
    count: usize,
}

/// d/v and Σd for B = diag(√u) A diag(√v).
pub(super) fn diagonal(scaled: Scaled<'_>, tolerance: f64) -> (Vec<f64>, f64) {
    let energies = column_energies(scaled, Rounding::Nearest);
    let trace: f64 = energies.iter().zip(scaled.columns).map(|(energy, v)| energy * v).sum();
    let nodes = Nodes::new(1.0 / trace, largest_eigenvalue(scaled), tolerance, LANES);
    let ratios = resolvents(scaled, Rounding::Nearest, &nodes.shifts, &nodes.weights);
    let sum = ratios.iter().zip(scaled.columns).map(|(ratio, v)| ratio * v).sum();
    (ratios, sum)
}

/// exp of the logs, scaled so that the largest is one.
pub(super) fn normalised(logs: &[f64]) -> Vec<f64> {
    let heaviest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter().map(|log| (log - heaviest).exp()).collect()
}

impl Problem for Mean {
    fn count(&self) -> usize {
        self.ones.len()
    }

    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point> {
        let v: Vec<f64> = logs.par_iter().map(|log| log.exp()).collect();
        let scaled = Scaled { rows: &self.ones, columns: &v, decay: self.decay };
        let (mut ratios, sum) = diagonal(scaled, tolerance);
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        let mass: f64 = v.iter().sum();
        ratios.iter_mut().for_each(|ratio| *ratio *= mass / sum);
        Ok(Point { lower: sum / mass.sqrt(), upper: (sum * largest).sqrt(), ratios })
    }

    fn weights_may_vanish(&self) -> bool {
        false
    }

    fn weights(&self, logs: &[f64]) -> Weights {
        Weights::GammaF { columns: normalised(logs) }
    }
}

impl Problem for Worst {
    fn count(&self) -> usize {
        self.count
    }

    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point> {
        let v: Vec<f64> = logs.par_iter().map(|log| log.exp()).collect();
        let u: Vec<f64> = v.iter().rev().copied().collect();
        let (mut ratios, sum) = diagonal(Scaled { rows: &u, columns: &v, decay: self.decay }, tolerance);
        // d_u/u is d_v/v in reverse order.
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        let mean = sum / v.iter().sum::<f64>();
        ratios.iter_mut().for_each(|ratio| *ratio /= mean);
        Ok(Point { lower: mean, upper: largest, ratios })
    }

    fn weights_may_vanish(&self) -> bool {
        false
    }

    fn weights(&self, logs: &[f64]) -> Weights {
        let columns = normalised(logs);
        Weights::Gamma2 { rows: columns.iter().rev().copied().collect(), columns }
    }
}

/// γ_F or γ_2 of the workload λ^{i−j}.
pub(super) fn certified(
    quantity: Quantity,
    subject: Subject,
    decay: f64,
    gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    match quantity {
        Quantity::GammaF => solve(subject, |n| Mean { decay, ones: vec![1.0; n] }, gap, progress),
        Quantity::Gamma2 => solve(subject, |count| Worst { decay, count }, gap, progress),
    }
}

fn solve<P: Problem>(
    subject: Subject,
    problem: impl Fn(usize) -> P,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    check_gap(relative_gap)?;
    let n = subject.columns();
    let start = start(n, &problem, COARSE_GAP.max(relative_gap))?;
    certify(&problem(n), subject, start, relative_gap, progress)
}

/// The initial weights at horizon n.
fn start<P: Problem>(n: usize, problem: &impl Fn(usize) -> P, gap: f64) -> Result<Vec<f64>> {
    if n <= MIN_COARSE_LEN {
        return Ok(vec![-(n as f64).ln(); n]);
    }
    let coarse = n.div_ceil(COARSENING);
    let from = start(coarse, problem, gap)?;
    let found = iterate(&problem(coarse), from, gap, &|_| ())?;
    Ok(stretch(&found.logs, n))
}

/// Carries the logarithms of weights from a shorter horizon to n, as a function of t/n.
pub(super) fn stretch(logs: &[f64], n: usize) -> Vec<f64> {
    let coarse = logs.len();
    let thinner = (coarse as f64 / n as f64).ln();
    (0..n)
        .map(|t| {
            let position =
                ((t as f64 + 0.5) * coarse as f64 / n as f64 - 0.5).clamp(0.0, (coarse - 1) as f64);
            let below = (position as usize).min(coarse - 2);
            let part = position - below as f64;
            logs[below] * (1.0 - part) + logs[below + 1] * part + thinner
        })
        .collect()
}
