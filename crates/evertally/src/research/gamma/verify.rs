//! The checker: proves the bounds of a certificate again from its weights, trusting nothing that
//! the solver did.
//!
//! **What is proved.** For weights v ≥ 0 (and u ≥ 0), B = A diag(√v) (or diag(√u) A diag(√v)) and
//! any factorization A = L R,
//!
//! > ‖B‖_*/√Σv ≤ γ_F(A) ≤ ‖L‖_F ‖R‖₁→₂,   ‖B‖_*/√(Σu Σv) ≤ γ_2(A) ≤ ‖L‖₂→∞ ‖R‖₁→₂,
//!
//! the left by the Cauchy–Schwarz inequality: ‖L R diag(√v)‖_* ≤ ‖L‖_F ‖R diag(√v)‖_F ≤ ‖L‖_F
//! ‖R‖₁→₂ √Σv, the right by definition. Both ends are computed with every rounding charged: in
//! [`structured`] for prefix sums and decays, in [`dense`] for any matrix.
//!
//! **What is trusted.** That additions, products, quotients and square roots of floats are rounded
//! to nearest (IEEE 754, no extended precision); for dense matrices also that faer's product of
//! real matrices adds up the products of entries, in any order. Eigenvalues, singular vectors and
//! elliptic functions are not trusted: they are either absent or checked.
//!
//! **Cost.** O(nJ) with J ≈ 60 + log₂(b/a) for prefix sums and decays; one singular value
//! decomposition and four products for a dense matrix.

mod dense;
mod structured;
pub(super) mod sweep;

use super::certificate::{Certificate, Subject, Weights};
use crate::{Error, Result};
pub(super) use dense::{mean_factors, worst_factors};
pub(super) use structured::SMALLEST_DECAY;

/// The unit roundoff of a double, 2⁻⁵³.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// Dense proofs depend on the order in which a machine adds; stated bounds are this much wider than
/// proven ones, so that they are proven elsewhere too.
const ELSEWHERE: f64 = 1e-12;

/// Bounds that hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// The norm is at least this.
    pub lower: f64,
    /// The norm is at most this.
    pub upper: f64,
}

/// Proves a certificate's bounds from its matrix and weights alone.
///
/// The bounds that are returned are the checker's own, at least as sharp as the stated ones.
///
/// # Errors
/// [`Error::BadParameter`] if the stated bounds do not follow from the weights, or if anything in
/// the certificate does not fit together.
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
    // Written so that a bound that is not a number is refused.
    let follows = certificate.lower <= proof.lower && certificate.upper >= proof.upper;
    if !follows {
        return Err(Error::bad(
            "certificate",
            "one whose bounds follow from its weights",
            format!(
                "{} to {} where {} to {} is proven",
                certificate.lower, certificate.upper, proof.lower, proof.upper
            ),
        ));
    }
    Ok(proof)
}

/// The bounds that weights prove.
fn prove(subject: &Subject, weights: &Weights) -> Result<Proof> {
    subject.validate()?;
    let fits = weights.columns().len() == subject.columns()
        && weights.rows().is_none_or(|rows| rows.len() == subject.rows());
    if !fits {
        return Err(Error::bad("weights", "one for each column, and row", "another number"));
    }
    let proof = match (subject.decay(), weights) {
        (Some(decay), Weights::GammaF { columns }) => structured::prove_gamma_f(decay, columns)?,
        (Some(decay), Weights::Gamma2 { rows, columns }) => structured::prove_gamma_2(decay, rows, columns)?,
        (None, _) => dense::prove(subject, weights)?,
    };
    if !(proof.lower.is_finite() && proof.upper.is_finite() && proof.lower >= 0.0) {
        return Err(Error::bad("weights", "ones that prove something", "overflow"));
    }
    Ok(proof)
}

/// Bounds to be stated with weights: what is proven, and a little room.
pub(super) fn state(subject: &Subject, weights: &Weights) -> Result<Proof> {
    let proof = prove(subject, weights)?;
    let room = if subject.decay().is_some() { 0.0 } else { ELSEWHERE };
    Ok(Proof { lower: proof.lower * (1.0 - room), upper: proof.upper * (1.0 + room) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    /// Weights far from the optimum, in no order.
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
                    // Each pair holds the same two numbers, the exact nuclear norm and the exact
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
