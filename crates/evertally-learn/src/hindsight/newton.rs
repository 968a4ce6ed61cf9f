//! Newton's method on a central path: the mean loss plus a barrier of decreasing weight that keeps
//! θ inside the set.
//!
//! The ball has −ln(R² − ‖θ‖²), the box −Σ ln(hi − θ_j) − Σ ln(θ_j − lo). At the minimum with
//! weight w the slope of the loss is −w times that of the barrier. For the ball it points from θ to
//! the centre, so the line below the loss misses it by w·2‖θ‖/(R + ‖θ‖) ≤ w. For the box it misses
//! by at most 2w per coordinate. A smoothed hinge of width nw adds 2nw.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::Hindsight;
use super::problem::{Best, Problem};
use crate::loss::{Loss, dot};
use crate::set::Set;

/// The factor between the barrier's weights of two successive stages.
const WEIGHT_FACTOR: f64 = 0.15;
/// The maximum number of stages, and of Newton steps per stage.
const MAX_STAGES: usize = 40;
const MAX_STEPS: usize = 60;

pub(super) fn solve(problem: &Problem<'_>) -> Hindsight {
    let mut theta = vec![centre(problem.set); problem.parameters()];
    let mut best = Best::new(problem, &theta);
    // Start with a weight as large as the loss. A barrier that is light compared with the loss
    // stops the first steps only at the wall, where they get stuck.
    let mut weight = (problem.total(problem.loss, &theta) / problem.rows()).clamp(1.0, 1e100);
    for _ in 0..MAX_STAGES {
        let smoothed = problem.loss.smoothed(problem.rows() * weight);
        let model = smoothed.as_deref().unwrap_or(problem.loss);
        descend(problem, model, weight, &mut theta);
        best.raise_bound(&problem.line(model, &theta));
        best.offer(&theta);
        if best.is_certified() {
            break;
        }
        weight *= WEIGHT_FACTOR;
    }
    best.into_hindsight()
}

/// Newton steps at one weight, from a point inside the set.
fn descend(problem: &Problem<'_>, model: &dyn Loss, weight: f64, theta: &mut Vec<f64>) {
    let objective = |theta: &[f64]| {
        let barrier = barrier(problem.set, theta);
        if barrier.is_finite() {
            problem.total(model, theta) / problem.rows() + weight * barrier
        } else {
            f64::INFINITY
        }
    };
    let (mut value, mut before) = (objective(theta), f64::INFINITY);
    for _ in 0..MAX_STEPS {
        let mut slope = problem.line(model, theta).slope;
        slope.iter_mut().for_each(|entry| *entry /= problem.rows());
        let mut curvature = problem.curvature(model, theta);
        add_barrier(problem.set, theta, weight, &mut slope, &mut curvature);
        let Some(step) = newton_step(&mut curvature, &slope) else { return };
        let decrement = -dot(&slope, &step);
        if decrement <= 1e-4 * weight {
            // Here full steps square the distance, and differences of values are below their
            // rounding. The search ends when the decrement no longer decreases.
            if decrement == 0.0 || decrement > 0.25 * before {
                return;
            }
            let next: Vec<f64> = theta.iter().zip(&step).map(|(at, step)| at + step).collect();
            let there = objective(&next);
            if !there.is_finite() {
                return;
            }
            (*theta, value, before) = (next, there, decrement);
            continue;
        }
        let mut length = 1.0;
        let moved = loop {
            let next: Vec<f64> = theta.iter().zip(&step).map(|(at, step)| at + length * step).collect();
            let there = objective(&next);
            if there <= value - 1e-4 * length * decrement {
                break Some((next, there));
            }
            length *= 0.5;
            if length < 1e-12 {
                break None;
            }
        };
        let Some((next, there)) = moved else { return };
        (*theta, value) = (next, there);
    }
}

/// −H⁻¹g. If H is singular up to rounding, enough of the identity is added. The step is still
/// downhill.
fn newton_step(curvature: &mut Mat<f64>, slope: &[f64]) -> Option<Vec<f64>> {
    let size = slope.len();
    let largest = (0..size).map(|i| curvature[(i, i)]).fold(0.0, f64::max);
    let right = Mat::from_fn(size, 1, |row, _| -slope[row]);
    let mut ridge = 0.0;
    for _ in 0..8 {
        if let Ok(factor) = curvature.llt(Side::Lower) {
            let step = factor.solve(&right);
            let step: Vec<f64> = (0..size).map(|row| step[(row, 0)]).collect();
            if step.iter().all(|value| value.is_finite()) && dot(&step, slope) <= 0.0 {
                return Some(step);
            }
        }
        let more = if ridge == 0.0 { 1e-15 * largest } else { 99.0 * ridge };
        (0..size).for_each(|i| curvature[(i, i)] += more);
        ridge += more;
    }
    None
}

/// A coordinate of a point well inside the set.
fn centre(set: Set) -> f64 {
    match set {
        Set::Everything | Set::Ball { .. } => 0.0,
        Set::Box { lo, hi } => 0.5 * lo + 0.5 * hi,
    }
}

/// The barrier. It is infinite outside the set.
fn barrier(set: Set, theta: &[f64]) -> f64 {
    let inside = |room: f64| if room > 0.0 { -room.ln() } else { f64::INFINITY };
    match set {
        Set::Everything => 0.0,
        // Scaled to the unit ball, so that the value is near zero for any radius.
        Set::Ball { radius } => inside(1.0 - square_share(theta, radius)),
        Set::Box { lo, hi } => theta.iter().map(|value| inside(hi - value) + inside(value - lo)).sum(),
    }
}

/// ‖θ‖²/R².
fn square_share(theta: &[f64], radius: f64) -> f64 {
    theta.iter().map(|value| (value / radius).powi(2)).sum()
}

/// Adds slope and curvature of the barrier.
fn add_barrier(set: Set, theta: &[f64], weight: f64, slope: &mut [f64], curvature: &mut Mat<f64>) {
    match set {
        Set::Everything => {}
        Set::Ball { radius } => {
            let room = 1.0 - square_share(theta, radius);
            let pull = 2.0 / (radius * radius * room);
            for (i, own) in theta.iter().enumerate() {
                slope[i] += weight * pull * own;
                curvature[(i, i)] += weight * pull;
                for (j, other) in theta[..=i].iter().enumerate() {
                    curvature[(i, j)] += weight * pull * own * pull * other;
                }
            }
        }
        Set::Box { lo, hi } => {
            for (i, own) in theta.iter().enumerate() {
                let (above, below) = (1.0 / (hi - own), 1.0 / (own - lo));
                slope[i] += weight * (above - below);
                curvature[(i, i)] += weight * (above * above + below * below);
            }
        }
    }
}
