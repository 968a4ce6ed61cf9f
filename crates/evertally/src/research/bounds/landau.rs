//! The exact error of the square-root factorization at any horizon.
//!
//! **Definition.** Row t of L = R = T(f) has the squared norm G(t) = Σ_{k<t} f(k)², f(k) =
//! C(2k,k)/4^k. The largest column norm of R is √G(n), so the mean error factor is
//! G(n)·(1/n)Σ_{t≤n} G(t) and the largest is G(n)².
//!
//! **The mean in closed form.** (k+1)² f(k+1)² = (k+½)² f(k)², so (k+1)² f(k+1)² − k² f(k)² = (k+¼)
//! f(k)². Adding up, Σ_{k<n} k f(k)² = n² f(n)² − G(n)/4, and (1/n)Σ_t G(t) = Σ_{k<n} (1−k/n)
//! f(k)² = G(n)(1 + 1/4n) − n f(n)².
//!
//! **How G is computed.** G(n) is Landau's constant of index n − 1. With N = n − ¼, π G(n) ~ ln N +
//! γ + 4 ln 2 + 11/192N² − 1541/122880N⁴ + 63433/8257536N⁶ − 9199901/1006632960N⁸ + … Its
//! rearrangement in powers of 1/n is proven to be below the true value after 10 terms and above it
//! after 11 ("Asymptotic expansion of the Landau constants", arXiv:1505.00304, which proves a
//! conjecture of Granath). For n ≥ 64 the terms above are within 2·10⁻²⁰ of both, so the error is
//! far below rounding. For smaller n the sum is taken term by term. n f(n)² is computed from its
//! expansion in n + ¼, with a relative error below 10⁻¹⁶ there.
//!
//! **Cost.** Constant.

use std::f64::consts::{LN_2, PI};

use super::{Interval, checked};
use crate::Result;
use crate::privacy::CompensatedSum;

/// Below this the sum is short and is added up directly.
const EXPANSION_FROM: f64 = 64.0;

/// Euler's constant γ.
pub(super) const EULER: f64 = 0.577_215_664_901_532_9;

/// G(n) for an integer n, which may exceed 2⁶⁰ here, because the report covers very long horizons.
pub(super) fn row_norm_squared(n: f64) -> f64 {
    if n < EXPANSION_FROM {
        return direct(n as u32).0;
    }
    let big = n - 0.25;
    let h = 1.0 / (big * big);
    let series = h
        * (11.0 / 192.0
            + h * (-1541.0 / 122_880.0
                + h * (63_433.0 / 8_257_536.0 + h * (-9_199_901.0 / 1_006_632_960.0))));
    (big.ln() + EULER + 4.0 * LN_2 + series) / PI
}

/// (1/n)Σ_{t≤n} G(t).
pub(super) fn decoder_mean(n: f64) -> f64 {
    // For large n the subtraction takes 1/π from a larger number, so no digits are lost.
    row_norm_squared(n) * (1.0 + 0.25 / n) - n * coefficient_squared(n)
}

/// f(n)².
fn coefficient_squared(n: f64) -> f64 {
    if n < EXPANSION_FROM {
        return direct(n as u32).1;
    }
    // The square of 1 − 1/64x² + 21/8192x⁴ − 671/524288x⁶ at x = n + ¼.
    let x = n + 0.25;
    let h = 1.0 / (x * x);
    let root = 1.0 + h * (-1.0 / 64.0 + h * (21.0 / 8192.0 - h * 671.0 / 524_288.0));
    root * root / (PI * x)
}

/// G(n) and f(n)² from the definition.
fn direct(n: u32) -> (f64, f64) {
    let mut sum = CompensatedSum::default();
    let mut coefficient = 1.0_f64;
    for k in 0..n {
        sum.add(coefficient * coefficient);
        coefficient *= 1.0 - 0.5 / (f64::from(k) + 1.0);
    }
    (sum.value(), coefficient * coefficient)
}

/// G(n) = Σ_{k<n} f(k)²: the squared norm of the longest row of L and column of R.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰. The same holds for every function of this module.
///
/// ```
/// use evertally::research::bounds::square_root_row_norm_squared;
/// assert!((square_root_row_norm_squared(2)?.middle() - 1.25).abs() < 1e-13);
/// assert!(square_root_row_norm_squared(0).is_err());
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn square_root_row_norm_squared(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(row_norm_squared(checked(horizon)?)))
}

/// ‖L‖_F²/n of the square root: the mean of G(1), …, G(n).
///
/// ```
/// # use evertally::research::bounds::square_root_decoder_mean;
/// assert!((square_root_decoder_mean(2)?.middle() - 1.125).abs() < 1e-13);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// As for [`square_root_row_norm_squared`].
pub fn square_root_decoder_mean(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(decoder_mean(checked(horizon)?)))
}

/// The mean error factor of the square-root mechanism, ‖L‖_F²‖R‖²/n.
///
/// ```
/// let factor = evertally::research::bounds::square_root_mean_error(2)?;
/// assert!((factor.middle() - 1.406_25).abs() < 1e-13);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// As for [`square_root_row_norm_squared`].
pub fn square_root_mean_error(horizon: u64) -> Result<Interval> {
    Ok(square_root_row_norm_squared(horizon)? * square_root_decoder_mean(horizon)?)
}

/// The largest error factor of the square-root mechanism, which is that of its last step.
///
/// ```
/// let factor = evertally::research::bounds::square_root_max_error(2)?;
/// assert!((factor.middle() - 1.562_5).abs() < 1e-13);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// As for [`square_root_row_norm_squared`].
pub fn square_root_max_error(horizon: u64) -> Result<Interval> {
    Ok(square_root_row_norm_squared(horizon)?.squared())
}
