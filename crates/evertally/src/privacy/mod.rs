//! Budgets, calibration and who is protected.
//!
//! for sensitivity 1. What one person can change fixes the sensitivity Δ: [`Contribution`] says how large one value
//! is, [`Participation`] in how many steps, [`Neighbours`] what counts as a change. The noise then has standard
//! deviation σ·Δ before decoding. Everything here errs to the safe side: σ and Δ are rounded up, never down.

mod protection;
pub(crate) mod sensitivity;

pub use protection::{Contribution, Neighbours, Participation, replace_factor, replace_factor_l1};
pub use sensitivity::{columns_sensitivity, toeplitz_sensitivity};
