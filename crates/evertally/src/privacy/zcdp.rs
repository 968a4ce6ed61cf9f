//! Zero-concentrated differential privacy and its conversion to (ε, δ).
//!
//! **Definition.** Gaussian noise σ at ℓ2 sensitivity 1 is ρ-zCDP with ρ = 1/(2σ²). A ρ-zCDP
//! mechanism is (ε, δ)-private for every order α > 1 with
//!
//! > ε ≥ αρ + ln(1/(αδ))/(α − 1) + ln(1 − 1/α)
//!
//! (Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy", 2020). So ε(ρ)
//! is the minimum over α. Since the condition is linear in ρ, the largest ρ for a given ε is max_α
//! \[ε − ln(1/(αδ))/(α − 1) − ln(1 − 1/α)\]/α. Each function is the inverse of the other.
//!
//! **Guarantee.** Each order is sound by itself, so the search over α can lose accuracy but never
//! privacy. It loses no accuracy either. As a function of α, ln δ is h(α) = (α−1)(αρ−ε) + α
//! ln(1−1/α) − ln(α−1), with the second derivative 2ρ + 1/(α(α−1)) > 0. So both objectives have a
//! single extremum, where h' = (2α−1)ρ − ε + ln(1−1/α) changes sign. Bisection finds it, and the
//! value there is flat. The rounding of the terms is bounded by their sizes and added on the safe
//! side. σ is within a relative 10⁻¹² of the optimum (tested from ε = 10⁻⁶ to 1000).
//!
//! **Cost.** 64 evaluations of two logarithms.

use super::calibration::{MAX_EPSILON, MIN_EPSILON, check_delta, check_in};
use super::sensitivity::round_up;
use crate::Result;

/// The accepted range of ρ. It contains the ρ of every accepted (ε, δ).
pub(super) const RHO_RANGE: (f64, f64) = (1e-18, 1e6);

/// A bound on the relative rounding error of each term, eight units: a logarithm, a product, a
/// quotient and a sum.
const TERM_ERROR: f64 = 8.0 * f64::EPSILON;

/// The largest ρ for which every ρ-zCDP mechanism is (ε, δ)-private by the tight conversion. It is
/// rounded down.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000 and 10⁻³⁰⁰ ≤ δ < 1.
///
/// ```
/// let rho = evertally::privacy::zcdp_rho(1.0, 1e-6)?;
/// assert!((rho - 0.024_355_970).abs() < 1e-9);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn zcdp_rho(epsilon: f64, delta: f64) -> Result<f64> {
    check_in("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)?;
    check_delta(delta)?;
    // To the right of the best order the slope h' is positive.
    let best = bisect_order(|order| {
        let rho = (epsilon - order.cost(delta)) / order.alpha();
        (order.alpha() + order.above_one) * rho > epsilon + order.ln_ratio()
    });
    let error = TERM_ERROR * (epsilon + best.cost_size(delta));
    let rho = (epsilon - best.cost(delta) - error) / best.alpha();
    Ok(rho * (1.0 - TERM_ERROR))
}

/// The smallest σ for which Gaussian noise at ℓ2 sensitivity 1 is (ε, δ)-private by way of zCDP:
/// 1/√(2ρ) at [`zcdp_rho`], rounded up. It is always above
/// [`gaussian_sigma`](super::gaussian_sigma). Use it if the same noise is composed with other zCDP
/// releases.
///
/// # Errors
/// As for [`zcdp_rho`].
///
/// ```
/// let sigma = evertally::privacy::zcdp_sigma(1.0, 1e-6)?;
/// assert!((sigma - 4.530_877_117_036_444).abs() < 1e-11);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn zcdp_sigma(epsilon: f64, delta: f64) -> Result<f64> {
    Ok(sigma_of_rho(zcdp_rho(epsilon, delta)?))
}

