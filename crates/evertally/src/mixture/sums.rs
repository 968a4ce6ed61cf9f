//! Norms of T(c): of its rows, of their mean and of their differences, and its sensitivity.
//!
//! **Sensitivity.** For coefficients that are non-negative and do not increase, Δ² = ‖Σ_{l<k}
//! shift_{lb} c‖² over the horizon, with k = min(k, ⌈n/b⌉). This is exact, and also holds for
//! vectors; the proof is at [`crate::privacy::toeplitz_sensitivity`]. The result is rounded up by
//! the margin of every sensitivity, which covers the roundings of [`super::quadratic_form`] several
//! times over.
//!
//! **Cost.** O(J²), or O(J² log k) for k participations. It is never O(n) or O(k).

use super::quadratic_form::{DecayTerms, QuadraticForm};
use super::{Mixture, lost};
use crate::privacy::{MARGIN, Participation, round_up};

impl Mixture {
    /// Σ_{k<n} c_k²: the squared norm of row n − 1 of T(c), and of its first column at horizon n.
    pub(crate) fn energy(&self, n: u64) -> f64 {
        if n == 0 { 0.0 } else { self.norm(&QuadraticForm::Row(n as f64)) }
    }

    /// Σ_{k<n} c_k, rounded up.
    pub(crate) fn sum(&self, n: u64) -> f64 {
        let of = |((loss, rate), weight): ((&f64, &f64), &f64)| {
            weight * if *loss > 0.0 { lost(*rate, n as f64) / loss } else { n as f64 }
        };
        let decays = self.losses.iter().zip(&self.rates).zip(&self.weights).map(of).sum::<f64>();
        round_up(self.impulse + decays, MARGIN)
    }

    /// The mean of `energy(t + 1)` over t < n: ‖T(c)‖_F²/n.
    pub(crate) fn mean_energy(&self, n: u64) -> f64 {
        self.norm(&QuadraticForm::Mean(n as f64))
    }

    /// Σ_k c_k² over all k. It is infinite if a loss is zero.
    #[cfg_attr(not(test), expect(dead_code, reason = "for horizons without end"))]
    pub(crate) fn total_energy(&self) -> f64 {
        let once = |i: usize, j: usize| self.losses[i] + (1.0 - self.losses[i]) * self.losses[j];
        self.over_pairs(1.0, |_| 1.0, |i, j| 1.0 / once(i, j))
    }

    /// ‖row `later` − row `earlier`‖² of T(c).
    ///
    /// Where both rows overlap, c_i − c_{i+lag} is again a mixture, with each weight multiplied by
    /// what is lost in `lag` steps. The first `lag` coefficients belong to the later row only.
    pub(crate) fn difference(&self, earlier: u64, later: u64) -> f64 {
        let lag = later - earlier;
        let weights =
            self.rates.iter().zip(&self.weights).map(|(rate, w)| w * lost(*rate, lag as f64)).collect();
        Self { weights, ..self.clone() }.energy(earlier + 1) + self.energy(lag)
    }

    /// Δ of T(c) at this horizon, rounded up.
    pub(crate) fn sensitivity(&self, horizon: u64, participation: Participation) -> f64 {
        round_up(self.norm(&QuadraticForm::participation(horizon, participation)).sqrt(), MARGIN)
    }

    /// The squared norm that this quadratic form gives.
    pub(crate) fn norm(&self, form: &QuadraticForm) -> f64 {
        let terms = self.terms(form);
        self.over_pairs(form.impulses(), |j| form.alone(&terms[j]), |i, j| form.pair(&terms[i], &terms[j]))
    }

    /// What the form needs of each decay.
    pub(super) fn terms(&self, form: &QuadraticForm) -> Vec<DecayTerms> {
        self.losses.iter().zip(&self.rates).map(|(loss, rate)| form.terms(*loss, *rate)).collect()
    }

