//! Nodes that make the inverse square root a short sum of resolvents.
//!
//! **Definition.** x^{-1/2} = (2/π)∫₀^∞ dt/(x + t²). With t = √a·sc(u|m), m = 1 − a/b, the midpoint
//! rule with J nodes in u over (0, K(m)) gives x^{-1/2} ≈ r(x) = Σ_j w_j/(x + s_j).
//!
//! **Guarantee.** For x in [a, b] write x = a/dn²(z). The addition theorem turns √x·(integrand at
//! u) into ½(dn(u+z) + dn(u−z)), so √x·r(x) is a mean of dn over 2J evenly spaced points, and of
//! its Fourier series only every (2J)-th term remains: √x·r(x) = 1 + 4 Σ_{l≥1} (−1)^l
//! Q^l/(1+Q^{2l}) cos(2Jlπz/K) with Q = q^{2J} and the nome q = exp(−πK′/K). Hence |√x·r(x) − 1| ≤
//! 4Q/(1−Q) on all of [a, b].
//!
//! The arithmetic gives the same bits on every machine, because the noise of the graded square root
//! depends on it.
//!
//! **Cost.** J ≈ ln(4/ε)·ln(16 b/a)/(2π²): 44 nodes for 10⁻¹¹ at b/a = 10¹³.
//!
//! **Source.** Hale, Higham and Trefethen, *Computing A^α, log(A) and related matrix functions by
//! contour integrals* (2008); the nodes are those of Zolotarev's best rational approximation.

use std::f64::consts::FRAC_PI_2;

/// One term w/(x + s).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fraction {
    pub(crate) shift: f64,
    pub(crate) weight: f64,
}

/// The arithmetic–geometric mean.
fn mean_of_means(mut a: f64, mut b: f64) -> f64 {
    // Converges quadratically for every ratio that a float can have.
    for _ in 0..40 {
        if (a - b).abs() <= f64::EPSILON * a {
            break;
        }
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    a
}

/// The complete elliptic integral K(m), given the complement 1 − m: near m = 1 only the complement
/// is accurate.
pub(crate) fn complete_integral(complement: f64) -> f64 {
    FRAC_PI_2 / mean_of_means(1.0, complement.sqrt())
}

/// sc(u|m) = sn/cn for 0 ≤ u < K, given 1 − m.
fn sc(u: f64, complement: f64) -> f64 {
    let quarter = complete_integral(complement);
    if u > 0.5 * quarter {
        // sc(u)·sc(K − u) = (1−m)^{-1/2}: towards K the function has a pole.
        return 1.0 / (complement.sqrt() * sc(quarter - u, complement));
    }
    sc_by_landen(u, complement.sqrt())
}

/// sc(u|1−k²) = −i·sn(iu|k²) by Landen's transformation, which makes k small; at k = 0 it is sinh u.
///
/// Below K/2, sc is at most k^{-1/2}, so the subtraction does not cancel.
fn sc_by_landen(u: f64, k: f64) -> f64 {
    if k < 1e-17 {
        return libm::sinh(u);
    }
    let smaller = (k / (1.0 + ((1.0 - k) * (1.0 + k)).sqrt())).powi(2);
    let inner = sc_by_landen(u / (1.0 + smaller), smaller);
    (1.0 + smaller) * inner / (1.0 - smaller * inner * inner)
}

/// The J terms for the spectrum [low, high], shifts ascending.
pub(crate) fn inverse_square_root(low: f64, high: f64, terms: usize) -> Vec<Fraction> {
    let complement = complement(low, high);
    let spacing = complete_integral(complement) / terms as f64;
    (0..terms)
        .map(|j| {
            let tangent = sc((j as f64 + 0.5) * spacing, complement);
            let square = tangent * tangent;
            // dt/du = √a·dn/cn² = √a·√((1 + (1−m) sc²)(1 + sc²)).
            let slope = ((1.0 + complement * square) * (1.0 + square) * low).sqrt();
            Fraction { shift: low * square, weight: slope * spacing / FRAC_PI_2 }
        })
        .collect()
}

/// The J − 1 shifts s at which Σ_j w_j/(x + s_j) is zero at x = −s, ascending. They lie half-way
/// between the nodes of [`inverse_square_root`] in u, like the poles and zeros of Zolotarev's
/// functions.
pub(crate) fn inverse_square_root_zeros(low: f64, high: f64, terms: usize) -> Vec<f64> {
    let complement = complement(low, high);
    let spacing = complete_integral(complement) / terms as f64;
    let shift = |j: usize| low * libm::pow(sc(j as f64 * spacing, complement), 2.0);
    (1..terms).map(shift).collect()
}

/// 1 − m for a spectrum. An interval of no width would make the nome zero.
pub(crate) fn complement(low: f64, high: f64) -> f64 {
    (low / high).min(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elliptic_functions_at_known_points() {
        // K(m) → ln(4/√(1−m)).
        assert!((complete_integral(1e-20) - (4.0 / 1e-10_f64).ln()).abs() < 1e-12);
        // sc(K/2|m) = (1−m)^{-1/4}; sc(u|1) = sinh u; sc(u|m) → tan u as m → 0.
        for complement in [1e-20, 1e-14, 1e-6, 0.25, 0.9] {
            let half = sc(0.5 * complete_integral(complement), complement);
            assert!((half * complement.powf(0.25) - 1.0).abs() < 1e-12, "{complement}: {half}");
        }
        assert!((sc(0.7, 1.0 - 1e-12) - 0.7_f64.tan()).abs() < 1e-11);
        assert!((sc(3.0, 1e-18) / 3.0_f64.sinh() - 1.0).abs() < 1e-13);
    }

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
                // The quotient magnifies rounding in sc, some 10⁻¹² here, by 1/h, and is curved
                // close to the pole at K.
                assert!((slope / expected - 1.0).abs() < 1e-6, "{m1} {u}: {slope} {expected}");
            }
        }
    }

    #[test]
    fn the_zeros_are_those_of_the_sum_of_fractions() {
        for (low, high, terms) in [(1e-3, 2.0, 2), (1e-6, 2.0, 9), (1e-12, 1.0, 24)] {
            let fractions = inverse_square_root(low, high, terms);
            let zeros = inverse_square_root_zeros(low, high, terms);
            assert_eq!(zeros.len(), terms - 1);
            for (i, zero) in zeros.iter().enumerate() {
                assert!(fractions[i].shift < *zero && *zero < fractions[i + 1].shift);
                let (mut sum, mut size) = (0.0, 0.0);
                for fraction in &fractions {
                    sum += fraction.weight / (fraction.shift - zero);
                    size += fraction.weight / (fraction.shift - zero).abs();
                }
                assert!(sum.abs() < 1e-12 * size, "{low} {terms} {i}: {sum} {size}");
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
