//! The paper's closed forms, as printed, and the corrected row norm.
//!
//! None of these is used for privacy. They are shown beside the exact figures, together with where
//! they hold. The closed upper bound holds for n ≥ 7, the printed row norm for no t, and the
//! printed lower bound for every n.

use std::f64::consts::{LN_2, PI};

use super::{Interval, checked};
use crate::Result;

/// 1 + ln(4n/5)/π.
fn upper_root(n: f64) -> f64 {
    1.0 + (0.8 * n).ln() / PI
}

/// (2 + ln((2n+1)/5) + ln(2n+1)/2n)/π.
fn lower_root(n: f64) -> f64 {
    let m = 2.0 * n + 1.0;
    (2.0 + (m / 5.0).ln() + m.ln() / (2.0 * n)) / PI
}

/// (1 + ln(4n/5)/π)², the paper's bound on the mean error factor of the square root. It holds for n
/// ≥ 7.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰. The same holds for every function of this module.
///
/// ```
/// let closed = evertally::research::bounds::paper_upper_mean(1024)?;
/// let exact = evertally::research::bounds::square_root_mean_error(1024)?;
/// assert!(exact.upper < closed.lower);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_upper_mean(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(upper_root(checked(horizon)?)).squared())
}

/// ((2 + ln((2n+1)/5) + ln(2n+1)/2n)/π)², the paper's lower bound on the mean error factor of any
/// matrix mechanism.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// let closed = evertally::research::bounds::paper_lower_mean(1024)?;
/// assert!(closed.upper < evertally::research::bounds::nuclear_mean_error(1024)?.lower);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_lower_mean(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(lower_root(checked(horizon)?)).squared())
}

/// ((2 + ln((2n+1)/3) + ln(2n+1)/2n)/π)²: the paper's lower bound with its integral started at 2.
///
/// The proof takes ‖A‖_* ≥ ((2n+1)/π)(1 + Σ_{i=2}^n 1/(2i−1)) and bounds the sum from below by an
/// integral of 1/(2x−1) up to n+1. The integrand decreases, so the term i is at least its integral
/// from i to i+1, and the integral may start at 2: it is ½ln((2n+1)/3). The paper starts at 3. Its
/// last step loses 1/n − ln(3)/2n > 0, as with 5 in place of 3.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// use evertally::research::bounds::*;
/// let sharper = sharper_lower_mean(1024)?;
/// assert!(paper_lower_mean(1024)?.upper < sharper.lower);
/// assert!(sharper.upper < nuclear_mean_error(1024)?.lower);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn sharper_lower_mean(horizon: u64) -> Result<Interval> {
    let n = checked(horizon)?;
    Ok(Interval::around(lower_root(n) + (5.0_f64 / 3.0).ln() / PI).squared())
}

/// (1 + ln(n)/π)², the weaker form that the paper gives with its fast data structure.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// assert!(evertally::research::bounds::paper_corollary_mean(1)?.upper >= 1.0);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_corollary_mean(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(1.0 + checked(horizon)?.ln() / PI).squared())
}

/// 1 + ln((4t−3)/5)/π, the paper's bound on the squared norm of row t. It is below the true norm
/// for every t.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// let printed = evertally::research::bounds::paper_row_norm_squared(100)?;
/// assert!(printed.upper < evertally::research::bounds::square_root_row_norm_squared(100)?.lower);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_row_norm_squared(step: u64) -> Result<Interval> {
    Ok(around_difference(1.0, ((4.0 * checked(step)? - 3.0) / 5.0).ln() / PI))
}

/// 1 + ln(4t−3)/π: the paper's bound, with the integral started at the point that the sum requires.
/// It holds for every t.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// let corrected = evertally::research::bounds::row_norm_squared_bound(100)?;
/// assert!(corrected.lower > evertally::research::bounds::square_root_row_norm_squared(100)?.upper);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn row_norm_squared_bound(step: u64) -> Result<Interval> {
    Ok(Interval::around(1.0 + (4.0 * checked(step)? - 3.0).ln() / PI))
}

/// log₂(n)(1 + log₂ n)/2, the paper's mean error factor of the binary tree.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// assert!((evertally::research::bounds::paper_tree_mean(8)?.middle() - 6.0).abs() < 1e-12);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_tree_mean(horizon: u64) -> Result<Interval> {
    Ok(Interval::around(tree_mean(checked(horizon)?)))
}

fn tree_mean(n: f64) -> f64 {
    let levels = n.log2();
    levels * (1.0 + levels) / 2.0
}

/// The paper's lower bound on the error of the binary tree divided by that of the square root.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// assert!(evertally::research::bounds::paper_tree_ratio(1 << 20)?.lower > 7.0);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_tree_ratio(horizon: u64) -> Result<Interval> {
    Ok(paper_tree_mean(horizon)? / paper_upper_mean(horizon)?)
}

/// The paper's figure for the error of the binary tree divided by the least possible. It divides by
/// a lower bound, so it is not the ratio itself.
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// assert!(evertally::research::bounds::paper_optimum_ratio(1 << 20)?.lower > 9.0);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_optimum_ratio(horizon: u64) -> Result<Interval> {
    Ok(paper_tree_mean(horizon)? / paper_lower_mean(horizon)?)
}

/// The paper's upper bound minus its lower bound, in units of C².
///
/// # Errors
/// As for [`paper_upper_mean`].
///
/// ```
/// assert!(evertally::research::bounds::paper_additive_gap(1 << 50)?.lower > 10.0);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn paper_additive_gap(horizon: u64) -> Result<Interval> {
    let (upper, lower) = (paper_upper_mean(horizon)?, paper_lower_mean(horizon)?);
    Ok(Interval {
        lower: (upper.lower - lower.upper).next_down(),
        upper: (upper.upper - lower.lower).next_up(),
    })
}

/// The limit of the error of the binary tree divided by that of the square root: ½(π/ln 2)².
///
/// ```
/// assert!((evertally::research::bounds::limiting_tree_ratio() - 10.27).abs() < 0.01);
/// ```
#[must_use]
pub fn limiting_tree_ratio() -> f64 {
    (PI / LN_2).powi(2) / 2.0
}

/// A sum whose terms may cancel, with a margin that is relative to the terms.
fn around_difference(a: f64, b: f64) -> Interval {
    let margin = (a.abs() + b.abs()) * super::interval::ROUNDING;
    Interval { lower: (a + b - margin).next_down(), upper: (a + b + margin).next_up() }
}