    /// κ²I + 2κ Σ_j w_j B(j) + Σ_ij w_i w_j Γ(i, j), Γ symmetric.
    fn over_pairs(
        &self,
        impulses: f64,
        alone: impl Fn(usize) -> f64,
        pair: impl Fn(usize, usize) -> f64,
    ) -> f64 {
        let mut total = 0.0;
        for (i, weight) in self.weights.iter().enumerate() {
            let before: f64 = (0..i).map(|j| self.weights[j] * pair(i, j)).sum();
            total += weight * (2.0 * (before + self.impulse * alone(i)) + weight * pair(i, i));
        }
        total + self.impulse * self.impulse * impulses
    }
}

#[cfg(test)]
mod tests {
    use super::super::Node;
    use super::*;
    use crate::privacy::{CompensatedSum, toeplitz_sensitivity};

    fn example(scale: f64) -> Mixture {
        let nodes = [0.0, 1e-3 * scale, 0.02 * scale, 0.3, 0.8, 1.0].map(Node::from_loss);
        Mixture::new(&nodes, vec![0.01, 0.02, 0.05, 0.3, 0.2, 0.1], 0.25)
    }

    #[test]
    fn norms_are_those_of_the_coefficients_added_up() {
        for scale in [1.0, 1e-9] {
            let mixture = example(scale);
            for n in [1_u64, 2, 3, 7, 100, 1000, 3000] {
                let c = mixture.coefficients(n as usize);
                assert!(c.windows(2).all(|pair| pair[0] >= pair[1]));
                let (mut energy, mut total) = (CompensatedSum::default(), CompensatedSum::default());
                for value in &c {
                    energy.add(value * value);
                    total.add(energy.value());
                }
                let mean = total.value() / n as f64;
                assert!((mixture.energy(n) / energy.value() - 1.0).abs() < 1e-14, "{n}");
                assert!((mixture.mean_energy(n) / mean - 1.0).abs() < 1e-14, "{n}");
            }
        }
    }

    #[test]
    fn differences_of_rows_are_those_of_the_coefficients() {
        let mixture = example(1.0);
        let c = mixture.coefficients(500);
        for (earlier, later) in [(0, 1), (0, 499), (3, 4), (100, 101), (100, 300), (498, 499)] {
            let lag = later - earlier;
            let direct: f64 = (0..=later)
                .map(|k| if k < lag { c[k] } else { c[k] - c[k - lag] })
                .map(|entry| entry * entry)
                .sum();
            let got = mixture.difference(earlier as u64, later as u64);
            assert!((got / direct - 1.0).abs() < 1e-13, "{earlier} {later}: {got} {direct}");
        }
    }

    #[test]
    fn an_endless_horizon_is_the_limit() {
        let nodes = [1e-4, 0.3].map(Node::from_loss);
        let mixture = Mixture::new(&nodes, vec![0.5, 0.2], 0.1);
        assert!((mixture.total_energy() / mixture.energy(1 << 30) - 1.0).abs() < 1e-15);
        assert!((mixture.mean_energy(1 << 60) / mixture.total_energy() - 1.0).abs() < 1e-13);
        assert_eq!(example(1.0).total_energy(), f64::INFINITY);
    }

    #[test]
    fn several_participations_agree_with_the_coefficients_added_up() {
        for mixture in [example(1.0), example(1e-9), example(0.0)] {
            for n in [1_u64, 2, 3, 10, 97, 1000] {
                let c = mixture.coefficients(n as usize);
                let patterns =
                    [(1, 1), (2, 1), (2, 50), (3, 7), (5, 1), (13, 8), (1000, 1), (1000, 3), (4, 2000)];
                for (k, b) in patterns {
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
        // One decay that loses nothing, in every step: Δ² = Σ_t t² = n(n+1)(2n+1)/6.
        let ones = Mixture::new(&[Node::from_loss(0.0)], vec![1.0], 0.0);
        let every = Participation::at_most(u64::MAX, 1).unwrap();
        for n in [10_u64, 1_000_003, (1 << 60) - 1] {
            let steps = n as f64;
            let expected = (steps * (steps + 1.0) * (2.0 * steps + 1.0) / 6.0).sqrt();
            assert!((ones.sensitivity(n, every) / expected - 1.0).abs() < 2e-12, "{n}");
        }
    }
}