/// The smallest ε ≥ 0 for which every ρ-zCDP mechanism is (ε, δ)-private by the tight conversion.
/// It is rounded up.
///
/// # Errors
/// `BadParameter` unless 10⁻¹⁸ ≤ ρ ≤ 10⁶ and 10⁻³⁰⁰ ≤ δ < 1.
///
/// ```
/// let epsilon = evertally::privacy::zcdp_epsilon(0.1, 1e-6)?;
/// assert!((epsilon - 2.141_938_928_8).abs() < 1e-9);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn zcdp_epsilon(rho: f64, delta: f64) -> Result<f64> {
    check_rho(rho)?;
    check_delta(delta)?;
    let best = bisect_order(|order| {
        let epsilon = order.alpha() * rho + order.cost(delta);
        (order.alpha() + order.above_one) * rho > epsilon + order.ln_ratio()
    });
    let linear = best.alpha() * rho;
    let error = TERM_ERROR * (linear + best.cost_size(delta));
    Ok((linear + best.cost(delta) + error).max(0.0))
}

/// The smallest δ for which every ρ-zCDP mechanism is (ε, δ)-private by the tight conversion. It is
/// rounded up.
///
/// # Errors
/// `BadParameter` unless 10⁻¹⁸ ≤ ρ ≤ 10⁶ and 0 ≤ ε ≤ 10¹².
///
/// ```
/// let delta = evertally::privacy::zcdp_delta(0.1, 2.141_938_928_8)?;
/// assert!((delta / 1e-6 - 1.0).abs() < 1e-8);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn zcdp_delta(rho: f64, epsilon: f64) -> Result<f64> {
    check_rho(rho)?;
    check_in("epsilon", epsilon, 0.0, 1e12)?;
    let best = bisect_order(|order| (order.alpha() + order.above_one) * rho > epsilon + order.ln_ratio());
    // ln δ is h(α) of the module documentation.
    let (u, alpha) = (best.above_one, best.alpha());
    let ln_delta = u * (alpha * rho - epsilon) - alpha * best.ln_ratio() - u.ln();
    let size = u * (alpha * rho + epsilon) + alpha * best.ln_ratio() + u.ln().abs();
    Ok(round_up((ln_delta + TERM_ERROR * size).exp(), TERM_ERROR).min(1.0))
}

/// σ = 1/√(2ρ), rounded up past the three roundings of the formula.
pub(super) fn sigma_of_rho(rho: f64) -> f64 {
    round_up(1.0 / (2.0 * rho).sqrt(), 4.0 * f64::EPSILON)
}

/// Refuses a ρ outside [`RHO_RANGE`].
pub(super) fn check_rho(rho: f64) -> Result<()> {
    check_in("rho", rho, RHO_RANGE.0, RHO_RANGE.1)
}

/// An order α = 1 + u, stored as u because the best α may be within 10⁻¹⁶ of 1.
#[derive(Debug, Clone, Copy)]
struct Order {
    above_one: f64,
}

impl Order {
    fn alpha(self) -> f64 {
        1.0 + self.above_one
    }

    /// −ln(1 − 1/α) = ln(1 + 1/u) > 0.
    fn ln_ratio(self) -> f64 {
        (1.0 / self.above_one).ln_1p()
    }

    /// ln(1/(αδ))/(α − 1) + ln(1 − 1/α), which the conversion adds to αρ.
    fn cost(self, delta: f64) -> f64 {
        (-delta.ln() - self.above_one.ln_1p()) / self.above_one - self.ln_ratio()
    }

    /// The sum of the absolute values of the terms of [`cost`](Self::cost). Its rounding error is
    /// relative to this sum.
    fn cost_size(self, delta: f64) -> f64 {
        (-delta.ln() + self.above_one.ln_1p()) / self.above_one + self.ln_ratio()
    }
}

