//! The exact error of the binary tree at any horizon.
//!
//! **Definition.** R has a row for every node of the tree over 2^⌈log₂ n⌉ leaves, so every column
//! has ⌈log₂ n⌉ + 1 ones. Row t of L has a one for every one-bit of t. The mean error factor is
//! (ones of L)·(⌈log₂ n⌉ + 1)/n.
//!
//! **Guarantee.** Both counts are exact integers. At n = 2^m, L has n·m/2 + 1 ones; the paper omits
//! the 1.
//!
//! **Cost.** One step per bit.

use super::landau::{decoder_mean, row_norm_squared};
use super::{Interval, checked};
use crate::{Error, Result};

/// The number of ones in L: the one-bits of 1, 2, …, n.
///
/// # Errors
/// `BadParameter` unless 1 ≤ n ≤ 2⁶⁰. The same holds for every function of this module.
///
/// ```
/// assert_eq!(evertally::research::bounds::binary_tree_ones(8)?, 8 * 3 / 2 + 1);
/// assert_eq!(evertally::research::bounds::binary_tree_ones(3)?, 4);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn binary_tree_ones(horizon: u64) -> Result<u128> {
    checked(horizon)?;
    // Among 0, 1, …, n every bit runs through its period: half zeros, then half ones.
    let numbers = u128::from(horizon) + 1;
    let of_bit = |bit: u32| {
        let half = 1_u128 << bit;
        numbers / (2 * half) * half + (numbers % (2 * half)).saturating_sub(half)
    };
    Ok((0..=60).map(of_bit).sum())
}

/// ‖R‖₁→₂²: the number of levels, ⌈log₂ n⌉ + 1.
///
/// # Errors
/// As for [`binary_tree_ones`].
///
/// ```
/// assert_eq!(evertally::research::bounds::binary_tree_sensitivity_squared(1000)?, 11);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn binary_tree_sensitivity_squared(horizon: u64) -> Result<u32> {
    checked(horizon)?;
    Ok(horizon.next_power_of_two().trailing_zeros() + 1)
}

/// The mean error factor of the binary tree, ‖L‖_F²‖R‖²/n.
///
/// # Errors
/// As for [`binary_tree_ones`].
///
/// ```
/// assert!((evertally::research::bounds::binary_tree_mean_error(4)?.middle() - 3.75).abs() < 1e-12);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn binary_tree_mean_error(horizon: u64) -> Result<Interval> {
    let ones = binary_tree_ones(horizon)?;
    let levels = binary_tree_sensitivity_squared(horizon)?;
    Ok(Interval::around(ones as f64 / horizon as f64 * f64::from(levels)))
}

/// The exact error of the binary tree divided by that of the square root at n = 2^m, for m up to
/// 1000. The ratio comes near its limit only far beyond every practical horizon.
///
/// # Errors
/// `BadParameter` if m exceeds 1000.
///
/// ```
/// let ratio = evertally::research::bounds::tree_ratio_at_power(12)?;
/// assert!(6.0 < ratio.lower && ratio.upper < 6.5);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn tree_ratio_at_power(exponent: u32) -> Result<Interval> {
    if exponent > 1000 {
        return Err(Error::bad("exponent", "at most 1000", exponent));
    }
    let m = f64::from(exponent);
    let n = m.exp2();
    let tree = Interval::around((m / 2.0 + 1.0 / n) * (m + 1.0));
    Ok(tree / (Interval::around(row_norm_squared(n)) * Interval::around(decoder_mean(n))))
}
