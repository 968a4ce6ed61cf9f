//! γ_F: the least ‖L‖_F ‖R‖₁→₂ over all A = L R, with a certificate.
//!
//! γ_F(A) is the maximum over weights v ≥ 0, Σv = 1, of the nuclear norm ‖A diag(√v)‖_*. With
//! M = diag(√v) AᵀA diag(√v), d = diag(M^{1/2}) and S = Σd, any v > 0 proves both sides:
//!
//! > S/√Σv ≤ γ_F ≤ √(S · max(d/v)),
//!
//! the left as a dual value, the right as the factorization RᵀR = X = diag(v)^{-1/2} M^{1/2} diag(v)^{-1/2},
//! L = A R⁻¹, for which ‖R‖₁→₂² = max(d/v) and ‖L‖_F² = S. They meet where d = v, which the iteration
//! log v ← log v + 2·log(d/v), accelerated after Anderson, reaches in a few dozen symmetric eigendecompositions.

mod anderson;
mod fixed_point;

pub use fixed_point::{Certificate, Solution, gamma_f};
