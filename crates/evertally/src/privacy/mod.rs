//! Budgets, calibration and who is protected.
//!
//! A release is private at a [`Budget`]; the budget fixes the noise multiplier σ, the standard
//! deviation of the noise for sensitivity 1. What one person can change fixes the sensitivity Δ:
//! [`Contribution`] says how large one value is, [`Participation`] in how many steps,
//! [`Neighbours`] what counts as a change. The noise then has standard deviation σ·Δ before
//! decoding. Everything here errs to the safe side: σ and Δ are rounded up, never down.
//!
//! What a mechanism then costs is a [`Spend`]. Several on one population compose, and an
//! [`Odometer`] refuses the one that would exceed a total that was stated in advance, for one
//! [`Unit`] of protection.

mod allowance;
mod budget;
mod budget_spec;
mod calibration;
mod gaussian;
mod odometer;
mod protection;
pub(crate) mod sensitivity;
mod spending;
mod tally;
mod unit;
mod zcdp;

pub(crate) use budget::Guarantee;
pub use budget::{Budget, NoiseKind};
pub use budget_spec::BudgetSpec;
pub use calibration::{Calibration, paper_sigma};
pub use gaussian::{gaussian_delta, gaussian_epsilon, gaussian_sigma};
pub use odometer::{Entry, Odometer};
pub use protection::{Contribution, Neighbours, Participation, replace_factor, replace_factor_l1};
pub(crate) use sensitivity::{CompensatedSum, MARGIN, round_up};
pub use sensitivity::{columns_sensitivity, toeplitz_sensitivity};
pub use spending::Spend;
pub use unit::Unit;
pub use zcdp::{zcdp_delta, zcdp_epsilon, zcdp_rho, zcdp_sigma};
