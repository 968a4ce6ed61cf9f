//! The error of every step, from the covariance of the recursion that makes the noise.
//!
//! **Definition.** The recursion of [`crate::noise::Recipe`] is v_i ← (1−τ_i)v_i + h_t, u = κh_t +
//! Σ η_i v_i and ζ ← ζ − (d_t − d_{t−1})u, and it releases z = ζ + d_t u. With h of variance 1/e_t²,
//! the covariances follow a linear recursion, and ‖L\[t;\]‖² = E z².
//!
//! **Guarantee.** Up to [`MAX_EXACT`] steps, the recursion takes every step, and the figures are
//! exact up to rounding. Beyond that, it moves in strides ([`super::Strides`]) of a fixed fraction of the
//! distance to the nearer end. Within a stride, 1/e² and the covariances are taken as linear, and
//! decays are exact. Compared with the exact recursion up to 2^18 steps, the error of every step, of
//! the mean and of the maximum is within [`TOLERANCE`]/2. Reported figures are enlarged by
//! [`TOLERANCE`]. Between the stored steps, ‖L\[t;\]‖² is interpolated linearly, again within half
//! the tolerance.
//!
//! **Cost.** O(J²) per stride, and about 130·log₂ n strides.

use super::Diagonals;
use crate::mixture::{Mixture, Pair};
use crate::noise::{GRADED_BLOCK as BLOCK, GradeBlock};
use crate::privacy::CompensatedSum;

/// The longest horizon for which every step is computed.
pub(in crate::factorization) const MAX_EXACT: u64 = 1 << 16;

/// The longest horizon for which every step is stored.
pub(in crate::factorization) const MAX_KEPT: u64 = 1 << 10;

/// The relative error that strides and interpolation may have together.
pub(in crate::factorization) const TOLERANCE: f64 = 2e-5;

/// ‖L\[t;\] − L\[s;\]‖² for `earlier` s < `later` t, in strides, within the tolerance.
///
/// With ζ̃ = ζ − z_s the difference z_t − z_s is ζ̃ + d_t u, so the same recursion applies from step
/// s on, where ζ̃ = −d_s u.
pub(in crate::factorization) fn difference<W: Diagonals>(
    pair: &Pair,
    weights: &W,
    earlier: u64,
    later: u64,
) -> f64 {
    let strides = weights.strides();
    let mut covariance = Covariance::new(pair);
    let (grade, mut norm) = weights.at(0);
    covariance.step(grade.powi(-2), 0.0);
    norm = covariance.follow(&strides.stops(0, earlier), weights, norm, |_, _| {});
    covariance.begin_again(norm);
    norm = covariance.follow(&strides.stops(earlier, later), weights, norm, |_, _| {});
    covariance.row(norm) * (1.0 + TOLERANCE)
}

/// ‖L\[t;\]‖² at the stored steps, its mean and its maximum.
#[derive(Debug, Clone)]
pub(in crate::factorization) struct Profile {
    /// Empty if every step is stored.
    pub(in crate::factorization) steps: Vec<u64>,
    pub(in crate::factorization) rows: Vec<f64>,
    pub(in crate::factorization) mean: f64,
    pub(in crate::factorization) max: f64,
    strided: bool,
}

impl Profile {
    pub(in crate::factorization) fn new<W: Diagonals>(horizon: u64, pair: &Pair, weights: &W) -> Self {
        if horizon <= MAX_EXACT {
            Self::exact(horizon, pair, weights)
        } else {
            Self::strided(horizon, pair, weights)
        }
    }

    /// Computes every step.
    pub(in crate::factorization) fn exact<W: Diagonals>(horizon: u64, pair: &Pair, weights: &W) -> Self {
        let kept = if horizon <= MAX_KEPT { Vec::new() } else { weights.strides().stops(0, horizon - 1) };
        let mut stretch = GradeBlock::default();
        let mut covariance = Covariance::new(pair);
        let (mut rows, mut sum, mut max) = (Vec::new(), CompensatedSum::default(), 0.0_f64);
        let mut before = 0.0;
        for step in 0..horizon {
            let i = (step % BLOCK) as usize;
            if i == 0 {
                weights.block(step, &mut stretch);
            }
            let norm = stretch.norms[i];
            covariance.step(stretch.grades[i].powi(-2), if step == 0 { 0.0 } else { norm - before });
            before = norm;
            let row = covariance.row(norm);
            sum.add(row);
            max = max.max(row);
            if kept.is_empty() || kept.get(rows.len()) == Some(&step) {
                rows.push(row);
            }
        }
        Self { steps: kept, rows, mean: sum.value() / horizon as f64, max, strided: false }
    }

