//! The iteration that all solvers share: log w ← log w + ρ·log(d/w), accelerated.
//!
//! The bounds here only control the iteration. The stated bounds come from the checker. If these
//! are wider than requested, the iteration continues for a while.

use rayon::prelude::*;

use super::anderson::Anderson;
use super::certificate::{Certificate, Subject, Weights};
use super::verify::state;
use crate::noise::Progress;
use crate::{Error, Result};

/// After this many iterations, the bounds reached so far are stated.
const MAX_ITERATIONS: usize = 600;

/// After this many iterations without improvement, the iteration stops.
const PATIENCE: usize = 60;

/// The minimum weight, relative to the mean. Smaller ones are as good as zero and cost the bound
/// 10⁻¹².
const MIN_RELATIVE_WEIGHT: f64 = 1e-12;

/// ρ. w enters d under a square root, so a plain step would move only half as far as needed.
const STEP: f64 = 2.0;

/// A weight below this, relative to the mean, that still falls is on its way to zero.
const LIGHT_RELATIVE_WEIGHT: f64 = 1e-2;

/// The maximum number of times that one weight is dropped to the minimum.
const MAX_DROPS: u8 = 3;

/// The maximum change of a logarithm in one step. A weight that falls without end would upset the
/// extrapolation.
const MAX_LOG_STEP: f64 = 6.0;

/// The result of one evaluation at the weights w.
pub(super) struct Point {
    /// d/w, one entry per weight, divided by its mean. All are one at the fixed point.
    pub(super) ratios: Vec<f64>,
    pub(super) lower: f64,
    pub(super) upper: f64,
}

/// A problem whose fixed point is sought.
pub(super) trait Problem {
    /// The number of weights.
    fn count(&self) -> usize;

    /// d/w and the bounds at w = exp(logs), to a relative `tolerance`.
    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point>;

    /// Whether some weights may be zero at the optimum.
    fn weights_may_vanish(&self) -> bool;

    /// The weights of the certificate.
    fn weights(&self, logs: &[f64]) -> Weights;
}

/// Where the iteration stopped.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) logs: Vec<f64>,
    pub(super) gap: f64,
    pub(super) iterations: usize,
}

/// Iterates from `logs` until the bounds are within `target`, or no longer improve.
pub(super) fn iterate<P: Problem>(
    problem: &P,
    mut logs: Vec<f64>,
    target: f64,
    report: &dyn Fn(f64),
) -> Result<Found> {
    let mut anderson = Anderson::default();
    let mut best: Option<(Found, Vec<f64>)> = None;
    let (mut first, mut since_best, mut iterations) = (None, 0, 0);
    let floor = |logs: &[f64]| {
        if problem.weights_may_vanish() { lightest(logs) } else { f64::NEG_INFINITY }
    };
    let mut vanishing = Vanishing { drops: vec![0; logs.len()] };
    while iterations < MAX_ITERATIONS && since_best < PATIENCE {
        // While the gap is wide, a rough evaluation is as useful as an exact one.
        let known = best.as_ref().map_or(1.0, |(found, _)| found.gap);
        let tolerance = (1e-3 * known).clamp((0.02 * target.max(1e-11)).min(1e-5), 1e-5);
        let point = match (problem.evaluate(&logs, tolerance), &best) {
            (Ok(point), _) => point,
            // The extrapolation left the valid range. The best point so far is still valid.
            (Err(_), Some(_)) => Point { ratios: Vec::new(), lower: f64::NAN, upper: f64::NAN },
            (Err(error), None) => return Err(error),
        };
        iterations += 1;
        let gap = point.upper / point.lower - 1.0;
        // Rounding can make the bounds cross by one ulp.
        let gap = if gap < f64::EPSILON { f64::EPSILON } else { gap };
        // On a logarithmic scale, because the gap shrinks by a factor in each step.
        let first = *first.get_or_insert(gap.max(2.0 * target));
        report(((first / known.min(gap)).ln() / (first / target).ln()).clamp(0.0, 1.0));
        let lightest = floor(&logs);
        let entries = point.ratios.par_iter().zip(&logs);
        let residual: Vec<f64> = entries
            .map(|(ratio, log)| {
                // A weight at the minimum that would fall stays there.
                let resting = *log <= lightest + 1e-9 && *ratio < 1.0;
                if resting { 0.0 } else { STEP * ratio.ln() }
            })
            .collect();
        if gap.is_finite() && best.as_ref().is_none_or(|(found, _)| gap < found.gap) {
            since_best = 0;
            best = Some((Found { logs: logs.clone(), gap, iterations }, residual.clone()));
        } else {
            since_best += 1;
        }
        let Some((found, from_best)) = &best else {
            return Err(super::linear::failed());
        };
        if found.gap <= target {
            break;
        }
        if gap.is_nan() || gap > 1e3 * found.gap || since_best % 20 == 19 {
            // The iteration got lost: take a plain step from the best point, and discard the
            // history.
            anderson.restart();
            logs = found.logs.iter().zip(from_best).map(|(log, f)| log + f / STEP).collect();
        } else {
            let before = logs.clone();
            anderson.advance(&mut logs, &residual);
            let entries = logs.iter_mut().zip(&before);
            entries.for_each(|(log, before)| *log = log.clamp(before - MAX_LOG_STEP, before + MAX_LOG_STEP));
        }
        let lightest = floor(&logs);
        logs.iter_mut().for_each(|log| *log = log.max(lightest));
        if problem.weights_may_vanish() && gap.is_finite() {
            vanishing.drop_weights(&mut logs, &point.ratios, gap, &mut anderson);
        }
    }
    let (mut found, _) = best.ok_or_else(super::linear::failed)?;
    found.iterations = iterations;
    Ok(found)
}

