//! The laws with which the draws are compared.

/// The distribution function, and the moments 1 to 8. The last four give the spread of the first
/// four.
pub(super) struct Reference {
    pub(super) cdf: fn(f64) -> f64,
    pub(super) moments: [f64; 8],
}

pub(super) const GAUSSIAN: Reference =
    Reference { cdf: normal_cdf, moments: [0.0, 1.0, 0.0, 3.0, 0.0, 15.0, 0.0, 105.0] };
/// Laplace of scale b = 1/√2 has even moments k! b^k.
pub(super) const LAPLACE: Reference =
    Reference { cdf: laplace_cdf, moments: [0.0, 1.0, 0.0, 6.0, 0.0, 90.0, 0.0, 2520.0] };

/// Φ by its series near zero and its continued fraction in the tails, to 10⁻¹⁴. A test below checks
/// it.
fn normal_cdf(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    if x.abs() < 3.0 {
        let mut term = x;
        let mut sum = x;
        let mut k = 1.0;
        while term.abs() > 1e-17 * sum.abs() {
            k += 2.0;
            term *= x * x / k;
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let tail = density / (1..=60).rev().fold(x.abs(), |f, k| x.abs() + f64::from(k) / f);
    if x > 0.0 { 1.0 - tail } else { tail }
}

fn laplace_cdf(x: f64) -> f64 {
    let tail = 0.5 * (-x.abs() * std::f64::consts::SQRT_2).exp();
    if x > 0.0 { 1.0 - tail } else { tail }
}

#[test]
fn the_reference_distribution_is_right() {
    for (x, want) in [
        (0.0, 0.5),
        (-1.0, 0.158_655_253_931_457_05),
        (2.0, 0.977_249_868_051_820_8),
        (-3.0, 1.349_898_031_630_094_5e-3),
        (-4.0, 3.167_124_183_311_992e-5),
        (-8.0, 6.220_960_574_271_785e-16),
    ] {
        assert!((normal_cdf(x) / want - 1.0).abs() < 1e-12, "{x}: {}", normal_cdf(x));
    }
}
