//! The column weights v of the optimum as a function of the horizon, and the interval of the nodes.
//!
//! **Definition.** ln v is a cubic spline in ξ = ln((t+¹⁄₅)/(n−t−⁴⁄₅)), with knots at equal distances
//! between its ends. Its values at the knots are interpolated between the rows of the table: in ln n
//! by a cubic through four rows, and linearly in ln(1 + κ) for decayed totals with κ = −n ln λ. So is
//! the interval of the nodes, but linearly.
//! Decayed totals forget, so beyond κ = [`MAX_DAMPING`] the weights are those of that κ at either
//! end, and constant in between.
//!
//! **Guarantee.** None is needed: any positive weights give a mechanism whose Δ is one. The table is
//! fitted to certified optima, so that the error is close to theirs; `cargo xtask fit markov` makes
//! it. The arithmetic gives the same bits on every machine, because the noise depends on it.

use super::table::{self, Plane};
use crate::objective::Objective;

/// The number of knots of ln v.
pub const KNOTS: usize = 21;

/// The largest κ of the table.
pub const MAX_DAMPING: f64 = 24.0;

/// The largest κ for which the worst step has weights of its own. Beyond, most steps are alike, and
/// the weights of the mean error serve it to within a hundredth.
pub const MAX_WORST_DAMPING: f64 = 8.0;

/// ξ at the first step is ln of this over the rest: at this place the weights are smooth.
const FIRST: f64 = 0.2;

/// Between the ends, ln v is linear over steps of at most this part of the distance to the nearer
/// end.
const FINENESS: u64 = 64;

/// What the table holds for one horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// ln v at the knots.
    pub logs: [f64; KNOTS],
    /// ln of the low end of the interval of the nodes, relative to (1−λ)² + (π/2n)².
    pub low: f64,
    /// ln of its high end.
    pub high: f64,
}

impl Shape {
    /// The shape for this horizon, or for the horizon that a decay by `factor` reaches.
    #[must_use]
    pub fn for_horizon(horizon: u64, factor: f64, objective: Objective) -> Self {
        let planes = match objective {
            Objective::Mean | Objective::Report | Objective::Anytime => table::MEAN,
            Objective::Worst => table::WORST,
        };
        let reach = reach(horizon, factor);
        let damping = libm::log1p(-reach * libm::log(factor));
        let place = |plane: &Plane| libm::log1p(plane.damping);
        let after = planes.partition_point(|plane| place(plane) < damping);
        let (Some(upper), Some(lower)) =
            (planes.get(after.min(planes.len() - 1)), planes.get(after.saturating_sub(1)))
        else {
            return Self::flat();
        };
        let span = place(upper) - place(lower);
        let part = if span > 0.0 { ((damping - place(lower)) / span).clamp(0.0, 1.0) } else { 0.0 };
        Self::between(&in_plane(lower, reach), &in_plane(upper, reach), part)
    }

    /// v = 1, and the interval of the whole spectrum.
    #[must_use]
    pub fn flat() -> Self {
        Self { logs: [0.0; KNOTS], low: 0.0, high: libm::log(4.0) }
    }

    fn between(a: &Self, b: &Self, part: f64) -> Self {
        let mix = |a: f64, b: f64| a + part * (b - a);
        Self {
            logs: std::array::from_fn(|i| mix(a.logs[i], b.logs[i])),
            low: mix(a.low, b.low),
            high: mix(a.high, b.high),
        }
    }

    /// The numbers in the order of the table.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.logs.into_iter().chain([self.low, self.high])
    }

    fn of(row: &[f64; KNOTS + 2]) -> Self {
        Self { logs: std::array::from_fn(|i| row[i]), low: row[KNOTS], high: row[KNOTS + 1] }
    }
}

/// What the weights aim at.
pub(super) fn aim(objective: Objective, horizon: u64, factor: f64) -> Objective {
    let is_damped = factor < 1.0 && -(horizon as f64) * libm::log(factor) > MAX_WORST_DAMPING;
    if objective == Objective::Worst && !is_damped { Objective::Worst } else { Objective::Mean }
}

/// The horizon that weights are made for: a decay does not reach farther back.
pub(super) fn reach(horizon: u64, factor: f64) -> f64 {
    let n = horizon as f64;
    if factor < 1.0 { n.min(MAX_DAMPING / -libm::log(factor)).max(1.0) } else { n }
}

/// Interpolates between the rows of a plane, and beyond the last row extrapolates from the last two.
fn in_plane(plane: &Plane, reach: f64) -> Shape {
    let rows = plane.rows;
    let after = rows.partition_point(|(n, _)| (*n as f64) < reach).clamp(1, rows.len() - 1);
    let [(n, below), (m, above)] = [&rows[after - 1], &rows[after]];
    let part = libm::log(reach / *n as f64) / libm::log(*m as f64 / *n as f64);
    let linear = Shape::between(&Shape::of(below), &Shape::of(above), part.max(0.0));
    if part <= 0.0 || part >= 1.0 || after < 2 || after + 1 >= rows.len() {
        return linear;
    }
    let four = &rows[after - 2..after + 2];
    let at = libm::log(reach);
    let place = |k: usize| libm::log(four[k].0 as f64);
    let share = |k: usize| -> f64 {
        (0..4).filter(|i| *i != k).map(|i| (at - place(i)) / (place(k) - place(i))).product()
    };
    let shares: [f64; 4] = std::array::from_fn(share);
    let log = |i: usize| (0..4).map(|k| shares[k] * four[k].1[i]).sum();
    Shape { logs: std::array::from_fn(log), ..linear }
}

