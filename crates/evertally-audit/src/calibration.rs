//! The separation that a budget allows, computed independently of the library.
//!
//! **Definition.** μ is the allowed separation of neighbouring streams in standard deviations of
//! the noise. Gaussian noise at a separation of μ is (ε, δ)-private exactly when
//!
//! > δ ≥ Φ(a) − e^ε Φ(−b), a = μ/2 − ε/μ, b = μ/2 + ε/μ.
//!
//! ρ-zCDP allows μ = √(2ρ). Pure ε allows a sum of magnitudes of ε scales of Laplace noise, which
//! is ε/√2 standard deviations.
//!
//! **Independence.** A plan with a wrong σ would otherwise be audited against its own mistake.
//! Nothing here calls `evertally`'s calibration, and the formula is evaluated in a different way.
//! With Mills' ratio m(x) = Φ(−x)/φ(x) and b² − a² = 2ε, the difference is φ(a)·(m(−a) − m(b)). The
//! two arguments are μ apart, and m' = x m − 1. For small μ the difference is therefore computed as
//! the integral of 1 − x m(x), by Gauss's rule with five nodes, which loses no digits.
//!
//! **Guarantee.** μ is within a relative 10⁻¹⁰ of the truth for 10⁻⁶ ≤ ε ≤ 1000 and 10⁻³⁰⁰ ≤ δ < 1,
//! tested against references of 35 digits. Comparisons with it allow for 10⁻⁹.
//!
//! **Cost.** About sixty evaluations of a few hundred operations.
//!
//! **Source.** Balle and Wang, *Improving the Gaussian Mechanism for Differential Privacy* (2018),
//! theorem 8; Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020),
//! for zCDP; Henzinger, Upadhyay and Upadhyay (2023), for the closed form.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, SQRT_2};

use evertally::{Budget, Calibration};

use crate::statistics::{crossing, normal};

/// ln √(2π).
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// From here on Mills' ratio is computed by its continued fraction, which this many terms bring to
/// rounding.
const MIN_FRACTION_ARGUMENT: f64 = 3.0;
const TERMS: u32 = 200;

/// From this separation on, the difference of two Mills' ratios loses at most two digits.
const MIN_WIDE_SEPARATION: f64 = 0.5;

/// The largest separation of neighbours, in standard deviations of the noise, that a budget allows.
pub(crate) fn allowed_separation(budget: &Budget) -> f64 {
    match (budget.epsilon(), budget.delta(), budget.calibration()) {
        (Some(epsilon), Some(delta), Some(calibration)) => {
            let most = separation(epsilon, delta);
            // The other calibrations promise more than (ε, δ), and the audit checks that.
            most.min(match calibration {
                Calibration::Exact => most,
                Calibration::Zcdp => (2.0 * zcdp_rho(epsilon, delta)).sqrt(),
                Calibration::Paper => 0.5 * epsilon / (4.0 / 9.0 + FRAC_2_PI.sqrt().ln() - delta.ln()).sqrt(),
            })
        }
        (Some(epsilon), _, None) => epsilon / SQRT_2,
        _ => (2.0 * budget.rho().unwrap_or_default()).sqrt(),
    }
}

/// The largest separation of Gaussian noise that is (ε, δ)-private.
fn separation(epsilon: f64, delta: f64) -> f64 {
    const MIN: f64 = 1e-10;
    const MAX: f64 = 1e3;
    let (low, high) = (MIN.ln(), MAX.ln());
    let ln_mu = if delta > 0.5 {
        crossing(|ln_mu| ln_complement(ln_mu.exp(), epsilon), (1.0 - delta).ln(), low, high)
    } else {
        crossing(|ln_mu| -ln_delta(ln_mu.exp(), epsilon), -delta.ln(), low, high)
    };
    ln_mu.exp()
}

/// The smallest ε at which Gaussian noise at this separation is (ε, δ)-private.
pub(crate) fn epsilon_of_separation(separation: f64, delta: f64) -> f64 {
    const MIN: f64 = 1e-12;
    const MAX: f64 = 1e6;
    let mu = separation.min(MAX);
    if mu <= MIN || ln_delta(mu, 0.0) <= delta.ln() {
        return 0.0;
    }
    // At this end a = −√(2 ln 1/δ), where Φ(a) ≤ δ already.
    let most = mu * (0.5 * mu + (-2.0 * delta.ln()).sqrt());
    crossing(|epsilon| ln_delta(mu, epsilon), delta.ln(), 0.0, most)
}

/// ln δ of Gaussian noise at this separation: rises with μ, falls with ε.
fn ln_delta(mu: f64, epsilon: f64) -> f64 {
    let (a, b) = (0.5 * mu - epsilon / mu, 0.5 * mu + epsilon / mu);
    if a > 1.0 {
        // δ is above 0.68 here, so nothing cancels.
        return (-ln_complement(mu, epsilon).exp()).ln_1p();
    }
    let difference = if mu < MIN_WIDE_SEPARATION { mills_decrease(-a, mu) } else { mills(-a) - mills(b) };
    difference.ln() - 0.5 * a * a - LN_SQRT_TAU
}

/// ln(1 − δ), for δ near one: 1 − δ = Φ(−a) + φ(a) m(b).
fn ln_complement(mu: f64, epsilon: f64) -> f64 {
    let (a, b) = (0.5 * mu - epsilon / mu, 0.5 * mu + epsilon / mu);
    (normal::above(a) + (-0.5 * a * a - LN_SQRT_TAU).exp() * mills(b)).ln()
}

/// m(x) = Φ(−x)/φ(x).
fn mills(x: f64) -> f64 {
    if x < MIN_FRACTION_ARGUMENT {
        FRAC_PI_2.sqrt() * (0.5 * x * x).exp() * libm::erfc(x / SQRT_2)
    } else {
        1.0 / (x + mills_tail(x))
    }
}

