//! The square root of the workload: L = R = T(s) with s(x) = a(x)^{1/2}. The paper's mechanism.
//!
//! **Definition.** For the prefix sum s_k = f(k) = (1 − 1/2k)·f(k−1), the coefficients of
//! (1−x)^{-1/2}; for a decayed sum f(k)λ^k. They are positive and decreasing, so Δ is also exact for
//! a person in several steps. ‖L\[t;\]‖² = Σ_{k ≤ t} s_k² ≈ (ln t + 0.5772 + 4 ln 2)/π for the
//! prefix sum.
//!
//! **Guarantee.** The mechanism runs a pair of mixtures with L R = A exactly. Both are within a
//! relative 10⁻¹² of s at every step of the horizon. Δ and errors are those of the pair. A decayed
//! sum is followed until nothing of it is left, so the same few decays serve any horizon.
//!
//! **Cost.** J = 10 + 2.1 log₂ n decays: 52 at 2^20, 94 at 2^40, 136 at 2^60. One number per decay
//! and coordinate, O(J) operations per step, no preparation.
//!
//! **Source.** f as a mixture of decays: Zolotarev's approximation of x^{-1/2}, see
//! [`crate::elliptic`]. The root of a window rises and falls; see [`super::window_root`].

use std::sync::Arc;

use super::streamed::{Streamed, indistinct};
use super::window_root::WindowRoot;
use super::{Factorization, Kind, Mechanism, Request};
use crate::Result;
use crate::mixture::Pair;
use crate::workload::Workload;

pub(super) static KIND: Kind = Kind {
    name: "square-root",
    code: 7,
    has_exact_path: true,
    preparation: |_, _, _| 1e7,
    factorize: |request, _| factorize(request),
    ..Kind::DEFAULT
};

/// Steps after which nothing is left of a decay: exp(−60) is 10⁻²⁶.
const FADED: f64 = 60.0;

/// One pair of mixtures, or two for a window that ends before the horizon does.
fn factorize(request: &Request<'_>) -> Result<Arc<dyn Factorization>> {
    let factor = match request.workload {
        Workload::SlidingWindow { width } if width < request.horizon => {
            return Ok(Arc::new(WindowRoot::new(request, width)?));
        }
        Workload::PrefixSum | Workload::SlidingWindow { .. } => 1.0,
        Workload::Decay { factor } => factor,
    };
    let pair = pair(factor, request.horizon).ok_or_else(|| indistinct(&Mechanism::SquareRoot))?;
    Ok(Arc::new(Streamed::new(Mechanism::SquareRoot, request, pair)))
}

/// The root of 1/(1−λx), λ the `factor`, within 10⁻¹² up to this horizon.
fn pair(factor: f64, horizon: u64) -> Option<Pair> {
    let until_faded = if factor < 1.0 { 1.0 + FADED / -libm::log(factor) } else { f64::INFINITY };
    let n = (horizon as f64).min(until_faded.floor());
    // At a single step any pair is the root.
    let terms = if n < 2.0 { 1 } else { (10.0 + 2.1 * libm::log2(n)) as usize };
    Pair::square_root(factor, 2.0 / n, 1.0, terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elliptic;
    use crate::noise::square_root_coefficient;
    use crate::privacy::Participation;

    /// Steps to look at below n: the first hundred, then spread evenly on a logarithmic scale.
    fn steps(n: u64) -> impl Iterator<Item = u64> {
        let spread = (0..=600).map(move |i| libm::pow(n as f64, f64::from(i) / 600.0) as u64);
        (0..100).chain(spread).chain([n - 1]).filter(move |k| *k < n)
    }

    #[test]
    fn both_factors_are_the_root_to_twelve_digits() {
        let powers = (4..=60).step_by(4).map(|log| 1_u64 << log);
        for n in [1, 2, 3, 5, 10, 100, 1000, 12345].into_iter().chain(powers) {
            let pair = pair(1.0, n).unwrap();
            for k in steps(n) {
                let f = square_root_coefficient(k);
                for (name, mixture) in [("r", pair.encoder()), ("l", pair.decoder())] {
                    let ratio = mixture.coefficient(k) / f;
                    assert!((ratio - 1.0).abs() < 1e-12, "n = {n}, {name}_{k}: {}", ratio - 1.0);
                }
            }
        }
        let decays = |n: u64| pair(1.0, n).unwrap().decoder().len();
        assert_eq!([1 << 20, 1 << 40, 1 << 60].map(decays), [52, 94, 136]);
    }

    #[test]
    fn decayed_roots_are_followed_until_they_fade() {
        for factor in [1.0 - 1e-15, 1.0 - 1e-10, 1.0 - 1e-6, 0.999, 0.9, 0.5, 0.2, 1e-3, 1e-9] {
            for n in [1, 2, 10, 1000, 1 << 30, 1 << 60] {
                let pair = pair(factor, n).unwrap();
                let rate = -libm::log(factor);
                for k in steps(n).take_while(|k| rate * (*k as f64) < 50.0) {
                    let f = square_root_coefficient(k) * libm::exp(-rate * k as f64);
                    for (name, mixture) in [("r", pair.encoder()), ("l", pair.decoder())] {
                        let ratio = mixture.coefficient(k) / f;
                        assert!(
                            (ratio - 1.0).abs() < 1e-12,
                            "{factor}, n = {n}, {name}_{k}: {}",
                            ratio - 1.0
                        );
                    }
                }
            }
        }
        // As short as a float can be.
        for factor in [1e-30, 1e-300, 5e-324] {
            let pair = pair(factor, 1 << 60).unwrap();
            assert!((pair.decoder().energy(10) - 1.0).abs() < 1e-15, "{factor}");
        }
    }

    /// Δ² = (2/π)K(λ²) for ever.
    #[test]
    fn an_endless_decayed_sum_has_a_finite_sensitivity() {
        // Decays just above and just below those that are run as slow ones are among these.
        let near_one = (4..60).map(|i| 1.0 - libm::pow(10.0, -f64::from(i) / 4.0));
        for factor in [1e-3, 0.1, 0.5].into_iter().chain(near_one) {
            let pair = pair(factor, u64::MAX).unwrap();
            let known =
                std::f64::consts::FRAC_2_PI * elliptic::complete_integral((1.0 - factor) * (1.0 + factor));
            let total = pair.encoder().total_energy();
            assert!((total / known - 1.0).abs() < 1e-11, "{factor}: {total} {known}");
            assert!((pair.decoder().total_energy() / known - 1.0).abs() < 1e-11, "{factor}");
            let long = pair.encoder().sensitivity(1 << 60, Participation::single()).powi(2);
            assert!((long / known - 1.0).abs() < 1e-11, "{factor}: {long} {known}");
        }
        assert!(pair(0.999, u64::MAX).unwrap().decoder().len() < 45);
    }
}
