//! Nodes that make the inverse square root a short sum of resolvents.
//!
//! **Definition.** x^{-1/2} = (2/π)∫₀^∞ dt/(x + t²). With t = √a·sc(u|m), m = 1 − a/b, the midpoint rule with J nodes in
//! u over (0, K(m)) gives x^{-1/2} ≈ r(x) = Σ_j w_j/(x + s_j).
//!
//! **Guarantee.** For x in [a, b] write x = a/dn²(z). The addition theorem turns √x·(integrand at u) into
//! ½(dn(u+z) + dn(u−z)), so √x·r(x) is a mean of dn over 2J evenly spaced points, and of its Fourier series only every
//! (2J)-th term survives: √x·r(x) = 1 + 4 Σ_{l≥1} (−1)^l Q^l/(1+Q^{2l}) cos(2Jlπz/K) with Q = q^{2J} and the nome
//! q = exp(−πK′/K). Hence |√x·r(x) − 1| ≤ 4Q/(1−Q) on all of [a, b].
//!
//! **Cost.** J ≈ ln(4/ε)·ln(16 b/a)/(2π²): 44 nodes for 10⁻¹¹ at b/a = 10¹³.
//!
//! **Source.** Hale, Higham and Trefethen, *Computing A^α, log(A) and related matrix functions by contour integrals*
//! (2008); the nodes are those of Zolotarev's best rational approximation.

use std::f64::consts::{FRAC_PI_2, PI};

/// The arithmetic–geometric mean.
fn mean_of_means(mut a: f64, mut b: f64) -> f64 {
    // Converges quadratically from any ratio a float can have.
    for _ in 0..40 {
        if (a - b).abs() <= f64::EPSILON * a {
            break;
        }
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    a
}

/// The complete elliptic integral K(m), given the complement 1 − m: near m = 1 only the complement is accurate.
fn complete_integral(complement: f64) -> f64 {
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
/// Below K/2, sc is at most k^{-1/2}, so that the subtraction does not cancel.
fn sc_by_landen(u: f64, k: f64) -> f64 {
    if k < 1e-17 {
        return u.sinh();
    }
    let smaller = (k / (1.0 + ((1.0 - k) * (1.0 + k)).sqrt())).powi(2);
    let inner = sc_by_landen(u / (1.0 + smaller), smaller);
    (1.0 + smaller) * inner / (1.0 - smaller * inner * inner)
}

/// Shifts s_j and weights w_j with Σ w_j/(x + s_j) = x^{-1/2} on a spectrum, to a relative tolerance.
pub(super) struct Nodes {
    pub(super) shifts: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

impl Nodes {
    /// Nodes for the spectrum [low, high]. Their number is a multiple of `multiple`.
    pub(super) fn new(low: f64, high: f64, tolerance: f64, multiple: usize) -> Self {
        // An interval of no width would make the nome zero.
        let complement = (low / high).min(0.5);
        let quarter = complete_integral(complement);
        let log_nome = -PI * complete_integral(1.0 - complement) / quarter;
        let wanted = (4.0 / tolerance).ln() / (-2.0 * log_nome);
        let count = (wanted.ceil().max(1.0) as usize).next_multiple_of(multiple);
        let spacing = quarter / count as f64;
        let (mut shifts, mut weights) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for j in 0..count {
            let square = sc((j as f64 + 0.5) * spacing, complement).powi(2);
            shifts.push(low * square);
            // dt/du = √a·dn/cn² = √a·√((1 + (1−m) sc²)(1 + sc²)).
            let slope = ((1.0 + complement * square) * (1.0 + square) * low).sqrt();
            weights.push(slope * spacing / FRAC_PI_2);
        }
        Self { shifts, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elliptic_functions_at_known_points() {
        // K(1/2) = Γ(1/4)²/(4√π), K(0) = π/2, and K(m) → ln(4/√(1−m)).
        assert!((complete_integral(0.5) - 1.854_074_677_301_372).abs() < 1e-14);
        assert!((complete_integral(1.0) - FRAC_PI_2).abs() < 1e-15);
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
    fn the_sum_is_the_inverse_square_root_to_its_tolerance() {
        for (low, high) in [(1.0, 1.0), (0.3, 0.7), (1e-3, 1e4), (1e-6, 1e8)] {
            for tolerance in [1e-3, 1e-8, 1e-12] {
                let nodes = Nodes::new(low, high, tolerance, 1);
                let mut largest: f64 = 0.0;
                for i in 0..=2000 {
                    let x = low * (high / low).powf(f64::from(i) / 2000.0);
                    let sum: f64 = nodes.shifts.iter().zip(&nodes.weights).map(|(s, w)| w / (x + s)).sum();
                    largest = largest.max((sum * x.sqrt() - 1.0).abs());
                }
                assert!(largest <= tolerance * 1.001 + 1e-13, "{low} {high} {tolerance}: {largest}");
                // One node fewer would not do: the estimate of their number is sharp.
                let count = nodes.shifts.len();
                assert!(count == 1 || low == high || largest > tolerance.powi(2) / 100.0, "{count}");
            }
        }
    }
}
