//! Accelerated projected gradients, for more parameters than second derivatives can be made for.
//!
//! Nesterov's method with step sizes found by trial and a restart whenever it turns uphill. The
//! mean, with the method's own weights, of the lines below the loss at the points where slopes were
//! taken is again a line below it, and its gap is what the method's proof bounds; the last line
//! alone is better near the end. Both are tried.

use super::problem::{Line, Problem};
use super::{Hindsight, TOLERANCE};
use crate::loss::dot;
use crate::set::norm;

/// The most gradients.
pub(super) const MOST_STEPS: usize = 4000;

/// Steps between two looks at the gap.
const LOOK: usize = 10;

/// The width of the corner of a smoothed loss: its gap is twice that.
const WIDTH: f64 = 1e-4;

pub(super) fn solve(problem: &Problem<'_>, most_steps: usize) -> Hindsight {
    let smoothed = problem.loss.smoothed(WIDTH);
    let model = smoothed.as_deref().unwrap_or(problem.loss);
    let mut theta = vec![0.0; problem.parameters()];
    problem.set.project(&mut theta);
    let (mut ahead, mut momentum) = (theta.clone(), 1.0_f64);
    let mut mean: Option<(Line, f64)> = None;
    // No step is longer than the inverse of the largest curvature, found by halving.
    let mut length = 1.0;
    let (mut best, mut least, mut bound) = (theta.clone(), f64::INFINITY, f64::NEG_INFINITY);
    for step in 0..most_steps {
        let line = problem.line(model, &ahead);
        let here = problem.total(model, &ahead);
        let next = loop {
            let mut next: Vec<f64> =
                ahead.iter().zip(&line.slope).map(|(at, slope)| at - length * slope).collect();
            problem.set.project(&mut next);
            let way: Vec<f64> = next.iter().zip(&ahead).map(|(next, ahead)| next - ahead).collect();
            let model_value = here + dot(&line.slope, &way) + norm(&way).powi(2) / (2.0 * length);
            let slack = 1e-14 * here.abs();
            if problem.total(model, &next) <= model_value + slack || length < 1e-300 {
                break next;
            }
            length *= 0.5;
        };
        mean = Some(match mean {
            None => (line.clone(), momentum),
            Some((mean, weight)) => (mean.mixed(&line, momentum / (weight + momentum)), weight + momentum),
        });
        let uphill: f64 = (0..theta.len()).map(|i| (ahead[i] - next[i]) * (next[i] - theta[i])).sum();
        if uphill > 0.0 {
            (momentum, ahead, mean) = (1.0, next.clone(), None);
        } else {
            let larger = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let push = (momentum - 1.0) / larger;
            ahead = next.iter().zip(&theta).map(|(next, before)| next + push * (next - before)).collect();
            momentum = larger;
        }
        theta = next;
        if step % LOOK == 0 || step + 1 == most_steps {
            bound = bound.max(problem.least(&problem.line(model, &theta)));
            if let Some((mean, _)) = &mean {
                bound = bound.max(problem.least(mean));
            }
            let total = problem.total(problem.loss, &theta);
            if total < least {
                least = total;
                best.clone_from(&theta);
            }
            if least - bound <= TOLERANCE * problem.rows() {
                break;
            }
            // A step that once was too long need not be now.
            length *= 1.5;
        }
    }
    problem.report(best, bound)
}

impl Line {
    /// (1 − share) of this line and the share of the other.
    fn mixed(mut self, other: &Self, share: f64) -> Self {
        self.offset += share * (other.offset - self.offset);
        self.slope.iter_mut().zip(&other.slope).for_each(|(own, other)| *own += share * (other - *own));
        self.size += share * (other.size - self.size);
        // Three more, in numbers that are no larger.
        self.roundings = self.roundings.max(other.roundings) + 3.0;
        self
    }
}
