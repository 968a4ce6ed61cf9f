//! Norms of T(c) and of its rows, pair of decays by pair of decays.
//!
//! **Definition.** With x = (1−p_i)(1−p_j), a = 1 − x = p_i + (1−p_i)p_j and m_i = 1 − (1−p_i)^n,
//!
//! > Σ_{k<n} x^k = (1 − x^n)/a,  1 − x^n = m_i + (1−m_i)m_j,
//!
//! a sum of positive terms above and below; n where a = 0. The mean over all rows has Σ_{k<n}(n−k)x^k = ((1−a)^{n+1} − 1 + (n+1)a)/a²; where
//! an < 1 its binomial series is used, because the closed form would cancel.
//!
//! **Cost.** J exponentials and O(J²) divisions for a norm; J²/2 short series for a mean.

use super::{Mixture, lost};

impl Mixture {
    /// Σ_{k<n} c_k²: the squared norm of row n − 1 of T(c), and of its first column at horizon n.
    pub(crate) fn energy(&self, n: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let lost: Vec<f64> = self.rates.iter().map(|rate| lost(*rate, n)).collect();
        self.over_pairs(|i, j| {
            let once = self.lost_once(i, j);
            if once > 0.0 { (lost[i] + (1.0 - lost[i]) * lost[j]) / once } else { n as f64 }
        })
    }

    /// Σ_k c_k² over all k: infinite where a loss is zero.
    #[cfg_attr(not(test), expect(dead_code, reason = "for horizons without end"))]
    pub(crate) fn total_energy(&self) -> f64 {
        self.over_pairs(|i, j| 1.0 / self.lost_once(i, j))
    }

    /// The mean of `energy(t + 1)` over t < n: ‖T(c)‖_F²/n.
    pub(crate) fn mean_energy(&self, n: u64) -> f64 {
        let lost: Vec<f64> = self.rates.iter().map(|rate| lost(*rate, n)).collect();
        self.over_pairs(|i, j| {
            mean_of_sums(self.lost_once(i, j), lost[i] + (1.0 - lost[i]) * lost[j], n as f64)
        })
    }

    /// ‖row `later` − row `earlier`‖² of T(c).
    ///
    /// Where both rows reach, c_i − c_{i+lag} is again a mixture, each weight times what is lost in `lag` steps; the first `lag` coefficients
    /// are the later row's alone.
    pub(crate) fn difference(&self, earlier: u64, later: u64) -> f64 {
        let lag = later - earlier;
        let weights = self.rates.iter().zip(&self.weights).map(|(rate, w)| w * lost(*rate, lag)).collect();
        self.reweighted(weights).energy(earlier + 1) + self.energy(lag)
    }

    /// 1 − (1−p_i)(1−p_j).
    pub(super) fn lost_once(&self, i: usize, j: usize) -> f64 {
        self.losses[i] + (1.0 - self.losses[i]) * self.losses[j]
    }

    /// κ² + 2κΣw + Σ_ij w_i w_j sum(i, j) for a symmetric `sum` that is one where only k = 0 counts.
    fn over_pairs(&self, sum: impl Fn(usize, usize) -> f64) -> f64 {
        let mut total = 0.0;
        for (i, weight) in self.weights.iter().enumerate() {
            let before: f64 = (0..i).map(|j| self.weights[j] * sum(i, j)).sum();
            total += weight * (2.0 * (before + self.impulse) + weight * sum(i, i));
        }
        total + self.impulse * self.impulse
    }
}

/// (1/n) Σ_{k<n} (n−k) x^k, given a = 1 − x and 1 − x^n.
pub(super) fn mean_of_sums(a: f64, all: f64, n: f64) -> f64 {
    if a * n >= 1.0 {
        // The mean of x^k is at most 0.64 here.
        return (1.0 - (1.0 - a) * all / (a * n)) / a;
    }
    let (mut term, mut sum) = (0.5 * (n + 1.0), 0.0);
    // Each term is at most a third of the one before, and alternates.
    for m in 1..=24 {
        sum += term;
        term *= -a * (n - f64::from(m)) / f64::from(m + 2);
        if term.abs() <= f64::EPSILON / 8.0 * sum {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::Node;
    use super::*;
    use crate::privacy::CompensatedSum;

    pub(crate) fn example(scale: f64) -> Mixture {
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

    /// Both formulas of the mean agree where one takes over from the other, and with the limits at either end.
    #[test]
    fn means_are_smooth_at_any_horizon() {
        for n in [10.0, 1e3, 1e12, 1e18] {
            let at = |a: f64| mean_of_sums(a, -libm::expm1(n * libm::log1p(-a)), n);
            let (below, above) = (at(1.0 / n * (1.0 - 1e-14)), at(1.0 / n * (1.0 + 1e-14)));
            assert!((below / above - 1.0).abs() < 1e-13, "{n}: {below} {above}");
            assert_eq!(at(0.0), 0.5 * (n + 1.0));
            assert!((at(0.5) * 0.5 - (1.0 - 1.0 / n)).abs() < 1e-14 + 2.0 * libm::pow(0.5, n));
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
}
