//! The few numbers that fix e and f̂ for a horizon, from the horizon alone.

use super::table;
use crate::plan::Objective;

/// The numbers of one knot: how the amplitudes at either end depend on the rate, and how the root is bent.
pub const PARAMETERS: usize = 8;

/// A shape of the grades and of the Toeplitz part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// ln a(s) = start₀ + start₁ ln s + start₂ (ln s)²/ln 2n, s the rate in units of 1/n, up to 2n.
    pub start: [f64; 3],
    /// The same for b(s).
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

    /// Interpolated in ln n between the knots of the table.
    #[must_use]
    pub fn for_horizon(horizon: u64, objective: Objective) -> Self {
        let knots = match objective {
            Objective::Mean => table::MEAN,
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

    /// (rate a step, amplitude at the start, amplitude at the end) for rates spread over all scales of the horizon.
    pub(super) fn amplitudes(&self, horizon: u64) -> Vec<(f64, f64, f64)> {
        const SLOWEST: f64 = 1.2;
        let n = horizon as f64;
        let fastest = 2.0 * n;
        let (widest, spread) = (libm::log(fastest), libm::log(fastest / SLOWEST));
        let count = (spread / libm::log(4.0)).ceil().max(1.0);
        let gap = spread / count;
        // The factor `gap` makes a quadrature of the sum, so that one more rate changes little.
        (0..=count as u32)
            .map(|m| {
                let l = libm::log(SLOWEST) + gap * f64::from(m);
                let amplitude = |c: &[f64; 3]| gap * libm::exp(c[0] + l * (c[1] + l / widest * c[2]));
                (libm::exp(l) / n, amplitude(&self.start), amplitude(&self.end))
            })
            .collect()
    }
}