    /// Computes in strides; see the module.
    pub(in crate::factorization) fn strided<W: Diagonals>(horizon: u64, pair: &Pair, weights: &W) -> Self {
        let steps = weights.strides().stops(0, horizon - 1);
        let mut covariance = Covariance::new(pair);
        let (grade, norm) = weights.at(0);
        covariance.step(grade.powi(-2), 0.0);
        let mut rows = vec![covariance.row(norm)];
        let mut sum = CompensatedSum::default();
        sum.add(rows[0]);
        covariance.follow(&steps, weights, norm, |length, row| {
            let before = rows[rows.len() - 1];
            // The trapezoidal rule, without its first step and with its last.
            sum.add(0.5 * length * (before + row) + 0.5 * (row - before));
            rows.push(row);
        });
        let max = rows.iter().copied().fold(0.0, f64::max);
        Self { steps, rows, mean: sum.value() / horizon as f64, max, strided: true }
    }

    fn enlarged(&self, value: f64) -> f64 {
        if self.strided { value * (1.0 + TOLERANCE) } else { value }
    }

    pub(in crate::factorization) fn row(&self, step: u64) -> f64 {
        if self.steps.is_empty() {
            return self.rows[step as usize];
        }
        let after = self.steps.partition_point(|kept| *kept < step);
        if self.steps.get(after) == Some(&step) {
            return self.enlarged(self.rows[after]);
        }
        let (low, high) = (self.steps[after - 1], self.steps[after]);
        let part = (step - low) as f64 / (high - low) as f64;
        (self.rows[after - 1] + part * (self.rows[after] - self.rows[after - 1])) * (1.0 + TOLERANCE)
    }

    pub(in crate::factorization) fn mean(&self) -> f64 {
        self.enlarged(self.mean)
    }

    pub(in crate::factorization) fn max(&self) -> f64 {
        self.enlarged(self.max)
    }

    /// A smooth substitute for the maximum, for fitting: the power mean over the stored steps.
    pub(in crate::factorization) fn soft_max(&self, power: i32) -> f64 {
        let mut sum = 0.0;
        for (i, row) in self.rows.iter().enumerate() {
            let length = if i == 0 || self.steps.is_empty() { 1 } else { self.steps[i] - self.steps[i - 1] };
            sum += length as f64 * (row / self.max).powi(power);
        }
        self.max
            * (1.0
                + libm::log(sum / self.steps.last().map_or(self.rows.len() as f64, |last| *last as f64))
                    / f64::from(power))
    }

    pub(in crate::factorization) fn bytes(&self) -> u64 {
        8 * (self.steps.len() + self.rows.len()) as u64
    }
}

/// Covariances of the recursion's numbers after a step.
struct Covariance<'a> {
    decoder: &'a Mixture,
    /// 1 − τ_i.
    decays: Vec<f64>,
    /// −ln(1 − τ_i).
    rates: Vec<f64>,
    /// (1−τ_a)(1−τ_b), row by row.
    products: Vec<f64>,
    /// E v_a v_b, row by row.
    states: Vec<f64>,
    /// The variance of h at this step.
    fresh: f64,
    /// E ζ v_a.
    shifted: Vec<f64>,
    /// E u v_a.
    sums: Vec<f64>,
    /// E ζ², E ζu, E u².
    zeta_squared: f64,
    zeta_sum: f64,
    sum_squared: f64,
}

impl<'a> Covariance<'a> {
    fn new(pair: &'a Pair) -> Self {
        let decoder = pair.decoder();
        let len = decoder.len();
        let decays: Vec<f64> = pair.decays().collect();
        Self {
            decoder,
            rates: decoder.rates().to_vec(),
            products: decays.iter().flat_map(|a| decays.iter().map(move |b| a * b)).collect(),
            decays,
            states: vec![0.0; len * len],
            fresh: 0.0,
            shifted: vec![0.0; len],
            sums: vec![0.0; len],
            zeta_squared: 0.0,
            zeta_sum: 0.0,
            sum_squared: 0.0,
        }
    }

    /// Moves from stop to stop. At the first stop d is `norm`. Reports the length of each stride and
    /// ‖L\[t;\]‖² at its end. Returns d at the last stop.
    fn follow<W: Diagonals>(
        &mut self,
        stops: &[u64],
        weights: &W,
        norm: f64,
        mut visit: impl FnMut(f64, f64),
    ) -> f64 {
        let mut norm = norm;
        for pair in stops.windows(2) {
            let length = pair[1] - pair[0];
            let (grade, next) = weights.at(pair[1]);
            if length == 1 {
                self.step(grade.powi(-2), next - norm);
            } else {
                self.stride(length as f64, grade.powi(-2), next - norm);
            }
            norm = next;
            visit(length as f64, self.row(norm));
        }
        norm
    }

