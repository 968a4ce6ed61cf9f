//! What a total allows for each kind of noise, fixed before the first mechanism runs.
//!
//! **Definition.** An (ε, δ) total is split in advance into allowances for the four parts of a
//! [`Spend`]. The allowance for pure noise is e, the allowance for the distance of noise from
//! Gaussian noise is v, and the allowance for keys that appear is d. The allowance for Gaussian noise is
//! the largest g = μ² whose curve has δ_μ(ε − e) ≤ δ − d − (1 + e^ε)v. A ρ total, or an (ε, δ) total
//! that is accounted by zCDP, is one allowance of ρ for all noise. A pure total is an allowance of ε. A
//! mechanism is admitted if every sum stays within its allowance.
//!
//! **Guarantee.** All admitted mechanisms together are within the total. This holds even if
//! mechanisms *and their costs* are chosen after seeing earlier releases, as long as the total and
//! its split are not.
//!
//! *Proof.* Let F(g, γ) = H_γ(N(√g, 1) ‖ N(0, 1)), where H_γ(P ‖ Q) = ∫ (P − γQ)₊ is δ at ε = ln γ,
//! for any γ ≥ 0. Claim: while (g, e, v, d) is left, everything that follows has H_γ ≤ F(g, γe^{−e}) +
//! (1 + γ)v + d. If nothing follows, H_γ = (1 − γ)₊, which is F(0, γ) and at most the claimed bound.
//! Otherwise let the next mechanism have output laws P₁, Q₁ on two neighbours. Given its output,
//! the claim holds for the rest at γQ₁/P₁ with what is left then, so H_γ ≤ ∫ P₁ F(g', γe^{−e'}
//! Q₁/P₁) + (1 + γ)v'.
//!
//! - *Pure*, g' = g, v' = v, e' = e − ε₁: since Q₁ ≥ e^{−ε₁} P₁ and F decreases in γ, the integrand
//!   is at most F(g, γe^{−e}).
//! - *Gaussian*, g' = g − μ², e' = e, v' = v − v₁: with γ' = γe^{−e} the integral is H_γ' of P₁ ×
//!   N(√g', 1) against Q₁ × N(0, 1). Integrated in the other order, it is the integral of H_γ″(P₁ ‖
//!   Q₁) ≤ F(μ², γ″) + (1 + γ″)v₁, which is F(μ² + g', γ') + (1 + γ')v₁, since Gaussians compose to
//!   a Gaussian and γ″ has the mean γ'.
//! - *Keys that appear*, d' = d − d₁: P₁ is within d₁, in total variation, of a law P' for which one of
//!   the other cases holds against Q₁. With P' in place of P₁, and the same mechanisms after each output,
//!   the probability of every event on the side of P changes by at most d₁, and with it H_γ. An allowance
//!   d' that is left only adds to the integral, because ∫ P' d' = d'.
//!
//! For zCDP the same induction bounds E (P/Q)^α by exp(α(α − 1)r) while r is left, for every α at
//! once. ∎
//!
//! **Why the split is fixed.** It is *not* private to check instead whether the sums so far compose
//! to (ε, δ), and to trade pure noise for Gaussian noise along the way. After Gaussian noise, an
//! adversary who sees the current loss may choose the kind of noise that is worse at that point. At
//! (3, 10⁻⁶), with ε = ½ for the pure part, that reaches 1.33 δ (a test demonstrates it). The same
//! applies to taking the better of two accounting methods, which is why a total is accounted by one
//! method only.
//!
//! **Rounding.** The σ of a budget is above the smallest private one by a relative 0.97·2⁻⁴³ at
//! least (see the module of the curve). Two thirds of that margin are used. First, g is larger than
//! 1/σ² by 2⁻⁴⁵, or 2⁻⁴⁶ in μ, so that shares that add up to the total fit for any rounding.
//! Second, since ln δ changes by at least ½ per unit of ln μ, (1 + e^ε)v = 2⁻⁴⁵ δ takes at most
//! 2⁻⁴⁴.
//!
//! **Source.** The filter for Gaussian noise: Smith and Thakurta, "Fully Adaptive Composition for
//! Gaussian Differential Privacy" (2022). For zCDP: Feldman and Zrnic, "Individual Privacy
//! Accounting via a Rényi Filter" (2021). For mechanisms that run side by side: Haney et al.,
//! "Concurrent Composition for Interactive Differential Privacy with Adaptive Privacy-Loss
//! Parameters" (2023).