/// r(x) with m(x) = 1/(x + r(x)): Laplace's continued fraction 1/(x + 2/(x + 3/(x + …))).
fn mills_tail(x: f64) -> f64 {
    1.0 / (x + (2..=TERMS).rev().fold(0.0, |tail, k| f64::from(k) / (x + tail)))
}

/// −m'(x) = 1 − x m(x).
fn mills_slope(x: f64) -> f64 {
    if x < MIN_FRACTION_ARGUMENT {
        1.0 - x * mills(x)
    } else {
        let tail = mills_tail(x);
        tail / (x + tail)
    }
}

/// m(x) − m(x + width) for a narrow width.
fn mills_decrease(x: f64, width: f64) -> f64 {
    const NODES: [(f64, f64); 3] = [
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    let (middle, half) = (x + 0.5 * width, 0.5 * width);
    let pair = |(node, weight): (f64, f64)| {
        let both = mills_slope(middle - half * node) + mills_slope(middle + half * node);
        weight * if node == 0.0 { 0.5 * both } else { both }
    };
    half * NODES.into_iter().map(pair).sum::<f64>()
}

/// The largest ρ whose tight conversion to (ε, δ) meets δ.
fn zcdp_rho(epsilon: f64, delta: f64) -> f64 {
    const MIN: f64 = 1e-20;
    const MAX: f64 = 1e7;
    let ln_delta = |ln_rho: f64| zcdp_ln_delta(ln_rho.exp(), epsilon);
    crossing(|ln_rho| -ln_delta(ln_rho), -delta.ln(), MIN.ln(), MAX.ln()).exp()
}

/// ln δ of ρ-zCDP at ε: the minimum over orders α > 1 of (α − 1)(αρ − ε + ln(1 − 1/α)) − ln α. Its
/// derivative (2α − 1)ρ − ε + ln(1 − 1/α) increases with α, so there is exactly one.
fn zcdp_ln_delta(rho: f64, epsilon: f64) -> f64 {
    // In u = ln(α − 1): ln(1 − 1/α) = u − ln(1 + e^u) = −ln(1 + e^−u), each used where nothing
    // cancels.
    let ln_share = |u: f64| if u < 0.0 { u - u.exp().ln_1p() } else { -(-u).exp().ln_1p() };
    let slope = |u: f64| (1.0 + 2.0 * u.exp()) * rho - epsilon + ln_share(u);
    let u = crossing(|u| -slope(u), 0.0, -1100.0, 60.0);
    u.exp() * ((1.0 + u.exp()) * rho - epsilon + ln_share(u)) - u.exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (ε, δ, σ by the exact curve, σ by zCDP), from references of 35 digits.
    fn references() -> Vec<[f64; 4]> {
        let text = include_str!("../../evertally/tests/data/calibration.csv");
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let number = |field: &str| field.parse::<f64>().unwrap();
        lines.map(|line| line.split(',').map(number).collect::<Vec<_>>().try_into().unwrap()).collect()
    }

    fn is_close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-10
    }

    #[test]
    fn separations_are_those_of_the_references() {
        for [epsilon, delta, exact, zcdp] in references() {
            let found = (1.0 / separation(epsilon, delta), 1.0 / (2.0 * zcdp_rho(epsilon, delta)).sqrt());
            assert!(is_close(found.0, exact), "exact, ε = {epsilon}, δ = {delta}: {} {exact}", found.0);
            assert!(is_close(found.1, zcdp), "zCDP, ε = {epsilon}, δ = {delta}: {} {zcdp}", found.1);
        }
    }

    /// The commonly quoted figure, and the same curve in the other direction.
    #[test]
    fn the_usual_budget_has_its_usual_noise() {
        let mu = allowed_separation(&Budget::new(1.0, 1e-6).unwrap());
        assert!((1.0 / mu - 4.2247).abs() < 5e-5, "{mu}");
        assert!((epsilon_of_separation(mu, 1e-6) - 1.0).abs() < 1e-9);
        for [epsilon, delta, exact, _] in references().into_iter().filter(|reference| reference[1] <= 0.5) {
            let found = epsilon_of_separation(1.0 / exact, delta);
            assert!((found / epsilon - 1.0).abs() < 1e-7, "ε = {epsilon}, δ = {delta}: {found}");
        }
        assert_eq!((epsilon_of_separation(1e-13, 1e-6), epsilon_of_separation(1e-7, 1e-6)), (0.0, 0.0));
        assert!(epsilon_of_separation(f64::INFINITY, 1e-6) > 1e11);
    }

    /// The library agrees for every valid budget. A mistake in either would break the agreement.
    #[test]
    fn every_kind_of_budget_is_read_by_its_own_definition() {
        let mut budgets = vec![Budget::zcdp(0.02).unwrap(), Budget::zcdp(3.0).unwrap()];
        budgets.extend([1e-6, 0.3, 40.0].map(|epsilon| Budget::pure(epsilon).unwrap()));
        for epsilon in [1e-6, 1e-4, 0.3, 0.99, 7.0, 1000.0] {
            for delta in [1e-300, 1e-40, 1e-12, 1e-9, 1e-5, 0.01, 0.7] {
                let budget = Budget::new(epsilon, delta).unwrap();
                budgets.extend([budget, budget.with_calibration(Calibration::Zcdp).unwrap()]);
                budgets.extend(budget.with_calibration(Calibration::Paper));
            }
        }
        for budget in budgets {
            let found = 1.0 / allowed_separation(&budget);
            let theirs = budget.noise_multiplier();
            assert!((found / theirs - 1.0).abs() < 1e-10, "{budget}: {found} {theirs}");
        }
    }
}
