//! Accelerated projected gradients, for problems with too many parameters for second derivatives.
//!
//! Nesterov's method with step sizes found by trial, and a restart whenever it turns uphill. Each
//! slope gives a line below the loss. Their mean, with the method's own weights, is again a line
//! below the loss, and the method's proof bounds its gap. Near the end the last line alone is
//! better. Both are tried.

use super::Hindsight;
use super::problem::{Best, Line, Problem};
use crate::loss::dot;
use crate::set::norm;

/// The maximum number of gradients.
pub(super) const MAX_STEPS: usize = 4000;

/// The number of steps between two checks of the gap.
const STEPS_PER_CHECK: usize = 10;

/// The width of the corner of a smoothed loss. Its gap is twice the width.
const WIDTH: f64 = 1e-4;

pub(super) fn solve(problem: &Problem<'_>, max_steps: usize) -> Hindsight {
    let smoothed = problem.loss.smoothed(WIDTH);
    let model = smoothed.as_deref().unwrap_or(problem.loss);
    let mut theta = vec![0.0; problem.parameters()];
    problem.set.project(&mut theta);
    let (mut ahead, mut momentum) = (theta.clone(), 1.0_f64);
    let mut mean: Option<(Line, f64)> = None;
    // A step must not be longer than the inverse of the largest curvature. Halving finds it.
    let mut length = 1.0;
    let mut best = Best::new(problem, &theta);
    for step in 0..max_steps {
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
        if step % STEPS_PER_CHECK == 0 || step + 1 == max_steps {
            best.raise_bound(&problem.line(model, &theta));
            if let Some((mean, _)) = &mean {
                best.raise_bound(mean);
            }
            best.offer(&theta);
            if best.is_certified() {
                break;
            }
            // A step size that was too long earlier may be short enough now.
            length *= 1.5;
        }
    }
    best.into_hindsight()
}

impl Line {
    /// The mixture of (1 − share) of this line and share of the other.
    fn mixed(mut self, other: &Self, share: f64) -> Self {
        self.offset += share * (other.offset - self.offset);
        self.slope.iter_mut().zip(&other.slope).for_each(|(own, other)| *own += share * (other - *own));
        self.size += share * (other.size - self.size);
        // Three more roundings, of numbers that are no larger.
        self.roundings = self.roundings.max(other.roundings) + 3.0;
        self
    }
}
