//! γ_F and γ_2: the least error of any factorization, with certificates.
//!
//! γ_F(A) is the least ‖L‖_F ‖R‖₁→₂ over all A = L R, so γ_F²/n is the least mean error factor.
//! γ_2(A) is the least product of the largest row norm of L and ‖R‖₁→₂, so γ_2² is the least error
//! factor of the worst step. Both are maxima of nuclear norms over weights:
//!
//! > γ_F = max ‖A diag(√v)‖_*/√Σv,   γ_2 = max ‖diag(√u) A diag(√v)‖_*/√(Σu Σv).
//!
//! With B the weighted matrix, d_v = diag((BᴴB)^{1/2}), d_u = diag((BBᴴ)^{1/2}) and S = ‖B‖_*, any
//! weights prove both sides:
//!
//! > S/√Σv ≤ γ_F ≤ √(S·max(d_v/v)),   S/√(Σu Σv) ≤ γ_2 ≤ √(max(d_u/u)·max(d_v/v)),
//!
//! where the right side is attained by the factorization RᴴR = diag(v)^{-1/2}(BᴴB)^{1/2}
//! diag(v)^{-1/2}, L = A R⁻¹. The two sides meet at d = v (and d = u). The iteration log v ← log v
//! + ρ·log(d/v), with Anderson acceleration, gets there in a few dozen steps.
//!
//! | file | content |
//! |---|---|
//! | `structured` | prefix sums and decays: O(nJ) per iteration, n up to 2^20 and beyond |
//! | `long` | prefix sums of any horizon to 2^60, from weights that are constant on blocks |
//! | `dense` | any real or complex matrix: O(m³) per iteration |
//! | `newton` | small dense matrices whose optimal weights are partly zero |
//! | `unknown_end` | the price of not knowing the horizon, from both norms of prefix sums |
//! | `fixed_point`, `anderson` | the iteration |
//! | [`verify`](verify()) | the checker, which alone determines the stated bounds |
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
mod long;
mod newton;
mod nodes;
mod structured;
mod unknown_end;
mod verify;

pub use certificate::{Certificate, ComplexMatrix, Factors, Subject, Weights};
pub use long::least_mean_error;
pub use unknown_end::{UnknownEnd, price_of_unknown_end};
pub use verify::{Proof, verify};

use crate::Result;
use crate::noise::Progress;

/// Bounds γ_F, the least ‖L‖_F ‖R‖₁→₂, to a relative gap.
///
/// Prefix sums and decayed prefix sums are solved in O(nJ) per iteration, and everything else as a
/// dense matrix. The bounds hold for any gap that was reached. The gap is wider than requested if
/// the iteration stalls or the checker's margin is larger (about 10⁻¹⁰ at n = 2^20, and 10⁻⁹ for
/// dense matrices of side 2048).
///
/// # Errors
/// [`Error::BadParameter`](crate::Error::BadParameter) for an empty, infinite or too large matrix,
/// or a gap that is not above zero.
pub fn gamma_f(
    subject: impl Into<Subject>,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    solve(Quantity::GammaF, subject.into(), relative_gap, progress)
}

/// Bounds γ_2, the least product of the largest row norm of L and the largest column norm of R, to
/// a relative gap.
///
/// Otherwise like [`gamma_f`].
///
/// # Errors
/// As for [`gamma_f`].
pub fn gamma_2(
    subject: impl Into<Subject>,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    solve(Quantity::Gamma2, subject.into(), relative_gap, progress)
}

/// The norm that is bounded.
#[derive(Clone, Copy)]
enum Quantity {
    GammaF,
    Gamma2,
}

fn solve(
    quantity: Quantity,
    subject: Subject,
    relative_gap: f64,
    progress: &dyn Progress,
) -> Result<Certificate> {
    subject.validate()?;
    fixed_point::check_gap(relative_gap)?;
    if subject.is_zero() {
        let columns = vec![1.0; subject.columns()];
        let weights = match quantity {
            Quantity::GammaF => Weights::GammaF { columns },
            Quantity::Gamma2 => Weights::Gamma2 { rows: vec![1.0; subject.rows()], columns },
        };
        return Ok(Certificate { subject, weights, lower: 0.0, upper: 0.0, iterations: 0 });
    }
    match subject.decay() {
        Some(decay) => structured::certified(quantity, subject, decay, relative_gap, progress),
        None => dense::certified(quantity, subject, relative_gap, progress),
    }
}
