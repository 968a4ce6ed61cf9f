//! Nodes that turn x^{-1/2} into a short sum of simple fractions, by Jacobi's elliptic functions.
//!
//! **Definition.** x^{-1/2} = (2/π)∫₀^∞ dt/(x+t²). With t = √a·sc(u|m), m = 1 − a/b, and the midpoint rule of J points in u over
//! (0, K(m)), x^{-1/2} ≈ Σ_j w_j/(x + s_j).
//!
//! **Guarantee.** For x in \[a, b\] the relative error falls geometrically in J, at a rate of the order of 1/ln(b/a): 10⁻³ at ten terms and
//! 10⁻⁷ at twenty for b/a = 3400. Nothing private hangs on it: whatever sum comes out is the one that is run and accounted.
//!
//! **Cost.** O(J). **Source.** Hale, Higham and Trefethen, "Computing A^α, log(A) and related matrix functions by contour
//! integrals" (2008); the arithmetic–geometric mean for sc is Abramowitz and Stegun 16.4.

use std::f64::consts::{FRAC_PI_2, PI};

/// One term w/(x + s).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fraction {
    pub(super) shift: f64,
    pub(super) weight: f64,
}

/// The arithmetic–geometric means from (1, √m₁): pairs (a, c) with c the half difference, to full precision.
fn means(m1: f64) -> Vec<(f64, f64)> {
    let (mut a, mut b) = (1.0_f64, m1.sqrt());
    let mut steps = vec![(a, (1.0 - m1).sqrt())];
    while steps.last().is_some_and(|(a, c)| *c > f64::EPSILON * a) && steps.len() < 64 {
        let c = 0.5 * (a - b);
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
        steps.push((a, c));
    }
    steps
}

/// K(m), given the complementary parameter m₁ = 1 − m, which keeps its digits where m is close to one.
pub(super) fn complete_integral(m1: f64) -> f64 {
    means(m1).last().map_or(f64::NAN, |(a, _)| FRAC_PI_2 / a)
}

/// sc(u|m) = sn/cn for 0 < u ≤ K/2; the other half follows from sc(K−u) = 1/(√m₁·sc(u)).
fn sc_lower_half(u: f64, m1: f64) -> f64 {
    let steps = means(m1);
    let last = steps.len() - 1;
    let mut phi = libm::ldexp(steps[last].0 * u, last as i32);
    for (a, c) in steps[1..].iter().rev() {
        phi = 0.5 * (phi + libm::asin((c / a * libm::sin(phi)).clamp(-1.0, 1.0)));
    }
    libm::tan(phi)
}

/// sc(u|m) for 0 < u < K.
pub(super) fn sc(u: f64, m1: f64) -> f64 {
    let quarter = complete_integral(m1);
    if u <= 0.5 * quarter { sc_lower_half(u, m1) } else { 1.0 / (m1.sqrt() * sc_lower_half(quarter - u, m1)) }
}

/// The J terms for the interval \[low, high\], shifts ascending.
pub(super) fn inverse_square_root(low: f64, high: f64, terms: usize) -> Vec<Fraction> {
    let m1 = low / high;
    let quarter = complete_integral(m1);
    (0..terms)
        .map(|j| {
            let tangent = sc((j as f64 + 0.5) * quarter / terms as f64, m1);
            let square = tangent * tangent;
            // dt/du = √a·dn/cn², and both are algebraic in sc.
            let slope = ((1.0 + m1 * square) * (1.0 + square)).sqrt();
            Fraction { shift: low * square, weight: 2.0 * quarter / (PI * terms as f64) * low.sqrt() * slope }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_complete_integral_has_known_values() {
        // K(0) = π/2; K(1/2) = Γ(1/4)²/(4√π); K near one is ln 4/√m₁ + (m₁/4)(ln 4/√m₁ − 1).
        assert!((complete_integral(1.0) - FRAC_PI_2).abs() < 1e-15);
        assert!((complete_integral(0.5) - 1.854_074_677_301_371_9).abs() < 1e-15);
        let m1 = 1e-9_f64;
        let asymptotic = (4.0 / m1.sqrt()).ln();
        let expected = asymptotic + m1 / 4.0 * (asymptotic - 1.0);
        assert!((complete_integral(m1) / expected - 1.0).abs() < 1e-14);
    }

    #[test]
    fn sc_solves_its_differential_equation_and_its_symmetry() {
        for m1 in [0.9, 0.5, 0.01, 1e-6, 1e-12] {
            let quarter = complete_integral(m1);
            // sc(K/2) = m₁^{-1/4}.
            assert!((sc(0.5 * quarter, m1) * m1.sqrt().sqrt() - 1.0).abs() < 1e-11, "{m1}");
            for i in 1..20 {
                let (u, h) = (f64::from(i) / 20.0 * quarter, 1e-5);
                let slope = (sc(u + h, m1) - sc(u - h, m1)) / (2.0 * h);
                let square = sc(u, m1).powi(2);
                let expected = ((1.0 + m1 * square) * (1.0 + square)).sqrt();
                // The quotient magnifies rounding in sc, some 10⁻¹² here, by 1/h, and is curved close to the pole at K.
                assert!((slope / expected - 1.0).abs() < 1e-6, "{m1} {u}: {slope} {expected}");
            }
        }
    }

    #[test]
    fn the_fractions_approach_the_inverse_root() {
        let (low, high) = (0.6 / 1024.0, 2.0);
        let largest = |terms| {
            let fractions = inverse_square_root(low, high, terms);
            (0..200)
                .map(|i| {
                    let x = low * (high / low).powf(f64::from(i) / 199.0);
                    let sum: f64 = fractions.iter().map(|f| f.weight / (x + f.shift)).sum();
                    (sum * x.sqrt() - 1.0).abs()
                })
                .fold(0.0, f64::max)
        };
        assert!(
            largest(10) < 1e-3 && largest(20) < 1e-7 && largest(40) < 2e-14,
            "{} {} {}",
            largest(10),
            largest(20),
            largest(40)
        );
    }
}
