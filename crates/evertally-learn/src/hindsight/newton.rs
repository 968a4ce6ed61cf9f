//! Newton's method on a central path: the mean loss, and a barrier of falling weight that keeps θ
//! inside the set.
//!
//! The ball has −ln(R² − ‖θ‖²), the box −Σ ln(hi − θ_j) − Σ ln(θ_j − lo). At the minimum with
//! weight w the slope of the loss is −w times that of the barrier; for the ball it points from θ to
//! the centre, so that the line below the loss misses it by w·2‖θ‖/(R + ‖θ‖) ≤ w, and for the box
//! by at most 2w for each coordinate. A smoothed hinge of width nw adds 2nw.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::problem::Problem;
use super::{Hindsight, TOLERANCE};
use crate::loss::{Loss, dot};
use crate::set::Set;

/// By how much the weight of the barrier falls from one stage to the next.
const FALL: f64 = 0.15;
/// The most stages, and Newton steps in one of them.
const STAGES: usize = 40;
const STEPS: usize = 60;

pub(super) fn solve(problem: &Problem<'_>) -> Hindsight {
    let mut theta = vec![centre(problem.set); problem.parameters()];
    let (mut best, mut bound) = (theta.clone(), f64::NEG_INFINITY);
    let mut least = f64::INFINITY;
    // As much as there is to lose: a barrier that is light beside the loss holds the first steps
    // back only at the wall, where they stick.
    let mut weight = (problem.total(problem.loss, &theta) / problem.rows()).clamp(1.0, 1e100);
    for _ in 0..STAGES {
        let smoothed = problem.loss.smoothed(problem.rows() * weight);
        let model = smoothed.as_deref().unwrap_or(problem.loss);
        descend(problem, model, weight, &mut theta);
        bound = bound.max(problem.least(&problem.line(model, &theta)));
        let total = problem.total(problem.loss, &theta);
        if total < least {
            least = total;
            best.clone_from(&theta);
        }
        if least - bound <= TOLERANCE * problem.rows() {
            break;
        }
        weight *= FALL;
    }
    problem.report(best, bound)
}

/// Newton's steps at one weight, from a point inside the set.
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
    for _ in 0..STEPS {
        let mut slope = problem.line(model, theta).slope;
        slope.iter_mut().for_each(|entry| *entry /= problem.rows());
        let mut curvature = problem.curvature(model, theta);
        add_barrier(problem.set, theta, weight, &mut slope, &mut curvature);
        let Some(step) = newton_step(&mut curvature, &slope) else { return };
        let fall = -dot(&slope, &step);
        if fall <= 1e-4 * weight {
            // Here full steps square the distance, and differences of values are below their
            // rounding: what tells the end is that the fall no longer falls.
            if fall == 0.0 || fall > 0.25 * before {
                return;
            }
            let next: Vec<f64> = theta.iter().zip(&step).map(|(at, step)| at + step).collect();
            let there = objective(&next);
            if !there.is_finite() {
                return;
            }
            (*theta, value, before) = (next, there, fall);
            continue;
        }
        let mut length = 1.0;
        let moved = loop {
            let next: Vec<f64> = theta.iter().zip(&step).map(|(at, step)| at + length * step).collect();
            let there = objective(&next);
            if there <= value - 1e-4 * length * fall {
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

/// −H⁻¹g. Where H is singular to rounding, as much of the identity is added as it takes: the step
/// is still downhill.
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

/// The barrier, which is infinite outside.
fn barrier(set: Set, theta: &[f64]) -> f64 {
    let inside = |room: f64| if room > 0.0 { -room.ln() } else { f64::INFINITY };
    match set {
        Set::Everything => 0.0,
        // Of the unit ball, so that the value is near zero whatever the radius.
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
