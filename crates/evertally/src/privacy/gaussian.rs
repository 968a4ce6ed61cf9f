//! The exact privacy curve of the Gaussian mechanism.
//!
//! **Definition.** Noise of standard deviation σ on a query of ℓ2 sensitivity 1 is (ε, δ)-private
//! exactly when δ ≥ Φ(1/2σ − εσ) − e^ε Φ(−1/2σ − εσ) (Balle and Wang, "Improving the Gaussian
//! Mechanism for Differential Privacy", 2018, Theorem 8).
//!
//! **How it is computed.** That difference cancels, and e^ε may overflow. Put μ = 1/σ, a = μ/2 −
//! ε/μ, b = μ/2 + ε/μ. The privacy loss is ε + μY with Y ~ N(a, 1), and δ = E[(1 − e^{−μY})₊].
//! Since b² − a² = 2ε and b = μ − a,
//!
//! > δ = φ(a) ∫₀^∞ e^{−y²/2} e^{ay} (1 − e^{−μy}) dy and 1 − δ = φ(a) ∫₀^∞ e^{−y²/2} (e^{−ay} +
//! > e^{−by}) dy.
//!
//! Both integrands are positive, so neither loses digits. The first is used for δ ≤ ½, and the
//! second for 1 − δ otherwise. The integrals are computed by the trapezoidal rule after the
//! substitution y = ℓ·exp(t − e^{−t}) (double-exponential quadrature). The relative error is within
//! rounding for μ ≤ 46, which covers ε ≤ 1000 with δ ≤ ½. For larger μ it grows, but less than the
//! slope of ln δ, so in terms of σ it stays within rounding for any μ. That slope comes for free,
//! from ∂δ/∂μ = φ(a), and is used in Newton's method.
//!
//! **Guarantee.** The arithmetic error of ln δ is a few units of 2⁻⁵³·(1 + a²), plus the effect of
//! a relative error of a few units in μ. Per unit of ln μ, ln δ (or ln(1 − δ) if δ > ½) changes by
//! at least ½·max(1, a²). This is μφ(a)/δ, where the first integral is at most μ/a², and δ =
//! ∫φ(a(m))dm ≤ μφ(0) with a < 0.68; the complement likewise. So all errors together amount to a
//! few relative units of 2⁻⁵² in σ, and [`SIGMA_MARGIN`] covers them more than fifty times over.
//! Results are on the safe side of the truth, and within 2·10⁻¹³ of it in σ.
//!
//! **Cost.** 129 nodes per evaluation, about ten evaluations for σ, and at most 200 for ε: well
//! under a millisecond.

use super::calibration::{MAX_EPSILON, MIN_EPSILON, check_delta, check_in};
use super::sensitivity::{CompensatedSum, round_up};
use crate::Result;

/// Relative margin in σ, 2⁻⁴³ ≈ 1.1·10⁻¹³, by which every result of this module is moved to the
/// safe side.
pub(super) const SIGMA_MARGIN: f64 = 1.0 / (1u64 << 43) as f64;

/// ln √(2π).
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// The noise multipliers that [`gaussian_delta`] and [`gaussian_epsilon`] accept.
pub(super) const SIGMA_RANGE: (f64, f64) = (1e-6, 1e12);

/// The smallest σ for which Gaussian noise of standard deviation σ, on a query of ℓ2 sensitivity 1,
/// is (ε, δ)-private. It is rounded up, by a relative 2·10⁻¹³ at most.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ ε ≤ 1000 and 10⁻³⁰⁰ ≤ δ < 1.
///
/// ```
/// let sigma = evertally::privacy::gaussian_sigma(1.0, 1e-6)?;
/// assert!((sigma - 4.224_678_889_326_835).abs() < 1e-11);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn gaussian_sigma(epsilon: f64, delta: f64) -> Result<f64> {
    check_in("epsilon", epsilon, MIN_EPSILON, MAX_EPSILON)?;
    check_delta(delta)?;
    Ok(round_up(1.0 / solve_mu(epsilon, Target::new(delta)), SIGMA_MARGIN))
}

