//! The iteration that all solvers share: log w ← log w + ρ·log(d/w), accelerated.
//!
//! The bounds here steer and stop the iteration; those that are stated come from the checker. Where the checker's
//! are wider than what was asked for, the iteration goes on for a while.

use super::anderson::Anderson;
use super::certificate::{Certificate, Subject, Weights};
use super::verify::state;
use crate::noise::Progress;
use crate::{Error, Result};

/// Iterations after which the bounds reached so far are stated.
const MOST_ITERATIONS: usize = 600;

/// Iterations without a better bound after which there will be none.
const PATIENCE: usize = 60;

/// The lightest weight, relative to the mean: lighter ones are as good as zero, and cost the bound 10⁻¹².
const LIGHTEST: f64 = 1e-12;

/// What one evaluation at the weights w gives.
pub(super) struct Point {
    /// d/w, one entry a weight.
    pub(super) ratios: Vec<f64>,
    pub(super) lower: f64,
    pub(super) upper: f64,
}

/// A problem whose fixed point is sought.
pub(super) trait Problem {
    /// ρ: about 2 where w enters under a square root once, less where twice.
    const STEP: f64;

    /// The number of weights.
    fn count(&self) -> usize;

    /// d/w and the bounds at w = exp(logs), good to a relative `tolerance`.
    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point>;

    /// The weights that a certificate carries.
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
    while iterations < MOST_ITERATIONS && since_best < PATIENCE {
        // While the gap is wide a rough evaluation steers as well as an exact one.
        let known = best.as_ref().map_or(1.0, |(found, _)| found.gap);
        let tolerance = (1e-3 * known).clamp(0.02 * target.max(1e-11), 1e-5);
        let point = problem.evaluate(&logs, tolerance)?;
        iterations += 1;
        // Rounding can make the bounds cross by an ulp.
        let gap = (point.upper / point.lower - 1.0).max(f64::EPSILON);
        // On a logarithmic scale: the gap shrinks by a factor at each step.
        let first = *first.get_or_insert(gap.max(2.0 * target));
        report(((first / gap.min(known)).ln() / (first / target).ln()).clamp(0.0, 1.0));
        let lightest = lightest(&logs);
        let residual: Vec<f64> = point.ratios.iter().zip(&logs).map(|(ratio, log)| {
            // A weight on the floor that would fall stays there.
            let resting = *log <= lightest + 1e-9 && *ratio < 1.0;
            if resting { 0.0 } else { P::STEP * ratio.ln() }
        }).collect();
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
        let lost = gap.is_nan() || gap > 1e3 * found.gap || since_best % 20 == 19;
        if lost {
            // Extrapolated too far: a plain step from the best point, and forget.
            anderson.restart();
            logs = found.logs.iter().zip(from_best).map(|(log, f)| log + f / P::STEP).collect();
        } else {
            anderson.advance(&mut logs, &residual);
        }
        let lightest = self::lightest(&logs);
        logs.iter_mut().for_each(|log| *log = log.max(lightest));
    }
    let (mut found, _) = best.ok_or_else(super::linear::failed)?;
    found.iterations = iterations;
    Ok(found)
}

/// The logarithm of the lightest weight that is kept.
fn lightest(logs: &[f64]) -> f64 {
    let heaviest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = logs.iter().map(|log| (log - heaviest).exp()).sum::<f64>() / logs.len() as f64;
    heaviest + mean.ln() + LIGHTEST.ln()
}

/// Solves a problem from the weights `logs` and states what the checker proves of the result.
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
        // The checker's own margin is what is left when the iteration is far below the target.
        if wide && found.gap <= target && target > 0.05 * relative_gap {
            target *= 0.25;
            found = iterate(problem, found.logs, target, &|_| ())?;
            continue;
        }
        progress.report(1.0);
        return Ok(Certificate { subject, weights, lower: proof.lower, upper: proof.upper, iterations });
    }
}

/// Refuses a gap that is no gap, before any work.
pub(super) fn check_gap(relative_gap: f64) -> Result<()> {
    if relative_gap > 0.0 && relative_gap.is_finite() {
        return Ok(());
    }
    Err(Error::bad("gap", "above zero", relative_gap))
}
