//! The checker: proves the bounds of a certificate from its weights, and trusts nothing that the
//! solver did.
//!
//! **What is proved.** For weights v ≥ 0 (and u ≥ 0), B = A diag(√v) (or diag(√u) A diag(√v)) and
//! any factorization A = L R,
//!
//! > ‖B‖_*/√Σv ≤ γ_F(A) ≤ ‖L‖_F ‖R‖₁→₂,   ‖B‖_*/√(Σu Σv) ≤ γ_2(A) ≤ ‖L‖₂→∞ ‖R‖₁→₂,
//!
//! where the left side follows from the Cauchy–Schwarz inequality, ‖L R diag(√v)‖_* ≤ ‖L‖_F ‖R
//! diag(√v)‖_F ≤ ‖L‖_F ‖R‖₁→₂ √Σv, and the right side holds by definition. Both ends are computed
//! with every rounding accounted for: in [`structured`] for prefix sums and decays, and in
//! [`dense`] for any matrix.
//!
//! **What is trusted.** Additions, products, quotients and square roots of floats are rounded to
//! nearest (IEEE 754, no extended precision). For dense matrices, faer's product of real matrices
//! adds up the products of entries, in any order. Eigenvalues, singular vectors and elliptic
//! functions are not trusted: they are either not used or checked.
//!
//! **Cost.** O(nJ) with J ≈ 60 + log₂(b/a) for prefix sums and decays. One singular value
//! decomposition and four products for a dense matrix.

pub(super) mod blocks;
mod dense;
mod structured;
pub(super) mod sweep;

use super::certificate::{Certificate, Subject, Weights};
use crate::{Error, Result};
pub(super) use dense::{mean_factors, worst_factors};
pub(super) use structured::{MIN_DECAY, prove_scaled_gamma_2};

/// The unit roundoff of a double, 2⁻⁵³.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// Dense proofs depend on the order in which a machine adds. Stated bounds are wider than proven
/// ones by this much, so that they can be proven on other machines too.
const ELSEWHERE: f64 = 1e-12;

/// Proven bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// A lower bound on the norm.
    pub lower: f64,
    /// An upper bound on the norm.
    pub upper: f64,
}

/// Proves the bounds of a certificate from its matrix and weights alone.
///
/// Returns the checker's own bounds, which are at least as sharp as the stated ones.
///
/// # Errors
/// [`Error::BadParameter`] if the stated bounds do not follow from the weights, or if parts of the
/// certificate do not fit together.
///
/// ```
/// use evertally::research::gamma::{Subject, gamma_f, verify};
/// use evertally::Workload;
///
/// let mut certificate = gamma_f(Subject::workload(Workload::PrefixSum, 100), 1e-9, &())?;
/// let proof = verify(&certificate)?;
/// assert!(certificate.lower <= proof.lower && proof.upper <= certificate.upper);
/// certificate.lower *= 1.0 + 1e-8;
/// assert!(verify(&certificate).is_err());
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn verify(certificate: &Certificate) -> Result<Proof> {
    let proof = prove(&certificate.subject, &certificate.weights)?;
    // Written so that NaN is refused.
    let follows = certificate.lower <= proof.lower && certificate.upper >= proof.upper;
    if !follows {
        return Err(Error::bad(
            "certificate",
            "one whose bounds follow from its weights",
            format!(
                "{} to {} while {} to {} is proven",
                certificate.lower, certificate.upper, proof.lower, proof.upper
            ),
        ));
    }
    Ok(proof)
}

/// The bounds that weights prove.
pub(super) fn prove(subject: &Subject, weights: &Weights) -> Result<Proof> {
    subject.validate()?;
    weights.check_shape(subject.rows(), subject.columns())?;
    let proof = match (subject.decay(), weights) {
        (Some(decay), Weights::GammaF { columns }) => structured::prove_gamma_f(decay, columns)?,
        (Some(decay), Weights::Gamma2 { rows, columns }) => structured::prove_gamma_2(decay, rows, columns)?,
        (None, _) => dense::prove(subject, weights)?,
    };
    if !(proof.lower.is_finite() && proof.upper.is_finite() && proof.lower >= 0.0) {
        return Err(Error::bad("weights", "weights that give finite bounds", "an overflow"));
    }
    Ok(proof)
}

/// The bounds to state with these weights: the proven ones, slightly widened.
pub(super) fn state(subject: &Subject, weights: &Weights) -> Result<Proof> {
    let proof = prove(subject, weights)?;
    let room = if subject.decay().is_some() { 0.0 } else { ELSEWHERE };
    Ok(Proof { lower: proof.lower * (1.0 - room), upper: proof.upper * (1.0 + room) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    /// Weights far from the optimum, without order.
    fn scattered(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|i| 0.01 + ((i * 7919 + seed * 104_729) % 101) as f64).collect()
    }

    #[test]
    fn both_proofs_agree_on_any_weights() {
        for n in (1..=40).chain([130]) {
            for workload in
                [Workload::PrefixSum, Workload::Decay { factor: 0.999 }, Workload::Decay { factor: 0.5 }]
            {
                let subject = Subject::workload(workload, n);
                let (rows, columns) = (scattered(n, 1), scattered(n, 2));
                for weights in
                    [Weights::GammaF { columns: columns.clone() }, Weights::Gamma2 { rows, columns }]
                {
                    let structured = prove(&subject, &weights).unwrap();
                    let dense = dense::prove(&subject, &weights).unwrap();
                    // Each pair contains the same two numbers: the exact nuclear norm and the exact
                    // product of norms.
                    let apart = |a: f64, b: f64| (a / b - 1.0).abs();
                    assert!(
                        apart(structured.lower, dense.lower) < 2e-11,
                        "{workload} {n}: {structured:?} {dense:?}"
                    );
                    assert!(
                        apart(structured.upper, dense.upper) < 2e-10,
                        "{workload} {n}: {structured:?} {dense:?}"
                    );
                    assert!(structured.lower < structured.upper && dense.lower < dense.upper);
                }
            }
        }
    }

    #[test]
    fn a_known_value_is_enclosed() {
        // γ_F² of the prefix sum at n = 2 is (3 + √5)/2, reached at v = ((5 + √5)/10, (5 − √5)/10);
        // γ_2² is 4/3.
        let root = 5.0_f64.sqrt();
        let weights = Weights::GammaF { columns: vec![(5.0 + root) / 10.0, (5.0 - root) / 10.0] };
        let proof = prove(&Subject::workload(Workload::PrefixSum, 2), &weights).unwrap();
        let exact = ((3.0 + root) / 2.0).sqrt();
        assert!(proof.lower < exact && exact < proof.upper, "{proof:?} {exact}");
    }
}