    /// From here on ζ means ζ − z, with the z of this step, where d is `norm`.
    fn begin_again(&mut self, norm: f64) {
        self.zeta_squared = norm * norm * self.sum_squared;
        self.zeta_sum = -norm * self.sum_squared;
        for (shifted, sum) in self.shifted.iter_mut().zip(&self.sums) {
            *shifted = -norm * sum;
        }
    }

    /// One step: h has variance `fresh`, and d rises by `rise`.
    fn step(&mut self, fresh: f64, rise: f64) {
        self.zeta_squared += rise * (rise * self.sum_squared - 2.0 * self.zeta_sum);
        for ((shifted, decay), sum) in self.shifted.iter_mut().zip(&self.decays).zip(&self.sums) {
            *shifted = decay * (*shifted - rise * sum);
        }
        for (state, product) in self.states.iter_mut().zip(&self.products) {
            *state = product * *state + fresh;
        }
        self.fresh = fresh;
        self.settle();
    }

    /// `length` steps at once: the variance of h changes linearly to `fresh`, and d rises evenly by
    /// `rise` in total.
    fn stride(&mut self, length: f64, fresh: f64, rise: f64) {
        let len = self.rates.len();
        let (old, rise_a_step) = (self.fresh, rise / length);
        for a in 0..len {
            for b in 0..=a {
                let power = Powers::new(self.rates[a] + self.rates[b], length);
                let state =
                    power.last * self.states[a * len + b] + fresh * power.sum - (fresh - old) * power.moment;
                self.states[a * len + b] = state;
                self.states[b * len + a] = state;
            }
        }
        let before = (self.sums.clone(), self.zeta_sum, self.sum_squared);
        self.fresh = fresh;
        self.settle();
        for a in 0..len {
            let power = Powers::new(self.rates[a], length);
            let decay = self.decays[a];
            let (sum, moment) = (decay * power.sum, power.moment + power.last);
            let entered = self.sums[a] * sum - (self.sums[a] - before.0[a]) * moment;
            self.shifted[a] = power.last * self.shifted[a] - rise_a_step * entered;
        }
        self.settle();
        // Sums over the steps of the stride except the last, by the trapezoidal rule.
        let trapezium = |first: f64, last: f64| 0.5 * (length * (first + last) - (last - first));
        self.zeta_squared += rise_a_step
            * (rise_a_step * trapezium(before.2, self.sum_squared)
                - 2.0 * trapezium(before.1, self.zeta_sum));
    }

    /// Updates the covariances that follow from those of v.
    fn settle(&mut self) {
        let weights = self.decoder.weights();
        let (impulse, fresh) = (self.decoder.impulse(), self.fresh);
        self.sum_squared = impulse * fresh * impulse;
        self.zeta_sum = 0.0;
        for (a, row) in self.states.chunks_exact(weights.len()).enumerate() {
            let sum =
                impulse * fresh + row.iter().zip(weights).map(|(state, weight)| state * weight).sum::<f64>();
            self.sums[a] = sum;
            // Σ η_a E[u v_a] has κ·Ση·fresh once; E u² needs it twice.
            self.sum_squared += weights[a] * (sum + impulse * fresh);
            self.zeta_sum += weights[a] * self.shifted[a];
        }
    }

    /// ‖L\[t;\]‖² if d_t is `norm`.
    fn row(&self, norm: f64) -> f64 {
        self.zeta_squared + norm * (2.0 * self.zeta_sum + norm * self.sum_squared)
    }
}

/// x = exp(−rate): x^B, Σ_{m<B} x^m and Σ_{m<B} (m/B) x^m.
struct Powers {
    last: f64,
    sum: f64,
    moment: f64,
}

impl Powers {
    fn new(rate: f64, length: f64) -> Self {
        let (lost, total) = (-libm::expm1(-rate), -libm::expm1(-rate * length));
        let last = 1.0 - total;
        if rate * length < 0.02 {
            // Sums of m, m² and m³ below B; the next term is below 10⁻⁶ of the first.
            let first = length * (length - 1.0) / 2.0;
            let second = first * (2.0 * length - 1.0) / 3.0;
            let moment = first - rate * (second - 0.5 * rate * first * first);
            let sum = if lost > 0.0 { total / lost } else { length };
            return Self { last, sum, moment: moment / length };
        }
        let sum = total / lost;
        Self { last, sum, moment: ((1.0 - lost) * sum - length * last) / (lost * length) }
    }
}