/// The smallest δ for which Gaussian noise of standard deviation σ, on a query of ℓ2 sensitivity 1,
/// is (ε, δ)-private. It is rounded up to the δ of a σ that is smaller by a relative 10⁻¹³ (a
/// relative 2·10⁻¹⁰ in δ at δ = 10⁻³⁰⁰, and less for larger δ). It is never zero, since no Gaussian
/// is purely private.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ σ ≤ 10¹² and 0 ≤ ε ≤ 10¹².
///
/// ```
/// let delta = evertally::privacy::gaussian_delta(4.224_678_889_326_836, 1.0)?;
/// assert!((delta / 1e-6 - 1.0).abs() < 1e-10);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn gaussian_delta(sigma: f64, epsilon: f64) -> Result<f64> {
    check_in("sigma", sigma, SIGMA_RANGE.0, SIGMA_RANGE.1)?;
    check_in("epsilon", epsilon, 0.0, 1e12)?;
    let point = Point::new(round_up(1.0 / sigma, SIGMA_MARGIN), epsilon);
    let delta = if point.a <= 0.0 { point.ln_delta().exp() } else { 1.0 - point.ln_complement().exp() };
    // One more step up: the exponential and the subtraction round once each, and a value below the
    // smallest float must not become zero.
    Ok(round_up(delta, 4.0 * f64::EPSILON).min(1.0))
}

/// The ε that Gaussian noise of standard deviation σ on a query of ℓ2 sensitivity 1 actually spends
/// at δ: the smallest ε ≥ 0 for which the noise is (ε, δ)-private. It is rounded up to the ε of a σ
/// that is smaller by a relative 10⁻¹³.
///
/// # Errors
/// `BadParameter` unless 10⁻⁶ ≤ σ ≤ 10¹² and 10⁻³⁰⁰ ≤ δ < 1.
///
/// ```
/// let epsilon = evertally::privacy::gaussian_epsilon(4.224_678_889_326_836, 1e-6)?;
/// assert!((epsilon - 1.0).abs() < 1e-11);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn gaussian_epsilon(sigma: f64, delta: f64) -> Result<f64> {
    check_in("sigma", sigma, SIGMA_RANGE.0, SIGMA_RANGE.1)?;
    check_delta(delta)?;
    let target = Target::new(delta);
    let mu = round_up(1.0 / sigma, SIGMA_MARGIN);
    if target.excess(&Point::new(mu, 0.0)) <= 0.0 {
        return Ok(0.0);
    }
    // The upper end is safe: there a = −√(2 ln 1/δ), and δ(μ) ≤ Φ(a) ≤ e^{−a²/2} = δ. Every later
    // upper end has been evaluated and found to be within the target, so the bisection may stop
    // anywhere.
    let mut low = 0.0;
    let mut high = round_up(mu * (mu / 2.0 + (-2.0 * delta.ln()).sqrt()), SIGMA_MARGIN);
    for _ in 0..200 {
        if high - low <= high * f64::EPSILON || high < 1e-15 {
            break;
        }
        let middle = low + (high - low) / 2.0;
        if target.excess(&Point::new(mu, middle)) <= 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high.next_up())
}

/// The largest μ = 1/σ with δ(μ) ≤ δ, to a relative 2⁻⁴⁷ on either side.
fn solve_mu(epsilon: f64, target: Target) -> f64 {
    // Lower end: a = −z with z = √(2 ln 1/δ), where δ(μ) ≤ Φ(−z) ≤ e^{−z²/2} = δ. Upper end: double
    // until the target is missed.
    let z = (-2.0 * target.delta.ln()).sqrt();
    let mut low = 2.0 * epsilon / (z + (z * z + 2.0 * epsilon).sqrt());
    let mut high = 2.0 * low;
    while target.excess(&Point::new(high, epsilon)) <= 0.0 {
        low = high;
        high *= 2.0;
    }
    // Newton's method in ln μ multiplies μ itself, so that a large |ln μ| costs no digits. If a
    // step would leave the bracket, the geometric mean replaces it.
    let mut mu = low;
    for _ in 0..200 {
        let point = Point::new(mu, epsilon);
        let excess = target.excess(&point);
        if excess <= 0.0 {
            low = low.max(mu);
        } else {
            high = high.min(mu);
        }
        let step = -excess / target.slope(&point);
        if step.abs() < 1.0 / (1u64 << 47) as f64 {
            return mu * step.exp();
        }
        let newton = mu * step.exp();
        mu = if newton > low && newton < high { newton } else { (low * high).sqrt() };
    }
    // Not reached in practice. The lower end of the bracket has been evaluated and is safe.
    low
}