/// Weights that are zero at the optimum fall geometrically, which takes long and confuses the
/// extrapolation. They are dropped to the minimum at once. A weight that was dropped wrongly has
/// d/w > 1 there and rises again.
struct Vanishing {
    /// How often each weight was dropped.
    drops: Vec<u8>,
}

impl Vanishing {
    fn drop_weights(&mut self, logs: &mut [f64], ratios: &[f64], gap: f64, anderson: &mut Anderson) {
        let floor = lightest(logs);
        let light = floor - MIN_RELATIVE_WEIGHT.ln() + LIGHT_RELATIVE_WEIGHT.ln();
        let falls = 1.0 - (10.0 * gap).min(0.02);
        let mut dropped = false;
        for ((log, ratio), drops) in logs.iter_mut().zip(ratios).zip(&mut self.drops) {
            if *log > floor && *log < light && *ratio < falls && *drops < MAX_DROPS {
                (*log, dropped) = (floor, true);
                *drops += 1;
            }
        }
        if dropped {
            anderson.restart();
        }
    }
}

/// The logarithm of the minimum weight.
fn lightest(logs: &[f64]) -> f64 {
    let heaviest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = logs.iter().map(|log| (log - heaviest).exp()).sum::<f64>() / logs.len() as f64;
    heaviest + mean.ln() + MIN_RELATIVE_WEIGHT.ln()
}

/// Solves a problem from the weights `logs` and states what the checker proves about the result.
pub(super) fn certify<P: Problem>(
    problem: &P,
    subject: Subject,
    logs: Vec<f64>,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    check_gap(relative_gap)?;
    let report = |fraction: f64| progress.report(0.95 * fraction);
    let mut target = 0.75 * relative_gap;
    let (mut found, mut iterations) = (iterate(problem, logs, target, &report)?, 0);
    loop {
        iterations += found.iterations;
        let weights = problem.weights(&found.logs);
        let proof = state(&subject, &weights)?;
        let wide = proof.upper / proof.lower - 1.0 > relative_gap;
        // If the iteration is far below the target, only the checker's own margin remains.
        if wide && found.gap <= target && target > 0.05 * relative_gap {
            target *= 0.25;
            found = iterate(problem, found.logs, target, &|_| ())?;
            continue;
        }
        progress.report(1.0);
        return Ok(Certificate { subject, weights, lower: proof.lower, upper: proof.upper, iterations });
    }
}

/// Refuses an invalid gap, before any work.
pub(super) fn check_gap(relative_gap: f64) -> Result<()> {
    if relative_gap > 0.0 && relative_gap.is_finite() {
        return Ok(());
    }
    Err(Error::bad("gap", "above zero", relative_gap))
}
