//! Budgets, calibration and protected units.
//!
//! A release is private at a [`Budget`]. The budget determines the noise multiplier σ, which is the
//! standard deviation of the noise for sensitivity 1. The sensitivity Δ follows from what one
//! person can change: [`Contribution`] bounds one value, [`Participation`] the number of steps, and
//! [`Neighbours`] defines what counts as a change. The noise then has standard deviation σ·Δ before
//! decoding. Everything here is rounded to the safe side: σ and Δ are rounded up, never down.
//!
//! The cost of a mechanism is a [`Spend`]. Several mechanisms on one population compose. An
//! [`Odometer`] enforces a total that was stated in advance, for one [`Unit`] of protection, and
//! refuses any mechanism that would exceed it.

mod allowance;
mod budget;
mod budget_spec;
mod calibration;
mod gaussian;
mod odometer;
mod protection;
pub(crate) mod sensitivity;
mod spend_sum;
mod spending;
mod unit;
mod warning;
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
pub use warning::BudgetWarning;
pub use zcdp::{zcdp_delta, zcdp_epsilon, zcdp_rho, zcdp_sigma};