use super::calibration::{check_delta, check_in, plain};
use super::spending::rho_of_pure;
use super::{Budget, Calibration, Spend};
use crate::{Error, Result};

/// The used part of the margin by which σ is rounded up, 2⁻⁴⁵.
const HEADROOM: f64 = 1.0 / (1_u64 << 45) as f64;

/// Below this share of an allowance, 2⁻⁴⁰, nothing is reported as left.
const NOTHING_LEFT: f64 = 1.0 / (1_u64 << 40) as f64;

/// What each kind of noise may spend in total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Allowance {
    /// Each part has its own allowance.
    Parts {
        /// For Gaussian noise.
        mu_squared: f64,
        /// For pure noise.
        pure_epsilon: f64,
        /// For the distance from Gaussian noise.
        variation: f64,
        /// For keys that appear.
        key_delta: f64,
    },
    /// All parts together, as zCDP.
    Concentrated {
        /// For all noise.
        rho: f64,
    },
}

impl Allowance {
    /// The allowances of a total, with `pure_part` of its ε reserved for pure noise, and `key_part` of its
    /// δ for keys that appear.
    pub(super) fn new(total: &Budget, pure_part: f64, key_part: f64) -> Result<Self> {
        if pure_part != 0.0 || key_part != 0.0 {
            return Self::split(total, pure_part, key_part);
        }
        match (total.epsilon(), total.delta(), total.calibration(), total.rho()) {
            (.., Some(Calibration::Paper), _) => Err(Error::bad(
                "total",
                "accounted exactly or by zcdp: the paper's closed form is a way to choose noise",
                total,
            )),
            (.., Some(rho)) => Ok(Self::Concentrated { rho }),
            (Some(epsilon), Some(0.0), ..) => {
                Ok(Self::Parts { mu_squared: 0.0, pure_epsilon: epsilon, variation: 0.0, key_delta: 0.0 })
            }
            (epsilon, delta, ..) => {
                Ok(Self::on_the_curve(total, epsilon.unwrap_or_default(), delta.unwrap_or_default()))
            }
        }
    }

    fn split(total: &Budget, pure_part: f64, key_part: f64) -> Result<Self> {
        let (Some(epsilon), Some(delta), Some(Calibration::Exact)) =
            (total.epsilon(), total.delta(), total.calibration())
        else {
            let expected = format!("left unset for {total}: only an exact (ε, δ) total is split");
            let (name, part) =
                if pure_part != 0.0 { ("pure_part", pure_part) } else { ("key_part", key_part) };
            return Err(Error::bad(name, expected, part));
        };
        check_in("pure_part", pure_part, 0.0, epsilon)?;
        check_in("key_part", key_part, 0.0, delta)?;
        // Shares that add up to the part fit for any rounding.
        let key_delta = key_part * (1.0 + HEADROOM);
        let noise_delta = if key_part == 0.0 { delta } else { (delta - key_delta).next_down() };
        let noise_epsilon = if pure_part == 0.0 { epsilon } else { (epsilon - pure_part).next_down() };
        if check_delta(noise_delta).is_err() {
            return Err(Error::bad("key_part", format!("below {}", plain(delta)), key_part));
        }
        let gaussian = Budget::new(noise_epsilon, noise_delta)
            .map_err(|_| Error::bad("pure_part", format!("below {}", plain(epsilon)), pure_part))?;
        Ok(match Self::on_the_curve(&gaussian, epsilon, noise_delta) {
            Self::Parts { mu_squared, variation, .. } => {
                Self::Parts { mu_squared, pure_epsilon: pure_part, variation, key_delta }
            }
            other => other,
        })
    }