/// v and u of every step.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    steps: u64,
    /// The steps that the spline spans.
    reach: f64,
    /// ξ at the last step.
    range: f64,
    logs: [f64; KNOTS],
    /// Second derivatives at the knots, in units of the distance between knots.
    curvatures: [f64; KNOTS],
    /// Whether rows have weights too: u_t = v_{n−1−t}. Otherwise u = 1.
    has_rows: bool,
}

impl Weights {
    pub(super) fn new(steps: u64, reach: f64, shape: &Shape, objective: Objective) -> Self {
        Self {
            steps,
            reach,
            range: libm::log((reach - 1.0 + FIRST) / FIRST),
            logs: shape.logs,
            curvatures: curvatures(&shape.logs),
            has_rows: objective == Objective::Worst,
        }
    }

    /// Writes v and u of the steps from `first`.
    pub(super) fn fill(&self, first: u64, v: &mut [f64], u: &mut [f64]) {
        self.columns(first, v);
        if !self.has_rows {
            u.fill(1.0);
            return;
        }
        let end = first + u.len() as u64;
        self.columns(self.steps - end, u);
        u.reverse();
    }

    /// exp of ln v, which is linear over short strides.
    fn columns(&self, first: u64, out: &mut [f64]) {
        let end = first + out.len() as u64;
        let mut step = first;
        while step < end {
            // Strides begin at multiples of their length, wherever a block begins.
            let nearer = (step + 1).min(self.steps - step);
            let stride = 1 << (nearer / FINENESS).max(1).ilog2();
            let from = step - step % stride;
            let (mut log, next) = (self.log(from), self.log((from + stride).min(self.steps - 1)));
            let slope = (next - log) / stride as f64;
            log += slope * (step - from) as f64;
            let stop = (from + stride).min(end);
            if stride == 1 {
                out[(step - first) as usize] = libm::exp(log);
            } else {
                let factor = libm::exp(slope);
                let mut value = libm::exp(log);
                for slot in &mut out[(step - first) as usize..(stop - first) as usize] {
                    *slot = value;
                    value *= factor;
                }
            }
            step = stop;
        }
    }

    /// ln v at a step.
    fn log(&self, step: u64) -> f64 {
        self.spline(self.place(step))
    }

    /// Where a step lies among the knots.
    fn place(&self, step: u64) -> f64 {
        let half = 0.5 * (self.reach - 1.0);
        let (before, after) = (step as f64, (self.steps - 1 - step) as f64);
        let nearer = before.min(after).min(half);
        let distance = libm::log((nearer + FIRST) / (self.reach - 1.0 - nearer + FIRST));
        let xi = if before <= after { distance } else { -distance };
        let fraction = if self.range > 0.0 { (xi / self.range).clamp(-1.0, 1.0) } else { 0.0 };
        0.5 * (fraction + 1.0) * (KNOTS - 1) as f64
    }

    /// The spline at a place between 0 and KNOTS − 1.
    fn spline(&self, place: f64) -> f64 {
        let i = (place as usize).min(KNOTS - 2);
        let right = place - i as f64;
        let left = 1.0 - right;
        let bend = |x: f64| (x * x * x - x) / 6.0;
        left * self.logs[i]
            + right * self.logs[i + 1]
            + bend(left) * self.curvatures[i]
            + bend(right) * self.curvatures[i + 1]
    }
}

/// The spline at a place between 0 and KNOTS − 1, as weights of the values at the knots.
#[doc(hidden)]
#[must_use]
pub fn basis(place: f64) -> [f64; KNOTS] {
    std::array::from_fn(|i| {
        let logs = std::array::from_fn(|k| f64::from(u8::from(i == k)));
        let shape = Shape { logs, low: 0.0, high: 0.0 };
        Weights::new(2, 2.0, &shape, Objective::Mean).spline(place)
    })
}

/// Where a step of this horizon lies among the knots.
#[doc(hidden)]
#[must_use]
pub fn place(horizon: u64, step: u64) -> f64 {
    Weights::new(horizon, horizon as f64, &Shape::flat(), Objective::Mean).place(step)
}

/// The second derivatives of the natural spline through these values.
fn curvatures(values: &[f64; KNOTS]) -> [f64; KNOTS] {
    let mut pivots = [0.0; KNOTS];
    let mut curvatures = [0.0; KNOTS];
    for i in 1..KNOTS - 1 {
        let bend = 6.0 * (values[i - 1] - 2.0 * values[i] + values[i + 1]);
        let pivot = 4.0 - if i > 1 { 1.0 / pivots[i - 1] } else { 0.0 };
        curvatures[i] = bend - if i > 1 { curvatures[i - 1] / pivots[i - 1] } else { 0.0 };
        pivots[i] = pivot;
    }
    for i in (1..KNOTS - 1).rev() {
        curvatures[i] = (curvatures[i] - curvatures[i + 1]) / pivots[i];
    }
    curvatures
}