/// The order at which `is_right` changes from false to true, bisected in ln(α − 1).
fn bisect_order(is_right: impl Fn(Order) -> bool) -> Order {
    let at = |ln_u: f64| Order { above_one: ln_u.exp() };
    let (mut low, mut high) = (-60.0, 60.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if is_right(at(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    at((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{gaussian_epsilon, gaussian_sigma};

    #[test]
    fn no_order_on_a_grid_is_better() {
        for epsilon in [1e-3, 0.3, 1.0, 8.0, 50.0] {
            for delta in [1e-300, 1e-20, 1e-6, 1e-2, 0.5, 0.9] {
                let rho = zcdp_rho(epsilon, delta).unwrap();
                let spent = zcdp_epsilon(rho, delta).unwrap();
                for i in -2000..2000 {
                    let order = Order { above_one: (f64::from(i) / 50.0).exp() };
                    let other = (epsilon - order.cost(delta)) / order.alpha();
                    assert!(other <= rho * (1.0 + 1e-12), "{epsilon} {delta} {order:?}: {other} > {rho}");
                    let other = order.alpha() * rho + order.cost(delta);
                    assert!(
                        other >= spent - 1e-12 * (1.0 + spent),
                        "{epsilon} {delta} {order:?}: {other} < {spent}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_two_conversions_are_inverse() {
        for epsilon in [1e-6, 1e-3, 0.3, 1.0, 8.0, 50.0, 1000.0] {
            for delta in [1e-300, 1e-20, 1e-6, 1e-2, 0.5, 0.9] {
                let rho = zcdp_rho(epsilon, delta).unwrap();
                let back = zcdp_epsilon(rho, delta).unwrap();
                assert!((back - epsilon).abs() <= 1e-12 * (1.0 + epsilon), "{epsilon} {delta}: {back}");
            }
        }
    }

    #[test]
    fn delta_is_the_inverse_too() {
        for epsilon in [1e-3, 0.3, 1.0, 8.0, 50.0] {
            for delta in [1e-300, 1e-20, 1e-6, 1e-2, 0.5] {
                let rho = zcdp_rho(epsilon, delta).unwrap();
                let back = zcdp_delta(rho, epsilon).unwrap();
                assert!((back / delta - 1.0).abs() <= 1e-10, "{epsilon} {delta:e}: {back:e}");
                // Each order is sound by itself, so none may be better than the reported minimum.
                for i in -2000..2000 {
                    let order = Order { above_one: (f64::from(i) / 50.0).exp() };
                    let (u, alpha) = (order.above_one, order.alpha());
                    let ln_delta = u * (alpha * rho - epsilon) - alpha * order.ln_ratio() - u.ln();
                    assert!(ln_delta >= back.ln() - 1e-10, "{epsilon} {delta:e} {order:?}");
                }
            }
        }
        assert!(zcdp_delta(1e-18, 1e-6).unwrap() > 0.0);
        assert_eq!(zcdp_delta(1e6, 0.0).unwrap(), 1.0);
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(zcdp_delta(bad, 1.0).is_err());
            assert!(zcdp_delta(1.0, bad).is_err());
        }
    }

    #[test]
    fn zcdp_never_beats_the_exact_calibration() {
        for epsilon in [1e-6, 1e-3, 0.3, 1.0, 8.0, 50.0, 1000.0] {
            for delta in [1e-300, 1e-20, 1e-6, 1e-2, 0.5, 0.9] {
                let sigma = zcdp_sigma(epsilon, delta).unwrap();
                assert!(sigma > gaussian_sigma(epsilon, delta).unwrap());
                assert!(gaussian_epsilon(sigma, delta).unwrap() < epsilon);
            }
        }
    }

    #[test]
    fn a_large_delta_costs_no_epsilon() {
        assert_eq!(zcdp_epsilon(1e-18, 0.5).unwrap(), 0.0);
        assert!(zcdp_epsilon(1e6, 1e-300).unwrap() > 1e6);
    }

    #[test]
    fn refuses_what_it_cannot_answer() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(zcdp_epsilon(bad, 1e-6).is_err());
            assert!(zcdp_epsilon(0.1, bad).is_err());
            assert!(zcdp_rho(bad, 1e-6).is_err());
            assert!(zcdp_sigma(1.0, bad).is_err());
        }
    }
}