    /// Everything is for Gaussian noise, except 2⁻⁴⁵ of the smaller of δ and 1 − δ, which is for
    /// the distance from it. `epsilon` is that of the full total.
    fn on_the_curve(budget: &Budget, epsilon: f64, delta: f64) -> Self {
        let sigma = budget.noise_multiplier();
        Self::Parts {
            mu_squared: (1.0 + HEADROOM) / (sigma * sigma),
            pure_epsilon: 0.0,
            variation: (HEADROOM * delta.min(1.0 - delta) / (1.0 + epsilon.exp())).next_down().max(0.0),
            key_delta: 0.0,
        }
    }

    /// Whether this much may be spent in total.
    pub(super) fn admits(&self, spent: &Spend) -> bool {
        match self {
            Self::Parts { mu_squared, pure_epsilon, variation, key_delta } => {
                spent.mu_squared() <= *mu_squared
                    && spent.pure_epsilon() <= *pure_epsilon
                    && spent.variation() <= *variation
                    && spent.key_delta() <= *key_delta
            }
            Self::Concentrated { rho } => spent.rho() <= *rho && spent.key_delta() == 0.0,
        }
    }

    /// The μ² and pure ε that may still be spent, rounded down: both, if they have separate
    /// allowances, or either of them.
    pub(super) fn left(&self, spent: &Spend) -> (f64, f64) {
        match self {
            Self::Parts { mu_squared, pure_epsilon, .. } => {
                let nominal = mu_squared * (1.0 - HEADROOM);
                (below(nominal, spent.mu_squared()), below(*pure_epsilon, spent.pure_epsilon()))
            }
            Self::Concentrated { rho } => {
                let left = below(*rho, spent.rho());
                (2.0 * left, pure_of_rho(left))
            }
        }
    }

    /// Whether pure and Gaussian noise share one allowance.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Concentrated { .. })
    }
}

/// What is left of an allowance. The result allows for the roundings of subtracting what is spent
/// and of adding it again.
fn below(allowance: f64, spent: f64) -> f64 {
    if spent == 0.0 {
        return allowance;
    }
    let left = allowance - spent - 4.0 * f64::EPSILON * allowance;
    if left > NOTHING_LEFT * allowance { left } else { 0.0 }
}

