//! γ_F and γ_2: the least error that any factorization has, with certificates.
//!
//! γ_F(A) is the least ‖L‖_F ‖R‖₁→₂ over all A = L R, so that γ_F²/n is the least mean error
//! factor; γ_2(A) is the least product of the largest row norm of L and ‖R‖₁→₂, so that γ_2² is the
//! least error factor of the worst step. Both are maxima of nuclear norms over weights:
//!
//! > γ_F = max ‖A diag(√v)‖_*/√Σv,   γ_2 = max ‖diag(√u) A diag(√v)‖_*/√(Σu Σv).
//!
//! With B the weighted matrix, d_v = diag((BᴴB)^{1/2}), d_u = diag((BBᴴ)^{1/2}) and S = ‖B‖_*, any
//! weights prove both sides:
//!
//! > S/√Σv ≤ γ_F ≤ √(S·max(d_v/v)),   S/√(Σu Σv) ≤ γ_2 ≤ √(max(d_u/u)·max(d_v/v)),
//!
//! the right as the factorization RᴴR = diag(v)^{-1/2}(BᴴB)^{1/2} diag(v)^{-1/2}, L = A R⁻¹. They
//! meet where d = v (and d = u), which the iteration log v ← log v + ρ·log(d/v), accelerated after
//! Anderson, reaches in a few dozen steps.
//!
//! | file | what it does |
//! |---|---|
//! | `structured` | prefix sums and decays: O(nJ) an iteration, n to 2^20 and beyond |
//! | `dense` | any real or complex matrix: O(m³) an iteration |
//! | `newton` | small dense matrices whose optimal weights are partly zero |
//! | `fixed_point`, `anderson` | the iteration |
//! | [`verify`](verify()) | the checker, which alone decides what bounds are stated |
//!
//! ```
//! use evertally::research::gamma::{Subject, gamma_2, gamma_f};
//! use evertally::{Matrix, Workload};
//!
//! let mean = gamma_f(Subject::workload(Workload::PrefixSum, 1024), 1e-9, &())?;
//! let (lower, upper) = mean.error_factor();
//! assert!(8.734_696 < lower && upper < 8.734_697);
//! let hadamard = Matrix::from_fn(2, 2, |i, j| if i + j == 2 { -1.0 } else { 1.0 });
//! assert!((gamma_2(hadamard, 1e-9, &())?.upper - 2.0_f64.sqrt()).abs() < 1e-8);
//! # Ok::<(), evertally::Error>(())
//! ```

mod anderson;
mod certificate;
mod dense;
mod fixed_point;
mod linear;
mod newton;
mod nodes;
mod structured;
mod verify;

pub use certificate::{Certificate, ComplexMatrix, Factors, Subject, Weights};
pub use verify::{Proof, verify};

use crate::Result;
use crate::noise::Progress;

/// Bounds γ_F, the least ‖L‖_F ‖R‖₁→₂, to a relative gap.
///
/// Prefix sums and decayed prefix sums are solved in O(nJ) an iteration, everything else as a dense
/// matrix. The bounds hold whatever gap was reached; it is wider than asked for where the iteration
/// stalls or the checker's margin is larger (about 10⁻¹⁰ at n = 2^20, 10⁻⁹ for dense matrices of
/// side 2048).
///
/// # Errors
/// [`Error::BadParameter`](crate::Error::BadParameter) for an empty, infinite or too large matrix,
/// or a gap that is not above zero.
pub fn gamma_f(
    subject: impl Into<Subject>,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    let subject = subject.into();
    subject.validate()?;
    fixed_point::check_gap(relative_gap)?;
    if subject.is_zero() {
        let weights = Weights::GammaF { columns: vec![1.0; subject.columns()] };
        return Ok(Certificate { subject, weights, lower: 0.0, upper: 0.0, iterations: 0 });
    }
    match subject.decay() {
        Some(decay) => structured::gamma_f(subject, decay, relative_gap, progress),
        None => dense::gamma_f(subject, relative_gap, progress),
    }
}

/// Bounds γ_2, the least product of the largest row norm of L and the largest column norm of R, to
/// a relative gap.
///
/// As [`gamma_f`] otherwise.
///
/// # Errors
/// Those of [`gamma_f`].
pub fn gamma_2(
    subject: impl Into<Subject>,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    let subject = subject.into();
    subject.validate()?;
    fixed_point::check_gap(relative_gap)?;
    if subject.is_zero() {
        let (rows, columns) = (vec![1.0; subject.rows()], vec![1.0; subject.columns()]);
        let weights = Weights::Gamma2 { rows, columns };
        return Ok(Certificate { subject, weights, lower: 0.0, upper: 0.0, iterations: 0 });
    }
    match subject.decay() {
        Some(decay) => structured::gamma_2(subject, decay, relative_gap, progress),
        None => dense::gamma_2(subject, relative_gap, progress),
    }
}
