//! The Toeplitz part: a mixture of geometric decays f̂, and the mixture Ŝ that inverts it.
//!
//! **Definition.** By its poles and zeros: with 0 = τ₀ < p₀ < τ₁ < p₁ < … < τ_{J−1} < p_{J−1} < 1,
//!
//! > f̂(x) = Π_{i≥1}(1 − (1−τ_i)x) / Π_j(1 − (1−p_j)x),  Ŝ(x) = 1/((1−x) f̂(x)).
//!
//! Partial fractions give f̂_k = Σ_j ω_j(1−p_j)^k and Ŝ_k = κ·\[k = 0\] + Σ_i η_i(1−τ_i)^k. Because poles and zeros interlace, every
//! weight is positive, so that no sum here cancels. T(f̂)·T(Ŝ) is the prefix sum exactly: R is made from f̂, L is run by Ŝ,
//! and neither approximates the other. How well f̂ approximates (1−x)^{-1/2} decides the error only, and that to second order.
//!
//! **Guarantee.** The decays 1−τ_i that are run are doubles and τ_i is computed back from them, so that what is accounted is
//! what is run even where 1−τ rounds hard. Weights are products of J ratios, right to some 4J units in the last place.
//!
//! **Cost.** O(J²) to make.

use crate::elliptic;

/// f̂ and Ŝ.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    /// p_j, ascending.
    pub(super) poles: Vec<f64>,
    /// ω_j > 0, adding up to one.
    pub(super) weights: Vec<f64>,
    /// The decays 1 − τ_i of Ŝ, from τ₀ = 0.
    pub(super) decays: Vec<f64>,
    /// τ_i = 1 − decay.
    pub(super) zeros: Vec<f64>,
    /// η_i > 0.
    pub(super) inverse_weights: Vec<f64>,
    /// κ ≥ 0.
    pub(super) impulse: f64,
}

impl Mixture {
    /// (1−x)^{-1/2} over the horizon, with every coefficient k multiplied by about exp(−decline·k/n)·(1+k)^tilt.
    pub(super) fn new(horizon: u64, decline: f64, tilt: f64, terms: usize) -> Self {
        let n = horizon as f64;
        // Nodes for losses from 5/n to one: wider intervals approximate the ends of the horizon better than the error needs.
        let fractions = elliptic::inverse_square_root(1.0 / (0.2 * n + 1.0), 1.0, terms);
        let lost = -libm::expm1(-decline / n);
        let (mut poles, mut weights) = (Vec::new(), Vec::new());
        for fraction in &fractions {
            let pole = fraction.shift / (1.0 + fraction.shift);
            poles.push(pole + (1.0 - pole) * lost);
            weights.push(fraction.weight / (1.0 + fraction.shift) * libm::pow(pole, -tilt));
        }
        let decays: Vec<f64> = std::iter::once(1.0)
            .chain((1..poles.len()).map(|i| 1.0 - zero_between(&poles, &weights, i)))
            .collect();
        Self::from_poles_and_decays(poles, decays)
    }

    fn from_poles_and_decays(poles: Vec<f64>, decays: Vec<f64>) -> Self {
        let zeros: Vec<f64> = decays.iter().map(|decay| 1.0 - decay).collect();
        // Each product pairs a factor above with one below, which keeps it near one.
        let others = |i: usize, of: &[f64]| (0..of.len()).filter(move |k| *k != i).collect::<Vec<_>>();
        let weights: Vec<f64> = (0..poles.len())
            .map(|j| {
                let below = others(j, &poles);
                let ratios =
                    below.iter().zip(&zeros[1..]).map(|(&k, zero)| (zero - poles[j]) / (poles[k] - poles[j]));
                ratios.product()
            })
            .collect();
        let inverse_weights = (0..zeros.len())
            .map(|i| {
                let below = others(i, &zeros);
                let mut value = (poles[i] - zeros[i]) / decays[i];
                let above = others(i, &poles);
                for (&j, &k) in above.iter().zip(&below) {
                    value *= (poles[j] - zeros[i]) / (zeros[k] - zeros[i]);
                }
                value
            })
            .collect();
        // x → ∞ leaves the ratio of the leading coefficients; the first decay is that of 1/(1−x).
        let impulse = poles.iter().zip(&decays).map(|(pole, decay)| (1.0 - pole) / decay).product();
        Self { poles, weights, decays, zeros, inverse_weights, impulse }
    }

    /// The number of decays J.
    pub(super) fn len(&self) -> usize {
        self.poles.len()
    }

    /// λ_j = −ln(1 − p_j).
    pub(super) fn rates(&self) -> Vec<f64> {
        self.poles.iter().map(|pole| -libm::log1p(-pole)).collect()
    }

    /// f̂_k for k < n.
    pub(super) fn coefficients(&self, n: usize) -> Vec<f64> {
        let rates = self.rates();
        let term = |k: usize| {
            let terms =
                rates.iter().zip(&self.weights).map(|(rate, weight)| weight * libm::exp(-rate * k as f64));
            terms.sum()
        };
        (0..n).map(term).collect()
    }
}

/// The root τ of Σ_j ω_j/(p_j − τ) between poles i−1 and i, where the sum rises from −∞ to ∞.
fn zero_between(poles: &[f64], weights: &[f64], i: usize) -> f64 {
    let sum = |tau: f64| poles.iter().zip(weights).map(|(p, w)| w / (p - tau)).sum::<f64>();
    let (mut low, mut high) = (poles[i - 1], poles[i]);
    for _ in 0..200 {
        // Halving the logarithm, because poles are spread over many powers of ten.
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if sum(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::square_root_coefficient;

    #[test]
    fn the_two_mixtures_multiply_to_the_prefix_sum() {
        for n in [1_u64, 2, 3, 5, 17, 100, 1000] {
            let mixture = Mixture::new(n, 0.3, 0.02, super::super::terms(n));
            let f = mixture.coefficients(n as usize);
            let s: Vec<f64> = (0..n)
                .map(|k| {
                    let decays = mixture.decays.iter().zip(&mixture.inverse_weights);
                    let sum: f64 = decays.map(|(decay, weight)| weight * decay.powf(k as f64)).sum();
                    sum + if k == 0 { mixture.impulse } else { 0.0 }
                })
                .collect();
            for (k, sum) in crate::noise::causal_convolution_direct(&f, &s).into_iter().enumerate() {
                assert!((sum - 1.0).abs() < 1e-12, "n = {n}, {k}: {sum}");
            }
        }
    }

    #[test]
    fn weights_are_positive_and_the_root_is_approached() {
        for n in [1_u64, 2, 10, 1 << 10, 1 << 20, 1 << 30, 1 << 40] {
            let mixture = Mixture::new(n, 0.0, 0.0, super::super::terms(n));
            assert!(mixture.weights.iter().chain(&mixture.inverse_weights).all(|w| *w > 0.0), "{n}");
            assert!(mixture.impulse > 0.0);
            assert!((mixture.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let rates = mixture.rates();
            let at =
                |k: f64| rates.iter().zip(&mixture.weights).map(|(r, w)| w * (-r * k).exp()).sum::<f64>();
            // Relative to f̂ at mid-range: f̂ is scaled to begin with one, which the root's approximation misses a little.
            for i in 0..=20 {
                let k = libm::pow(n as f64, f64::from(i) / 20.0).floor().min(n as f64 - 1.0);
                let ratio = at(k) / square_root_coefficient(k as u64);
                assert!((ratio - 1.0).abs() < 0.02, "n = {n}, k = {k}: {ratio}");
            }
        }
    }
}