/// A target δ, compared on the logarithmic scale of the smaller of δ and 1 − δ.
#[derive(Debug, Clone, Copy)]
struct Target {
    delta: f64,
    /// ln δ, or ln(1 − δ) if δ > ½ (the subtraction is exact there).
    ln_smaller: f64,
}

impl Target {
    fn new(delta: f64) -> Self {
        let ln_smaller = if delta <= 0.5 { delta.ln() } else { (1.0 - delta).ln() };
        Self { delta, ln_smaller }
    }

    /// Positive if δ(μ, ε) exceeds the target. It increases in μ and decreases in ε.
    fn excess(self, point: &Point) -> f64 {
        if self.delta <= 0.5 {
            point.ln_delta() - self.ln_smaller
        } else {
            self.ln_smaller - point.ln_complement()
        }
    }

    /// The derivative of the excess by ln μ, from ∂δ/∂μ = φ(a).
    fn slope(self, point: &Point) -> f64 {
        let ln_smaller = if self.delta <= 0.5 { point.ln_delta() } else { point.ln_complement() };
        point.mu * (point.ln_density() - ln_smaller).exp()
    }
}

/// One point of the curve.
#[derive(Debug, Clone, Copy)]
struct Point {
    mu: f64,
    a: f64,
    b: f64,
}

impl Point {
    fn new(mu: f64, epsilon: f64) -> Self {
        Self { mu, a: mu / 2.0 - epsilon / mu, b: mu / 2.0 + epsilon / mu }
    }

    /// ln φ(a).
    fn ln_density(&self) -> f64 {
        -self.a * self.a / 2.0 - LN_SQRT_TAU
    }

    /// ln δ. For a > 1 the complement is below ⅓ and is the better-behaved integral.
    fn ln_delta(&self) -> f64 {
        if self.a > 1.0 {
            return (-self.ln_complement().exp()).ln_1p();
        }
        let scale = 1.0 / (-self.a).max(1.0);
        let integral = quadrature(scale, |y| (y * (self.a - y / 2.0)).exp() * -(-self.mu * y).exp_m1());
        self.ln_density() + integral.ln()
    }

    /// ln(1 − δ). For a < 0, δ ≤ Φ(a) is below ½ and is the better-behaved integral.
    fn ln_complement(&self) -> f64 {
        if self.a < 0.0 {
            return (-self.ln_delta().exp()).ln_1p();
        }
        let scale = 1.0 / self.a.max(1.0);
        let integral =
            quadrature(scale, |y| (-y * (self.a + y / 2.0)).exp() + (-y * (self.b + y / 2.0)).exp());
        self.ln_density() + integral.ln()
    }
}

/// ∫₀^∞ f(y) dy for a positive f that decays at least like e^{−y/scale} or e^{y−y²/2}.
///
/// With y = scale·exp(t − e^{−t}) the integrand vanishes doubly exponentially on both sides, and
/// the trapezoidal rule converges geometrically in the number of nodes. At t = −4 the weight is
/// 10⁻²⁴; at t = 4 the argument has passed 50 scales. A step four times finer changes no σ by more
/// than rounding (tested).
fn quadrature(scale: f64, f: impl Fn(f64) -> f64) -> f64 {
    quadrature_with(16, scale, f)
}

