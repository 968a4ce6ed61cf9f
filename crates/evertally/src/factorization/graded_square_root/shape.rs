//! The few numbers that fix e and f̂ for a horizon, from the horizon alone.

use super::table;
use crate::objective::Objective;

/// The numbers of one knot: how the amplitudes at either end depend on the rate, and how the root is bent.
pub const PARAMETERS: usize = 8;

/// A shape of the grades and of the Toeplitz part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// e² at the first step is the logistic function of start₀; ln a(s) = start₁ ln s + start₂ (ln
    /// s)²/ln 2n up to a constant, s the rate in units of 1/n, up to 2n.
    pub start: [f64; 3],
    /// The same for the last step and b(s).
    pub end: [f64; 3],
    /// f̂ is the root times about exp(−decline·k/n).
    pub decline: f64,
    /// And times about (1+k)^tilt.
    pub tilt: f64,
}

impl Shape {
    /// From the numbers of a knot. The decline enters by its square, which is never negative.
    #[must_use]
    pub fn from_parameters(p: &[f64; PARAMETERS]) -> Self {
        Self { start: [p[0], p[1], p[2]], end: [p[3], p[4], p[5]], decline: p[6] * p[6], tilt: p[7] }
    }

    /// e = 1 and f̂ the root itself.
    #[must_use]
    pub(super) fn flat() -> Self {
        let one = [f64::INFINITY, 0.0, 0.0];
        Self { start: one, end: one, decline: 0.0, tilt: 0.0 }
    }

    /// Interpolated in ln n between the knots of the table.
    #[must_use]
    pub fn for_horizon(horizon: u64, objective: Objective) -> Self {
        let knots = match objective {
            Objective::Mean | Objective::Report | Objective::Anytime => table::MEAN,
            Objective::Worst => table::WORST,
        };
        let after = knots.partition_point(|(n, _)| *n < horizon);
        let (Some(upper), Some(lower)) =
            (knots.get(after.min(knots.len() - 1)), knots.get(after.saturating_sub(1)))
        else {
            return Self::from_parameters(&[0.0; PARAMETERS]);
        };
        let span = libm::log(upper.0 as f64 / lower.0 as f64);
        let part = if span > 0.0 { libm::log(horizon as f64 / lower.0 as f64) / span } else { 0.0 };
        let part = part.clamp(0.0, 1.0);
        Self::from_parameters(&std::array::from_fn(|i| lower.1[i] + part * (upper.1[i] - lower.1[i])))
    }

    /// Rates spread over all scales of the horizon, each with its amplitude at the start and at the
    /// end, up to a common factor for either.
    pub(super) fn amplitudes(&self, horizon: u64) -> Vec<Amplitude> {
        const SLOWEST: f64 = 1.2;
        let n = horizon as f64;
        let (widest, gap) = (libm::log(2.0 * n), libm::log(4.0));
        let count = (widest - libm::log(SLOWEST)) / gap;
        (0..=count as u32 + 1)
            .map(|m| {
                let l = libm::log(SLOWEST) + gap * f64::from(m);
                // The fastest rate fades in, so that nothing jumps where the horizon grows by one.
                let share = (count + 1.0 - f64::from(m)).min(1.0);
                let amplitude = |c: &[f64; 3]| share * libm::exp(l * (c[1] + l / widest * c[2]));
                Amplitude { rate: libm::exp(l) / n, start: amplitude(&self.start), end: amplitude(&self.end) }
            })
            .collect()
    }

    /// e² at the first and at the last step, relative to its largest value of at most one.
    pub(super) fn ends(&self) -> (f64, f64) {
        let logistic = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        (logistic(self.start[0]), logistic(self.end[0]))
    }
}

/// A rate per step and its shares of the two ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amplitude {
    pub(super) rate: f64,
    pub(super) start: f64,
    pub(super) end: f64,
}