/// The largest ε for which ε tanh(ε/2) is within ρ, bisected from below.
fn pure_of_rho(rho: f64) -> f64 {
    // ε tanh(ε/2) is at most ε²/2 and at most ε, and at least the smaller of ε²/4 and ε/4.
    let (mut low, mut high) = (0.0, 4.0 * rho + 2.0 * rho.sqrt());
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if rho_of_pure(middle) <= rho {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{gaussian_delta, zcdp_rho};

    #[test]
    fn the_whole_allowance_is_within_the_total() {
        for epsilon in [1e-6, 1e-3, 0.1, 1.0, 3.0, 50.0, 1000.0] {
            for delta in [1e-300, 1e-50, 1e-9, 1e-6, 1e-2, 0.4, 0.6, 0.999] {
                let total = Budget::new(epsilon, delta).unwrap();
                let Allowance::Parts { mu_squared, variation, .. } =
                    Allowance::new(&total, 0.0, 0.0).unwrap()
                else {
                    panic!("an exact total has parts")
                };
                let beside = variation * (1.0 + epsilon.exp());
                assert!(epsilon > 700.0 || delta < 1e-200 || beside > 0.0 && beside < delta * 1e-13);
                let beside = if beside.is_nan() { 0.0 } else { beside };
                // Removes the margin of the curve's own rounding, which is known to be on the safe
                // side.
                let sigma = (1.0 + 0.99 / (1_u64 << 43) as f64) / mu_squared.sqrt();
                let reached = gaussian_delta(sigma, epsilon).unwrap();
                assert!(reached + beside <= delta * (1.0 + 2e-15), "{epsilon} {delta}: {reached}");
            }
        }
    }

    /// All of the parts together are within δ, and shares of the part for keys add up to it.
    #[test]
    fn a_part_for_keys_is_taken_from_delta() {
        for (delta, part) in [(1e-6, 5e-7), (1e-6, 9.99e-7), (0.1, 1e-12), (1e-12, 3e-13)] {
            for epsilon in [0.1, 1.0, 20.0] {
                let total = Budget::new(epsilon, delta).unwrap();
                let split = Allowance::new(&total, 0.0, part).unwrap();
                let Allowance::Parts { mu_squared, variation, key_delta, .. } = split else {
                    panic!("an exact total has parts")
                };
                let sigma = (1.0 + 0.99 / (1_u64 << 43) as f64) / mu_squared.sqrt();
                let reached = gaussian_delta(sigma, epsilon).unwrap() + variation * (1.0 + epsilon.exp());
                assert!(reached + key_delta <= delta * (1.0 + 2e-15), "{epsilon} {delta} {part}");
                assert!(reached + key_delta > delta * (1.0 - 1e-9), "{epsilon} {delta} {part}");
                let third = Spend::NOTHING.with_key_delta(part / 3.0).unwrap();
                assert!(split.admits(&Spend::composed([third; 3])));
                assert!(!split.admits(&Spend::composed([third; 4])));
                assert!(!Allowance::new(&total, 0.0, 0.0).unwrap().admits(&third));
                for bad in [delta, 2.0 * delta, -part, f64::NAN] {
                    assert!(Allowance::new(&total, 0.0, bad).is_err(), "{bad} was taken");
                }
            }
        }
        let third = Spend::NOTHING.with_key_delta(1e-9).unwrap();
        for total in [Budget::zcdp(1.0).unwrap(), Budget::pure(1.0).unwrap()] {
            assert!(Allowance::new(&total, 0.0, 1e-9).is_err());
            assert!(!Allowance::new(&total, 0.0, 0.0).unwrap().admits(&third));
        }
    }

    #[test]
    fn a_part_for_pure_noise_is_taken_from_epsilon() {
        let total = Budget::new(3.0, 1e-6).unwrap();
        let split = Allowance::new(&total, 0.5, 0.0).unwrap();
        let rest = Allowance::new(&Budget::new(2.5, 1e-6).unwrap(), 0.0, 0.0).unwrap();
        let (Allowance::Parts { mu_squared, pure_epsilon, .. }, Allowance::Parts { mu_squared: whole, .. }) =
            (split, rest)
        else {
            panic!("exact totals have parts")
        };
        assert_eq!(pure_epsilon, 0.5);
        assert!((mu_squared / whole - 1.0).abs() < 1e-14);
        for bad in [3.0, 4.0, -0.1, f64::NAN, f64::INFINITY, 3.0 - 1e-9] {
            assert!(Allowance::new(&total, bad, 0.0).is_err(), "{bad} was taken");
        }
        for total in [Budget::zcdp(1.0).unwrap(), Budget::pure(1.0).unwrap()] {
            assert!(Allowance::new(&total, 0.5, 0.0).is_err());
            assert!(Allowance::new(&total, 0.0, 0.0).is_ok());
        }
    }

    #[test]
    fn a_total_by_zcdp_is_one_allowance() {
        let total = Budget::new(3.0, 1e-6).unwrap().with_calibration(Calibration::Zcdp).unwrap();
        let expected = Allowance::Concentrated { rho: zcdp_rho(3.0, 1e-6).unwrap() };
        assert_eq!(Allowance::new(&total, 0.0, 0.0).unwrap(), expected);
        assert!(expected.is_shared());
        let paper = Budget::new(0.5, 1e-6).unwrap().with_calibration(Calibration::Paper).unwrap();
        assert!(Allowance::new(&paper, 0.0, 0.0).unwrap_err().to_string().contains("closed form"));
    }

    #[test]
    fn pure_noise_for_a_rho() {
        for rho in [1e-18, 1e-9, 0.01, 1.0, 100.0, 1e6] {
            let epsilon = pure_of_rho(rho);
            assert!(rho_of_pure(epsilon) <= rho, "{rho}");
            assert!(rho_of_pure(epsilon * (1.0 + 1e-12)) > rho, "{rho}");
        }
        assert_eq!(pure_of_rho(0.0), 0.0);
    }
}
