//! Lower bounds for all mechanisms, the errors of the known mechanisms, and the paper's closed
//! forms.
//!
//! **Definition.** All figures are mean squared errors of the prefix sum over a horizon n, or
//! factors that give such errors when multiplied by a squared noise multiplier. γ_F²/n is the least
//! factor of any matrix mechanism. (‖A‖_*/n)² is below it, and (1 + ln(4n/5)/π)² is the paper's
//! upper bound.
//!
//! **Guarantee.** Every figure is an [`Interval`] that contains the true value. Closed forms are
//! evaluated with a margin for rounding, and sums over up to 2⁶⁰ terms by expansions whose error is
//! below that margin. A lower bound is the interval's lower end, and an upper bound is its upper
//! end. A figure that holds only for some ε and δ is refused for others, and the error names the
//! limit.
//!
//! **Cost.** Microseconds at any horizon. The constant of [`oblivious_constant`] adds up at most
//! 200,000 terms.
//!
//! | content | functions |
//! |---|---|
//! | exact factors of the square root and the tree, the nuclear norm | [`square_root_mean_error`], [`binary_tree_mean_error`], [`nuclear_norm`] |
//! | the paper's closed forms | [`paper_upper_mean`], [`paper_lower_mean`], [`paper_tree_ratio`] |
//! | the cost of privacy itself, for any noise | [`oblivious_constant`], [`paper_constant`] |
//! | everything at once for n, ε and δ | [`bounds`] |
//! | parity queries | [`parity_gamma`], [`parity_bounds`] |
//! | where the paper's text fails, played | [`regret`], [`leader_regret`], [`adaptive_delta`] |
//!
//! **Source.** M. Henzinger, J. Upadhyay, S. Upadhyay, "Almost Tight Error Bounds on Differentially
//! Private Continual Counting" (2023), called the paper here. The sources of expansions are given
//! where they are used.

mod closed_form;
mod constant;
mod counterexamples;
mod errata;
mod interval;
mod landau;
mod nuclear;
mod parity;
mod table;
mod tree;

pub use closed_form::{
    limiting_tree_ratio, paper_additive_gap, paper_corollary_mean, paper_lower_mean, paper_optimum_ratio,
    paper_row_norm_squared, paper_tree_mean, paper_tree_ratio, paper_upper_mean, row_norm_squared_bound,
    sharper_lower_mean,
};
pub use constant::{Reach, largest_paper_delta, oblivious_constant, paper_constant};
pub use counterexamples::{
    LeaderRegret, Minimisers, adaptive_delta, dual_value_of_two, leader_regret, printed_minimisers,
    written_tree_size,
};
pub use errata::{Regret, fresh_noise_shortfall, growing_scale_shortfall, regret, unscaled_noise_shortfall};
pub use interval::Interval;
pub use landau::{
    square_root_decoder_mean, square_root_max_error, square_root_mean_error, square_root_row_norm_squared,
};
pub use nuclear::{nuclear_mean_error, nuclear_norm, spectral_norm};
pub use parity::{ParityBounds, parity_bounds, parity_gamma};
pub use table::{Bound, Group, bounds};
pub use tree::{
    binary_tree_mean_error, binary_tree_ones, binary_tree_sensitivity_squared, tree_ratio_at_power,
};

use crate::{Error, Result};

pub use crate::workload::MAX_HORIZON;

/// The horizon as a float. It is rounded once, by at most 2⁻⁵³, which every margin here covers.
fn checked(horizon: u64) -> Result<f64> {
    if (1..=MAX_HORIZON).contains(&horizon) {
        Ok(horizon as f64)
    } else {
        Err(Error::bad("horizon", "from 1 to 2^60", horizon))
    }
}
