//! The fixed point for a general dense matrix of full column rank.

use super::anderson::Anderson;
use crate::matrix::Matrix;
use crate::noise::Progress;
use crate::{Error, Result};

/// Two proven bounds on γ_F, and the weights that prove them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// γ_F is at least this.
    pub lower: f64,
    /// γ_F is at most this; the factorization at hand attains it.
    pub upper: f64,
    /// Eigendecompositions it took.
    pub iterations: usize,
    /// The dual weights v.
    pub weights: Vec<f64>,
}

/// A certificate with its factorization's RᵀR.
pub struct Solution {
    /// What was proved.
    pub certificate: Certificate,
    /// X = RᵀR.
    pub gram: Matrix,
}

/// Rounding in an eigendecomposition of a few thousand rows moves the bounds by less than this, relatively; they
/// are widened by it.
const ROUNDING: f64 = 1e-11;

/// Iterations after which the bounds reached so far are returned.
const MOST_ITERATIONS: usize = 400;

/// Bounds γ_F(A) to a relative gap, and gives the factorization.
///
/// # Errors
/// [`Error::BadParameter`] if A is empty, not finite or does not have full column rank.
pub fn gamma_f(a: &Matrix, relative_gap: f64, progress: &dyn Progress) -> Result<Solution> {
    let n = a.columns();
    if n == 0 || !(0..a.rows()).all(|i| a.row(i).iter().all(|x| x.is_finite())) {
        return Err(Error::bad("matrix", "finite and not empty", format!("{} × {n}", a.rows())));
    }
    let dense = a.to_faer();
    let gram = dense.transpose() * &dense;
    let mut log_v = vec![-(n as f64).ln(); n];
    let mut anderson = Anderson::default();
    let mut best: Option<Step> = None;
    let mut first_gap = None;
    let mut iterations = 0;
    while iterations < MOST_ITERATIONS {
        let step = Step::at(&gram, &log_v)?;
        iterations += 1;
        let gap = step.gap();
        // Progress on a logarithmic scale: the gap shrinks by a factor at each step.
        let first = *first_gap.get_or_insert(gap.max(2.0 * relative_gap));
        progress.report(((first / gap).ln() / (first / relative_gap).ln()).clamp(0.0, 1.0));
        let residual: Vec<f64> = step.ratio.iter().map(|ratio| 2.0 * ratio.ln()).collect();
        if best.as_ref().is_some_and(|best| gap > 1e3 * best.gap()) {
            // Extrapolated too far: go back to the best point and forget.
            anderson.restart();
            if let Some(best) = &best {
                log_v = best.v.iter().zip(&best.ratio).map(|(v, r)| v.ln() + r.ln()).collect();
            }
            continue;
        }
        anderson.advance(&mut log_v, &residual);
        if best.as_ref().is_none_or(|best| gap < best.gap()) {
            best = Some(step);
        }
        if gap <= relative_gap {
            break;
        }
    }
    let best = best.ok_or_else(|| Error::bad("matrix", "of full column rank", "a singular one"))?;
    Ok(Solution {
        certificate: Certificate {
            lower: best.lower * (1.0 - ROUNDING),
            upper: best.upper * (1.0 + ROUNDING),
            iterations,
            weights: best.v,
        },
        gram: best.x,
    })
}

/// What one eigendecomposition gives.
struct Step {
    v: Vec<f64>,
    /// d/v.
    ratio: Vec<f64>,
    lower: f64,
    upper: f64,
    x: Matrix,
}

impl Step {
    fn at(gram: &faer::Mat<f64>, log_v: &[f64]) -> Result<Self> {
        let n = log_v.len();
        let v: Vec<f64> = log_v.iter().map(|l| l.exp()).collect();
        let root: Vec<f64> = v.iter().map(|v| v.sqrt()).collect();
        let m = faer::Mat::from_fn(n, n, |i, j| root[i] * gram[(i, j)] * root[j]);
        let failed = || Error::bad("matrix", "of full column rank", "one whose eigendecomposition fails");
        let eigen = m.self_adjoint_eigen(faer::Side::Lower).map_err(|_| failed())?;
        let u = eigen.U();
        let values = eigen.S().column_vector();
        if (0..n).any(|k| values[k].is_nan() || values[k] <= 0.0) {
            return Err(failed());
        }
        // M^{1/2} = (U S^{1/4})(U S^{1/4})ᵀ.
        let half = faer::Mat::from_fn(n, n, |i, k| u[(i, k)] * values[k].sqrt().sqrt());
        let square_root = &half * half.transpose();
        let d: Vec<f64> = (0..n).map(|i| square_root[(i, i)]).collect();
        let ratio: Vec<f64> = d.iter().zip(&v).map(|(d, v)| d / v).collect();
        let sum: f64 = d.iter().sum();
        let largest = ratio.iter().copied().fold(0.0, f64::max);
        Ok(Self {
            lower: sum / v.iter().sum::<f64>().sqrt(),
            upper: (sum * largest).sqrt(),
            x: Matrix::from_fn(n, n, |i, j| square_root[(i, j)] / (root[i] * root[j])),
            v,
            ratio,
        })
    }

    fn gap(&self) -> f64 {
        // Rounding can make the bounds cross by an ulp.
        (self.upper / self.lower - 1.0).max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    /// γ_F²/n from an independent computation; each is known to about 1e-9.
    #[test]
    fn the_certificate_contains_the_known_optimum() {
        for (n, lower, upper) in [
            (2, 1.3090169943749477, 1.3090169946988623),
            (3, 1.5359538828132244, 1.5359538833800677),
            (16, 2.8540848007491, 2.8540848027103185),
            (100, 4.997442947393846, 4.997442951408639),
            (256, 6.37266814259671, 6.372668148632865),
        ] {
            let solution = gamma_f(&Workload::PrefixSum.matrix(n), 1e-9, &()).unwrap();
            let ours = &solution.certificate;
            let (ours_lower, ours_upper) = (ours.lower.powi(2) / n as f64, ours.upper.powi(2) / n as f64);
            assert!(ours_lower <= upper && lower <= ours_upper, "{n}: {ours_lower} {ours_upper}");
            assert!(ours.upper / ours.lower - 1.0 < 2e-9, "{n}");
            assert!(ours.iterations < 60, "{n}: {}", ours.iterations);
        }
    }

    #[test]
    fn orthogonal_and_diagonal_matrices() {
        // γ_F of an orthogonal matrix is ‖A‖_F / … = √n · 1/√n·√n: every v gives nuclear norm Σ√v ≤ √n.
        let rotation = Matrix::from_fn(2, 2, |i, j| [[0.6, -0.8], [0.8, 0.6]][i][j]);
        let certificate = gamma_f(&rotation, 1e-9, &()).unwrap().certificate;
        assert!((certificate.lower - 2.0_f64.sqrt()).abs() < 1e-8);
        // A diagonal matrix: max Σ a_i √v_i = ‖a‖.
        let diagonal = Matrix::from_fn(3, 3, |i, j| if i == j { (i + 1) as f64 } else { 0.0 });
        let certificate = gamma_f(&diagonal, 1e-9, &()).unwrap().certificate;
        assert!((certificate.upper - 14.0_f64.sqrt()).abs() < 1e-7);
    }

    #[test]
    fn singular_and_broken_matrices_are_refused() {
        assert!(gamma_f(&Matrix::zeros(2, 2), 1e-6, &()).is_err());
        assert!(gamma_f(&Matrix::zeros(0, 0), 1e-6, &()).is_err());
        assert!(gamma_f(&Matrix::from_fn(2, 2, |_, _| f64::NAN), 1e-6, &()).is_err());
    }
}