fn quadrature_with(nodes_per_unit: i32, scale: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = 1.0 / f64::from(nodes_per_unit);
    let mut sum = CompensatedSum::default();
    for node in -4 * nodes_per_unit..=4 * nodes_per_unit {
        let t = f64::from(node) * step;
        let inverse = (-t).exp();
        let y = scale * (t - inverse).exp();
        sum.add(f(y) * y * (1.0 + inverse));
    }
    sum.value() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrature_has_converged() {
        for a in [-40.0, -8.0, -1.0, -0.3, 0.0, 0.5, 1.0] {
            for mu in [1e-8, 1e-3, 0.5, 1.4, 10.0, 46.0, 1e6] {
                let f = |y: f64| (y * (a - y / 2.0)).exp() * -(-mu * y).exp_m1();
                let scale = 1.0 / (-a).max(1.0);
                let coarse = quadrature(scale, f);
                let fine = quadrature_with(64, scale, f);
                let error = coarse / fine - 1.0;
                // In terms of ln σ an error is divided by the slope of ln δ, which is μ/integral.
                assert!((error * fine / mu).abs() < 1e-15, "a = {a}, mu = {mu}: {coarse} against {fine}");
                assert!(mu > 46.0 || error.abs() < 1e-15, "a = {a}, mu = {mu}: {coarse} against {fine}");
            }
        }
    }

    #[test]
    fn quadrature_of_known_integrals() {
        // ∫ e^{−y²/2} = √(π/2), and ∫ y e^{−y²/2} = 1.
        let half = quadrature(1.0, |y| (-y * y / 2.0).exp());
        assert!((half / std::f64::consts::FRAC_PI_2.sqrt() - 1.0).abs() < 1e-15);
        let one = quadrature(1.0, |y| y * (-y * y / 2.0).exp());
        assert!((one - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_two_integrals_are_complements() {
        for (mu, epsilon) in [(1.0, 0.1), (2.0, 0.5), (0.5, 0.01), (30.0, 440.0), (2.0, 1.0)] {
            let point = Point::new(mu, epsilon);
            assert!((0.0..=1.0).contains(&point.a));
            let sum = point.ln_delta().exp() + point.ln_complement().exp();
            assert!((sum - 1.0).abs() < 1e-14, "mu = {mu}, epsilon = {epsilon}: {sum}");
        }
    }

    #[test]
    fn slope_is_the_derivative() {
        for (mu, epsilon, delta) in [(0.3, 1.0, 1e-5), (3.0, 1.0, 0.9), (1.0, 0.01, 0.3)] {
            let target = Target::new(delta);
            let h = 1e-5;
            let up = target.excess(&Point::new(mu * (1.0 + h), epsilon));
            let down = target.excess(&Point::new(mu * (1.0 - h), epsilon));
            let slope = target.slope(&Point::new(mu, epsilon));
            assert!(((up - down) / (2.0 * h) / slope - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn delta_and_epsilon_undo_sigma_on_the_safe_side() {
        for epsilon in [1e-3, 0.1, 1.0, 7.0, 50.0] {
            for delta in [1e-300, 1e-50, 1e-9, 1e-3, 0.4, 0.6, 0.99] {
                let sigma = gaussian_sigma(epsilon, delta).unwrap();
                // Removing the margins of both calls must bracket the original parameters.
                let spent = gaussian_epsilon(sigma * (1.0 - 2.0 * SIGMA_MARGIN), delta).unwrap();
                assert!(
                    spent >= epsilon && spent <= epsilon + 1e-11 * (1.0 + epsilon),
                    "{epsilon} {delta}: {spent}"
                );
                let leaked = gaussian_delta(sigma * (1.0 - 2.0 * SIGMA_MARGIN), epsilon).unwrap();
                assert!(leaked >= delta && leaked <= delta * (1.0 + 2e-9), "{epsilon} {delta}: {leaked}");
            }
        }
    }

    #[test]
    fn extreme_noise_is_answered() {
        assert!(gaussian_delta(1e12, 1e12).unwrap() > 0.0);
        assert_eq!(gaussian_delta(1e-6, 0.0).unwrap(), 1.0);
        assert_eq!(gaussian_epsilon(1e12, 1e-3).unwrap(), 0.0);
        // Far out ε ≈ μ²/2 + 37μ, with 37 the normal quantile of 1e-300.
        let epsilon = gaussian_epsilon(1e-6, 1e-300).unwrap();
        assert!(epsilon > 5e11 && epsilon < 5.001e11);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7] {
            assert!(gaussian_delta(bad, 1.0).is_err());
            assert!(gaussian_epsilon(bad, 1e-6).is_err());
        }
    }
}
