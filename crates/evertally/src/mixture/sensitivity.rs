//! The sensitivity of T(c), exactly, for a person in several steps.
//!
//! **Definition.** Coefficients that are non-negative and do not increase have Δ² = ‖Σ_{l<k} shift_{lb} c‖² over the horizon, k = min(k, ⌈n/b⌉);
//! the proof is at [`crate::privacy::toeplitz_sensitivity`]. Cut the horizon into stretches of b steps that begin with a
//! participation. In stretch l the sum of shifts is again a mixture: weights w_j S_j(l) with S_j(l) = Σ_{m≤l} q_j^m, q_j = (1−p_j)^b, and the
//! same impulse. Its energy over b steps, summed over all stretches but the last, needs Σ_l S_i(l)S_j(l) and Σ_l S_j(l), which follow by doubling:
//!
//! > S(m+l) = S(m−1) + q^m S(l), so that Σ_{l<2m} S_i S_j = 2·… in positive terms only.
//!
//! The last stretch lasts to the end of the horizon.
//!
//! **Guarantee.** Every doubling adds some three units in the last place to S and ten to the sums, so that all is right to a relative 10⁻¹³ for any k
//! below 2^60: within the margin of every sensitivity, by which it is rounded up.
//!
//! **Cost.** O(J² log k): never O(n), nor O(k).

use super::{Mixture, lost, power};
use crate::privacy::{MARGIN, Participation, round_up};

impl Mixture {
    /// Δ of T(c) at this horizon, rounded up.
    pub(crate) fn sensitivity(&self, horizon: u64, participation: Participation) -> f64 {
        round_up(self.sensitivity_squared(horizon, participation).sqrt(), MARGIN)
    }

    /// Δ², not rounded up.
    pub(crate) fn sensitivity_squared(&self, horizon: u64, participation: Participation) -> f64 {
        let (steps, gap) = (participation.bounded(horizon), participation.min_gap());
        if steps == 1 {
            return self.energy(horizon);
        }
        let before = Stretches::new(self, gap, steps - 1);
        let all = before.energy(self, gap);
        // In the last stretch S_j = 1 + q_j S_j of the one before.
        let weights = self.weights.iter().enumerate().map(|(j, w)| w * before.following(j)).collect();
        all + self.reweighted(weights).energy(horizon - (steps - 1) * gap)
    }
}

/// Sums over the first `count` stretches.
struct Stretches {
    count: f64,
    /// λ_j b.
    rates: Vec<f64>,
    /// S_j of the last of them.
    last: Vec<f64>,
    /// Σ_l S_j(l).
    sums: Vec<f64>,
    /// Σ_l S_i(l)S_j(l) for j ≤ i, row by row.
    products: Vec<f64>,
}

impl Stretches {
    fn new(mixture: &Mixture, gap: u64, count: u64) -> Self {
        let len = mixture.len();
        let mut stretches = Self {
            count: 1.0,
            rates: mixture.rates.iter().map(|rate| rate * gap as f64).collect(),
            last: vec![1.0; len],
            sums: vec![1.0; len],
            products: vec![1.0; len * (len + 1) / 2],
        };
        // From the highest bit of the count down: double, and add one where the bit is set.
        for bit in (0..count.ilog2()).rev() {
            stretches.double();
            if count >> bit & 1 == 1 {
                stretches.add_one();
            }
        }
        stretches
    }

    /// S_j of the stretch after the last.
    fn following(&self, j: usize) -> f64 {
        1.0 + power(self.rates[j], 1) * self.last[j]
    }

    fn double(&mut self) {
        let count = self.count;
        // q^m, m stretches.
        let powers: Vec<f64> = self.rates.iter().map(|rate| libm::exp(-rate * count)).collect();
        let mut at = 0;
        for i in 0..self.rates.len() {
            for j in 0..=i {
                let (a, b) = (self.last[i], self.last[j]);
                let fresh = count * a * b
                    + a * powers[j] * self.sums[j]
                    + b * powers[i] * self.sums[i]
                    + powers[i] * powers[j] * self.products[at];
                self.products[at] += fresh;
                at += 1;
            }
        }
        for (j, power) in powers.iter().enumerate() {
            self.sums[j] += count * self.last[j] + power * self.sums[j];
            self.last[j] += power * self.last[j];
        }
        self.count *= 2.0;
    }

    fn add_one(&mut self) {
        self.last = (0..self.last.len()).map(|j| self.following(j)).collect();
        let mut at = 0;
        for i in 0..self.last.len() {
            self.sums[i] += self.last[i];
            for j in 0..=i {
                self.products[at] += self.last[i] * self.last[j];
                at += 1;
            }
        }
        self.count += 1.0;
    }

    /// The energy of all these stretches, each `gap` long.
    fn energy(&self, mixture: &Mixture, gap: u64) -> f64 {
        let lost: Vec<f64> = mixture.rates.iter().map(|rate| lost(*rate, gap)).collect();
        let (mut total, mut at) = (0.0, 0);
        for (i, weight) in mixture.weights.iter().enumerate() {
            let mut inner = 0.0;
            for j in 0..=i {
                let once = mixture.lost_once(i, j);
                let sum = if once > 0.0 { (lost[i] + (1.0 - lost[i]) * lost[j]) / once } else { gap as f64 };
                let twice = if i == j { 1.0 } else { 2.0 };
                inner += twice * mixture.weights[j] * sum * self.products[at];
                at += 1;
            }
            total += weight * (inner + 2.0 * mixture.impulse * self.sums[i]);
        }
        total + mixture.impulse * mixture.impulse * self.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mixture, Node};
    use super::*;
    use crate::privacy::toeplitz_sensitivity;

    fn example(scale: f64) -> Mixture {
        let nodes = [1e-4 * scale, 0.02 * scale, 0.3, 1.0].map(Node::from_loss);
        Mixture::new(&nodes, vec![0.02, 0.05, 0.4, 0.2], 0.3)
    }

    #[test]
    fn several_participations_agree_with_the_coefficients_added_up() {
        for mixture in [example(1.0), example(1e-9), example(0.0)] {
            for n in [1_u64, 2, 3, 10, 97, 1000] {
                let c = mixture.coefficients(n as usize);
                for (k, b) in
                    [(1, 1), (2, 1), (2, 50), (3, 7), (5, 1), (13, 8), (1000, 1), (1000, 3), (4, 2000)]
                {
                    let participation = Participation::at_most(k, b).unwrap();
                    let expected = toeplitz_sensitivity(&c, participation);
                    let got = mixture.sensitivity(n, participation);
                    assert!(
                        (got / expected - 1.0).abs() < 1e-13,
                        "n = {n}, k = {k}, b = {b}: {got} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn any_number_of_participations_is_counted_at_once() {
        // One decay by nothing at all, in every step: Δ² = Σ_t t² = n(n+1)(2n+1)/6.
        let ones = Mixture::new(&[Node::from_loss(0.0)], vec![1.0], 0.0);
        let every = Participation::at_most(u64::MAX, 1).unwrap();
        for n in [10_u64, 1_000_003, (1 << 60) - 1] {
            let n_f = n as f64;
            let expected = (n_f * (n_f + 1.0) * (2.0 * n_f + 1.0) / 6.0).sqrt();
            assert!((ones.sensitivity(n, every) / expected - 1.0).abs() < 2e-12, "{n}");
        }
    }
}
